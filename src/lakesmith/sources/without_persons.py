"""Removes the records of persons from the content of a landing file: CSV, TSV and JSON lines. No file is
touched.

A record is a person's if its cells, or its keys, have one of the person's values in each of the columns. A
line that cannot be parsed is a person's if all of the values occur in its text.
"""

from __future__ import annotations

import bz2
import gzip
import json
import re
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lakesmith.project.definitions import Source
from lakesmith.project.formats import FileFormat
from lakesmith.sources.formats.csv import cells_of
from lakesmith.sources.formats.json import has_values
from lakesmith.sources.formats.json_values import json_values
from lakesmith.sources.formats.packed import unpacked_bytes
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.formats.text import decode
from lakesmith.sources.shape import UnreadableFile

_STARTS: Final = {b"\x1f\x8b": ".gz", b"BZh": ".bz2"}
_PACK: Final[dict[str, Callable[[bytes], bytes]]] = {
    ".gz": lambda content: gzip.compress(content, mtime=0),
    ".bz2": bz2.compress,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Selects records: the names that each column may have in a file (lower case), and each person's
    ``values``, as texts.

    ``declared``: the names of a file's columns in order, if it has no header.
    """

    names: tuple[frozenset[str], ...]
    values: tuple[tuple[str, ...], ...]
    declared: tuple[str, ...] = ()

    def are_in(self, record: Sequence[tuple[str, str | None]]) -> bool:
        return any(all(self._has(record, at, value) for at, value in enumerate(each)) for each in self.values)

    def _has(self, record: Sequence[tuple[str, str | None]], at: int, value: str) -> bool:
        cells = (cell for name, cell in record if name.lower() in self.names[at])
        return any(cell is not None and value in (cell, cell.strip()) for cell in cells)

    def stand_in(self, text: str) -> bool:
        """Whether all values of a person occur in a text, without a letter or digit beside them."""
        return any(all(_mentions(text, value) for value in each) for each in self.values)


def stand_in_file(wanted: Wanted, content: bytes) -> bool:
    """Whether all values of a person occur in a file of any format.

    The file may be packed, in UTF-8, UTF-16 or Latin-1, or escaped as in JSON.
    """
    suffix = next((ending for start, ending in _STARTS.items() if content.startswith(start)), "")
    try:
        content = unpacked_bytes(content, suffix)
    except (OSError, EOFError, ValueError, zlib.error):
        return True
    escaped = tuple(tuple(json.dumps(value)[1:-1] for value in each) for each in wanted.values)
    wide = ("utf-16-le", "utf-16-be") if b"\0" in content[:4] else ()
    texts = [content.decode(encoding, "replace") for encoding in ("utf-8", "latin-1", *wide)]
    return any(each.stand_in(text) for each in (wanted, replace(wanted, values=escaped)) for text in texts)


def why_not(source: Source) -> str | None:
    """Returns why files of a source cannot be rewritten; None if they can."""
    if source.format not in (FileFormat.CSV, FileFormat.TSV, FileFormat.JSON):
        return f"files of {source.format.value} are not rewritten"
    if not landing_format(source).has_lines(source):
        return "its records are not lines"
    return None


def without_persons(content: bytes, suffix: str, source: Source, wanted: Wanted) -> tuple[bytes, int]:
    """Returns the content, packed as it was, and the number of records removed. ``suffix``: such as ``.gz``.

    Raises OSError, EOFError or zlib.error if it cannot be unpacked, UnreadableFile for an unknown encoding.
    """
    suffix = suffix.lower()
    plain = unpacked_bytes(content, suffix)
    if source.format is FileFormat.JSON and has_values(
        decode(plain, source.csv.encoding, True), True, source
    ):
        left, gone = _values_without(plain, source, wanted)
        return (_PACK.get(suffix, bytes)(left), gone) if gone else (content, 0)
    lines = plain.splitlines(keepends=True)
    none = source.csv.comment.encode() or b"\n"
    before = source.csv.skip_lines if source.format is not FileFormat.JSON else 0
    filled = (at for at, line in enumerate(lines) if line.strip(b" \r\n") and not line.startswith(none))
    first = next((at for at in filled if at >= before), len(lines))
    is_theirs, begin = _judge(lines, first, source, wanted)
    kept = [line for at, line in enumerate(lines) if at < begin or not is_theirs(_text(line, source))]
    if len(kept) == len(lines):
        return content, 0
    return _PACK.get(suffix, bytes)(b"".join(kept)), len(lines) - len(kept)


def _values_without(content: bytes, source: Source, wanted: Wanted) -> tuple[bytes, int]:
    """The content of a JSON file of values. A value that stays keeps its separator before it."""
    text = content.decode(source.csv.encoding, "surrogateescape")
    kept: list[str] = []
    end, gone, begins = 0, 0, True
    for value in json_values([text]):
        begin = text.find(value, end)
        if begin < 0:  # the last array is not closed
            break
        between, end = text[end:begin], begin + len(value)
        if not kept or "[" in between or "]" in between:
            kept.append(between)
            between, begins = "", True
        if _is_in_json(value, wanted):
            gone += 1
        else:
            kept += ["" if begins else between, value]
            begins = False
    return "".join((*kept, text[end:])).encode(source.csv.encoding, "surrogateescape"), gone


def _judge(
    lines: Sequence[bytes], first: int, source: Source, wanted: Wanted
) -> tuple[Callable[[str], bool], int]:
    """What recognises a person's line, and the line at which records begin."""
    if source.format is FileFormat.JSON:
        return lambda line: _is_in_json(line, wanted), first
    names, begin = wanted.declared, first
    if source.csv.header and first < len(lines):
        names, begin = cells_of(_text(lines[first], source), source), first + 1
    return lambda line: _is_in_csv(line, names, source, wanted), begin


def _is_in_csv(line: str, names: Sequence[str], source: Source, wanted: Wanted) -> bool:
    if not line.strip(" "):
        return False
    try:
        cells = cells_of(line, source)
    except UnreadableFile:
        return wanted.stand_in(line)
    if len(cells) != len(names):
        return wanted.stand_in(line)
    return wanted.are_in(list(zip(names, cells, strict=True)))


def _is_in_json(line: str, wanted: Wanted) -> bool:
    try:
        # Numbers stay as they are written.
        record = json.loads(line, parse_int=str, parse_float=str, object_pairs_hook=list)
    except ValueError:
        return wanted.stand_in(line)
    if not isinstance(record, list) or not all(isinstance(pair, tuple) for pair in record):
        return wanted.stand_in(line)
    return wanted.are_in([(name, _as_text(value)) for name, value in record])


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None


def _text(line: bytes, source: Source) -> str:
    return decode(line, source.csv.encoding, whole=True).rstrip("\r\n")


def _mentions(text: str, value: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(value)}(?![^\W_])", text) is not None


def names_in_files(columns: Collection[tuple[str, str | None]], name: str) -> frozenset[str]:
    """The names that a column may have in a file: its own, and its earlier one."""
    former = (before for now, before in columns if now.lower() == name.lower() and before is not None)
    return frozenset({name.lower(), *(before.lower() for before in former)})
