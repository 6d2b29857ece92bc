"""Finds the texts that are exactly a value of a type: Spark's own casts, without what these accept silently.

Measured on Spark 4.1 (both its CSV reader and ``try_cast``): a decimal is rounded to the declared scale
(``1.239`` -> ``1.24``, ``1e-3`` -> ``0.00``) and the CSV reader drops commas (``1,50`` -> ``150``); a date
takes the front of ``2024-01-02Tgarbage`` and ``2024``; a timestamp reads ``12:30`` as today and ``202401`` as
the year 202401; a timestamp_ntz drops a zone; a double reads ``5d``, ``0x1p3`` and turns ``1e999`` into
Infinity, ``1e-400`` into 0; a timestamp is cut to microseconds. Here all of these are *wrong*, or *inexact*:
a value of the type except for digits that it does not hold. Inexact ones are accepted if the formats say
``rounds``. Accepted on purpose: white space around a number, date or boolean; ``t/yes/y/1`` and ``f/no/n/0``
as booleans; a date alone as a timestamp (midnight); a date with a time of zero; a double or float next to the
decimal text, which is what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lakesmith.project.definitions import OnInexact, Source
from lakesmith.project.spark_types import MAX_PRECISION, precision_and_scale
from lakesmith.quoting import literal
from lakesmith.sources.event_values import MOMENT
from lakesmith.spark.frames.sql_text import any_of, case
from lakesmith.spark.read.exact_times import (
    ABBREVIATED,
    LOCAL,
    as_local,
    has_letters,
    instant,
    not_one_instant,
    out_of_range,
    wrong_zone,
)

_DATE = r"^\\s*\\d{4}-\\d{1,2}-\\d{1,2}([ T]0?0:00(:00([.]0*)?)?)?\\s*$"
_FRACTION = re.compile(r"([yMdHhms]+|[^A-Za-z'\[\]^\\]|)S{7,}")
_NAMED = r"(?i)^\\s*[+-]?(inf(inity)?|nan)\\s*$"
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_GROUPS = ". \u00a0\u202f"
_WITH_COMMA = rf"^\s*[+-]?(\d+|\d{{1,3}}([{_GROUPS}]\d{{3}})+)?(,\d*)?([eE][+-]?\d+)?\s*$"
_SHOWN = 200
_LOCAL_TIME = "a local time that its region never had, or had twice: write its offset"
_ABBREVIATION = (
    "its zone may be several: write an offset or a region such as Europe/London, or leave it out and say"
    " time_zone of the source, or take it "
    "as a string and map it in a query"
)


@dataclass(frozen=True, slots=True)
class TextFormats:
    """How dates and times are written, as Spark datetime patterns; None: ISO 8601 and formats close to it.

    ``rounds``: texts of more digits than their type holds are values, as Spark casts them. ``zone``: that of
    times without one. ``decimal``: the sign before the fraction of a number. ``of_events``: the rules are
    those of ``sources.event_values``, where these are narrower. ``is_inferred``: nobody declared the type, so
    that a double has to hold every digit of a whole number.
    """

    date: str | None = None
    timestamp: str | None = None
    rounds: bool = False
    zone: str | None = None
    decimal: str = "."
    of_events: bool = False
    is_inferred: bool = False

    @classmethod
    def of(cls, source: Source) -> TextFormats:
        options = source.csv
        patterns = options.date_format, options.timestamp_format
        rounds = source.on_inexact is OnInexact.ROUND
        return cls(*patterns, rounds, options.time_zone, options.decimal, source.has_events)

    @classmethod
    def of_paths(cls, source: Source) -> TextFormats:
        """Returns the formats in names of folders: dates and numbers as ISO and Hive write them."""
        return cls(rounds=source.on_inexact is OnInexact.ROUND, zone=source.csv.time_zone)


def exact_from_text(text: str, type_: str, formats: TextFormats) -> str:
    """Returns SQL that turns the string expression ``text`` into ``type_``; NULL unless it is exactly such a
    value.

    If the formats say ``rounds`` it may have more digits.
    """
    text = plain_number(text, type_, formats)
    value = _typed(text, type_, formats)
    tests = (
        _wrong(text, value, type_, formats),
        None if formats.rounds else _inexact(text, value, type_, formats),
    )
    odd = [test for test in tests if test]
    return f"IF({any_of(odd)}, NULL, {value})" if odd else value


def inexact_from_text(text: str, type_: str, formats: TextFormats) -> str | None:
    """Returns SQL that is true if ``text`` is a ``type_`` with excess digits; None: no text is."""
    number = plain_number(text, type_, formats)
    inexact = _inexact(number, _typed(number, type_, formats), type_, formats)
    rounded = exact_from_text(text, type_, replace(formats, rounds=True))
    return f"({inexact}) AND {rounded} IS NOT NULL" if inexact else None


def plain_number(text: str, type_: str, formats: TextFormats) -> str:
    """Returns SQL of a number's text with a point before its fraction and nothing between its digits; else
    NULL.

    Texts of other types, and numbers with a point, stay as they are.
    """
    if formats.decimal == "." or not (type_ in (*_WHOLE, "double", "float") or precision_and_scale(type_)):
        return text
    plain = f"replace(translate({text}, {literal(_GROUPS)}, ''), ',', '.')"
    named = f"IF({text} RLIKE '{_NAMED}', {text}, NULL)" if type_ in ("double", "float") else "NULL"
    return f"IF({text} RLIKE {literal(_WITH_COMMA)}, {plain}, {named})"


def _typed(text: str, type_: str, formats: TextFormats) -> str:
    if type_ == "date" and formats.date:
        # What try_to_date does; Spark 4.0 has none.
        return f"try_cast(try_to_timestamp({text}, {literal(formats.date)}) AS date)"
    if type_ == "timestamp":
        return instant(text, formats.timestamp, formats.zone)
    if type_ == "timestamp_ntz" and formats.timestamp:
        return as_local(text, formats.timestamp)
    if type_ in _WHOLE:
        # A whole number may have zeros behind a point. One with an exponent may have lost digits in a
        # spreadsheet.
        whole = f"contains({text}, '.') AND {text} RLIKE '^\\\\s*[+-]?\\\\d+[.]0*\\\\s*$'"
        return f"try_cast(IF({whole}, substring_index({text}, '.', 1), {text}) AS {type_})"
    return text if type_ == "string" else f"try_cast({text} AS {type_})"


def _wrong(text: str, value: str, type_: str, formats: TextFormats) -> str | None:
    """Returns SQL that is true if ``value`` differs from its ``text``, or is beyond all dates; None: it never
    does.

    The cheap test is first in each, so that only unusual texts need the exact one; so it is in ``_inexact``.
    """
    tests = (_misread(text, value, type_, formats), out_of_range(value, type_))
    odd = [test for test in tests if test]
    return any_of(odd) if odd else None


def _misread(text: str, value: str, type_: str, formats: TextFormats) -> str | None:
    if type_ == "date" and not formats.date:
        usual = f"octet_length({text}) = 10 AND substr({text}, 5, 1) = '-' AND substr({text}, 8, 1) = '-'"
        return f"NOT (({usual}) OR {text} RLIKE '{_DATE}')"
    if type_ == "date" and has_letters(formats.date, "HhKkmsS"):
        moment = f"try_to_timestamp({text}, {literal(formats.date or '')})"
        return f"{moment} <> date_trunc('DAY', {moment})"
    if type_ == "timestamp_ntz" and has_letters(formats.timestamp, "VzOXxZ"):
        return "true"  # it says a zone
    if type_ == "timestamp" and formats.of_events:
        return f"NOT ({text} RLIKE {literal(f'^{MOMENT}$')})"
    if type_ == "timestamp":
        return wrong_zone(text, formats.timestamp)
    if type_ == "timestamp_ntz" and not formats.timestamp:
        return f"NOT ({text} RLIKE '{LOCAL}')"
    return _wrong_float(text, value) if type_ in ("double", "float") else None


def _inexact(text: str, value: str, type_: str, formats: TextFormats) -> str | None:
    """SQL that is true if ``text`` has digits that its ``value`` lacks; None: no text has."""
    if type_ in ("timestamp", "timestamp_ntz"):
        found = [test for test in _inexact_times(text, type_, formats) if test]
        return any_of(found) if found else None
    if type_ in ("double", "float"):
        zero = f"{value} = 0 AND {text} RLIKE '^[^eE]*[1-9]'"
        return any_of([zero, whole_loses_digits(text, value)]) if formats.is_inferred else zero
    return _inexact_decimal(text, value, type_)


def _inexact_times(text: str, type_: str, formats: TextFormats) -> Iterator[str | None]:
    yield _inexact_timestamp(text, formats)
    if type_ == "timestamp":
        yield not_one_instant(text, formats.timestamp, formats.zone)


def _inexact_timestamp(text: str, formats: TextFormats) -> str | None:
    """Digits of a second beyond the six that are kept, which only longer patterns read."""
    if not formats.timestamp:
        seventh = f"substr({text}, instr({text}, '.') + 7, 1) BETWEEN '0' AND '9' AND instr({text}, '.') > 0"
        return f"{seventh} AND {text} RLIKE '[.]\\\\d{{6}}\\\\d*[1-9]'"
    fraction = _FRACTION.search(formats.timestamp)
    if fraction is None:
        return None
    before = fraction[1]  # the fields just before the fraction, or a sign
    begin = f"\\\\d{{{len(before)}}}" if before.isalpha() else "".join(f"[{sign}]" for sign in before)
    return f"{text} RLIKE '{begin}\\\\d{{6}}\\\\d*[1-9]'"


def _wrong_float(text: str, value: str) -> str:
    # Java reads '5d', '5f' and hexadecimal numbers, and a number too large becomes infinite.
    letters = " OR ".join(f"endswith({text}, '{last}')" for last in "dDfF ")
    odd = f"abs({value}) = double('Infinity') OR {letters} OR contains({text}, 'x') OR contains({text}, 'X')"
    number = f"{text} RLIKE '^[\\\\s\\\\d+.eE-]*$' AND abs({value}) < double('Infinity')"
    named = f"{text} RLIKE '{_NAMED}'"
    return f"({odd}) AND NOT ({number} OR {named})"


def _inexact_decimal(text: str, value: str, kind: str) -> str | None:
    shape = precision_and_scale(kind)
    if shape is None:
        return None
    last = f"octet_length({text}) - instr({text}, '.') <= {shape[1]}"
    short = f"substr({text}, {-1 - shape[1]}, 1) = '.' OR NOT contains({text}, '.') OR {last}"
    no_exponent = f"NOT contains({text}, 'e') AND NOT contains({text}, 'E')"
    digits = f"{text} RLIKE '^\\\\s*[+-]?\\\\d*[.]\\\\d{{0,{shape[1]}}}0*\\\\s*$'"
    few = f"NOT ({more_digits(text, shape[1])})"
    return f"NOT ((({short}) AND {no_exponent}) OR {digits} OR (NOT ({no_exponent}) AND {few}))"


def whole_loses_digits(text: str, value: str) -> str:
    """Returns SQL that is true if a text is a whole number of more digits than its double ``value`` has.

    Doubles of 15 digits always come back. Zeros at the end are no digits: programs print large doubles so.
    """
    double = f"CAST({value} AS string)"
    odd = f"octet_length({digits_of(text)}) > 15 AND {digits_of(text)} <> {digits_of(double)}"
    return f"abs({value}) >= 9007199254740992D AND NOT {text} RLIKE '[.eE]' AND {odd}"


def digits_of(number: str) -> str:
    """Returns SQL of the digits of a number's text, without sign, point, exponent, and outer zeros."""
    return f"trim('0' FROM regexp_replace({number}, '[eE].*$|[^0-9]', ''))"


def more_digits(text: str, scale: int) -> str:
    """SQL that is true if a number has more than ``scale`` digits after the point, without zeros."""
    digits = f"regexp_replace({text}, '[eE].*$|[^0-9]', '')"
    counted = f"trim(TRAILING '0' FROM {digits})"
    after = (
        f"octet_length(regexp_extract({text}, '[.]([0-9]*)', 1)) - octet_length({digits}) +"
        f" octet_length({counted})"
    )
    exponent = f"coalesce(try_cast(regexp_extract({text}, '[eE]([+-]?[0-9]+)', 1) AS int), 0)"
    return f"{counted} != '' AND {after} - {exponent} > {scale}"


def roomy_scale(precision: int, scale: int) -> int:
    """The most digits after the point that leave room for all digits before it."""
    return MAX_PRECISION - precision + scale


def reason(column: str, type_: str, found: str, inexact: str | None = None) -> str:
    """Returns SQL of one reason: ``price: not a decimal(10,2): 'abc'``; ``found`` is a string expression.

    ``inexact``: SQL that is true if it is a value except for some digits, which the reason then says.
    """
    article = "an" if type_[:1] in "aeiou" else "a"
    parts = [literal(f"{column}: not {article} {type_}: "), "'\\''", f"left({found}, {_SHOWN})", "'\\''"]
    why = [(inexact, literal(f" ({_beyond(type_)})"))] if inexact else []
    if type_ == "timestamp":
        texts = ", ".join(literal(f" ({said})") for said in (_beyond(type_), _LOCAL_TIME))
        why = [(inexact, f"IF({found} RLIKE '[0-9]{{7}}', {texts})")] if inexact else []
        why = [*why, (f"{found} RLIKE '{ABBREVIATED}'", literal(f" ({_ABBREVIATION})"))]
    if type_ in ("date", "timestamp", "timestamp_ntz"):
        why.append(
            (f"{found} RLIKE '^\\\\s*(0000-|[+-]|[0-9]{{5,6}}-)'", literal(" (the years are 1 to 9999)"))
        )
    if why:
        parts.append(case(why, "''"))
    return f"concat({', '.join(parts)})"


def _beyond(type_: str) -> str:
    """The part of a value that does not fit in a type."""
    if "<" in type_:
        return "a number has digits that its type does not hold"
    if shape := precision_and_scale(type_):
        return f"it has more than {shape[1]} digit{'' if shape[1] == 1 else 's'} after the point"
    if type_ in ("double", "float"):
        return f"it has digits that a {type_} does not hold"
    if type_ == "string":
        return "a number has digits that get lost on its way to a text"
    return "it has more than six digits of a second"
