"""Writes the metadata files beside it with PyIceberg: ``python make.py``. Run by hand when a newer PyIceberg
writes others.

The folder they were written in is replaced by ``/lake``.
"""

import gzip
import json
import tempfile
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

HERE = Path(__file__).parent

EVERY_TYPE = Schema(
    NestedField(1, "id", LongType(), required=True, doc="the key"),
    NestedField(2, "flag", BooleanType()),
    NestedField(3, "small", IntegerType()),
    NestedField(4, "real", FloatType()),
    NestedField(5, "precise", DoubleType()),
    NestedField(6, "price", DecimalType(9, 2)),
    NestedField(7, "day", DateType()),
    NestedField(8, "clock", TimeType()),
    NestedField(9, "local_time", TimestampType()),
    NestedField(10, "instant", TimestamptzType()),
    NestedField(11, "text", StringType()),
    NestedField(12, "uid", UUIDType()),
    NestedField(13, "hash", FixedType(16)),
    NestedField(14, "raw", BinaryType()),
    NestedField(
        15,
        "address",
        StructType(
            NestedField(16, "City", StringType()),
            NestedField(17, "post code", StringType()),
            NestedField(18, "at", StructType(NestedField(19, "lat", DoubleType()))),
        ),
    ),
    NestedField(20, "tags", ListType(21, StringType())),
    NestedField(22, "prices", MapType(23, StringType(), 24, DecimalType(38, 10))),
)


def main() -> None:
    """Makes one table of every type, and one with appends, a delete, an overwrite, a branch, a tag and a
    rollback.
    """
    with tempfile.TemporaryDirectory() as folder:
        catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")
        catalog.create_namespace("bronze")
        save(catalog.create_table("bronze.types", EVERY_TYPE), folder, "types.metadata.json")
        save(busy(catalog), folder, "busy.metadata.json")


def busy(catalog: SqlCatalog) -> Table:
    """A table with a past."""
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "name": ["a", "b", "c"]})
    table = catalog.create_table("bronze.busy", rows.schema, properties={"owner": "shop"})
    table.append(rows, snapshot_properties={"engine-name": "pyiceberg"})
    first = table.current_snapshot().snapshot_id
    table.manage_snapshots().create_tag(first, "start").commit()
    table.append(rows)
    table.delete("id = 1")
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "work").commit()
    table.append(rows, branch="work")
    with table.update_schema() as update:
        update.rename_column("name", "full_name")
        update.add_column("city", StringType(), "where")
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    table.append(pa.table({"id": pa.array([9], pa.int64())}))
    return table


def save(table: Table, folder: str, name: str) -> None:
    """Writes the table's metadata beside this script, plain and gzip'd."""
    text = Path(table.metadata_location.removeprefix("file://")).read_text().replace(folder, "/lake")
    (HERE / name).write_text(json.dumps(json.loads(text), indent=1) + "\n")
    zipped = HERE / name.replace(".metadata.json", ".gz.metadata.json")
    zipped.write_bytes(gzip.compress((HERE / name).read_bytes(), mtime=0))


if __name__ == "__main__":
    main()
