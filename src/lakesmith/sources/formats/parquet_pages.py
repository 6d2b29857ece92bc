"""Reads a Parquet file to its end before Spark does: its pages, their checksums, how many rows they hold.

Spark's reader takes much that other readers refuse: pages with a wrong checksum, levels that contradict
themselves, a dictionary that is not there. PyArrow's does not, and takes a few percent of the time that Spark
takes.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from lakesmith import limits
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import UnreadableFile

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_COUNTS: Final = "its counts of rows contradict each other"
_MAGIC: Final = b"PAR1"
_ENCRYPTED: Final = b"PARE"
_SHORTEST: Final = 12
_IN_VECTORS: Final = frozenset(
    {
        "PLAIN",
        "PLAIN_DICTIONARY",
        "RLE_DICTIONARY",
        "RLE",
        "BIT_PACKED",
        "DELTA_BINARY_PACKED",
        "DELTA_LENGTH_BYTE_ARRAY",
        "DELTA_BYTE_ARRAY",
    }
)
"""The encodings of Spark's vectorised reader (``VectorizedColumnReader``). It lacks BYTE_STREAM_SPLIT."""
_BATCH_ROWS: Final = 16_384
_BUFFER_BYTES: Final = 1024 * 1024
"""What is held of each column, however large its row group is."""


def read_parquet_pages(path: LandingFile) -> bool:
    """Reads a file to its end. Returns whether Spark has to read it row by row (``FileShape.by_rows``).

    Raises UnreadableFile LS422 for a file that is not whole, and OSError.
    """
    import pyarrow.parquet as pq

    size = path.stat().st_size
    with path.open("rb") as file, reading("its footer cannot be read"):
        # A small object of S3 comes in one request.
        whole = io.BytesIO(file.read(size)) if size <= limits.FILE_CHUNK_BYTES else file
        opened = pq.ParquetFile(whole, page_checksum_verification=True, buffer_size=_BUFFER_BYTES)
        groups = [_read_group(opened, number) for number in range(opened.num_row_groups)]
    return any(groups) or _has_long_decimals(opened.metadata.schema)


def require_ends(file: BinaryIO) -> None:
    """Raises UnreadableFile LS422 for a file that does not begin and end as Parquet does, and OSError."""
    first = file.read(len(_MAGIC))
    length = file.seek(0, io.SEEK_END)
    file.seek(max(0, length - len(_MAGIC)))
    last = file.read()
    # Of a file whose footer is encrypted both are another mark, which Arrow explains.
    if first != last or first not in (_MAGIC, _ENCRYPTED) or length < _SHORTEST:
        found = f"{length} bytes that begin with {first!r} and end with {last!r}" if length else "0 bytes"
        raise _damaged("it is not a whole Parquet file", found)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Raises UnreadableFile LS422 in place of Arrow's error of a damaged file. OSErrors that have a number
    are the system's: they stay as they are."""
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError as error:
        found = f"{error.object[:40]!r}"
        raise _damaged(what, f"a text that is not UTF-8: {found}") from error
    except (pa.ArrowException, OSError, EOFError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        first = str(error).partition("\n")[0].partition(". ")[0]
        raise _damaged(what, first.rstrip(".")) from error


def check_counts(footer: Any) -> int:
    """Returns the rows that a footer's row groups hold. Raises UnreadableFile LS422 where they contradict it.

    Some writers say 0 in the footer: what the row groups hold counts.
    """
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    rows = sum(group.num_rows for group in groups)
    if min([footer.num_rows, *(group.num_rows for group in groups)]) < 0 or footer.num_rows > rows:
        found = f"a footer that promises {footer.num_rows} rows over row groups of {rows}"
        raise _damaged(_COUNTS, found)
    return int(rows)


def _read_group(opened: ParquetFile, number: int) -> bool:
    """Reads a row group to its end. Returns whether it has an encoding of Spark's reader of rows alone."""
    import pyarrow as pa

    group, schema = opened.metadata.row_group(number), opened.metadata.schema
    promised = group.num_rows
    try:
        rows, entries = _read(opened, number)
    except pa.ArrowNotImplementedError:
        return False  # Arrow lacks the codec or the conversion: Spark says whether it can read it.
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        _name_column(opened, number, promised)
        raise
    if rows != promised:
        _name_column(opened, number, promised)
        raise _damaged(_COUNTS, _promise(rows, number, promised))
    # Only of a row group that was read: of a column that is encrypted, Arrow's metadata ends the process.
    chunks = [group.column(at) for at in range(group.num_columns)]
    for at, (chunk, there) in enumerate(zip(chunks, entries or [0] * len(chunks), strict=True)):
        if chunk.num_values != there:
            found = f"{there:,} values where it promises {chunk.num_values:,}"
            raise _damaged(_column(schema.column(at).path), found)
    return any(not _IN_VECTORS.issuperset(chunk.encodings) for chunk in chunks)


def _has_long_decimals(schema: Any) -> bool:
    """Whether there are decimals of as many bytes as each needs, as Impala and Hive once wrote."""
    columns = [schema.column(at) for at in range(len(schema))]
    return any(it.physical_type == "BYTE_ARRAY" and it.logical_type.type == "DECIMAL" for it in columns)


def _read(opened: ParquetFile, number: int, columns: list[str] | None = None) -> tuple[int, list[int]]:
    """Returns the rows of a row group, and how many values each of its columns gave, in Parquet's order."""
    rows, entries = 0, Counter[int]()
    for batch in opened.iter_batches(_BATCH_ROWS, row_groups=[number], columns=columns):
        rows += batch.num_rows
        entries.update(dict(enumerate(_entries(batch.columns))))
    return rows, [entries[at] for at in sorted(entries)]


def _entries(arrays: Iterable[Any]) -> Iterator[int]:
    """Yields the values in each column of arrays, as Parquet counts them: with one for each NULL and each
    empty list.

    Levels that contradict themselves make Arrow drop some, where Spark reads others.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as pt

    for each in arrays:
        array = each.storage if isinstance(each, pa.ExtensionArray) else each
        kind = array.type
        if pt.is_struct(kind):
            yield from _entries(array.field(at) for at in range(kind.num_fields))
        elif pt.is_map(kind) or pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
            filled = pc.sum(pc.greater(pc.list_value_length(array), 0)).as_py() or 0
            yield from (len(array) - filled + inner for inner in _entries([array.flatten()]))
        else:
            yield len(array)


def _name_column(opened: ParquetFile, number: int, promised: int) -> None:
    """Raises UnreadableFile LS422 for the first column of a row group that cannot be read."""
    schema = opened.metadata.schema
    for path in (schema.column(at).path for at in range(len(schema))):
        with reading(_column(path)):
            rows, _ = _read(opened, number, [path])
        if rows != promised:
            raise _damaged(_column(path), _promise(rows, number, promised))


def _column(path: str) -> str:
    return f"its column {path!r} cannot be read"


def _promise(values: int, number: int, promised: int) -> str:
    return f"{values} values where row group {number} promises {promised} rows"


def _damaged(what: str, found: str) -> UnreadableFile:
    return UnreadableFile("LS422", what, "a Parquet file that is whole and agrees with itself", found)
