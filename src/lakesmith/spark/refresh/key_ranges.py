"""Filters for the rows that can have one of some keys, in a form that Iceberg applies to a table's files.

They may let more rows through, never fewer: the keys themselves are compared afterwards.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from lakesmith import limits
from lakesmith.quoting import quoted
from lakesmith.spark.catalyst.key_origins import Origin, Origins, Span
from lakesmith.spark.catalyst.tree import Occurrence
from lakesmith.spark.frames.sql_text import all_of, any_of

_KINDS: Final = ("tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string")
_WINDOW: Final = ["start", "end"]
_EPOCH: Final = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
_CLOCK_CHANGE: Final = Span(microseconds=7_200_000_000)
"""By more no clock has been set over or back at once ..."""
_DATE_LINE: Final = Span(days=1, microseconds=7_200_000_000)
"""... unless a place moved across the date line: since 1900 no day occurred twice."""
_DAYS_TO_1900: Final = -25_567
_DAY: Final = 86_400_000_000
_NO_TEXT: Final = "\ufffd"
"""Python's value for the bytes of a string that are not UTF-8."""


@dataclass(frozen=True)
class Values:
    """The values of one key column: a limited number, or intervals that contain them.

    ``kind``: their type. Dates are days and timestamps microseconds since 1970: a local time in Python is two
    times in the hour that a clock is set back. Timestamps without a time zone count from then, too.
    """

    kind: str
    single: tuple[Any, ...]
    intervals: tuple[tuple[Any, Any], ...]
    with_null: bool


def values_of(keys: DataFrame, count: int) -> dict[int, Values]:
    """Returns the values of the ``count`` keys by column position, for types that files are filtered by.

    A window is represented by its start.
    """
    kinds = {number: _kind(field.dataType) for number, field in enumerate(keys.schema.fields)}
    known = {number: kind for number, kind in kinds.items() if kind is not None}
    if not known:
        return {}
    columns = {f"v{number}": _plain(keys, number, kind) for number, kind in known.items()}
    plain = keys.select(*(column.alias(name) for name, column in columns.items()))
    if count > limits.KEYS_LOOKED_AT_UP_TO:
        found = {number: _extent(plain, f"v{number}", kind) for number, kind in known.items()}
    else:
        rows: Sequence[Row] = plain.collect()
        found = {number: _listed(kind, {row[f"v{number}"] for row in rows}) for number, kind in known.items()}
    return {number: values for number, values in found.items() if values is not None}


def has_fixed_clock(spark: SparkSession) -> bool:
    """Whether the clock of the session's time zone is never set over or back."""
    jvm: Any = spark._jvm
    zone = jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(
        spark.conf.get("spark.sql.session.timeZone")
    )
    return bool(zone.getRules().isFixedOffset())


def input_conditions(
    origins: Sequence[Origins], values: Mapping[int, Values], fixed_clock: bool
) -> dict[Occurrence, SparkColumn]:
    """Returns by occurrence of an input the filter for its rows; ``origins`` by the keys' columns.

    ``fixed_clock``: as ``has_fixed_clock``.
    """
    found: dict[Occurrence, list[str]] = {}
    for number, by_occurrence in enumerate(origins):
        for occurrence, origin in by_occurrence.items():
            # A window that is a column of an input is not a time in it.
            if number in values and (values[number].kind != "window" or origin.span is not None):
                given = _by_fixed_clock(origin) if fixed_clock else origin
                found.setdefault(occurrence, []).append(_condition(given, values[number]))
    return {occurrence: F.expr(all_of(conditions)) for occurrence, conditions in found.items()}


def own_condition(names: Sequence[str], values: Mapping[int, Values]) -> SparkColumn:
    """Returns the filter for rows of a table that has the keys' columns itself, by these ``names``."""
    plain = [(Origin(name), values[number]) for number, name in enumerate(names) if number in values]
    return F.expr(all_of(_condition(origin, each) for origin, each in plain if each.kind != "window"))


def _kind(kind: DataType) -> str | None:
    if isinstance(kind, StructType):
        fields = [(field.name, field.dataType.simpleString()) for field in kind.fields]
        return "window" if fields == [(name, "timestamp") for name in _WINDOW] else None
    text = kind.simpleString()
    return text if text in _KINDS or text.startswith("decimal(") else None


def _plain(keys: DataFrame, number: int, kind: str) -> SparkColumn:
    """Returns the values for Python, whose dates and times cover the years 1 to 9999 only."""
    column = F.col(quoted(keys.columns[number]))
    match kind:
        case "window":
            return F.unix_micros(column["start"])
        case "timestamp":
            return F.unix_micros(column)
        case "timestamp_ntz":
            return column - F.expr(_EPOCH)
        case "date":
            return F.unix_date(column)
    return column


def _extent(plain: DataFrame, name: str, kind: str) -> Values | None:
    nulls_of = F.count_if(F.col(name).isNull())
    least, greatest, nulls = plain.agg(F.min(name), F.max(name), nulls_of).collect()[0]
    if not _are_known({least, greatest}):
        return None
    return Values(kind, (), () if least is None else ((least, greatest),), bool(nulls))


def _listed(kind: str, found: set[Any]) -> Values | None:
    if not _are_known(found):
        return None
    values = sorted(found - {None})
    with_null = None in found
    held_by = tuple(intervals(values, limits.KEY_INTERVALS_IN_A_CONDITION))
    single = tuple(values) if len(values) <= limits.KEY_VALUES_IN_A_CONDITION else ()
    return Values(kind, single, held_by, with_null)


def intervals(values: Sequence[Any], most: int) -> list[tuple[Any, Any]]:
    """Returns at most ``most`` intervals around the sorted values, with the widest gaps between.

    One interval is enough if values cannot be subtracted, as texts, or the gaps are a small part of the
    range: each interval costs time for every row that is read, and few files would be skipped.
    """
    if not values:
        return []
    least, greatest = values[0], values[-1]
    if isinstance(least, str):
        return [(least, greatest)]
    gaps = sorted(range(1, len(values)), key=lambda at: values[at] - values[at - 1], reverse=True)[: most - 1]
    left_out = sum((values[at] - values[at - 1] for at in gaps), start=least - least)
    if left_out * limits.GAPS_WORTH_ONE_PART_IN < greatest - least:
        return [(least, greatest)]
    cuts = [0, *sorted(gaps), len(values)]
    return [(values[since], values[until - 1]) for since, until in pairwise(cuts)]


def _are_known(values: Collection[Any]) -> bool:
    """Whether they reached Python unchanged: bytes that are not text do not."""
    return not any(isinstance(value, str) and _NO_TEXT in value for value in values)


def _by_fixed_clock(origin: Origin) -> Origin:
    return origin if origin.span is None else replace(origin, span=replace(origin.span, by_clock=False))


def _condition(origin: Origin, values: Values) -> str:
    column = quoted(origin.column)
    if origin.span is None and values.single:
        met = f"{column} IN ({', '.join(_literal(value, values.kind) for value in values.single)})"
    else:
        met = any_of(_within(column, origin, values))
    return f"({met}) OR {column} IS NULL" if values.with_null else met


def _within(column: str, origin: Origin, values: Values) -> Iterator[str]:
    for least, greatest in values.intervals:
        since, until = _literal(least, values.kind), _literal(greatest, values.kind)
        if origin.span is None:
            yield f"{column} >= {since} AND {column} <= {until}"
        elif origin.is_end:
            yield f"{column} >= {since} - {_interval(origin.span)} AND {column} < {until}"
        elif not origin.span.by_clock:
            yield f"{column} >= {since} AND {column} < {until} + {_interval(origin.span)}"
        else:
            since, until = (f"CAST({end} AS timestamp)" for end in (since, until))
            change, span = _interval(_clock_change(least, values.kind)), _interval(origin.span)
            yield f"{column} >= {since} - {change} AND {column} < {until} + {span} + {change}"


def _clock_change(since: int, kind: str) -> Span:
    """Returns the largest error of a clock over a duration from a time or a day."""
    days = since if kind == "date" else since // _DAY
    return _DATE_LINE if days < _DAYS_TO_1900 else _CLOCK_CHANGE


def _text(value: str) -> str:
    """Returns a text by its bytes: the meaning of a backslash or a quote in a literal is a setting."""
    return f"CAST(X'{value.encode().hex()}' AS string)"


def _literal(value: Any, kind: str) -> str:
    match kind:
        case "timestamp" | "window":
            return f"timestamp_micros({value}L)"
        case "timestamp_ntz":
            return f"{_EPOCH} + make_dt_interval(0, 0, 0, {_seconds(value // timedelta(microseconds=1))})"
        case "date":
            return f"date_from_unix_date({value})"
        case "string":
            return _text(value)
    return f"CAST('{value}' AS {kind})"


def _interval(span: Span) -> str:
    """By the calendar, not as a number of hours: a day may have 23 of them."""
    return f"make_interval(0, {span.months}, 0, {span.days}, 0, 0, {_seconds(span.microseconds)})"


def _seconds(microseconds: int) -> str:
    return f"CAST('{Decimal(microseconds).scaleb(-6):f}' AS decimal(18,6))"
