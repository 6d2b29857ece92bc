"""What is declared reaches the Iceberg tables, and other engines read the same rows from them."""

from importlib import resources

import duckdb
import pytest
from harness import Harness, in_order
from read_elsewhere import catalog_of

from lakesmith.catalog.family import sidecar_of
from lakesmith.project.definitions import TableName
from lakesmith.spark.batch.sidecar import SidecarKind

FILES = {
    "tables/bronze/orders.yaml": """
        description: What the shop's till sends
        owner: sales
        tags: [raw, orders]
        source:
          files: {path: landing/orders/, format: csv}
        columns:
          id: {type: bigint, required: true, doc: The receipt's number}
          city: {type: string, doc: "Where \\"it\\" was"}
          op: string
        partition_by: [city]
        """,
    "tables/silver/orders.yaml": """
        description: The orders that stand
        query: SELECT id, city, op FROM bronze.orders
        columns: {id: {doc: The number}, city: {required: true}}
        key: [id]
        delete_when: "op = 'D'"
        partition_by: ["bucket(4, id)"]
        """,
}
TAKEN = {
    "landing/orders/1.csv": "id,city,op\n1,Oslo,I\n2,Rome,I\n3,Oslo,I\n4,Rome,I\n,Rome,I\n",
    "landing/orders/2.csv": "id,city,op\n1,Bern,U\n2,Rome,D\n5,,I\n6,Oslo,I\n",
}
"""Two batches: some rows are updated and deleted by the second, so that there are delete files."""


def test_what_is_declared_is_there_and_what_others_read(shop: Harness) -> None:
    expected = [(1, "Bern", "U"), (3, "Oslo", "I"), (4, "Rome", "I"), (6, "Oslo", "I")]
    assert shop.rows("silver.orders") == expected
    assert len(shop.quarantine("bronze.orders")) == 1
    assert len(shop.quarantine("silver.orders")) == 1
    _is_declared(shop)
    table = catalog_of(shop.root).load_table(("silver", "orders"))
    assert in_order(tuple(row.values()) for row in table.scan().to_arrow().to_pylist()) == expected
    tombstones = sidecar_of(TableName.parse("silver.orders"), SidecarKind.TOMBSTONES)
    buried = (
        catalog_of(shop.root).load_table((tombstones.layer, tombstones.name)).scan().to_arrow().to_pylist()
    )
    assert buried == [{"id": 2}]


def _is_declared(shop: Harness) -> None:
    bronze, silver = (
        catalog_of(shop.root).load_table(("bronze", "orders")),
        catalog_of(shop.root).load_table(("silver", "orders")),
    )
    assert {field.name: field.doc for field in bronze.schema().fields}["city"] == 'Where "it" was'
    assert {field.name: field.doc for field in silver.schema().fields}["id"] == "The number"
    assert [str(field.transform) for field in bronze.spec().fields] == ["identity"]
    assert [str(field.transform) for field in silver.spec().fields] == ["bucket[4]"]
    assert bronze.properties["comment"] == "What the shop's till sends"
    # Partitions are written one after the other, not all at once from memory.
    assert bronze.properties["write.spark.fanout.enabled"] == "false"
    assert bronze.properties["lakesmith.owner"] == "sales"
    assert bronze.properties["lakesmith.tags"] == "raw,orders"
    assert silver.properties["lakesmith.project"] == "shop"


@pytest.mark.in_turn
def test_duckdb_reads_the_same_rows(shop: Harness) -> None:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "iceberg"):
        package = resources.files(f"duckdb_extension_{name}") / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{package / f'{name}.duckdb_extension'}'")
    location = shop.state("silver.orders").metadata_location
    rows = connection.execute("SELECT id, city, op FROM iceberg_scan(?)", [location]).fetchall()
    assert in_order(rows) == shop.rows("silver.orders", "id", "city", "op")
