"""Finds the instant that a text means, and whether it means just one.

A text is exact if it says its offset, UTC (``Z``, ``UTC``, ``GMT``) or an IANA region (``Europe/Paris``).
Three letters are not: Java reads ``BST`` as the time of Dhaka. A text without a zone is in the source's
``time_zone``, by default UTC. When the clocks of a region are put forward, an hour of local times never was,
and when they are put back one was twice: neither is exact.

Local times are handled as ``timestamp`` values in UTC, whatever the session's zone: Spark's
``from_utc_timestamp`` and ``to_utc_timestamp`` move them without using the session's.
"""

from __future__ import annotations

import re
from typing import Final

from lakesmith.quoting import literal
from lakesmith.spark.frames.sql_text import any_of

LOCAL: Final = r"^\\s*\\d{4}-\\d{1,2}-\\d{1,2}([ T]\\d{1,2}(:\\d{1,2}(:\\d{1,2}([.]\\d*)?)?)?)?\\s*$"
"""A date, or a date and a time, without a zone."""
_DATE: Final = r"^\\s*\\d{4}-\\d{1,2}-\\d{1,2}"
_REGION: Final = r"([A-Za-z_]+(?:/[A-Za-z][A-Za-z0-9_+-]*)+)"
_UTC: Final = r"(?:Z|UTC|GMT|UT)?\\s*(?:[+-][0-9:]+)?"
_EXACT: Final = rf"(?i){_DATE}($|[ T\\s][0-9:.\\s]*(?:{_UTC}|{_REGION})\\s*$)"
_SAYS_ZONE: Final = rf"(?i)(?<![A-Z])(Z|UTC|GMT|UT)(?![A-Z/])|{_REGION}|[+-]\\d{{2}}:?\\d{{2}}\\s*$"
ABBREVIATED: Final = r"[0-9\\s][A-Z]{2,5}\\s*$"
"""How a text ends whose zone is an abbreviation."""
_RANGES: Final = {
    "date": ("DATE '0001-01-01'", "DATE '9999-12-31'"),
    "timestamp": ("TIMESTAMP '0001-01-01 00:00:00Z'", "TIMESTAMP '9999-12-31 23:59:59.999999Z'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ '0001-01-01 00:00:00'", "TIMESTAMP_NTZ '9999-12-31 23:59:59.999999'"),
}
"""The accepted dates and times: other engines, and Python, have no others."""


def out_of_range(value: str, type_: str) -> str | None:
    """Returns SQL that is true if a value is outside of the years 1 to 9999; None: it has no year."""
    found = _RANGES.get(type_)
    return f"{value} NOT BETWEEN {found[0]} AND {found[1]}" if found else None


def instant(text: str, pattern: str | None, zone: str | None) -> str:
    """Returns SQL of a text's ``timestamp``, or NULL. ``zone``: of texts without one; None: UTC."""
    said = (
        f"try_cast({text} AS timestamp)"
        if pattern is None
        else f"try_to_timestamp({text}, {literal(pattern)})"
    )
    if zone is None:
        return said
    return f"coalesce({to_instant(_local(text, pattern), zone)}, {said})"


def to_instant(local: str, zone: str) -> str:
    """SQL of the instant of a local time: the one after a gap, the earlier one of two."""
    return f"to_utc_timestamp({local}, {literal(zone)})"


def local_of(value: str) -> str:
    """SQL of a ``timestamp_ntz`` as the ``timestamp`` that stands for it."""
    return f"try_cast(concat(CAST({value} AS STRING), 'Z') AS timestamp)"


def as_local(text: str, pattern: str) -> str:
    """SQL of the ``timestamp_ntz`` that a text without a zone means by a pattern."""
    # Only for times without a zone does Spark add without the session's zone.
    micros = f"unix_micros({_in_utc(text, pattern)})"
    return f"(TIMESTAMP_NTZ '1970-01-01 00:00:00' + {micros} * INTERVAL '0.000001' SECOND)"


def wrong_zone(text: str, pattern: str | None) -> str | None:
    """Returns SQL that is true if the text is ambiguous or not a time; None: never."""
    if pattern is None:
        digit = "BETWEEN '0' AND '9'"
        utc = f"endswith({text}, 'Z') AND substr({text}, -2, 1) {digit}"
        usual = (
            f"octet_length({text}) > 18 AND substr({text}, 5, 1) = '-' AND (right({text}, 1) {digit} OR"
            f" ({utc}))"
        )
        return f"NOT (({usual}) OR {text} RLIKE '{_EXACT}')"
    return f"NOT ({text} RLIKE '{_SAYS_ZONE}')" if has_letters(pattern, "Vz") else None


def not_one_instant(text: str, pattern: str | None, zone: str | None) -> str | None:
    """Returns SQL that is true if the local time never was in its region, or twice; None: never."""
    tests = []
    if zone is not None and not _is_fixed(zone):
        tests.append(ambiguous(_local(text, pattern), literal(zone)))
    if pattern is None or has_letters(pattern, "Vz"):
        # A zone that never moves replaces the missing region.
        region = f"coalesce(nullif(regexp_extract({text}, '{_REGION}', 1), ''), 'UTC')"
        bare = f"regexp_replace({text}, '\\\\s*{_REGION}\\\\s*$', '')"
        local = local_of(f"try_cast({bare} AS timestamp_ntz)")
        if pattern is not None:
            local = _local(f"regexp_replace({text}, '{_REGION}', '')", pattern)
        # Asked for a region that Java does not know, Spark fails.
        is_time = f"contains({text}, '/') AND {instant(text, pattern, None)} IS NOT NULL"
        tests.append(f"IF({is_time}, {ambiguous(local, region)}, false)")
    return any_of(tests) if tests else None


def ambiguous(local: str, zone: str) -> str:
    """Returns SQL that is true if a local time is of no instant in a zone, or of two. ``zone``: SQL of its
    name.

    The offset of a day after gives the later one of two instants, or the only one; Spark gives the earlier
    one.
    """
    first, day = "to_utc_timestamp(x.m, x.z)", "unix_micros(x.m) + 86400000000"
    after = f"unix_micros(from_utc_timestamp(timestamp_micros({day}), x.z))"
    last = f"timestamp_micros(unix_micros(x.m) + {day} - {after})"
    is_never = f"from_utc_timestamp({first}, x.z) <> x.m"
    is_twice = f"{last} <> {first} AND from_utc_timestamp({last}, x.z) = x.m"
    return f"coalesce(exists(array(struct({local} AS m, {zone} AS z)), x -> {is_never} OR {is_twice}), false)"


def has_letters(pattern: str | None, letters: str) -> bool:
    return any(letter in re.sub(r"'[^']*'", "", pattern or "") for letter in letters)


def _local(text: str, pattern: str | None) -> str:
    """SQL of the local time of a text without a zone; else NULL."""
    if pattern is None:
        return f"IF({text} RLIKE '{LOCAL}', {local_of(f'try_cast({text} AS timestamp_ntz)')}, NULL)"
    parts = re.split(r"('[^']*')", pattern)
    bare = "".join(part if part.startswith("'") else re.sub("[VzOXxZ]+", "", part) for part in parts)
    return _in_utc(text, bare)


def _in_utc(text: str, pattern: str) -> str:
    """SQL of what a text means by a pattern without a zone, in UTC."""
    return f"try_to_timestamp(concat({text}, ' Z'), {literal(pattern + ' XXX')})"


def _is_fixed(zone: str) -> bool:
    return zone.upper() in ("UTC", "GMT", "Z") or zone[:1] in "+-"
