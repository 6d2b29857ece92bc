"""An event as the landing file that it would come in: its text in a folder in which nothing else is."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

from lakesmith.errors import UsageError
from lakesmith.project.definitions import Column, CsvOptions, Source, TableName
from lakesmith.project.formats import FORMATS, FileFormat
from lakesmith.sources.formats.csv_records import csv_records
from lakesmith.sources.formats.json import has_values
from lakesmith.sources.formats.json_values import json_values
from lakesmith.sources.formats.text import unpacked
from lakesmith.sources.model import ENDING, segment_name
from lakesmith.whole_file import write_whole

EVENTS: Final = "events"
"""The folder of a project in which events are kept, by table."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_LARGEST: Final = 1_000_000
_LOOKED_AT: Final = 256 * 1024
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)")
_BREAK: Final = re.compile(r"[\r\n]")
_DELIMITED: Final = (FileFormat.CSV, FileFormat.TSV)


def is_packed(source: Source) -> bool:
    """Whether the source's files are no text: an event is then a JSON object in their place."""
    return bool(FORMATS[source.format].packed)


def alone(source: Source) -> Source:
    """Returns the source with a folder inside the project in which it takes every file, however young."""
    path = PurePosixPath(source.path)
    inside = not (source.is_in_store or path.is_absolute() or ".." in path.parts or ":" in source.path)
    given: dict[str, Any] = {"path": source.path if inside else "landing", "since": None, "store": None}
    if is_packed(source):
        given["format"] = FileFormat.JSON
    return replace(source, **given, pattern="*", min_age_seconds=0.0)


def write_event(source: Source, root: Path, text: str) -> None:
    """Writes the text as a file of a source that is ``alone``. Raises UnicodeEncodeError."""
    if source.has_events:
        name = segment_name(datetime.now(UTC), secrets.token_hex(4), 1) + ENDING
    else:
        name = "event" + next(iter(FORMATS[source.format].endings), ".log")
    content = text if text.endswith("\n") else f"{text}\n"
    (root / source.path / name).write_bytes(content.encode(source.csv.encoding))


def text_of(source: Source, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns rows as the source's files have them: lines of CSV, under a header if it has one, or JSON."""
    if source.format not in _DELIMITED:
        return "".join(f"{json.dumps(dict(row), ensure_ascii=False, default=str)}\n" for row in rows)
    names = [column.name for column in columns] or list(dict.fromkeys(name for row in rows for name in row))
    names = [name for name in names if not source.csv.header or any(name in row for row in rows)]
    lines: list[list[str | None]] = [[*names]] if source.csv.header else []
    lines += [[_text(row.get(name)) for name in names] for row in rows]
    return "".join(_csv_line(line, source.csv) for line in lines)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, default=str)


def _csv_line(values: Sequence[str | None], options: CsvOptions) -> str:
    """A line with nothing for NULL, and in quotes what is read as something else without them.

    A line of nothing but one NULL would be blank, and no record: it has the text for NULL, or two quotes.
    """
    cells = [_csv_cell(value, options) for value in values]
    alone = options.null_value or options.quote * 2
    return (alone if cells == [""] else options.delimiter.join(cells)) + "\n"


def _csv_cell(value: str | None, options: CsvOptions) -> str:
    quote = options.quote
    if value is None or not quote:
        return value or ""
    odd = (options.delimiter, quote, options.escape or quote, options.comment or quote, "\n", "\r")
    if value not in ("", options.null_value) and not any(mark in value for mark in odd):
        return value
    escape = options.escape or quote
    escaped = value if escape == quote else value.replace(escape, escape * 2)
    return quote + escaped.replace(quote, escape + quote) + quote


def cut_by_lines(source: Source, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Returns a column whose value would be cut, because a record of the source's files is one line."""
    if source.format not in _DELIMITED or source.csv.multiline:
        return None
    cells = (cell for row in rows for cell in row.items())
    return next((name for name, value in cells if isinstance(value, str) and _BREAK.search(value)), None)


def record_of(path: Path, source: Source, position: int = 1) -> str | None:
    """Returns a record of a text file as a file of its own, with the lines above that it needs: a header,
    comments. None if the record does not begin within the first bytes. Raises OSError, ValueError."""
    if is_packed(source):
        return None
    with unpacked(path) as file:
        text = file.read(_LOOKED_AT).decode(source.csv.encoding, "ignore").lstrip("\ufeff")
    above, records = _records(text, source)
    found = next(islice(records, position - 1, None), None)
    return None if found is None else f"{above}{found}\n"


def _records(text: str, source: Source) -> tuple[str, Iterator[str]]:
    """The records of a file that begins with ``text``, as a batch splits it, and what each needs above it."""
    options, lines = source.csv, text.split("\n")
    if source.format is FileFormat.JSON and has_values(text, len(text) < _LOOKED_AT, source):
        return "", json_values(lines)
    quote = options.quote if options.multiline and source.format in _DELIMITED else ""
    skip = options.skip_lines if source.format is not FileFormat.JSON else 0
    records = csv_records(lines, options.delimiter, quote, options.escape, options.comment, skip)
    above = [each[0] for each in islice(_LINE.finditer(text), skip)]
    if source.format in _DELIMITED and options.header:
        above += [f"{header}\n" for header in islice(records, 1)]
    return "".join(above), records


def require_name(name: str) -> None:
    """Raises UsageError LS279 unless the name is that of a file, and of nothing else."""
    if not _NAME.fullmatch(name):
        expected = "a letter or digit, then letters, digits, - and _, at most 60"
        raise UsageError.of("LS279", "an event cannot have this name", None, expected, name[:80])


def keep_event(root: Path, table: TableName, source: Source, name: str, text: str) -> str:
    """Writes a kept event; returns its path in the project."""
    ending = ".json" if source.has_events else next(iter(FORMATS[alone(source).format].endings), ".log")
    folder = root / EVENTS / str(table)
    folder.mkdir(parents=True, exist_ok=True)
    for other in folder.glob(f"{name}.*"):
        other.unlink()
    path = folder / f"{name}{ending}"
    write_whole(path, text.encode())
    return path.relative_to(root).as_posix()


def kept_events(root: Path, table: TableName) -> Iterator[tuple[str, str]]:
    """Yields the names and texts of kept events, by name."""
    folder = root / EVENTS / str(table)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if _NAME.fullmatch(path.stem) and path.is_file() and path.stat().st_size <= _LARGEST:
            yield path.stem, path.read_text(encoding="utf-8", errors="replace")
