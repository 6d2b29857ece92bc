"""Is a file whole? Read to its end without Spark: asked only once a batch has failed over its files."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from lakesmith.project.definitions import FileFormat, FileSource, TableName
from lakesmith.sources.avro_header import check_avro_blocks
from lakesmith.sources.bad_files import BadFile, unreadable
from lakesmith.sources.count import OPENERS
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import UnreadableFile
from lakesmith.sources.threads import map_in_threads

_CHUNK: Final = 8 * 1024 * 1024


def damaged_files(
    files: Iterable[FileIdentity], source: FileSource, root: Path, table: TableName
) -> list[BadFile]:
    """Those of the files that cannot be read to their end: cut or damaged compression, Parquet pages, Avro blocks."""
    found = map_in_threads(partial(_judged, source=source, root=root, table=table), list(files))
    return [bad for bad in found if bad is not None]


def _judged(file: FileIdentity, source: FileSource, root: Path, table: TableName) -> BadFile | None:
    try:
        if file.size:
            read_whole(absolute_path(file.path, root), source.format)
    except (OSError, UnreadableFile) as error:
        return unreadable(file, source, error, table)
    return None


def read_whole(path: Path, file_format: FileFormat) -> None:
    """Reads a file to its end. Raises UnreadableFile LS422 where it is damaged, and OSError."""
    readers: dict[FileFormat, Callable[[Path], None]] = {
        FileFormat.PARQUET: _read_parquet,
        FileFormat.AVRO: check_avro_blocks,
    }
    readers.get(file_format, _read_text)(path)


def _read_text(path: Path) -> None:
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        return
    try:
        with opener(path, "rb") as stream:
            while stream.read(_CHUNK):
                pass
    except (EOFError, zlib.error, OSError) as error:
        # An OSError with a number is the system's; without one it is the decompressor's word for a damaged file.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise UnreadableFile("LS422", "it is damaged", f"a whole {path.suffix} file", str(error)) from error


def _read_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for _ in pq.ParquetFile(path).iter_batches():
            pass
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        found = str(error).partition(". ")[0]
        raise UnreadableFile("LS422", "it is not a whole Parquet file", "a Parquet file", found) from error
