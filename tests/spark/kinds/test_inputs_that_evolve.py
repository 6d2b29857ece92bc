"""Law 1 over an input whose columns change: rows that were read before are what they would be read as now."""

import pytest
from harness import Harness

pytestmark = pytest.mark.in_turn

BRONZE = """
    source:
      files: {{path: landing/, pattern: "*.csv", format: csv, on_new_column: evolve}}
    columns: {{id: bigint, price: {price}}}
"""
FILES = {
    "tables/bronze/orders.yaml": BRONZE.format(price="float"),
    "tables/silver/as_text.sql": "SELECT id, CAST(price AS string) AS text FROM bronze.orders",
    "tables/silver/whole.sql": "SELECT id, size(map_keys(from_json(to_json(struct(*),"
    " map('ignoreNullFields', 'false')),"
    " 'map<string,string>'))) AS columns FROM bronze.orders",
    "tables/silver/copy.sql": "SELECT id, price FROM bronze.orders",
}
APPROVES = True
TAKEN = {"landing/1.csv": "id,price\n1,0.1\n"}
"""One order of 0.1, which no float and no double is exactly."""


def rebuilt(shop: Harness, table: str) -> list[tuple[object, ...]]:
    """The rows of the table, and after a full refresh: they have to be the same."""
    found = sorted(map(tuple, shop.spark.table(f"lake.{table}").collect()))
    shop.must_run(table, full=[table])
    assert sorted(map(tuple, shop.spark.table(f"lake.{table}").collect())) == found
    return found


def test_a_wider_type_reaches_the_rows_it_was_computed_from(shop: Harness) -> None:
    shop.write({"tables/bronze/orders.yaml": BRONZE.format(price="double")})
    shop.land("landing/2.csv", "id,price\n2,0.1\n")
    kinds = {table: record.kind for table, record in shop.must_run().published.items()}
    assert (kinds["silver.as_text"], kinds["silver.copy"]) == ("full", "append")
    assert rebuilt(shop, "silver.as_text") == [(1, "0.10000000149011612"), (2, "0.1")]
    assert [row[0] for row in rebuilt(shop, "silver.copy")] == [1, 2]


def test_a_new_column_reaches_what_was_made_of_all_columns(shop: Harness) -> None:
    shop.land("landing/2.csv", "id,price,tip\n2,0.2,1\n")
    kinds = {table: record.kind for table, record in shop.must_run().published.items()}
    assert kinds["silver.whole"] == "full"
    assert (kinds["silver.copy"], kinds["silver.as_text"]) == ("append", "append")
    counts = {columns for _, columns in rebuilt(shop, "silver.whole")}
    assert len(counts) == 1
    assert shop.must_run().published == {}
