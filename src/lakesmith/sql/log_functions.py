"""Functions for logs in the SQL of tables: their values, and what decides these besides the arguments.

The functions run in Spark's Python workers, which may lack lakesmith: they use Python's own modules alone,
and ``ua_parser``.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from lakesmith.errors import RunError
from lakesmith.project.definitions import PythonQuery, SqlQuery
from lakesmith.sql.functions import calls
from lakesmith.sql.tokens import Token, TokenKind, tokenize

SALTED: Final = "hashed_address"
SHORTEST_SALT: Final = 16
OWN_PREFIX: Final = "lakesmith."
"""The beginning of the functions' names in Spark's plans, which no other Python function has."""
_RULES: Final = "ua-parser-builtins"
ON_WORKERS: Final = "in the Python of Spark's workers"
_ROUNDS: Final = 50_000
_IPV4_PREFIX, _IPV6_PREFIX = 24, 48


def user_agent(text: str) -> dict[str, Any] | None:
    """Returns the parts of a user agent; a part that the rules do not know is None."""
    from ua_parser import parse

    found = parse(text)
    browser, system, device = found.user_agent, found.os, found.device
    return {
        "family": browser.family if browser else None,
        "version": _version(browser, "major", "minor", "patch", "patch_minor"),
        "os": system.family if system else None,
        "os_version": _version(system, "major", "minor", "patch", "patch_minor"),
        "device": device.family if device else None,
        "is_bot": device is not None and device.family == "Spider",
    }


def _version(part: Any, *names: str) -> str | None:
    numbers = [number for name in names if part and (number := getattr(part, name))]
    return ".".join(numbers) or None


def truncated_address(text: str) -> str | None:
    """Returns the network of an address, /24 or /48; None if the text is not an address.

    >>> truncated_address("203.0.113.77"), truncated_address("2001:db8:1:2::3"), truncated_address("x")
    ('203.0.113.0/24', '2001:db8:1::/48', None)
    """
    address = _address(text)
    if address is None:
        return None
    prefix = _IPV4_PREFIX if address.version == 4 else _IPV6_PREFIX
    return str(ipaddress.ip_network((str(address), prefix), strict=False))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def hashed_address(text: str, salt: bytes) -> str:
    """Returns 32 hexadecimal digits of an address, however it is written, or of another text."""
    return hmac.new(salt, str(_address(text) or text).encode(), hashlib.sha256).hexdigest()[:32]


def url_parts(text: str) -> dict[str, Any] | None:
    """Returns the parts of a URL, or of a path with a query; None if the text is not a URL.

    >>> url_parts("/img/Logo.PNG?size=2&v=a&v=b")
    {'path': '/img/Logo.PNG', 'extension': 'png', 'query_keys': ['size', 'v']}
    """
    try:
        parts = urlsplit(text if not text.startswith("//") else "/." + text)
        keys = sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)})
    except ValueError:
        return None
    path = parts.path.removeprefix("/.") if text.startswith("//") else parts.path
    ending = re.search(r"[^/]\.([A-Za-z0-9]{1,10})$", path)
    return {"path": path, "extension": ending[1].lower() if ending else None, "query_keys": keys}


@dataclass(frozen=True, slots=True)
class LogFunction:
    """A function: how it computes one value, the type of its values as DDL, and a version of both."""

    compute: Callable[..., Any]
    returns: str
    version: int = 1


FUNCTIONS: Final[Mapping[str, LogFunction]] = {
    "user_agent": LogFunction(
        user_agent,
        "struct<family:string,version:string,os:string,os_version:string,device:string,is_bot:boolean>",
    ),
    "truncated_address": LogFunction(truncated_address, "string"),
    SALTED: LogFunction(hashed_address, "string"),
    "url_parts": LogFunction(url_parts, "struct<path:string,extension:string,query_keys:array<string>>"),
}
_NAMED: Final = re.compile(rf"\b({'|'.join(FUNCTIONS)})\b")
_SALT_IN_PYTHON: Final = re.compile(rf"\b{SALTED}\s*\([^()]*,\s*['\"]([A-Za-z_]\w*)['\"]\s*\)")


@dataclass(frozen=True, slots=True)
class Used:
    """The functions that a query calls, and the environment variables with the salts that it names."""

    functions: tuple[str, ...] = ()
    salts: tuple[str, ...] = ()


def used(query: SqlQuery | PythonQuery | None) -> Used:
    """Returns what a query uses. Of Python every word that is a function's name counts."""
    text = "" if query is None else query.text if isinstance(query, SqlQuery) else query.source
    if query is None or not _NAMED.search(text):
        return Used()
    return used_in_sql(text) if isinstance(query, SqlQuery) else _used_in_python(text)


def used_in_sql(sql: str) -> Used:
    if not _NAMED.search(sql):
        return Used()
    tokens = tokenize(sql)
    found = [(name, index) for name, index in calls(tokens) if name in FUNCTIONS]
    salts = [_salt(tokens, index) for name, index in found if name == SALTED]
    return _used((name for name, _ in found), (salt for salt in salts if salt))


def _used_in_python(source: str) -> Used:
    return _used(_NAMED.findall(source), _SALT_IN_PYTHON.findall(source))


def _used(functions: Iterator[str] | list[str], salts: Iterator[str] | list[str]) -> Used:
    return Used(tuple(sorted(set(functions))), tuple(sorted(set(salts))))


def unsalted(tokens: tuple[Token, ...]) -> Token | None:
    """Returns the first call of the salted function that does not name its salt."""
    found = (index for name, index in calls(tokens) if name == SALTED)
    return next((tokens[index] for index in found if _salt(tokens, index) is None), None)


def _salt(tokens: tuple[Token, ...], index: int) -> str | None:
    """The text that is the last argument of the call at ``index``; None if it is not a constant."""
    depth = 0
    for at in range(index + 1, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at].text, 0)
        if depth == 0:
            last, before = tokens[at - 1], tokens[at - 2]
            is_text = last.kind is TokenKind.STRING and before.text == ","
            return last.text.strip("'\"") if is_text else None
    return None


def deciding(found: Used, environment: Mapping[str, str]) -> dict[str, str]:
    """Returns what decides the values of functions besides their arguments, by function and by salt.

    Of a salt it is a check of 32 bits that takes long to compute, so that the salt does not follow from it.
    Raises RunError LS314 if the rules of user agents are not installed, LS315 for a salt.
    """
    versions = {name: str(FUNCTIONS[name].version) for name in found.functions}
    if "user_agent" in versions:
        versions["user_agent"] += f" {_RULES} {rules_version()}"
    return {**versions, **{f"{SALTED} {name}": _check_of(salt_of(name, environment)) for name in found.salts}}


def salt_of(name: str, environment: Mapping[str, str]) -> bytes:
    """Returns the salt in a variable. Raises RunError LS315 if it is absent or short."""
    salt = environment.get(name, "")
    if len(salt) >= SHORTEST_SALT:
        return salt.encode()
    raise RunError.of(
        "LS315",
        f"the environment has no salt for {SALTED} in {name}",
        expected=f"a secret of at least {SHORTEST_SALT} characters in {name}",
        found=f"one of {len(salt)}" if salt else "nothing",
        hint=f"export {name}=... with the secret that the tables were made with; without it addresses could"
        " be computed from their hashes",
    )


@lru_cache(maxsize=16)
def _check_of(salt: bytes) -> str:
    return hashlib.pbkdf2_hmac("sha256", salt, b"lakesmith salt", _ROUNDS).hex()[:8]


def require_rules(version: str) -> None:
    """Raises ImportError in a worker of Spark whose user agents would not be read as the driver's."""
    import importlib.util

    found = _installed() if importlib.util.find_spec("ua_parser") else None
    if found != version:
        raise ImportError(f"user_agent needs {_RULES} {version} {ON_WORKERS}, found {found or 'none'}")


def _installed() -> str | None:
    from importlib import metadata

    try:
        return metadata.version(_RULES)
    except metadata.PackageNotFoundError:
        return None


@lru_cache(maxsize=1)
def rules_version() -> str:
    """Returns the version of the rules of user agents. Raises RunError LS314 if they are not installed."""
    found = _installed()
    if found is None:
        raise RunError.of(
            "LS314",
            "user_agent needs the rules of ua-parser",
            expected="the packages ua-parser and ua-parser-builtins",
            found="none",
            hint="pip install 'lakesmith[logs]'",
        )
    return found
