"""The events in a request's body: one JSON object, an array of them, or one a line; and all that is wrong with them.

An event is kept as it was written, so that no digit of it is lost on the way. What its values are is judged here only as far as the
sender can mend it; the batch that takes it judges every value again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, Final

from lakesmith.project.definitions import Column
from lakesmith.serve.intake.frames import mark

MOST_REASONS: Final = 100
"""So many reasons are told of one request."""

DEEPEST: Final = 100
LONGEST_NUMBER: Final = 1000
"""Levels of nesting, and characters of a number, that readers of JSON stand: Spark's has its limits at 1,000. No column has use for either."""

# Digits before and after the point and those of the exponent: in a number as long as that one of the three is as long as this.
_LONG_DIGITS: Final = re.compile(rf"(?<!\d)\d{{{LONGEST_NUMBER // 4}}}")
_EXACT: Final = Context(prec=LONGEST_NUMBER, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BREAKS: Final = str.maketrans("\r\n", "  ")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an event: its number in the request, from 0, and the column; None where it is the whole of it."""

    event: int
    column: str | None
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {"event": self.event, "column": self.column, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Events:
    """What a body holds: the events as lines, and what is wrong with them. ``broken``: that is so much that none can be taken.

    ``ids``: the marks of the events, None for one that has faults; empty where the source has no ids.
    """

    lines: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    broken: bool = False
    ids: tuple[bytes | None, ...] = ()

    def as_lines(self) -> bytes:
        """JSON lines, each with its newline."""
        return "".join(f"{line}\n" for line in self.lines).encode()


class EventReader:
    """Reads the events of one source. ``columns``: those of its table. ``event_id``: the columns that tell an event from all others, which none
    may come without.
    """

    def __init__(self, columns: Sequence[Column], event_id: Sequence[str] = ()) -> None:
        self._kinds = {column.name: column.type or "string" for column in columns}
        required = dict.fromkeys(column.name for column in columns if column.required)
        self._required = tuple(dict.fromkeys((*required, *event_id)))
        self._id = tuple(event_id)
        self._names = ", ".join(self._kinds)

    def read(self, body: bytes) -> Events:
        """The events of a body, in UTF-8."""
        try:
            text = body.decode()
            found = [(raw, value) for raw, value in _parts(text)]
        except UnicodeDecodeError as error:
            return _broken(f"not valid UTF-8 at byte {error.start}")
        except RecursionError:
            return _broken("nested too deeply")
        except ArithmeticError:
            return _broken("a number out of all range")
        except ValueError as error:
            return _broken(f"not JSON: {error}")
        if not found:
            return _broken("no event in it")
        if unreadable := _unreadable(text, found):
            return Events((), (unreadable,), broken=True)
        faults = [fault for number, (_, value) in enumerate(found) for fault in self._faults(number, value)]
        broken = any(not isinstance(value, _Object) or self._has_no_id(value) for _, value in found)
        ids = self._ids([value for _, value in found], faults) if self._id and not broken else ()
        lines = tuple(raw.translate(_BREAKS) for raw, _ in found)
        return Events(lines, tuple(faults[:MOST_REASONS]), broken, ids)

    def _has_no_id(self, value: Any) -> bool:
        return bool(self._id) and any(value.get(name) is None for name in self._id)

    def _ids(self, values: Sequence[Any], faults: Sequence[Fault]) -> tuple[bytes | None, ...]:
        """Texts count as they are written, numbers by their value."""
        faulty = {fault.event for fault in faults}
        return tuple(
            None
            if number in faulty
            else mark(b"id", json.dumps([_exact(value[name]) for name in self._id]).encode())
            for number, value in enumerate(values)
        )

    def _faults(self, number: int, value: Any) -> Iterator[Fault]:
        if not isinstance(value, _Object):
            yield Fault(number, None, f"expected a JSON object, found {_kind_of(value)}")
            return
        for name in sorted(value.twice):
            yield Fault(number, name, "named twice")
        for name in value.keys() - self._kinds.keys():
            yield Fault(number, name, f"unknown; the columns are {self._names}")
        for name in self._required:
            if value.get(name) is None:
                yield Fault(number, name, "required, and not there")
        for name, kind in self._kinds.items():
            if (given := value.get(name)) is not None and (reason := _misfit(given, kind)):
                yield Fault(number, name, reason)


class _Object(dict[str, Any]):
    """A JSON object, which knows the names that it has ``twice``, and then all values that it was ``given``."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        counts = Counter(names) if len(names) > len(self) else {}
        self.twice = {name for name, number in counts.items() if number > 1}
        self.given = [value for _, value in pairs] if self.twice else None


def _exact(value: Any) -> Any:
    if isinstance(value, Decimal):
        return ["number", str(value.normalize(_EXACT))]
    if isinstance(value, dict):
        return {name: _exact(each) for name, each in value.items()}
    return [_exact(each) for each in value] if isinstance(value, list) else value


def _unreadable(text: str, found: Sequence[tuple[str, Any]]) -> Fault | None:
    """What would stop the batch, and with it all events that wait. Most texts are let through by a look at their characters."""
    if text.count("[") + text.count("{") > DEEPEST:
        for number, (raw, value) in enumerate(found):
            if raw.count("[") + raw.count("{") > DEEPEST and _is_deeper(value, DEEPEST):
                return Fault(number, None, f"nested more than {DEEPEST} levels deep")
    if _LONG_DIGITS.search(text):
        for number, (raw, _) in enumerate(found):
            if _has_long_number(raw):
                return Fault(number, None, f"a number of {LONGEST_NUMBER} characters or more")
    if "\\u" in text:
        for number, (_, value) in enumerate(found):
            if any(not _is_text(each) for each in _leaves(value)):
                return Fault(number, None, "half of a surrogate pair, which is no character")
    return None


def _is_deeper(value: Any, levels: int) -> bool:
    inner = _inner(value)
    return inner is not None and (levels == 0 or any(_is_deeper(each, levels - 1) for each in inner))


def _inner(value: Any) -> Sequence[Any] | None:
    if isinstance(value, _Object):
        return value.given or list(value.values())
    return value if isinstance(value, list) else None


def _leaves(value: Any) -> Iterator[Any]:
    """All values and names in it that have no parts."""
    if isinstance(value, _Object):
        yield from value
    inner = _inner(value)
    if inner is None:
        yield value
    for each in inner or ():
        yield from _leaves(each)


def _has_long_number(raw: str) -> bool:
    lengths: list[int] = []

    def seen(text: str) -> None:
        lengths.append(len(text))

    json.JSONDecoder(parse_float=seen, parse_int=seen).decode(raw)
    return max(lengths, default=0) >= LONGEST_NUMBER


def _is_text(value: Any) -> bool:
    return not isinstance(value, str) or not any("\ud800" <= each <= "\udfff" for each in value)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON value")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_Object, parse_float=Decimal, parse_int=Decimal, parse_constant=_no_constant
)


def _parts(text: str) -> Iterator[tuple[str, Any]]:
    """Each event as it is written, with its value. Raises ValueError (as JSONDecodeError) and RecursionError."""
    at = _after_space(text, 0)
    if text.startswith("[", at):
        yield from _items(text, at + 1)
        return
    while at < len(text):
        value, end = _DECODER.raw_decode(text, at)
        yield text[at:end], value
        at = _after_space(text, end)


def _items(text: str, at: int) -> Iterator[tuple[str, Any]]:
    at = _after_space(text, at)
    if text.startswith("]", at):
        return _at_end(text, at + 1)
    while True:
        value, end = _DECODER.raw_decode(text, at)
        yield text[at:end], value
        at = _after_space(text, end)
        if text.startswith("]", at):
            return _at_end(text, at + 1)
        if not text.startswith(",", at):
            raise json.JSONDecodeError("Expecting ',' or ']'", text, at)
        at = _after_space(text, at + 1)


def _at_end(text: str, at: int) -> None:
    if _after_space(text, at) < len(text):
        raise json.JSONDecodeError("Extra data", text, at)


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _broken(reason: str) -> Events:
    return Events((), (Fault(0, None, reason),), broken=True)


# What fits a column. Where it is not certain that a value does not, it is left to the batch.


def _misfit(value: Any, kind: str) -> str | None:
    name = kind.partition("(")[0].partition("<")[0]
    check = _CHECKS.get(name)
    return None if check is None or check(value) else f"not a value of type {kind}: {_shown(value)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, Decimal)


def _is_whole(bits: int) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if not isinstance(value, Decimal) or value.adjusted() > 20:
            return False
        return value == value.to_integral_value() and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)

    return check


def _is_moment(value: Any) -> bool:
    return isinstance(value, str) and _parses(datetime.fromisoformat, value.strip())


def _is_day(value: Any) -> bool:
    return isinstance(value, str) and _parses(date.fromisoformat, value.strip())


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


_CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "tinyint": _is_whole(8),
    "smallint": _is_whole(16),
    "int": _is_whole(32),
    "bigint": _is_whole(64),
    "float": _is_number,
    "double": _is_number,
    "decimal": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "timestamp": _is_moment,
    "timestamp_ntz": _is_moment,
    "date": _is_day,
    "array": lambda value: isinstance(value, list),
    "struct": lambda value: isinstance(value, dict),
    "map": lambda value: isinstance(value, dict),
}


def _kind_of(value: Any) -> str:
    kinds = {str: "a text", bool: "a boolean", Decimal: "a number", list: "an array", type(None): "null"}
    return kinds.get(type(value), "an object")


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:40]}…"
