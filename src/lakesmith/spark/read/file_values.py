"""Values of types that files have and Spark lacks (``sources.file_types``), made in SQL of what is stored.

Nothing here fails: a stored value that is none of Spark's becomes NULL, and has a text all the same.
"""

from __future__ import annotations

from typing import Final

from lakesmith.project.spark_types import MAX_PRECISION, SqlType, precision_and_scale
from lakesmith.sources.file_types import read_as, usual_type
from lakesmith.spark.frames.sql_text import case

_UNITS: Final = {"ms": (1_000_000, "milliseconds"), "us": (1_000, "microseconds"), "ns": (1, "nanoseconds")}
"""Units of stored numbers: their nanoseconds, and their names."""
_DAY: Final = 86_400_000_000_000
"""The nanoseconds of a day."""
_CYCLE: Final = 146_097
"""The days of 400 years: then the calendar begins again."""
_MOST_MILLIS: Final = (2**63 - 1) // 1000
_MOST_DAYS: Final = 100_000_000
"""So many milliseconds, or days, from 1970 are microseconds of 64 bits."""
_JULIAN_1970: Final = 2_440_588


def seen(read: str, kind: SqlType, declared: SqlType) -> tuple[str, SqlType]:
    """Returns SQL of the stored value ``read``, and its type: of Spark's the one nearest to the declared.

    It is NULL if Spark has no such value. A timestamp is rounded towards the past to microseconds.
    """
    family, unit = _family(kind)
    if family == "timestamp":
        return (
            (text(read, kind), declared)
            if declared.text == "string"
            else (_timestamp(read, kind), usual_type(kind))
        )
    if family == "time" and _is_number(declared):
        return f"IF({_is_time(read, unit)}, {_nanos(read, unit)} div 1000, NULL)", SqlType(text="bigint")
    if family == "time":
        return f"IF({_is_time(read, unit)}, {_clock(_nanos(read, unit))}, NULL)", usual_type(kind)
    if family == "uuid":
        return (read, declared) if declared.text == "binary" else (_uuid(read), usual_type(kind))
    if family == "bytes":
        return text(read, kind), SqlType(text="string")
    return (_float(read), usual_type(kind)) if family == "float16" else (read, read_as(kind))


def inexact(read: str, kind: SqlType, declared: SqlType) -> str | None:
    """Returns SQL that is true if ``seen`` lacks digits of the stored value; None: it never does."""
    family, unit = _family(kind)
    if family == "timestamp" and unit in ("ns", "int96") and declared.text != "string":
        return f"coalesce({_nanos(read, unit)} % 1000 <> 0, false)"
    if family == "time" and unit == "ns" and _is_number(declared):
        return f"coalesce({read} % 1000 <> 0, false)"
    return None


def text(read: str, kind: SqlType) -> str:
    """Returns SQL of the text of any stored value, with all of its digits."""
    family, unit = _family(kind)
    if family == "timestamp":
        return _text_of_timestamp(read, kind, unit)
    if family == "bytes":
        return _text_of_decimal(read, kind)
    value, _ = seen(read, kind, SqlType(text="string"))
    if family == "time":
        number = f"concat({read}, ' {_UNITS[unit][1]} since midnight')"
        return f"coalesce({value}, {number})"
    return f"coalesce({value}, hex({read}))" if family == "uuid" else f"CAST({value} AS STRING)"


def _family(kind: SqlType) -> tuple[str, str]:
    """The name of a type, without its zone, and the unit behind it."""
    name, _, unit = kind.text.replace("_ntz", "").partition("_")
    return name, unit


def _is_number(declared: SqlType) -> bool:
    return declared.text in ("int", "bigint") or precision_and_scale(declared.text) is not None


def _nanos(read: str, unit: str) -> str:
    """SQL of nanoseconds: since midnight of times and INT96, since 1970 of other timestamps."""
    if unit == "int96":
        swapped = f"regexp_replace(hex({read}), '{'^' + '(..)' * 8 + '.*$'}', '$8$7$6$5$4$3$2$1')"
        return f"CAST(conv({swapped}, 16, -10) AS BIGINT)"
    return f"CAST({read} AS BIGINT) * {_UNITS[unit][0]}"


def _timestamp(read: str, kind: SqlType) -> str:
    micros = _micros(read, _family(kind)[1])
    if usual_type(kind).text == "timestamp":
        return f"timestamp_micros({micros})"
    # Not by way of a timestamp: its clock is that of the session's zone.
    return f"(TIMESTAMP_NTZ '1970-01-01 00:00:00' + {micros} * INTERVAL '0.000001' SECOND)"


def _micros(read: str, unit: str) -> str:
    """SQL of microseconds since 1970, NULL if they have more than 64 bits."""
    if unit == "ms":
        return f"IF({read} BETWEEN {-_MOST_MILLIS} AND {_MOST_MILLIS}, {read} * 1000, NULL)"
    if unit == "ns":
        return _floor(read, 1000)
    days = _days(read, unit)
    micros = f"{days} * {_DAY // 1000} + {_floor(_nanos(read, unit), 1000)}"
    return f"IF({days} BETWEEN {-_MOST_DAYS} AND {_MOST_DAYS}, {micros}, NULL)"


def _days(read: str, unit: str) -> str:
    """SQL of the day since 1970 of milliseconds or INT96."""
    if unit == "ms":
        return _floor(read, _DAY // _UNITS[unit][0])
    swapped = f"regexp_replace(hex({read}), '^.{{16}}(..)(..)(..)(..)$', '$4$3$2$1')"
    return f"(CAST(conv({swapped}, 16, 10) AS BIGINT) - {_JULIAN_1970})"


def _floor(number: str, by: int) -> str:
    return f"({number} div {by} - IF({number} % {by} < 0, 1, 0))"


def _text_of_timestamp(read: str, kind: SqlType, unit: str) -> str:
    value = _timestamp(read, kind)
    usual = f"CAST({value} AS STRING)"
    if test := inexact(read, kind, usual_type(kind)):
        digits = f"lpad(CAST(pmod({_nanos(read, unit)}, 1000000000) AS STRING), 9, '0')"
        exact = f"concat(date_format({value}, 'yyyy-MM-dd HH:mm:ss'), '.', {digits})"
        usual = f"IF({test}, {exact}, {usual})"
    return usual if unit == "ns" else f"coalesce({usual}, {_far_text(read, unit)})"


def _far_text(read: str, unit: str) -> str:
    """SQL of the text of a timestamp beyond Spark's years: months and days come again each 400 years."""
    days = _days(read, unit)
    day = f"date_from_unix_date(CAST(pmod({days}, {_CYCLE}) AS INT))"
    year = f"year({day}) + 400 * {_floor(days, _CYCLE)}"
    nanos = f"pmod({read}, {_DAY // 1_000_000}) * 1000000" if unit == "ms" else _nanos(read, unit)
    return f"concat(IF({year} > 0, '+', ''), {year}, date_format({day}, '-MM-dd '), {_clock(nanos)})"


def _is_time(read: str, unit: str) -> str:
    """SQL that is true for a time of day; midnight has two, as in PostgreSQL (24:00)."""
    return f"{read} BETWEEN 0 AND {_DAY // _UNITS[unit][0]}"


def _clock(nanos: str) -> str:
    """SQL of a time of day, without zeros at its end: 01:02:03.5."""
    parts = ((3_600_000_000_000, 100), (60_000_000_000, 60), (1_000_000_000, 60))
    each = (f"lpad({nanos} div {size} % {most}, 2, '0')" for size, most in parts)
    digits = f"trim(TRAILING '0' FROM lpad({nanos} % 1000000000, 9, '0'))"
    fraction = f"IF({nanos} % 1000000000 = 0, '', concat('.', {digits}))"
    return f"concat(concat_ws(':', {', '.join(each)}), {fraction})"


def _uuid(read: str) -> str:
    parts = "^(.{8})(.{4})(.{4})(.{4})(.{12})$"
    made = f"regexp_replace(lower(hex({read})), '{parts}', '$1-$2-$3-$4-$5')"
    return f"IF(octet_length({read}) = 16, {made}, NULL)"


def _float(read: str) -> str:
    """SQL of a number of 16 bits: IEEE 754, binary16, the last byte first."""
    bits = f"CAST(conv(regexp_replace(hex({read}), '^(..)(..)$', '$2$1'), 16, 10) AS INT)"
    exponent, fraction = f"({bits} div 1024 % 32)", f"({bits} % 1024)"
    branches = [
        (f"{exponent} = 31", f"IF({fraction} = 0, double('Infinity'), double('NaN'))"),
        (f"{exponent} = 0", f"{fraction} * pow(2D, -24)"),
    ]
    size = case(branches, f"(1024 + {fraction}) * pow(2D, {exponent} - 25)")
    return f"CAST(IF({bits} < 32768, 1D, -1D) * {size} AS FLOAT)"


def _text_of_decimal(read: str, kind: SqlType) -> str:
    """SQL of a decimal's text, of its bytes' digits if it has more than 38.

    Format: a whole number without its point, two's complement, the first byte first.
    """
    _, scale = precision_and_scale(usual_type(kind).text) or (0, 0)
    digits, sign = f"hex({read})", f"IF(hex({read}) >= '8', 'F', '0')"
    short = f"conv(lpad({digits}, 16, {sign}), 16, -10)"
    padded = f"lpad({digits}, greatest(32, length({digits})), {sign})"
    whole = f"IF(octet_length({read}) <= 8, {short}, {_whole(padded)})"
    number = f"CAST(try_cast(concat({whole}, 'E-{scale}') AS decimal({MAX_PRECISION},{scale})) AS STRING)"
    return f"coalesce({number}, concat('0x', hex({read})))"


def _whole(digits: str) -> str:
    """SQL of the text of a whole number of 128 bits, or more if the others only say its sign; else NULL.

    ``digits``: its hexadecimal ones, at least 32. Of a negative number all bits are turned first.
    """
    is_negative = f"{digits} >= '8'"
    turned = f"translate({digits}, '0123456789ABCDEF', 'FEDCBA9876543210')"
    size = f"right(IF({is_negative}, {turned}, {digits}), 32)"
    high, low = (f"CAST(conv(substr({size}, {start}, 16), 16, 10) AS decimal(20,0))" for start in (1, 17))
    number = f"try_add(try_multiply({high}, CAST({2**64} AS decimal(20,0))), {low})"
    fits = f"{digits} RLIKE '^(0*[0-7]|F*[89A-F]).{{31}}$'"
    return f"CAST(IF({fits}, IF({is_negative}, -1 - {number}, {number}), NULL) AS STRING)"
