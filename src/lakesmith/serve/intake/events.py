"""The events in a request's body (one JSON object, an array of them, or one a line), and their faults.

An event is kept as it was written, so that no digit is lost. Its values are validated by
``sources.event_values``; the batch that ingests it validates them again, as the definition may have changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakesmith.project.definitions import Column
from lakesmith.quoting import compositions, told_apart
from lakesmith.serve.intake.frames import mark
from lakesmith.sources.columns.fields import dotted
from lakesmith.sources.event_values import (
    LONGEST_EXPONENT,
    LONGEST_NUMBER,
    Misfit,
    Number,
    Object,
    exact_of,
    out_of_range,
)
from lakesmith.sources.formats.text import one_line

MOST_REASONS: Final = 100
"""The maximum number of reasons in the answer to a request."""

DEEPEST: Final = 100
LONGEST_NAME: Final = 50_000
"""Levels of nesting, and characters of a name, that readers support: Spark's limits are 1,000 and this."""

# One of the three parts of a number that is too long (before the point, after it, exponent) is this long.
_LONG_DIGITS: Final = re.compile(
    rf"(?<!\d)\d{{{LONGEST_NUMBER // 4}}}|\d[eE][+-]?\d{{{LONGEST_EXPONENT + 1}}}"
)
_SPACE: Final = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of an event: its number in the request, from 0, and the column, None for the whole event.

    ``stops``: whether it would stop the batch that ingests it.
    """

    event: int
    column: str | None
    reason: str
    stops: bool = False

    def __str__(self) -> str:
        column = f"column {self.column}: " if self.column else ""
        return f"event {self.event}: {column}{self.reason}"

    def as_dict(self) -> dict[str, Any]:
        return {"event": self.event, "column": self.column, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a body as lines, with their faults. ``broken``: no event can be accepted.

    ``ids``: the marks of the events, None for one with faults; empty if the source has no ids.
    """

    lines: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    broken: bool = False
    ids: tuple[bytes | None, ...] = ()

    @property
    def summary(self) -> str:
        """The first fault, and how many others there are."""
        first, *others = self.faults
        number = f"{len(others)}{' or more' if len(self.faults) == MOST_REASONS else ''}"
        return f"{first} (and {number} more: see reasons)" if others else str(first)

    def as_lines(self) -> bytes:
        """Returns JSON lines, each with its newline."""
        return "".join(f"{line}\n" for line in self.lines).encode()


class EventReader:
    """Reads the events of one source. ``event_id``: the columns that identify an event."""

    def __init__(self, columns: Sequence[Column], event_id: Sequence[str] = ()) -> None:
        self._rules = {column.name: exact_of(column.type or "string") for column in columns}
        earlier = {column.renamed_from: column.name for column in columns if column.renamed_from}
        self._earlier = {old: new for old, new in earlier.items() if old not in self._rules}
        # Names that only look like a column's: some systems write accents as characters of their own.
        self._earlier |= {
            other: name for name in self._rules for other in compositions(name) if other not in self._rules
        }
        required = dict.fromkeys(column.name for column in columns if column.required)
        self._required = tuple(dict.fromkeys((*required, *event_id)))
        self._id = tuple(event_id)
        self._names = ", ".join(self._rules)

    def read(self, body: bytes) -> Events:
        """Returns the events of a body, which is UTF-8."""
        try:
            text = body.decode()
            found = list(_parts(text))
        except UnicodeDecodeError as error:
            return _broken(f"not valid UTF-8 at byte {error.start}")
        except RecursionError:
            return _broken("nested too deeply")
        except ValueError as error:
            return _broken(f"not JSON: {error}")
        if not found:
            return _broken("the body has no event")
        if unreadable := _unreadable(text, found):
            return Events((), (unreadable,), broken=True)
        checked = [
            self._checked(number, self._as_named_now(value)) for number, (_, value) in enumerate(found)
        ]
        faults = [fault for some, _ in checked for fault in some]
        broken = any(not isinstance(value, Object) or self._has_no_id(value) for _, value in found)
        broken = broken or any(fault.stops for fault in faults)
        ids = tuple(each for _, each in checked) if self._id and not broken else ()
        lines = tuple(one_line(raw) for raw, _ in found)
        return Events(lines, tuple(faults[:MOST_REASONS]), broken, ids)

    def _as_named_now(self, value: Any) -> Any:
        """Gives an event the columns' names in place of earlier ones (``renamed_from``), and of names that
        look the same."""
        for old, new in self._earlier.items():
            if isinstance(value, Object) and old in value and new not in value:
                value[new] = value.pop(old)
        return value

    def _has_no_id(self, value: Any) -> bool:
        return bool(self._id) and any(value.get(name) is None for name in self._id)

    def _checked(self, number: int, value: Any) -> tuple[list[Fault], bytes | None]:
        """Returns the faults of an event, or the mark of its id, which is that of equal values."""
        if not isinstance(value, Object):
            return [Fault(number, None, f"expected a JSON object, found {_kind_of(value)}")], None
        faults, values = list(self._odd_names(number, value)), {}
        for name, rule in self._rules.items():
            if (given := value.get(name)) is not None:
                try:
                    values[name] = rule(given)
                except Misfit as misfit:
                    faults.append(Fault(number, dotted((name, *misfit.path)), misfit.reason, misfit.stops))
        if faults or not self._id:
            return faults, None
        return [], mark(b"id", repr([values[name] for name in self._id]).encode())

    def _odd_names(self, number: int, value: Object) -> Iterator[Fault]:
        for name in value.twice:
            yield Fault(number, name, "named twice")
        for name in value.keys() - self._rules.keys():
            numbers = told_apart(name, self._rules).removeprefix(name)
            yield Fault(number, name, f"unknown{numbers}; the columns are {self._names}")
        for name in self._required:
            if value.get(name) is None:
                yield Fault(number, name, "required, and not there")


def _unreadable(text: str, found: Sequence[tuple[str, Any]]) -> Fault | None:
    """Returns a fault that would stop the batch; for most texts their characters rule that out."""
    for may_be, test in _STOPPING:
        if may_be(text):
            for number, (raw, value) in enumerate(found):
                if may_be(raw) and (reason := test(value)):
                    return Fault(number, None, reason)
    return None


def _too_deep(value: Any) -> str | None:
    return f"nested more than {DEEPEST} levels deep" if _is_deeper(value, DEEPEST) else None


def _too_far(value: Any) -> str | None:
    numbers = (each for each in _leaves(value) if isinstance(each, Number))
    return next(filter(None, map(out_of_range, numbers)), None)


def _too_long(value: Any) -> str | None:
    is_long = any(len(name) > LONGEST_NAME for name in _names(value))
    return f"a name of more than {LONGEST_NAME:,} characters" if is_long else None


def _half(value: Any) -> str | None:
    return None if all(map(_is_text, _leaves(value))) else "half of a surrogate pair, which is no character"


def _is_deeper(value: Any, levels: int) -> bool:
    inner = _inner(value)
    return inner is not None and (levels == 0 or any(_is_deeper(each, levels - 1) for each in inner))


def _inner(value: Any) -> Sequence[Any] | None:
    if isinstance(value, Object):
        return value.given or list(value.values())
    return value if isinstance(value, list) else None


def _names(value: Any) -> Iterator[str]:
    """Yields all names in a value."""
    if isinstance(value, Object):
        yield from value
    for each in _inner(value) or ():
        yield from _names(each)


def _leaves(value: Any) -> Iterator[Any]:
    """Yields all values without parts, and all names."""
    if isinstance(value, Object):
        yield from value
    inner = _inner(value)
    if inner is None:
        yield value
    for each in inner or ():
        yield from _leaves(each)


_STOPPING: Final[tuple[tuple[Callable[[str], object], Callable[[Any], str | None]], ...]] = (
    (lambda text: text.count("[") + text.count("{") > DEEPEST, _too_deep),
    (_LONG_DIGITS.search, _too_far),
    (lambda text: len(text) > LONGEST_NAME, _too_long),
    (lambda text: "\\u" in text, _half),
)
"""Quick tests of a text for faults that stop a batch, each with the test that decides."""


def _is_text(value: Any) -> bool:
    return not isinstance(value, str) or not any("\ud800" <= each <= "\udfff" for each in value)


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=Object, parse_float=Number, parse_int=Number, parse_constant=_no_constant
)


def _parts(text: str) -> Iterator[tuple[str, Any]]:
    """Yields each event as it is written, with its value. Raises ValueError, RecursionError."""
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


def _kind_of(value: Any) -> str:
    kinds = {str: "a text", bool: "a boolean", Number: "a number", list: "an array", type(None): "null"}
    return kinds.get(type(value), "an object")
