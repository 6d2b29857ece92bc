"""A result as a chart: marks, axes and labels with their places, which a template draws as SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

KINDS: Final = ("bar", "line", "scatter")
MOST_MARKS: Final = 1000
WIDTH, HEIGHT = 960.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 84.0, 20.0, 26.0, 56.0
_NUMBERS: Final = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES: Final = ("date", "timestamp")
_LABEL, _SHORTEST = 18, 8
"""The longest label of an axis, in characters, and what it is shortened to where there is no room."""
_CHARACTER: Final = 7.0
"""About the width of a character."""

_LARGEST: Final = 1e300
"""Numbers beyond, whose differences may be infinite, have no mark."""

Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Tick:
    """A label at a place of an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A point, or the end of a bar that begins at ``base``; ``text`` says its values."""

    x: float
    y: float
    base: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn. ``at``: the numbers of the columns. ``bar``: the width of a bar. ``left_out``: how many
    rows have no mark, as a value is NULL or no number. ``is_cut``: there are more than ``MOST_MARKS``."""

    kind: str
    at: tuple[int, int]
    x: str
    y: str
    marks: tuple[Mark, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    bar: float
    left_out: int
    is_cut: bool

    width, height = WIDTH, HEIGHT
    left, right, top, bottom = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM

    @property
    def line(self) -> str:
        """The marks as the points of a line."""
        return " ".join(f"{each.x:.1f},{each.y:.1f}" for each in self.marks)


def is_number(kind: str) -> bool:
    """Returns whether values of a Spark SQL type are numbers."""
    return kind.startswith(_NUMBERS)


def is_time(kind: str) -> bool:
    """Returns whether values of a Spark SQL type are times."""
    return kind.startswith(_TIMES)


def choice(types: Sequence[str]) -> tuple[int, int] | None:
    """Returns the columns to begin with: the first number by the first other column; None without numbers."""
    numbers = [at for at, kind in enumerate(types) if is_number(kind)]
    others = [at for at, kind in enumerate(types) if not is_number(kind)]
    if not numbers:
        return None
    x = others[0] if others else numbers[0]
    return x, next((at for at in numbers if at != x), numbers[0])


def kind_for(x_type: str) -> str:
    """Returns the kind of chart that fits the type of x."""
    return "line" if is_time(x_type) else "scatter" if is_number(x_type) else "bar"


def chart(kind: str, names: Sequence[str], types: Sequence[str], rows: Rows, x: int, y: int) -> Chart:
    """Returns the chart of column ``y`` by column ``x``, both by their numbers.

    In a bar chart and by texts the rows keep their order; otherwise x is a scale. A line goes from left to
    right.
    """
    by_scale = kind != "bar" and (is_number(types[x]) or is_time(types[x]))
    points = list(_points(rows, x, y, types[x] if by_scale else ""))
    if kind == "line":
        points.sort(key=lambda each: each.at)
    drawn = points[:MOST_MARKS]
    scale = _scale([each.number for each in drawn], with_zero=kind == "bar")
    to_y = _linear(*scale[:2], HEIGHT - _BOTTOM, _TOP)
    to_x, x_ticks, bar = _scaled(drawn, types[x]) if by_scale else _in_order(drawn)
    zero = to_y(min(max(0.0, scale[0]), scale[1]))
    return Chart(
        kind,
        (x, y),
        names[x],
        names[y],
        tuple(Mark(to_x(each.at), to_y(each.number), zero, each.text) for each in drawn),
        tuple(x_ticks),
        tuple(Tick(to_y(each), _plain(each, scale[2])) for each in _steps(*scale)),
        bar,
        len(rows) - len(points),
        len(points) > MOST_MARKS,
    )


@dataclass(frozen=True, slots=True)
class _Point:
    at: float
    number: float
    label: str
    text: str


def _points(rows: Rows, x: int, y: int, kind: str) -> Iterator[_Point]:
    """Yields the rows that have a number, by the value of ``x`` of that type, or in their order (no type)."""
    number = 0
    for row in rows:
        value = _number(row[y])
        at = _place(row[x], kind) if kind else float(number)
        if value is not None and at is not None:
            label = _text(row[x])
            yield _Point(at, value, label, f"{label}: {_text(row[y])}")
            number += 1


_Scaled = tuple[Callable[[float], float], Iterator[Tick], float]


def _scaled(points: Sequence[_Point], kind: str) -> _Scaled:
    low = min((each.at for each in points), default=0.0)
    high = max((each.at for each in points), default=1.0)
    to_x = _linear(low, high, _LEFT + 8, WIDTH - _RIGHT - 8)
    return to_x, (_times if is_time(kind) else _numbers)(low, high, to_x), 0.0


def _in_order(points: Sequence[_Point]) -> _Scaled:
    step = (WIDTH - _RIGHT - _LEFT) / max(len(points), 1)

    def to_x(at: float) -> float:
        return _LEFT + (at + 0.5) * step

    return to_x, _names([each.label for each in points], step, to_x), max(step * 0.76, 0.8)


def _number(value: Any) -> float | None:
    """Returns a number of JSON, or a decimal, which is a text; None if it is not a number, or too large."""
    if isinstance(value, list) or value is None:
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if abs(found) < _LARGEST else None


def _place(value: Any, kind: str) -> float | None:
    if not is_time(kind):
        return _number(value)
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _linear(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    if low == high:
        return lambda _: (begin + end) / 2
    return lambda value: begin + (end - begin) * ((value - low) / (high - low))


def _scale(values: Sequence[float], with_zero: bool) -> tuple[float, float, float]:
    """Returns round bounds of the values, and the step between labels."""
    every = [*values, 0.0] if with_zero or not values else list(values)
    low, high = min(every), max(every)
    if low == high:
        pad = max(1.0, abs(low) / 10)
        low, high = (low - pad, high + pad) if low else (0.0, 1.0)
    step = _step(low, high, 5)
    if step == 0 or max(abs(low), abs(high)) / step > 2**50:
        return low, high, (high - low) / 2
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def _step(low: float, high: float, most: int) -> float:
    """Returns a round step (1, 2 or 5 times a power of ten) of which about ``most`` fill the range."""
    rough = (high - low) / most
    if rough <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next((each * power for each in (1, 2, 5, 10) if each * power >= rough), 10 * power)


def _steps(low: float, high: float, step: float) -> Iterator[float]:
    if step <= 0 or low + step == low:
        yield from sorted({low, high})
        return
    at = math.ceil(low / step - 1e-9)
    while at * step <= high + step * 1e-9 and at - low / step < 50:
        yield at * step
        at += 1


def _numbers(low: float, high: float, to_x: Callable[[float], float]) -> Iterator[Tick]:
    step = _step(low, high, 8)
    for each in _steps(low, high, step):
        yield Tick(to_x(each), _plain(each, step))


_SECOND, _HOUR, _DAY = 1, 3600, 86400
_TIME_STEPS: Final = (
    *(each * _SECOND for each in (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800)),
    *(each * _HOUR for each in (1, 2, 3, 6, 12)),
    *(each * _DAY for each in (1, 2, 7, 14, 28, 91, 182, 365, 730, 1826, 3652, 18262, 36524)),
)


def _times(low: float, high: float, to_x: Callable[[float], float]) -> Iterator[Tick]:
    """Yields labels of a time axis in UTC; days and longer begin at midnight."""
    step = next((each for each in _TIME_STEPS if (high - low) / each <= 7), _TIME_STEPS[-1])
    form = "%Y-%m-%d" if step >= _DAY else "%m-%d %H:%M" if high - low > _DAY / 2 else "%H:%M:%S"
    at = math.ceil(low / step) * step if high > low else low
    while at <= high:
        text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=at)).strftime(form)
        yield Tick(to_x(at), text)
        at += step


def _names(labels: Sequence[str], step: float, to_x: Callable[[float], float]) -> Iterator[Tick]:
    """Yields labels of as many values as have room."""
    texts = [_short(each, min(_LABEL, max(_SHORTEST, int(step / _CHARACTER) - 1))) for each in labels]
    longest = max(map(len, texts), default=1)
    every = max(1, math.ceil((longest + 1) * _CHARACTER / step))
    for at in range(0, len(texts), every):
        yield Tick(to_x(at), texts[at])


def _text(value: Any) -> str:
    found = value[0] + "…" if isinstance(value, list) else value
    if found is None:
        return "NULL"
    if isinstance(found, bool):
        return str(found).lower()
    return (
        found if isinstance(found, str) else _plain(float(found)) if isinstance(found, float) else str(found)
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _plain(value: float, step: float = 0.0) -> str:
    """Returns a number as a person writes it: 1,200, 0.25, 3e+12."""
    if value == 0:
        return "0"
    if abs(value) >= 1e15 or abs(value) < 1e-6:
        return f"{value:.4g}"
    digits = max(0, -math.floor(math.log10(step))) if step > 0 else 6
    text = f"{value:,.{min(digits, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text and not step else text
