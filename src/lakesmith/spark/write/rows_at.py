"""Existing rows read by their places with PyArrow, where that costs less than another scan by Spark.

Only what PyArrow reads exactly as Iceberg does: Parquet files on this machine whose columns have the table's
field ids and the types that the table has now. Everything else is left to a scan.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from pyroaring import BitMap64
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DecimalType, StructField, StructType

from lakesmith import limits
from lakesmith.catalog.metadata import local_path
from lakesmith.errors import StateError
from lakesmith.spark.batch.context import Batch

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_FIELD_ID: Final = b"PARQUET:field_id"


def rows_at(batch: Batch, places: Mapping[str, BitMap64], kinds: Mapping[str, DataType]) -> DataFrame | None:
    """Returns the rows at these positions of data files; None if a scan has to read them.

    ``kinds``: the types of the wanted columns by their names.
    """
    import pyarrow as pa

    ids = {column.name.lower(): column.field_id for column in batch.state().columns}
    types = {name: (ids.get(name.lower()), _arrow_type(kind)) for name, kind in kinds.items()}
    budget, parts = limits.BYTES_READ_BY_PLACE, []
    for file, positions in places.items():
        try:
            found = _rows_of(str(local_path(file)), positions, types, budget)
        except (OSError, StateError, pa.ArrowException):
            return None
        if found is None:
            return None
        rows, read = found
        budget -= read
        parts.append(rows)
    if not parts:
        return None
    schema = StructType([StructField(name, kind) for name, kind in kinds.items()])
    return batch.spark.createDataFrame(pa.concat_tables(parts), schema)


def _rows_of(
    path: str, positions: BitMap64, types: Mapping[str, tuple[int | None, pa.DataType | None]], budget: int
) -> tuple[pa.Table, int] | None:
    """Returns rows of a file and the bytes read for them; None if they would be more than ``budget``."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.endswith(".parquet"):
        return None
    with pq.ParquetFile(path) as file:
        names = _columns_of(file.schema_arrow, types)
        groups = _groups_of(file, positions)
        read = sum(file.metadata.row_group(number).total_byte_size for number in groups)
        if names is None or read > budget or sum(map(len, groups.values())) != len(positions):
            return None
        columns = []
        for name in names:
            # Column by column: a row group is larger than what is wanted of it.
            chunks = [
                file.read_row_group(number, columns=[name]).column(0).take(pa.array(rows, pa.int64()))
                for number, rows in groups.items()
            ]
            columns.append(
                pa.chunked_array([part for each in chunks for part in each.chunks], chunks[0].type)
            )
    return pa.table(columns, names=list(types)), read


def _groups_of(file: pq.ParquetFile, positions: BitMap64) -> dict[int, list[int]]:
    """The row groups that have these positions, each with the rows counted from its beginning."""
    groups, start, ordered, at = {}, 0, list(positions), 0
    for number in range(file.num_row_groups):
        end = start + file.metadata.row_group(number).num_rows
        until = bisect_left(ordered, end, at)
        if at < until:
            groups[number] = [position - start for position in ordered[at:until]]
        start, at = end, until
    return groups


def _columns_of(
    schema: pa.Schema, types: Mapping[str, tuple[int | None, pa.DataType | None]]
) -> list[str] | None:
    """The file's names of the columns; None if one is not there, or of another type."""
    by_id = {int((field.metadata or {}).get(_FIELD_ID, -1)): field for field in schema}
    found = []
    for field_id, kind in types.values():
        field = None if field_id is None or kind is None else by_id.get(field_id)
        if field is None or field.type != kind or "." in field.name:
            return None
        found.append(field.name)
    return found


def _arrow_type(kind: DataType) -> pa.DataType | None:
    """The type of such a column in Parquet files that Iceberg writes; None for nested and rare ones."""
    import pyarrow as pa

    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    plain = {
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "string": pa.string(),
        "binary": pa.binary(),
    }
    return plain.get(kind.simpleString())
