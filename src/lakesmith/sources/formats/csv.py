"""CSV and TSV: a header, read as Spark's reader sees it (leading blank lines are no header), and lines of values.

Only as much of a file is read as the decision needs: the header, and whether a row follows it.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from typing import Final

from lakesmith.project.definitions import FileSource
from lakesmith.sources.formats.interface import LandingFormat
from lakesmith.sources.formats.text import decode, line_counter, needs_stream, read_packed, read_start
from lakesmith.sources.landing_file import LandingFile
from lakesmith.sources.shape import FileShape, UnreadableFile, check_names

_FIRST = 16 * 1024
_LARGEST = 8 * 1024 * 1024
_REPLACEMENT = "\ufffd"
# A character no text file has, in the place of a delimiter of several characters, which the csv module does not know.
_ONE_DELIMITER = "\x1f"


def read_csv_shape(path: LandingFile, source: FileSource) -> FileShape:
    """The shape of one file; without a header it has no columns.

    Raises UnreadableFile (LS422 damaged, LS423 two columns of one name, LS424 a column without one, LS425 encoding,
    LS426 compression, LS427 header does not end) and OSError.
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


def _shape(text: str, whole: bool, source: FileSource) -> FileShape | None:
    """The shape, None when ``text`` is too short to tell."""
    lines = itertools.dropwhile(_is_blank, io.StringIO(text, newline=""))
    columns: tuple[str, ...] = ()
    if source.csv.header:
        header = _header(lines, whole, source)
        if header is None and not whole:
            return None
        columns = header or ()
    has_row = not all(map(_is_blank, lines))
    if not has_row and not whole:
        return None
    return FileShape(columns, (None,) * len(columns), empty=not has_row)


def _is_blank(line: str) -> bool:
    # As Spark's reader sees it: tabs make no line blank.
    return not line.strip(" \r\n")


def _header(lines: Iterator[str], whole: bool, source: FileSource) -> tuple[str, ...] | None:
    """The header's cells, None when there is no line or it does not end here; takes its lines off ``lines``."""
    first = next(lines, None)
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
    check_names(cells)
    return cells


class _Lines(Iterator[str]):
    """Lines that remember the last one given, and whether one more was asked for than there is."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.last = ""
        self.ran_out = False

    def __next__(self) -> str:
        try:
            self.last = next(self._lines)
        except StopIteration:
            self.ran_out = True
            raise
        return self.last


def cells_of(line: str, source: FileSource) -> tuple[str, ...]:
    """The cells of one line. Raises UnreadableFile LS422 for what is none of CSV."""
    return _cells(iter((line,)), source)


def _cells(lines: Iterator[str], source: FileSource) -> tuple[str, ...]:
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


def _check_text(cells: tuple[str, ...], source: FileSource) -> None:
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


def _lines_before(source: FileSource) -> int | None:
    return None if needs_stream(source.csv) else int(source.csv.header)


CSV: Final = LandingFormat(
    read_csv_shape,
    read_packed,
    lambda source: line_counter(source, source.csv.header),
    _lines_before,
    has_header=True,
)
