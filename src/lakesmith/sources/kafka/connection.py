"""Parses the connection to brokers, an environment variable, into properties for librdkafka and Java's
client. Pure.

Names are librdkafka's; Java's follow from them. A name without a known counterpart is refused, so that both
clients reach one cluster in the same way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lakesmith.project.nearest import did_you_mean
from lakesmith.redaction import are_hosts

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
    """Returns the values that are never shown: some people put the certificate or key where a file's name
    belongs."""
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
    for one, other in (
        ("sasl.username", "sasl.password"),
        ("ssl.certificate.location", "ssl.key.location"),
    ):
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
