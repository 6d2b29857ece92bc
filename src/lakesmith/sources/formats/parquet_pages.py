"""Reads a Parquet file to its end before Spark does: its pages, their checksums, how many rows they hold.

Spark's reader takes much that other readers refuse: pages with a wrong checksum, levels that contradict
themselves, a dictionary that is not there. PyArrow's does not, and takes a few percent of the time that Spark
takes.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
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
    except (pa.ArrowException, OSError) as error:
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

    promised = opened.metadata.row_group(number).num_rows
    try:
        rows = _rows(opened, number)
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
    _check_values(opened, number)
    group = opened.metadata.row_group(number)
    return any(not _IN_VECTORS.issuperset(group.column(at).encodings) for at in range(group.num_columns))


def _has_long_decimals(schema: Any) -> bool:
    """Whether there are decimals of as many bytes as each needs, as Impala and Hive once wrote."""
    columns = [schema.column(at) for at in range(len(schema))]
    return any(it.physical_type == "BYTE_ARRAY" and it.logical_type.type == "DECIMAL" for it in columns)


def _rows(opened: ParquetFile, number: int, columns: list[str] | None = None) -> int:
    batches = opened.iter_batches(_BATCH_ROWS, row_groups=[number], columns=columns)
    return sum(batch.num_rows for batch in batches)


def _check_values(opened: ParquetFile, number: int) -> None:
    """Raises UnreadableFile LS422 if a flat column has another number of values than its row group of rows.

    For a row group that was read: of a column that is encrypted, Arrow's metadata ends the process.
    """
    group, schema = opened.metadata.row_group(number), opened.metadata.schema
    for at in range(group.num_columns):
        column, values = schema.column(at), group.column(at).num_values
        if column.max_repetition_level == 0 and values != group.num_rows:
            raise _damaged(_column(column.path), _promise(values, number, group.num_rows))


def _name_column(opened: ParquetFile, number: int, promised: int) -> None:
    """Raises UnreadableFile LS422 for the first column of a row group that cannot be read."""
    schema = opened.metadata.schema
    for path in (schema.column(at).path for at in range(len(schema))):
        with reading(_column(path)):
            rows = _rows(opened, number, [path])
        if rows != promised:
            raise _damaged(_column(path), _promise(rows, number, promised))


def _column(path: str) -> str:
    return f"its column {path!r} cannot be read"


def _promise(values: int, number: int, promised: int) -> str:
    return f"{values} values where row group {number} promises {promised} rows"


def _damaged(what: str, found: str) -> UnreadableFile:
    return UnreadableFile("LS422", what, "a Parquet file that is whole and agrees with itself", found)
