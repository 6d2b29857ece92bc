"""Splits text into its JSON values: glued together, over several lines, or the elements of an array.

Uses the standard library only: Spark's workers get this module itself (``lakesmith.spark.read.in_python``).

Each value is one record, its text as it came. White space and commas between values do not count. Text that
is not JSON is one record, from where the value began to the next line that begins with ``{``, with the
indentation of the line on which the value began.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

_CHUNK: Final = 1 << 16
_BETWEEN: Final = re.compile(r"[ \t\r\n,]*")


def json_values(lines: Iterable[str]) -> Iterator[str]:
    """Yields the values in a file's lines, in order, and ``[`` for an array that was cut off."""
    return _Stream(iter(lines)).values()


def is_stream(text: str, whole: bool) -> bool | None:
    """Whether a file that begins with ``text`` has values that are not lines. None: a longer text is needed.

    A line that is not JSON says nothing if the next one begins with ``{``. ``whole``: the text is all of the
    file.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    is_cut = not whole and "\n" not in text.lstrip()
    text = text if whole or is_cut else text[: text.rindex("\n")]
    decode, at = _decoder(), _after(text, 0)
    if text.startswith("[", at):
        return True
    while at < len(text):
        end = text.find("\n", at) if "\n" in text[at:] else len(text)
        stop, fault = decode(text, at)
        if _goes_on(text, end, stop, fault):
            return True
        if fault and end == len(text) and not whole and (is_cut or stop >= end):
            return None
        at = _after(text, end)
    return False


def _goes_on(text: str, end: int, stop: int, fault: str | None) -> bool:
    """Whether a value is not the line that ends at ``end``: it continues, or another one follows."""
    if fault is None and text[stop:end].strip().startswith(("{", "[", ",")):
        return True
    below = text[end:stop].strip()
    return bool(below) and (fault is None or not below.startswith("{"))


def _after(text: str, at: int) -> int:
    """Where the next value begins."""
    found = _BETWEEN.match(text, at)
    assert found is not None
    return found.end()


def _decoder() -> Callable[[str, int], tuple[int, str | None]]:
    """Finds where the value at a place of a text ends, or where and why it is wrong."""
    raw = json.JSONDecoder(parse_int=str, parse_float=str, object_pairs_hook=lambda _: None).raw_decode

    def decode(text: str, at: int) -> tuple[int, str | None]:
        try:
            return raw(text, at)[1], None
        except json.JSONDecodeError as error:
            return error.pos, error.msg
        except RecursionError:
            return at + 1, "nested too deeply"

    return decode


class _Stream:
    """The text still to be split, and where in it the next value is searched."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._text, self._at, self._ended = "", 0, False
        self._indent, self._in_array = "", False
        self._decode = _decoder()

    def values(self) -> Iterator[str]:
        self._read()
        self._text = self._text.removeprefix("\ufeff")
        while self._skip():
            if self._text[self._at] == "[" and not self._in_array:
                self._in_array, self._at = True, self._at + 1
            elif self._text[self._at] == "]" and self._in_array:
                self._in_array, self._at = False, self._at + 1
            else:
                yield self._value()
        if self._in_array:
            yield "["

    def _skip(self) -> bool:
        """Moves to where the next value begins. False if there is no more."""
        while True:
            begin = self._at
            self._at = _after(self._text, begin)
            line = self._text.rfind("\n", begin, self._at)
            if line >= 0 or not begin:
                self._indent = self._text[max(line + 1, begin) : self._at]
            if self._at < len(self._text):
                return True
            if not self._read():
                return False

    def _value(self) -> str:
        stop, fault = self._decode(self._text, self._at)
        while fault and stop >= len(self._text) and self._read():
            stop, fault = self._decode(self._text, self._at)
        if fault:
            stop = self._next_line(stop)
        value, self._at = self._text[self._at : stop], stop
        return value.rstrip()

    def _next_line(self, at: int) -> int:
        """Where the next line begins, from ``at`` on, that can begin a value."""
        begin, mark = max(self._at, at - len(self._indent) - 1), f"\n{self._indent}{{"
        while (found := self._text.find(mark, begin)) < 0:
            begin, kept = max(begin, len(self._text) - len(mark)), self._at
            if not self._read():
                return len(self._text)
            begin -= kept
        return found + 1

    def _read(self) -> bool:
        """Reads on, at least as much as is left, and drops what was split. False at the end."""
        if self._ended:
            return False
        left = self._text[self._at :]
        parts, size, wanted = [left] if left else [], 0, max(_CHUNK, len(left))
        while size < wanted and not self._ended:
            line = next(self._lines, None)
            if line is None:
                self._ended = True
            else:
                parts.append(line)
                size += len(line) + 1
        self._text, self._at = "\n".join(parts), 0
        return size > 0
