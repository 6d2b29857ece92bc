"""CSV and TSV: a header, as Spark's reader sees it (leading blank lines are skipped), and lines of values.

Only the header is read, and whether a row follows it.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial

from lakesmith.project.definitions import CsvOptions, OnNewColumn, Source
from lakesmith.sources.formats.csv_records import csv_records
from lakesmith.sources.formats.text import decode, line_counter, needs_stream, read_start, record_counter
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, Layout, UnreadableFile, check_names

_FIRST = 16 * 1024
_LARGEST = 8 * 1024 * 1024
_LOOKED_AT = 20
_REPLACEMENT = "\ufffd"
# A character no text file has. It replaces a delimiter of several characters, which the csv module lacks.
_ONE_DELIMITER = "\x1f"


def read_csv_shape(path: LandingFile, source: Source) -> FileShape:
    """Returns the shape of one file; without a header it has no columns.

    Raises UnreadableFile (LS422 damaged, LS423 two columns of one name, LS424 a column without one, LS425
    encoding, LS426 compression, LS427 header does not end) and OSError.
    """
    size = _FIRST
    while True:
        data, whole = read_start(path, size)
        shape = _shape(decode(data, source.csv.encoding, whole), whole, source)
        if shape is not None:
            return shape
        if size >= _LARGEST:
            raise _endless(f"no end in {_LARGEST // 1024**2} MiB")
        size *= 8


def _shape(text: str, whole: bool, source: Source) -> FileShape | None:
    """The shape, None if ``text`` is too short for it."""
    lines = _Lines(io.StringIO(text, newline=""))
    for _ in itertools.islice(lines, source.csv.skip_lines):
        pass
    columns: tuple[str, ...] = ()
    if source.csv.header:
        header = _header(lines, whole, source)
        if header is None and not whole:
            return None
        columns = header or ()
    before = lines.given if lines.given != int(source.csv.header) else None
    rest = list(itertools.islice((line for line in lines if not _is_none(line, source)), _LOOKED_AT))
    if not rest and not whole:
        return None
    _check_titles(columns, rest, source)
    return FileShape(columns, (None,) * len(columns), empty=not rest, layout=Layout(lines_before=before))


def _is_none(line: str, source: Source) -> bool:
    """Whether a line is skipped: blank, as Spark's reader sees it (a tab is not blank), or a comment."""
    comment = source.csv.comment
    return not line.strip(" \r\n") or bool(comment and line.startswith(comment))


def _header(lines: _Lines, whole: bool, source: Source) -> tuple[str, ...] | None:
    """The header's cells, None if it does not end here; removes its lines from ``lines``."""
    first = next((line for line in lines if not _is_none(line, source)), None)
    if first is None:
        return None
    record = _Lines(itertools.chain((first,), lines if source.csv.multiline else ()))
    cells = _cells(record, source)
    cut = not whole and not record.last.endswith(("\n", "\r"))
    if record.ran_out or cut:
        if whole or not (cut or source.csv.multiline):
            raise _endless("a quote that is not closed")
        return None
    _check_text(cells, source)
    _check_separator(first)
    # A column without a name is left out like others that the table lacks: an index that some program wrote.
    check_names(cells if source.on_new_column is not OnNewColumn.IGNORE else tuple(filter(str.strip, cells)))
    return cells


def _check_separator(line: str) -> None:
    if re.fullmatch(r'"?sep=(.|\\t)?"?\s*', line, re.IGNORECASE):
        raise UnreadableFile(
            "LS435",
            "its first line is no header",
            "a header of column names",
            repr(line.strip()),
            "it declares the delimiter for spreadsheets: set `skip_lines: 1` for this source (and"
            " `delimiter` to it)",
        )


def _has_several(line: str, source: Source) -> bool:
    try:
        return len(cells_of(line, source)) > 1
    except UnreadableFile:
        return False


def _check_titles(columns: tuple[str, ...], rows: list[str], source: Source) -> None:
    """Raises UnreadableFile LS435 if most lines have several values and the header has one column."""
    if len(columns) != 1 or source.on_new_column is not OnNewColumn.EVOLVE:
        return
    most = sum(_has_several(row, source) for row in rows)
    if most >= 2 and most > len(rows) / 2:
        raise UnreadableFile(
            "LS435",
            "its first line has one column, and most others have several",
            "a header of column names",
            repr(columns[0]),
            "set `skip_lines` if there are lines before the header, or `delimiter` as the file has it",
        )


class _Lines(Iterator[str]):
    """Lines that count what was read, keep the last one, and note a read beyond their end."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.last, self.given = "", 0
        self.ran_out = False

    def __next__(self) -> str:
        try:
            self.last = next(self._lines)
            self.given += 1
        except StopIteration:
            self.ran_out = True
            raise
        return self.last


def cells_of(line: str, source: Source) -> tuple[str, ...]:
    """The cells of one line. Raises UnreadableFile LS422 if it is not CSV."""
    return _cells(iter((line,)), source)


def _cells(lines: Iterator[str], source: Source) -> tuple[str, ...]:
    options, delimiter = source.csv, source.csv.delimiter
    single = delimiter if len(delimiter) == 1 else _ONE_DELIMITER
    if single != delimiter:
        lines = (line.replace(delimiter, single) for line in lines)
    doubled = not options.quote or options.escape in ("", options.quote)
    reader = csv.reader(
        lines,
        delimiter=single,
        quotechar=options.quote or None,
        quoting=csv.QUOTE_MINIMAL if options.quote else csv.QUOTE_NONE,
        doublequote=doubled,
        escapechar=None if doubled else options.escape,
    )
    try:
        cells = next(reader)
    except csv.Error as error:
        raise UnreadableFile(
            "LS422", "its header cannot be read", "a header of CSV cells", str(error)
        ) from error
    return tuple(cell if single == delimiter else cell.replace(single, delimiter) for cell in cells)


def _check_text(cells: tuple[str, ...], source: Source) -> None:
    text = "".join(cells)
    if "\0" in text:
        raise UnreadableFile("LS422", "it is not a text file", "a header of CSV cells", "bytes of value 0")
    if _REPLACEMENT in text:
        raise UnreadableFile(
            "LS425",
            "its header is not in the declared encoding",
            source.csv.encoding,
            repr(next(cell for cell in cells if _REPLACEMENT in cell)),
            "set `encoding` for this source, such as windows-1252",
        )


def _endless(found: str) -> UnreadableFile:
    return UnreadableFile(
        "LS427",
        "its header does not end",
        "a header in one line, or `multiline: true`",
        found,
        "close the quote, or set `quote` as the file has it",
    )


def splitter(csv: CsvOptions, layout: Layout) -> partial[Iterator[str]]:
    """Returns what splits a file's lines into records where records are not lines (``csv_records``)."""
    return partial(
        csv_records,
        delimiter=csv.delimiter,
        quote=csv.quote if csv.multiline else "",
        escape=csv.escape,
        comment=csv.comment,
        skip=layout.first_record(csv),
    )


def csv_counter(source: Source, layout: Layout) -> Callable[[LandingFile], int]:
    csv = source.csv
    if needs_stream(csv):
        counted = record_counter(splitter(csv, layout), csv.encoding)
    else:
        counted = line_counter(layout.first_record(csv), csv.comment)
    return lambda path: max(0, counted(path) - csv.skip_last)
