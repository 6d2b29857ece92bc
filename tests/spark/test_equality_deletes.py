"""Equality deletes, which only other engines write: no summary tells how many rows they hide, and no batch fails on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from harness import ProjectHarness

from lakesmith.catalog.progress import live_rows
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg import JavaTables

if TYPE_CHECKING:
    from lakesmith.spark.session import SessionHandle

pytestmark = pytest.mark.spark

ORDERS = """
    source:
      files: {path: landing/orders/, pattern: "*.csv", format: csv, on_changed_file: replace}
    columns: {id: bigint, city: string}
    """


@pytest.fixture
def shop(tmp_path: Path, session: SessionHandle) -> ProjectHarness:
    files = {
        "tables/bronze/orders.yaml": ORDERS,
        "tables/silver/orders.yaml": "from: bronze.orders\nkey: [id]\n",
    }
    shop = ProjectHarness(tmp_path / "shop", session, files)
    shop.land("landing/orders/1.csv", "id,city\n1,Oslo\n2,Rome\n")
    shop.land("landing/orders/2.csv", "id,city\n3,Bonn\n")
    shop.must_run()
    return shop


def delete_equal(shop: ProjectHarness, table: str, city: str) -> None:
    """Deletes the rows of a ``city`` as a streaming engine does: by a file that says so, without looking at the rows."""
    iceberg = JavaTables(shop.spark).load(TableName.parse(table))
    jvm: Any = shop.spark._jvm
    package = jvm.org.apache.iceberg
    schema = iceberg.schema().select(jvm.java.util.List.of("city"))
    ids = shop.spark.sparkContext._gateway.new_array(jvm.int, 1)
    ids[0] = schema.findField("city").fieldId()
    record = package.data.GenericRecord.create(schema)
    record.setField("city", city)
    path = f"{iceberg.location()}/data/deletes-{city}.parquet"
    output = package.encryption.EncryptedFiles.plainAsEncryptedOutput(iceberg.io().newOutputFile(path))
    writers = package.data.GenericFileWriterFactory.Builder(iceberg)
    writers = writers.equalityFieldIds(ids).equalityDeleteRowSchema(schema).build()
    writer = writers.newEqualityDeleteWriter(output, iceberg.spec(), None)
    writer.write(record)
    writer.close()
    iceberg.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
    shop.spark.catalog.refreshTable(f"lake.{table}")


def test_a_sourced_table_takes_its_next_files(shop: ProjectHarness) -> None:
    delete_equal(shop, "bronze.orders", "Rome")
    assert shop.rows("bronze.orders") == [(1, "Oslo"), (3, "Bonn")]
    head = shop.state("bronze.orders").head
    assert head is not None
    assert live_rows(head) is None

    shop.land("landing/orders/3.csv", "id,city\n4,Kiel\n")
    shop.land("landing/orders/1.csv", "id,city\n1,Lund\n2,Pisa\n")
    shop.must_run()
    assert shop.rows("bronze.orders") == [(1, "Lund"), (2, "Pisa"), (3, "Bonn"), (4, "Kiel")]
    assert shop.rows("silver.orders") == shop.rows("bronze.orders")


def test_a_derived_table_is_made_anew(shop: ProjectHarness) -> None:
    delete_equal(shop, "silver.orders", "Rome")
    assert shop.rows("silver.orders") == [(1, "Oslo"), (3, "Bonn")]
    assert shop.must_run().published["silver.orders"].kind == "full"
    assert shop.rows("silver.orders") == [(1, "Oslo"), (2, "Rome"), (3, "Bonn")]
    head = shop.state("silver.orders").head
    assert head is not None
    assert live_rows(head) == 3
