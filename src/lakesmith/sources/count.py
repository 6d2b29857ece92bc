"""Counts the records of landing files without Spark: the other side of a sourced batch's row account.

What Spark counts and what it writes come from one scan, so they agree also when a file was read twice or a part of it not
at all. This count comes from the bytes alone. A record of CSV, TSV and JSON is a line that is not blank (only spaces), lines
end in LF, CRLF or CR as Hadoop reads them, and the first line of a file with a header is none. Parquet files say their rows.
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from lakesmith.project.definitions import FileFormat, FileSource
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.threads import map_in_threads

_CHUNK = 8 * 1024 * 1024
_LINE_END = re.compile(rb"\r\n|\n|\r")
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
"""How files are opened whose names say that they are compressed."""

_BOM = b"\xef\xbb\xbf"
_WIDE = ("UTF-16", "UTF-32")


def count_records(files: Iterable[FileIdentity], source: FileSource, root: Path) -> int | None:
    """The number of records in the files; None for what cannot be counted so (Avro, values with line breaks, UTF-16).

    Raises OSError when a file cannot be read.
    """
    if (
        source.format is FileFormat.AVRO
        or source.csv.multiline
        or source.csv.encoding.upper().startswith(_WIDE)
    ):
        return None
    return sum(map_in_threads(partial(_count, source=source, root=root), list(files)))


def _count(file: FileIdentity, source: FileSource, root: Path) -> int:
    path = absolute_path(file.path, root)
    if source.format is FileFormat.PARQUET:
        return _parquet_rows(path) if file.size else 0
    has_header = source.format is not FileFormat.JSON and source.csv.header
    opener = OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(path, "rb") as stream:
            return count_lines(stream, has_header)
    except (EOFError, zlib.error) as error:
        raise OSError(f"{file.path} is damaged: {error}") from error


def count_lines(stream: IO[bytes], has_header: bool) -> int:
    """The lines that are not blank, without the first one if it is a header."""
    total, first = 0, True
    for chunk in _whole_lines(stream):
        if first:
            chunk = _without_first_line(chunk) if has_header else chunk.removeprefix(_BOM)
            first = False
        total += _filled_lines(chunk)
    return total


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The file in pieces that end where a line does."""
    rest = b""
    while block := stream.read(_CHUNK):
        block = rest + block
        cut = block.rfind(b"\n") + 1
        if cut:
            yield block[:cut]
        rest = block[cut:]
    if rest:
        yield rest


def _without_first_line(chunk: bytes) -> bytes:
    end = _LINE_END.search(chunk)
    return chunk[end.end() :] if end else b""


def _filled_lines(chunk: bytes) -> int:
    plain = chunk.replace(b"\r\n", b"\n") if b"\r" in chunk else chunk
    odd = b"\r" in plain or b"\n\n" in plain or b"\n " in plain or plain.startswith((b"\n", b" "))
    if not odd:
        return plain.count(b"\n") + (bool(plain) and not plain.endswith(b"\n"))
    return sum(1 for line in _LINE_END.split(plain) if line.strip(b" "))


def _parquet_rows(path: Path) -> int:
    import pyarrow.parquet

    return int(pyarrow.parquet.read_metadata(path).num_rows)
