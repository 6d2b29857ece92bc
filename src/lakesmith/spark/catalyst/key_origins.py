"""The origin of a key's value: the one input column that determines it, and their greatest distance.

With it, only rows of an input that can have a touched key are read (see ``refresh.key_ranges``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lakesmith.spark.catalyst.tree import Occurrence, is_name, items, kind_of, parts_of, references

_TIMES: Final = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class Span:
    """A duration, by the calendar of the session's time zone.

    ``by_clock``: it begins and ends by the clock. If that is set forward or back in between, it lasts longer,
    or begins late: an hour that begins in a gap counts from the gap's end.
    """

    months: int = 0
    days: int = 0
    microseconds: int = 0
    by_clock: bool = False


@dataclass(frozen=True, slots=True)
class Origin:
    """How a key follows from the one ``column`` of an input that determines it; both are null together.

    Without a span the key is the column. With a span the column is in [key, key + span), or in [key - span,
    key) if the key is an end. ``window``: the key is a struct of a window's start and end, compared by its
    start.
    """

    column: str
    span: Span | None = None
    is_end: bool = False
    window: bool = False


Origins = Mapping[Occurrence, Origin]
"""The origins of one column by occurrence of an input."""

_UNITS: Final = {
    "MICROSECOND": Span(microseconds=1),
    "MILLISECOND": Span(microseconds=1_000),
    "SECOND": Span(microseconds=1_000_000),
    "MINUTE": Span(microseconds=60_000_000, by_clock=True),
    "HOUR": Span(microseconds=3_600_000_000, by_clock=True),
    **dict.fromkeys(("DAY", "DD"), Span(days=1, by_clock=True)),
    "WEEK": Span(days=7, by_clock=True),
    **dict.fromkeys(("MONTH", "MON", "MM"), Span(months=1, by_clock=True)),
    "QUARTER": Span(months=3, by_clock=True),
    **dict.fromkeys(("YEAR", "YYYY", "YY"), Span(months=12, by_clock=True)),
}


def origin_of(expression: Any, known: Mapping[int, Origins]) -> Origins:
    """Returns the origins of an expression by occurrence, from those of its columns; empty if unknown."""
    used = references(expression)
    if len(used) != 1:
        return {}
    (column,) = used
    value = expression.child() if kind_of(expression) == "Alias" else expression
    found = {occurrence: _through(value, origin) for occurrence, origin in known.get(column, {}).items()}
    return {occurrence: origin for occurrence, origin in found.items() if origin is not None}


def _through(value: Any, origin: Origin) -> Origin | None:
    if is_name(value):
        return origin
    kind = kind_of(value)
    if origin.window:
        return _part_of_window(value, origin) if kind == "GetStructField" else None
    if origin.span is not None:
        return None
    if kind == "CreateNamedStruct":
        return _window(value, origin)
    span = _truncated(value, kind)
    return None if span is None else replace(origin, span=span)


def _truncated(value: Any, kind: str) -> Span | None:
    """How far a value can be behind its truncation; None if it is not truncated, or by an unknown unit."""
    if kind == "TruncTimestamp" and _is_of(value.timestamp(), *_TIMES):
        return _unit(value.format())
    if kind == "TruncDate" and _is_of(value.date(), "date"):
        unit = _unit(value.format())
        # Spark gives null for units of a day and shorter.
        is_given = unit is not None and (unit.months or unit.days > 1)
        return replace(unit, by_clock=False) if unit is not None and is_given else None
    if kind not in ("Cast", "ParseToDate") or _type(value) != "date":
        return None
    time = value.children().apply(0)
    return Span(days=1, by_clock=_type(time) == "timestamp") if _is_of(time, *_TIMES) else None


def _is_of(expression: Any, *types: str) -> bool:
    return is_name(expression) and _type(expression) in types


def _unit(expression: Any) -> Span | None:
    return _UNITS.get(str(expression.value()).upper()) if kind_of(expression) == "Literal" else None


def _window(value: Any, origin: Origin) -> Origin | None:
    """Spark's form of ``window(column, duration, slide)``: a struct of start and start + duration, in µs."""
    parts = items(value.valExprs())
    if len(parts) != 2 or not all(map(_is_made_of_name, parts)):
        return None
    added = next((each for each in parts_of(parts[1]) if kind_of(each) == "Add"), None)
    if added is None or kind_of(added.right()) != "Literal":
        return None
    return replace(origin, span=Span(microseconds=int(added.right().value())), window=True)


def _is_made_of_name(part: Any) -> bool:
    """Whether a window is computed from a plain column, unlike ``window(at + INTERVAL 5 HOURS, ...)``."""
    made = [each.child() for each in parts_of(part) if kind_of(each) == "PreciseTimestampConversion"]
    times = [each for each in made if _type(each) in _TIMES]
    return bool(times) and all(map(is_name, times))


def _part_of_window(value: Any, origin: Origin) -> Origin | None:
    if not is_name(value.child()):
        return None
    return replace(origin, window=False, is_end=int(value.ordinal()) == 1)


def _type(expression: Any) -> str:
    return str(expression.dataType().simpleString())
