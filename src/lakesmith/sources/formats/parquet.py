"""What a Parquet file says without Spark: its columns, its number of rows, and whether it is damaged."""

from __future__ import annotations

from lakesmith.sources.formats.parquet_types import parquet_types
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, UnreadableFile, check_names


def read_parquet_shape(path: LandingFile) -> FileShape:
    """Returns the shape of one file. Raises UnreadableFile LS422 if it is not Parquet, and OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.stat().st_size == 0:
        return FileShape(empty=True)
    try:
        with path.open("rb") as file:
            footer = pq.read_metadata(file)
        schema = footer.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error) from error
    check_names(tuple(schema.names))
    types = parquet_types(footer)
    pairs = zip(schema, types, strict=True)
    unreadable = tuple((field.name, str(field.type)) for field, type_ in pairs if type_ is None)
    return FileShape(tuple(schema.names), types, footer.num_rows == 0, unreadable)


def read_parquet_pages(path: LandingFile) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file:
            for _ in pq.ParquetFile(file).iter_batches():
                pass
    except (pa.ArrowException, OSError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> UnreadableFile:
    """Arrow's error for a damaged file. Raises OSErrors that have a number: the system's."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    found = str(error).partition(". ")[0]
    return UnreadableFile("LS422", "it is not a whole Parquet file", "a Parquet file", found)


def count_parquet_rows(path: LandingFile) -> int:
    import pyarrow.parquet

    with path.open("rb") as file:
        return int(pyarrow.parquet.read_metadata(file).num_rows)
