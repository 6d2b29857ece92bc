"""Asks brokers for a topic's id and the offsets of its partitions. Without a JVM, in milliseconds."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from lakesmith.errors import LakesmithError, Problem, SourceError
from lakesmith.project.definitions import KafkaSource
from lakesmith.redaction import library_message
from lakesmith.sources.kafka.connection import WrongConnection, java_properties, read_connection, secrets_of
from lakesmith.sources.kafka.slices import Bounds, TopicState

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
    """Returns the properties to reach the brokers with, by librdkafka's names. Raises SourceError LS312
    and LS460."""
    if find_spec("confluent_kafka") is None:
        what = f"source {source.name!r} is a topic in Kafka, and the package confluent-kafka is not installed"
        hint = "pip install 'lakesmith[kafka]'"
        raise SourceError(Problem("LS312", what, source.place, "lakesmith with its extra `kafka`", hint=hint))
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
    return SourceError(
        Problem("LS460", what, source.place, expected, fault, f"export {name}=host:9092,host2:9092")
    )


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
    """A connection that is kept. librdkafka reports its errors beside the answers, which then only fail to
    come."""

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
    return SourceError(Problem("LS466", what, source.place, "a topic of this name", "none", hint))


def _unreachable(source: KafkaSource, error: Exception, secrets: tuple[str, ...]) -> SourceError:
    said = library_message(_in_words(error), (), secrets)
    what = f"source {source.name!r}: the brokers do not say what is in the topic {source.topic}"
    expected = f"an answer within {_SECONDS:g} s from those that {source.connection} names"
    hint = "nothing was ingested and nothing is lost; the next run asks again"
    return SourceError(Problem("LS461", what, source.place, expected, said, hint))


def _in_words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer"
    inner = error.args[0]
    return f"{inner.name()}: {inner.str()}"
