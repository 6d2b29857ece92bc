"""The lines of their files on which bad rows stand, where that can be told: from the files as they lie there now.

A row's position counts records, as Spark's reader of text does: the header and lines of nothing but blanks are none. A line is
told only of a file that is as it was taken, and was read as a whole, line by line.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lakesmith import limits
from lakesmith.execute.quarantine_rows import BadRow
from lakesmith.project.definitions import Source, TableDefinition
from lakesmith.sources.formats.interface import ColumnsIn
from lakesmith.sources.formats.registry import landing_format
from lakesmith.sources.headers import read_shape
from lakesmith.sources.shape import UnreadableFile

Place = tuple[str, int]
"""A file and a position in it."""


def line_numbers(rows: Iterable[BadRow], table: TableDefinition, root: Path) -> Mapping[Place, int]:
    """The line, from 1, of each of ``rows`` whose line can be told, by its file and position."""
    if len(table.sources) != 1 or not landing_format(table.sources[0]).has_lines(table.sources[0]):
        return {}
    wanted: dict[tuple[str, int], set[int]] = defaultdict(set)
    for row in rows:
        if row.file and row.position is not None and row.modified_ms is not None:
            wanted[row.file, row.modified_ms].add(row.position)
    return {
        (file, position): line
        for (file, modified_ms), positions in wanted.items()
        for position, line in _lines_of(root / file, modified_ms, positions, table.sources[0])
    }


def _lines_of(path: Path, modified_ms: int, positions: set[int], source: Source) -> Iterator[tuple[int, int]]:
    try:
        stat = path.stat()
        if stat.st_mtime_ns // 1_000_000 != modified_ms or stat.st_size >= limits.LARGE_FILE_BYTES:
            return
        layout = read_shape(path, source).layout
        if layout.is_stream:
            return
        first = (
            layout.first_record(source.csv) if landing_format(source).columns_in is ColumnsIn.HEADER else 0
        )
        opened = gzip.open if path.suffix == ".gz" else open
        # Of any encoding that has ASCII in it; universal newlines are LF, CRLF and CR, as Hadoop's are.
        with opened(path, "rt", encoding="latin-1") as lines:
            yield from _numbered(lines, positions, first, source.csv.comment)
    except (OSError, UnreadableFile):
        # The file has gone, or cannot be read now: then the line cannot be told.
        return


def _numbered(
    lines: Iterable[str], positions: set[int], first: int, comment: str
) -> Iterator[tuple[int, int]]:
    position, last = 0, max(positions)
    for number, line in enumerate(lines):
        if number < first or not line.strip(" \n") or (comment and line.startswith(comment)):
            continue
        position += 1
        if position in positions:
            yield position, number + 1
        if position >= last:
            return
