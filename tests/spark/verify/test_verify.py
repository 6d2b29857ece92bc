"""``verify`` finds what is not as a table's inputs make it, and nothing else."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Harness, MakeShop
from rewinding import rewinding

from lakesmith.execute.verify import Verdict

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv}
        columns: {id: int, at: int, op: string, city: string, amount: double}
        """,
    "tables/silver/orders.yaml": """
        query: SELECT id, at, op, city, amount, map(coalesce(city, '-'), amount) AS more FROM bronze.orders
        key: [id]
        latest_by: [at]
        delete_when: op = 'D'
        rules: 'Rules = [ ColumnValues "amount" > 0 ]'
        """,
    "tables/silver/log.sql": "SELECT id, city FROM bronze.orders WHERE amount > 1",
    "tables/gold/by_city.sql": "SELECT city, count(*) AS n, avg(amount) AS mean FROM silver.orders"
    " GROUP BY city",
}
DERIVED = ("silver.orders", "silver.log", "gold.by_city")
HEADER = "id,at,op,city,amount\n"
TAKEN = {
    "landing/orders/1.csv": HEADER + "1,1,I,Oslo,0.1\n2,1,I,Oslo,2.5\n3,1,I,Rome,-1\n3,1,I,Rome,7\n",
    "landing/orders/2.csv": HEADER + "1,2,U,Rome,0.3\n2,2,D,,\n2,1,U,Oslo,9\n4,1,I,Rome,4\n4,1,I,Rome,4\n",
}
"""Two batches: updates, deletes, a late version and bad rows."""


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Callable[[], Harness]:
    shop = make_lake(FILES)
    for name, content in TAKEN.items():
        shop.take(name, content)
    return rewinding(shop)


@pytest.fixture
def shop(taken: Callable[[], Harness]) -> Harness:
    return taken()


def test_what_runs_have_made_is_the_same(shop: Harness) -> None:
    for table in DERIVED:
        found = shop.verify(table)[table]
        assert (found.verdict, found.rows, found.examples) == (Verdict.SAME, shop.count(table), ())


def test_inputs_that_have_moved_on_are_read_as_they_were_consumed(shop: Harness) -> None:
    shop.take("landing/orders/3.csv", HEADER + "5,1,I,Bonn,3\n", "bronze.orders")
    shop.must_verify(*DERIVED)


def test_rows_that_others_changed_are_named(shop: Harness) -> None:
    shop.spark.sql("UPDATE lake.gold.by_city SET n = 7 WHERE city = 'Rome'")
    found = shop.verify("gold.by_city")["gold.by_city"]
    assert (found.verdict, found.rows, found.missing, found.unexpected) == (Verdict.DIFFERS, 1, 1, 1)
    rows = {json.loads(each.row)["n"]: (each.expected, each.found) for each in found.examples}
    assert rows == {3: (1, 0), 7: (0, 1)}


def test_a_row_that_is_there_twice_is_one_too_many(shop: Harness) -> None:
    shop.spark.sql("INSERT INTO lake.silver.log SELECT * FROM lake.silver.log WHERE id = 4 LIMIT 1")
    found = shop.verify("silver.log")["silver.log"]
    assert (found.verdict, found.missing, found.unexpected) == (Verdict.DIFFERS, 0, 1)
    assert [(json.loads(each.row)["id"], each.expected, each.found) for each in found.examples] == [(4, 2, 3)]


def test_what_fails_for_one_table_is_its_outcome_and_the_others_are_verified(shop: Harness) -> None:
    (file,) = shop.spark.sql("SELECT file_path FROM lake.silver.log.files LIMIT 1").collect()[0]
    Path(file.removeprefix("file:")).unlink()
    found = shop.verify("silver.log", "silver.orders", "gold.by_city")
    assert [each.verdict for each in found.values()] == [Verdict.FAILED, Verdict.SAME, Verdict.SAME]
    (problem,) = found["silver.log"].problems
    assert Path(file).name in " ".join(problem.lines())


@pytest.mark.parametrize(
    ("files", "called"),
    [
        ({"lucky.sql": "SELECT id, rand() AS luck FROM silver.orders"}, "rand"),
        ({"lucky.sql": "SELECT id, current_timestamp() AS at FROM silver.orders"}, "current_timestamp"),
        ({"lucky.sql": "SELECT id FROM silver.orders WHERE id > (SELECT rand() * -1)"}, None),
        (
            {
                "lucky.py": "from pyspark.sql import functions as F\n\n"
                "def lucky(silver__orders):\n    return silver__orders.withColumn('luck', F.rand())\n"
            },
            "rand",
        ),
        (
            {
                "lucky.py": "from datetime import datetime\nfrom pyspark.sql import functions as F\n\n"
                "def lucky(silver__orders):\n    return silver__orders.withColumn('at',"
                " F.lit(datetime.now()))\n"
            },
            "now",
        ),
        (
            {
                "lucky.py": "from pyspark.sql import functions as F\n\n"
                "def lucky(a):\n    return a.withColumn('x', F.aes_encrypt('city',"
                " F.lit('0123456789abcdef')))\n",
                "lucky.yaml": "inputs: {a: silver.orders}\n",
            },
            "aes_encrypt",
        ),
    ],
)
def test_what_chance_makes_cannot_be_verified(
    shop: Harness, files: dict[str, str], called: str | None
) -> None:
    """The third has the same rows whatever comes of it."""
    shop.redefine({f"tables/gold/{name}": text for name, text in files.items()}, "gold.lucky")
    found = shop.verify("gold.lucky")["gold.lucky"]
    if called is None:
        assert found.verdict is Verdict.SAME
        return
    assert found.verdict is Verdict.SKIPPED
    said = (
        "its Python may use a clock, chance or files: it does not declare deterministic: true"
        if called == "now"
        else f"its query calls {called}"
    )
    assert found.why == f"{said}: each time it is computed it may have other rows"


def test_what_cannot_be_verified_says_why(shop: Harness) -> None:
    assert (
        shop.verify("bronze.orders")["bronze.orders"].why == "its rows come from files, which are taken once"
    )
    shop.write({"tables/gold/new.sql": "SELECT id FROM silver.orders"})
    assert shop.verify("gold.new")["gold.new"].why == "it has not been built yet"
    shop.write({"tables/silver/log.sql": "SELECT id, city FROM bronze.orders WHERE amount > 2"})
    assert (
        shop.verify("silver.log")["silver.log"].why
        == "its query has changed since its last batch: run it first"
    )
    pin = shop.record("silver.orders").inputs["bronze.orders"].snapshot
    shop.take("landing/orders/3.csv", HEADER + "5,1,I,Bonn,3\n", "bronze.orders")
    shop.spark.sql(
        "CALL lake.system.expire_snapshots(table => 'bronze.orders',"
        f" snapshot_ids => ARRAY({pin}), older_than => TIMESTAMP '1970-01-01 00:00:00')"
    )
    expected = f"snapshot {pin} of bronze.orders, which it was computed from, has expired"
    assert shop.verify("silver.orders")["silver.orders"].why == expected
