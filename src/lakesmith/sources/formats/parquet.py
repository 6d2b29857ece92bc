"""What the footer of a Parquet file says without Spark: its columns, and its number of rows."""

from __future__ import annotations

from functools import cache

from lakesmith.sources.formats.parquet_pages import check_counts, reading, require_ends
from lakesmith.sources.formats.parquet_statistics import Footer
from lakesmith.sources.formats.parquet_types import parquet_types
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import FileShape, check_names


def read_parquet_shape(path: LandingFile) -> FileShape:
    """Returns the shape of one file. Raises UnreadableFile LS422 if it is not Parquet, and OSError."""
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        require_ends(file)
        with reading("its footer cannot be read"):
            footer = pq.read_metadata(file)
            schema = footer.schema.to_arrow_schema()
            columns = tuple(schema.names)
            check_names(columns)
            statistics = cache(lambda: Footer(file))
            types = parquet_types(footer, lambda *column: statistics().largest(*column))
    pairs = zip(schema, types, strict=True)
    unreadable = tuple((field.name, str(field.type)) for field, type_ in pairs if type_ is None)
    return FileShape(columns, types, check_counts(footer) == 0, unreadable)


def count_parquet_rows(path: LandingFile) -> int:
    """Returns the rows of one file. Raises UnreadableFile LS422, and OSError."""
    import pyarrow.parquet

    with path.open("rb") as file, reading("its footer cannot be read"):
        return check_counts(pyarrow.parquet.read_metadata(file))
