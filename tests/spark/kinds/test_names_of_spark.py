"""Columns of files that are called like Spark's hidden column: they come first, and rows know their file."""

from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import MakeShop

Rows = list[dict[str, Any]]
FACTS = pa.struct([("file_path", pa.string()), ("row_index", pa.int64())])


def _parquet(path: Path, rows: Rows) -> None:
    pq.write_table(pa.Table.from_pylist(rows, pa.schema([("id", pa.int64()), ("_metadata", FACTS)])), path)


def _avro(path: Path, rows: Rows) -> None:
    fields = [{"name": "file_path", "type": "string"}, {"name": "row_index", "type": "long"}]
    facts = {"type": "record", "name": "facts", "fields": fields}
    columns = [{"name": "id", "type": "long"}, {"name": "_metadata", "type": facts}]
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "row", "fields": columns}, rows)


@pytest.mark.parametrize(
    "columns", ["", "columns: {id: bigint, _metadata: 'struct<file_path: string, row_index: bigint>'}\n"]
)
@pytest.mark.parametrize("write", [_parquet, _avro])
def test_a_column_called_metadata_leaves_rows_their_file_and_position(
    make_shop: MakeShop, write: Any, columns: str
) -> None:
    kind = write.__name__[1:]
    source = f"source:\n  files: {{path: landing/, format: {kind}, on_changed_file: replace}}\n"
    shop = make_shop({"tables/bronze/lines.yaml": source + columns})
    (shop.root / "landing").mkdir()
    for name, count in (("a", 2), ("b", 1)):
        rows = [{"id": at, "_metadata": {"file_path": f"s3://{name}", "row_index": 7}} for at in range(count)]
        write(shop.root / "landing" / name, rows)
    shop.must_run()
    found = shop.rows("bronze.lines", "_source_file", "_source_position", "id", "_metadata.file_path")
    assert found == [
        ("landing/a", 1, 0, "s3://a"),
        ("landing/a", 2, 1, "s3://a"),
        ("landing/b", 1, 0, "s3://b"),
    ]
    # A replaced file takes the place of its earlier rows, which are found by their file.
    write(shop.root / "landing" / "a", [{"id": 9, "_metadata": {"file_path": "s3://a", "row_index": 7}}])
    account = shop.must_run().published["bronze.lines"].account
    assert (account.deleted, account.inserted) == (2, 1)
