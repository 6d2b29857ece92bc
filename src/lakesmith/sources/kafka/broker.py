"""Asks brokers for a topic's id and the offsets of its partitions. Without a JVM, in milliseconds.

An environment variable says how they are reached, by librdkafka's names; Java's follow from them. A name
without a known counterpart is refused, so that both clients reach one cluster in the same way.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from lakesmith.errors import LakesmithError, Problem, SourceError, did_you_mean
from lakesmith.project.definitions import KafkaSource
from lakesmith.redaction import are_hosts, library_message
from lakesmith.sources.kafka.slices import Bounds, TopicState

SERVERS: Final = "bootstrap.servers"
_MECHANISM: Final = "sasl.mechanism"
_SAME: Final = (
    SERVERS,
    "security.protocol",
    _MECHANISM,
    "client.id",
    "ssl.endpoint.identification.algorithm",
)
_OTHER: Final = (
    "sasl.username",
    "sasl.password",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
)
_SECRET: Final = tuple(name for name in _OTHER if name != "sasl.username")
_ONE_OF: Final = {
    "security.protocol": ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "ssl.endpoint.identification.algorithm": ("none", "https"),
}
_LOGINS: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class WrongConnection(Exception):
    """The connection's text is wrong; the message does not show its values."""


def read_connection(text: str) -> dict[str, str]:
    """Returns the properties, by librdkafka's names. Raises WrongConnection."""
    stripped = text.strip()
    if stripped.startswith("{"):
        found = _of_json(stripped)
    elif "=" in stripped:
        lines = (line.strip() for line in stripped.splitlines())
        pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
        found = {name.strip(): value.strip() for name, _, value in pairs}
    else:
        found = {SERVERS: stripped}
    if "sasl.mechanisms" in found:
        found[_MECHANISM] = found.pop("sasl.mechanisms")
    _check(found)
    return found


def secrets_of(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the values that are never shown: a certificate or key may be where a file belongs."""
    return tuple(value for name in _SECRET if (value := properties.get(name)))


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the same by the Java client's names. Raises WrongConnection for files that cannot be read."""
    java = {name: properties[name] for name in _SAME if name in properties}
    if properties.get("ssl.endpoint.identification.algorithm") == "none":
        java["ssl.endpoint.identification.algorithm"] = ""
    if "sasl.username" in properties:
        login = _LOGINS[properties[_MECHANISM]]
        user, password = (_quoted(properties[f"sasl.{part}"]) for part in ("username", "password"))
        java["sasl.jaas.config"] = f"{login} required username={user} password={password};"
    if "ssl.ca.location" in properties:
        _text(properties, "ssl.ca.location")
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": properties["ssl.ca.location"]}
    if "ssl.certificate.location" in properties:
        java["ssl.keystore.type"] = "PEM"
        java["ssl.keystore.certificate.chain"] = _text(properties, "ssl.certificate.location")
        java["ssl.keystore.key"] = _text(properties, "ssl.key.location")
        if "ssl.key.password" in properties:
            java["ssl.key.password"] = properties["ssl.key.password"]
    return java


def _of_json(text: str) -> dict[str, str]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise WrongConnection("it begins as a JSON object but is not one") from error
    if not all(isinstance(value, str) for value in found.values()):
        raise WrongConnection("not all of its values are texts")
    return dict(found)


def _check(found: Mapping[str, str]) -> None:
    if not found.get(SERVERS):
        raise WrongConnection(f"it has no {SERVERS}")
    if not are_hosts(found[SERVERS]):
        raise WrongConnection(f"{SERVERS} is no list of hosts and ports")
    for number, name in enumerate(found, 1):
        if name not in (*_SAME, *_OTHER):
            # The text may be a secret: a line that was broken, or a password with an equals sign.
            known = ", ".join((*_SAME, *_OTHER))
            hint = did_you_mean(name, (*_SAME, *_OTHER))
            shown = repr(name) if hint and re.fullmatch(r"[a-z.]+", name) else f"its property {number}"
            raise WrongConnection(f"{shown} is none of {known}. {hint or ''}".strip())
        if found[name].upper() not in map(str.upper, _ONE_OF.get(name, (found[name],))):
            raise WrongConnection(f"{name} is none of {', '.join(_ONE_OF[name])}")
    for one, other in (("sasl.username", "sasl.password"), ("ssl.certificate.location", "ssl.key.location")):
        if (one in found) != (other in found):
            raise WrongConnection(f"{one} and {other} go together")
    if "sasl.username" in found and found.get(_MECHANISM) not in _LOGINS:
        raise WrongConnection(f"with sasl.username, {_MECHANISM} is one of {', '.join(_LOGINS)}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _text(properties: Mapping[str, str], name: str) -> str:
    try:
        return Path(properties[name]).read_text()
    except OSError as error:
        raise WrongConnection(f"{name} names a file that cannot be read: {error.strerror}") from None


_SECONDS: Final = 8.0
_LOOK_SECONDS: Final = 0.05
_UNREACHABLE_FOR: Final = 5.0
"""Seconds after a failure in which brokers are not asked again: a run asks for each table several times."""

_QUIET: Final = logging.getLogger("lakesmith.kafka")
_QUIET.setLevel(logging.CRITICAL + 1)

_clients: dict[tuple[tuple[str, str], ...], _Client] = {}
_failed: dict[str, tuple[float, Problem]] = {}


def topic_state(source: KafkaSource, environment: Mapping[str, str] = os.environ) -> TopicState:
    """Returns the present state of the source's topic.

    Raises SourceError: LS312 no client is installed, LS460 the connection is not declared, LS461 the brokers
    do not answer or refuse, LS466 there is no such topic.
    """
    properties, known = connection_of(source, environment), f"{source.connection} {source.topic}"
    at, problem = _failed.get(known, (0.0, None))
    if problem is not None and time.monotonic() - at < _UNREACHABLE_FOR:
        raise SourceError(problem)
    try:
        found = _ask(source, properties)
    except SourceError as error:
        _failed[known] = (time.monotonic(), error.problems[0])
        raise
    _failed.pop(known, None)
    return found


def connection_of(source: KafkaSource, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the brokers' properties, by librdkafka's names. Raises SourceError LS312 and LS460."""
    if find_spec("confluent_kafka") is None:
        what = f"source {source.name!r} is a topic in Kafka, and the package confluent-kafka is not installed"
        hint = "pip install 'lakesmith[kafka]'"
        raise SourceError.of("LS312", what, source.place, "lakesmith with its extra `kafka`", hint=hint)
    name, fault = source.connection, "it is not set"
    try:
        if text := environment.get(name):
            return read_connection(text)
    except WrongConnection as error:
        fault = str(error)
    raise _no_connection(source, name, fault)


def java_connection(source: KafkaSource, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Returns the same by the Java client's names. Raises as ``connection_of``."""
    try:
        return java_properties(connection_of(source, environment))
    except WrongConnection as error:
        raise _no_connection(source, source.connection, str(error)) from error


def _no_connection(source: KafkaSource, name: str, fault: str) -> LakesmithError:
    what = f"source {source.name!r}: the environment does not say how the brokers are reached"
    expected = f"in {name}: host:9092, or properties"
    return SourceError.of("LS460", what, source.place, expected, fault, f"export {name}=host:9092,host2:9092")


def _ask(source: KafkaSource, properties: Mapping[str, str]) -> TopicState:
    from confluent_kafka import KafkaError, KafkaException

    known = tuple(sorted(properties.items()))
    is_kept = known in _clients
    try:
        client = _clients[known] = _clients.get(known) or _Client(properties)
        return _state(client, source.topic)
    except (KafkaException, TimeoutError) as error:
        code = error.args[0].code() if isinstance(error, KafkaException) else None
        if code == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise _no_topic(source) from error
        _clients.pop(known, None)
        if is_kept:
            # An error may date from a time when nobody asked.
            return _ask(source, properties)
        # A stack trace repeats the client's message.
        raise _unreachable(source, error, secrets_of(properties)) from None


def _state(client: _Client, topic: str) -> TopicState:
    from confluent_kafka import TopicCollection

    described = client.admin.describe_topics(TopicCollection([topic]), request_timeout=_SECONDS)
    found = client.result(described[topic])
    numbers = [partition.id for partition in found.partitions]
    first, end = (_offsets(client, topic, numbers, at_end) for at_end in (False, True))
    # As Kafka's own tools write it: in letters that a path may have.
    topic_id = str(found.topic_id).replace("+", "-").replace("/", "_")
    return TopicState(topic_id, {it: Bounds(first[it], end[it]) for it in numbers})


class _Client:
    """A lasting connection. librdkafka reports errors beside the answers, which then do not come."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        from confluent_kafka.admin import AdminClient

        self._errors: list[Any] = []
        settings: dict[str, Any] = {**properties, "error_cb": self._errors.append}
        # Without a logger of its own, librdkafka prints messages about unreachable brokers to the screen.
        self.admin = AdminClient(settings, logger=_QUIET)

    def result(self, future: Future[Any]) -> Any:
        """The future's result. Raises KafkaException as soon as no answer can come, and TimeoutError."""
        from confluent_kafka import KafkaError, KafkaException

        until = time.monotonic() + _SECONDS + 1
        while not wait([future], _LOOK_SECONDS).done:
            self.admin.poll(0)
            # The other errors say more than that all brokers are down.
            final = [error for error in self._errors if error.code() == KafkaError._ALL_BROKERS_DOWN]
            said = [error for error in self._errors if error not in final]
            if final or any(error.code() == KafkaError._AUTHENTICATION for error in said):
                raise KafkaException((said or final)[-1])
            if time.monotonic() > until:
                raise TimeoutError
        return future.result()


def _offsets(client: _Client, topic: str, numbers: list[int], at_end: bool) -> dict[int, int]:
    """The first offset of each partition, or the one after the last record of a finished transaction."""
    from confluent_kafka import IsolationLevel, TopicPartition

    specs: Any = import_module("confluent_kafka.admin").OffsetSpec  # which has no types
    wanted = specs.latest() if at_end else specs.earliest()
    asked = client.admin.list_offsets(
        {TopicPartition(topic, number): wanted for number in numbers},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=_SECONDS,
    )
    return {partition.partition: client.result(each).offset for partition, each in asked.items()}


def _no_topic(source: KafkaSource) -> SourceError:
    what = f"source {source.name!r}: there is no topic {source.topic}"
    hint = "create the topic, or correct its name; if it exists, this user may not see it"
    return SourceError.of("LS466", what, source.place, "a topic of this name", "none", hint)


def _unreachable(source: KafkaSource, error: Exception, secrets: tuple[str, ...]) -> SourceError:
    said = library_message(_in_words(error), (), secrets)
    what = f"source {source.name!r}: the brokers do not say what is in the topic {source.topic}"
    expected = f"an answer within {_SECONDS:g} s from those that {source.connection} names"
    hint = "nothing was ingested and nothing is lost; the next run asks again"
    return SourceError.of("LS461", what, source.place, expected, said, hint)


def _in_words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer"
    inner = error.args[0]
    return f"{inner.name()}: {inner.str()}"
