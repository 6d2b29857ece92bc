"""Secrets in addresses, and in what libraries say of addresses. Pure.

A library that cannot parse an address repeats pieces of it, and nobody knows which piece of an ambiguous
address is the password: of ``postgresql://admin:half1@half2@host/db`` libpq shows ``half2@host`` as the name
of a host. The message of a library is therefore repeated only where every address is well formed, so that all
parsers agree what is secret in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, unquote

HIDDEN: Final = "***"
WITHHELD: Final = (
    "a message that may repeat a part of the password: the address is ambiguous, or its password very short"
)
"""What is shown in place of a library's message."""
ENCODE: Final = (
    "in a user name or password write @ as %40, : as %3A, / as %2F, ? as %3F, # as %23, ; as %3B, % as %25"
)

SECRET_NAME: Final = re.compile(
    r"(password|passphrase|secret|token|credential|key|key-id|authorization|signature)$", re.I
)
"""How the settings end whose values are secret, whoever wrote them where."""

ADDRESS_NAME: Final = re.compile(r"(uri|url|endpoint)$", re.I)
"""How the settings end whose values are addresses."""

_SHORT: Final = 4
"""A secret of fewer characters is part of many words: to hide it in them would tell it."""
_LOGIN: Final = r"(?:[^\s:/?#\[\]@;%\\]|%[0-9A-Fa-f]{2})*"
_HOST: Final = r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?"
_HOSTS: Final = rf"{_HOST}(?:,{_HOST})*"
_URL: Final = re.compile(
    rf"(?:[a-z][\w+.-]*:)+//(?:(?P<user>{_LOGIN})(?::(?P<password>{_LOGIN}))?@)?(?:{_HOSTS})?"
    r"(?:/[^?#@;\n]*)?(?:\?(?P<query>[^\s?#@;]*))?",
    re.I,
)
_PAIRS: Final = re.compile(r"(?P<name>\w+)\s*=\s*(?P<value>[^\s'\\]+|'[^'\\]*')(?:\s+|$)")
_SECRET_PARAMETER: Final = re.compile(r"pass|pwd|secret|token|key|credential|signature|auth", re.I)
_OF_PAIRS: Final = {
    "host": rf"{_HOSTS}|/[\w./-]*",
    "hostaddr": r"[0-9A-Fa-f:.,]+",
    "port": r"[\d,]+",
    "dbname": r"[\w.-]+",
    "user": r"[\w.-]+",
    "connect_timeout": r"\d+",
    "sslmode": r"[a-z-]+",
    "application_name": r"[\w.-]+",
    "target_session_attrs": r"[a-z-]+",
}
"""The names of libpq's pairs whose values may be shown, and how these are written."""


def secrets_in(address: str) -> tuple[str, ...] | None:
    """The secret parts of an address: a URL, libpq's ``host=… password=…``, or the path of a file after
    ``jdbc:sqlite:``.

    Returns None for an address that is not well formed: parsers may disagree about which part of it is the
    password.

    >>> secrets_in("postgresql://me:s3cr%40t@host:5432/db?sslpassword=x1")
    ('s3cr%40t', 'x1')
    >>> secrets_in("postgresql://me:half1@half2@host/db") is None
    True
    """
    text = address.strip()
    if found := _URL.fullmatch(text):
        login = found["password"] if found["password"] is not None else _lone(text, found["user"])
        return tuple(part for part in (login, *_parameters(found["query"] or "")) if part)
    if "=" in text and "://" not in text:
        return _secrets_of_pairs(text)
    return () if re.fullmatch(r"jdbc:\w+:[^@?;=\n]*", text) else None


def are_hosts(text: str) -> bool:
    """Returns whether a text is a list of hosts with ports.

    >>> are_hosts("SASL_SSL://a.example:9092, b:9092"), are_hosts("me:half1@a:9092")
    (True, False)
    """
    return all(re.fullmatch(rf"\s*(?:[A-Za-z_]+://)?{_HOST}\s*", each) for each in text.split(","))


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Returns the text with each secret hidden: as it is, as in a URL, and as Python and JSON quote it."""
    found = {form for secret in secrets if secret.strip() for form in _forms(secret)}
    for form in sorted(found, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def library_message(said: str, addresses: Iterable[str], secrets: Iterable[str] = ()) -> str:
    """Returns a library's message without the addresses' secrets, or ``WITHHELD``."""
    found = [secrets_in(address) for address in addresses]
    known = {*secrets, *(secret for each in found if each is not None for secret in each)} - {""}
    if None in found or any(len(secret) < _SHORT and secret in said for secret in known):
        return WITHHELD
    return redacted(said, known)


def secrets_in_settings(settings: Mapping[str, str]) -> frozenset[str]:
    """Returns the secrets in settings: values of settings with secret names, and secrets in addresses."""
    found: set[str] = set()
    for name, value in settings.items():
        if SECRET_NAME.search(name):
            # A credential of OAuth is an id and a secret.
            found |= {value, value.partition(":")[2]}
        elif "://" in value:
            found |= set(secrets_in(value) or ())
    return frozenset(found - {""})


def _lone(text: str, user: str | None) -> str | None:
    """Returns whether a user without a password may be a token, as in HTTP URLs."""
    return user if text.lower().startswith("http") else None


def _parameters(query: str) -> Iterable[str]:
    pairs = (pair.partition("=") for pair in query.split("&"))
    return [value for name, _, value in pairs if _SECRET_PARAMETER.search(name)]


def _secrets_of_pairs(text: str) -> tuple[str, ...] | None:
    found, at = list[str](), 0
    while at < len(text):
        pair = _PAIRS.match(text, at)
        if pair is None:
            return None
        name, value, at = pair["name"], pair["value"].strip("'"), pair.end()
        if _SECRET_PARAMETER.search(name):
            found.append(value)
        elif name not in _OF_PAIRS or not re.fullmatch(_OF_PAIRS[name], value):
            return None
    return tuple(found)


def _forms(secret: str) -> Iterable[str]:
    plain = unquote(secret)
    return {
        form
        for text in (secret, plain)
        for form in (text, quote(text, safe=""), repr(text)[1:-1], json.dumps(text)[1:-1])
    }
