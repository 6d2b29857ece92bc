"""Values that are equal and not the same (0.0 and -0.0, maps), and invalid texts: as in a rebuild."""

from pathlib import Path

import pytest
from harness import Harness
from titled import golds

pytestmark = [pytest.mark.in_turn, pytest.mark.usefixtures("by_keys")]

BRONZE = (
    "source:\n  files: {{path: landing/{name}/, format: csv}}\n"
    "columns: {{id: int, n: int, x: double, hex: string}}\n"
)
QUERIES, KINDS = golds(Path(__file__).with_name("equal_values.sql"))
FILES = {f"tables/bronze/{name}.yaml": BRONZE.format(name=name) for name in "ab"}


def test_what_is_computed_of_values_that_rows_are_grouped_by(shop: Harness) -> None:
    shop.define(QUERIES)
    texts = [f"é{number:03}".encode().hex() for number in range(220)] + ["😀".encode().hex(), "80", "ff"]
    for batch, zero in enumerate(("0.0", "-0.0", "0.0")):
        rows = (f"{100 * batch + at},{at % 3},{x},41" for at, x in enumerate((zero, zero, "1.5", "NaN")))
        others = (f"{1000 + at},{at + batch},8.5,{text}" for at, text in enumerate(texts))
        shop.land_rows("a", batch, *rows, *others)
        published = shop.take_rows("b", batch, f"{batch},{batch},{zero},41").published
        assert shop.differing(QUERIES) == []
    assert {name: published[name].kind for name in QUERIES} == KINDS


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_a_tie_that_changes_the_sign_of_a_zero_is_a_change(shop: Harness, history: str) -> None:
    shop.write(
        {
            "tables/silver/kept.yaml": "query: SELECT id, n, x FROM bronze.a\nkey: [id]\nlatest_by: [n]\n"
            f"history: {history}\n",
            "tables/gold/shown.sql": "SELECT id, concat('x', x) AS t FROM silver.kept",
        }
    )
    shop.take_rows("a", 1, "1,1,0.0,", "2,1,-0.0,", "3,1,0.0,", run=("bronze.a", "silver.*", "gold.*"))
    shop.land_rows("a", 2, "1,1,-0.0,", "2,1,0.0,", "3,1,0.0,")
    record = shop.must_run("bronze.a", "silver.*", "gold.*").published["silver.kept"]
    assert (record.kind, record.account.updated) == ("upsert", 2)
    assert shop.rows("gold.shown") == [(1, "x-0.0"), (2, "x0.0"), (3, "x0.0")]


def test_bad_rows_of_keys_that_are_no_text_are_found_again(shop: Harness) -> None:
    """They are kept as JSON, which has one sign for all bytes that are no text."""
    query = "SELECT CAST(unhex(hex) AS string) AS k, n, x FROM bronze.a"
    rules = 'rules: |\n  Rules = [ ColumnValues "x" > 0 ]\n'
    shop.write({"tables/silver/ruled.yaml": f"query: {query}\nkey: [k]\nlatest_by: [n]\n{rules}"})
    shop.take_rows("a", 1, "1,1,0.0,fe", "2,1,0.0,ff", "3,2,0.0,ff", run=("bronze.a", "silver.*"))
    shop.spark.sql("UPDATE lake.bronze.a SET x = 9 WHERE id = 2").collect()
    shop.must_run("bronze.a", "silver.*")
    assert shop.count("silver.ruled") == 1
    assert sorted(row["row"] for row in shop.quarantine("silver.ruled")) == [
        '{"k":"�","n":1,"x":0.0}',
        '{"k":"�","n":2,"x":0.0}',
    ]
