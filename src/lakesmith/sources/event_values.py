"""Converts a JSON value of an event to a column's type: exactly, or not at all.

The rules are those by which a batch reads JSON (``spark.read``): an event that is refused here would go to
quarantine there, and the other way round. ``tests/exact_values.py`` is the table of cases for both.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import partial
from typing import Any, Final

from lakesmith.project.spark_types import SqlType, parse_type, precision_and_scale

Exact = Callable[[Any], Any]
"""Converts a JSON value, not null, to a column's type. Equal values stay equal. Raises Misfit."""


class Misfit(Exception):
    """A JSON value is not exactly one of its type. ``path``: the names of the fields that lead to it, within
    its column.

    ``stops``: it would keep a batch, and all that is ingested with it, busy without end.
    """

    def __init__(self, reason: str, path: Sequence[str] = (), stops: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = tuple(path)
        self.stops = stops


class Number(str):
    __slots__ = ()


class Object(dict[str, Any]):
    """A JSON object. ``twice``: the names given twice; if there are any, ``given`` has all values."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.twice: list[str] = []
        self.given: list[Any] | None = None
        if len(pairs) > len(self):
            counts = Counter(name for name, _ in pairs)
            self.twice = sorted(name for name, number in counts.items() if number > 1)
            self.given = [value for _, value in pairs]


def exact_of(type_: str) -> Exact:
    return _exact(parse_type(type_))


def _exact(kind: SqlType) -> Exact:
    if kind.outer == "array":
        return partial(_array, _exact(kind.parts[0][1]), kind.text)
    if kind.outer == "map":
        return partial(_map, _exact(kind.parts[1][1]), kind.text)
    if kind.outer == "struct":
        return partial(_struct, {name: _exact(part) for name, part in kind.parts}, kind.text)
    if shape := precision_and_scale(kind.text):
        return partial(_decimal, shape, kind.text)
    return _LEAVES[kind.text]


def _array(each: Exact, type_: str, value: Any) -> Any:
    if not isinstance(value, list):
        raise _none_of(type_, value)
    return [None if item is None else each(item) for item in value]


def _map(each: Exact, type_: str, value: Any) -> Any:
    return {name: None if item is None else each(item) for name, item in _named(type_, value).items()}


def _struct(fields: Mapping[str, Exact], type_: str, value: Any) -> Any:
    given = _named(type_, value)
    for name in given:
        if name not in fields:
            raise Misfit(f"unknown; the fields are {', '.join(fields)}", (name,))
    found = {}
    for name, each in fields.items():
        item = given.get(name)
        try:
            found[name] = None if item is None else each(item)
        except Misfit as misfit:
            raise Misfit(misfit.reason, (name, *misfit.path), misfit.stops) from None
    return found


def _named(type_: str, value: Any) -> Object:
    if not isinstance(value, Object):
        raise _none_of(type_, value)
    if value.twice:
        raise Misfit("named twice", value.twice[:1])
    return value


_WHOLE: Final = re.compile(r"(-?\d+)(?:\.0+)?")


def _whole(bits: int, type_: str, value: Any) -> int:
    found = _WHOLE.fullmatch(value) if isinstance(value, Number) else None
    # Python makes no whole number of long texts.
    number = int(found[1]) if found and len(found[1]) < 2 * bits else None
    if number is None or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise _none_of(type_, value)
    return number


_NO_FLOAT: Final = {
    "double": Decimal(2) ** 1024 - Decimal(2) ** 970,
    "float": Decimal(2) ** 128 - Decimal(2) ** 103,
}
"""From here on a number is infinite."""
_ZERO_FLOAT: Final = {"double": Decimal(2) ** -1075, "float": Decimal(2) ** -150}
"""Up to here a number is 0."""


def _float(type_: str, value: Any) -> float:
    if not isinstance(value, Number):
        raise _none_of(type_, value)
    number = Decimal(value)
    if abs(number) >= _NO_FLOAT[type_]:
        raise _none_of(type_, value)
    if number and abs(number) <= _ZERO_FLOAT[type_]:
        raise _none_of(type_, value, f"it has digits that a {type_} does not hold")
    return float(number) + 0.0  # one zero


LONGEST_NUMBER: Final = 1000
LONGEST_EXPONENT: Final = 3
"""The greatest length of a number and of its exponent that readers of JSON can handle: Spark's stops at
1,000 characters, and works without end on a decimal with an exponent of eight digits."""

_EXPONENT: Final = re.compile(r"[eE][+-]?(\d+)$")
_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ALL_DIGITS: Final = Context(prec=2000, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _decimal(shape: tuple[int, int], type_: str, value: Any) -> Decimal:
    """Accepts a text too: senders keep digits in it that their own numbers would lose."""
    if not isinstance(value, str):
        raise _none_of(type_, value)
    if reason := out_of_range(value):
        raise Misfit(reason, stops=True)
    if not _DECIMAL.fullmatch(value):
        raise _none_of(type_, value)
    number = Decimal(value).normalize(_ALL_DIGITS)
    precision, scale = shape
    if number and number.adjusted() >= precision - scale:
        raise _none_of(type_, value)
    if -number.as_tuple().exponent > scale:  # type: ignore[operator]  # it is no NaN
        digits = f"{scale} digit{'' if scale == 1 else 's'}"
        raise _none_of(type_, value, f"it has more than {digits} after the point")
    return number


def out_of_range(number: str) -> str | None:
    """Returns why a number is out of range; None if it is not."""
    exponent = _EXPONENT.search(number)
    if exponent and len(exponent[1]) > LONGEST_EXPONENT:
        return "a number out of all range"
    return f"a number of {LONGEST_NUMBER} characters or more" if len(number) >= LONGEST_NUMBER else None


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _none_of("boolean", value)
    return value


def _string(value: Any) -> str:
    """A number, an object or an array becomes its text, in which numbers with a point or an exponent are
    doubles, as Java writes them.
    """
    if isinstance(value, str) and not isinstance(value, Number):
        return value
    _require_each_name_once(value)
    return _text(value, _number_text)


def _require_each_name_once(value: Any) -> None:
    if isinstance(value, list | Object):
        for each in value if isinstance(value, list) else _named("string", value).values():
            _require_each_name_once(each)


def _text(value: Any, number: Callable[[Number], str]) -> str:
    """A value as JSON, without blanks."""
    if isinstance(value, Number):
        return number(value)
    if isinstance(value, list):
        return f"[{','.join(_text(each, number) for each in value)}]"
    if isinstance(value, Object):
        parts = (f"{json.dumps(name)}:{_text(each, number)}" for name, each in value.items())
        return f"{{{','.join(parts)}}}"
    return json.dumps(value)


def _number_text(number: Number) -> str:
    if not {*".eE"} & {*number}:
        return "0" if number == "-0" else str(number)
    double = float(number)
    if _digits(number) != _digits(repr(double)):
        raise _none_of("string", number, "a number has digits that get lost on its way to a text")
    return repr(double) if not double or 0.001 <= abs(double) < 10_000_000 else _with_exponent(double)


def _with_exponent(double: float) -> str:
    """A double as Java writes it: ``1.0E22``, ``-1.5E-7``."""
    sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(rest) or '0'}E{len(rest) + int(exponent)}"


def _digits(number: str) -> str:
    """The digits of a number's text, without zeros at either end; for infinity a word."""
    return re.sub(r"[eE].*$|[.-]", "", number).strip("0")


_BASE64: Final = re.compile(r"(?:[\0- ]*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*[\0- ]*")


def _binary(value: Any) -> bytes:
    if isinstance(value, Number) or not isinstance(value, str) or not _BASE64.fullmatch(value):
        raise _none_of("binary", value)
    try:
        return base64.b64decode(value)
    except binascii.Error:
        raise _none_of("binary", value) from None


_DAY: Final = r"\s*(?!0000)(\d{4})-(\d{1,2})-(\d{1,2})"
_DATE: Final = re.compile(rf"{_DAY}(?:[ T]0?0:00(?::00(?:\.0*)?)?)?\s*", re.ASCII)
MOMENT: Final = (
    rf"{_DAY}(?:["
    r" T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(?:\s*(Z|UTC|[+-]\d{2}:?\d{2}))?)?)?)?\s*"
)
"""A regular expression, of Python's and of Java's: an event's timestamp. Without an offset it is in UTC.
Regions, such as ``Europe/Paris``, are refused: this machine and Java may know different ones."""
_MOMENT: Final = re.compile(MOMENT, re.ASCII)


def _date(value: Any) -> date:
    found = _DATE.fullmatch(value) if isinstance(value, str) else None
    try:
        return date(*(int(part) for part in found.groups()))  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        raise _none_of("date", value) from None


def _timestamp(is_local: bool, value: Any) -> int:
    """Microseconds since the year 0, in UTC or on a clock somewhere."""
    type_ = "timestamp_ntz" if is_local else "timestamp"
    found = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    if found is None or (is_local and found[8]):
        raise _none_of(type_, value)
    *fields, fraction, zone = found.groups()
    numbers = [int(field or 0) for field in fields]
    offset = _offset(zone or "Z")
    try:
        days = date(*numbers[:3]).toordinal()
        time(numbers[3], numbers[4], numbers[5])
    except ValueError:
        raise _none_of(type_, value) from None
    seconds = (days * 24 + numbers[3]) * 3600 + (numbers[4] - offset) * 60 + numbers[5]
    if abs(offset) > 18 * 60 or not 1 <= seconds // 86400 <= date.max.toordinal():
        raise _none_of(type_, value)
    if (fraction or "")[6:].strip("0"):
        raise _none_of(type_, value, "it has more than six digits of a second")
    return seconds * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))


def _offset(zone: str) -> int:
    """Minutes; too many if it is not an offset."""
    if zone in ("Z", "UTC"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    total = hours * 60 + minutes if minutes < 60 else 24 * 60
    return total if zone[0] == "+" else -total


def _none_of(type_: str, value: Any, why: str = "") -> Misfit:
    more = f" ({why})" if why else ""
    return Misfit(f"not a value of type {type_}: {shown(value)}{more}")


def shown(value: Any) -> str:
    """Returns the beginning of a JSON value's text."""
    text = _text(value, str)
    return text if len(text) <= 40 else f"{text[:40]}…"


_LEAVES: Final[Mapping[str, Exact]] = {
    "int": partial(_whole, 32, "int"),
    "bigint": partial(_whole, 64, "bigint"),
    "float": partial(_float, "float"),
    "double": partial(_float, "double"),
    "boolean": _boolean,
    "string": _string,
    "binary": _binary,
    "date": _date,
    "timestamp": partial(_timestamp, False),
    "timestamp_ntz": partial(_timestamp, True),
}
