"""What ``diff`` shows of two points of a table's past."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from harness import Harness, MakeShop
from rewinding import rewinding

from lakesmith.project.definitions import TableName
from lakesmith.spark.diff import CHANGE, Counts, Span, difference

FILES = {
    "tables/bronze/orders.yaml": """
        source: {files: {path: landing/, pattern: "*.csv"}}
        columns: {id: bigint, city: string, amount: "decimal(9,2)"}
        """,
    "tables/silver/newest.yaml": """
        key: [id]
        delete_when: "amount < 0"
        query: SELECT id, city, amount FROM bronze.orders
        """,
    "tables/gold/sums.sql": "SELECT city, sum(amount) AS total FROM bronze.orders GROUP BY city\n",
}
FIRST = "id,city,amount\n1,Oslo,5\n2,Bergen,7\n3,Moss,1\n"
SECOND = "id,city,amount\n1,Oslo,6\n3,Moss,-1\n4,Oslo,2\n2,Bergen,7\n"


@dataclass(frozen=True)
class Taken:
    """A project with two batches, and the tables' heads before the second."""

    back: Callable[[], Harness]
    before: dict[str, int]


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Taken:
    shop = make_lake(FILES)
    shop.take("landing/1.csv", FIRST)
    before = {table: shop.state(table).refs["main"] for table in ("silver.newest", "gold.sums")}
    shop.take("landing/2.csv", SECOND)
    return Taken(rewinding(shop), before)


@pytest.fixture
def shop(taken: Taken) -> Harness:
    return taken.back()


def found(
    shop: Harness, table: str, begin: int, key: tuple[str, ...] = ()
) -> tuple[Counts, list[tuple[object, ...]]]:
    span = Span(TableName.parse(table), begin, shop.state(table).refs["main"], key)
    with difference(shop.handle, span, ()) as it:
        names = [CHANGE, *(name for name in it.rows.columns if not name.startswith("_"))]
        rows = [tuple(map(str, row)) for row in it.rows.select(*names).collect()]
        return it.counts, rows


def test_rows_with_a_key_are_one_row_before_and_after(shop: Harness, taken: Taken) -> None:
    counts, rows = found(shop, "silver.newest", taken.before["silver.newest"], ("id",))
    assert counts == Counts(1, 1, 1, {"amount": 1})
    assert rows == [
        ("before", "1", "Oslo", "5.00"),
        ("after", "1", "Oslo", "6.00"),
        ("deleted", "3", "Moss", "1.00"),
        ("inserted", "4", "Oslo", "2.00"),
    ]


def test_a_rebuild_to_the_same_rows_is_no_change(shop: Harness) -> None:
    now = shop.state("silver.newest").refs["main"]
    shop.must_run("silver.newest", full=["silver.newest"])
    assert shop.state("silver.newest").refs["main"] != now
    for key in (("id",), ()):
        assert found(shop, "silver.newest", now, key) == (Counts(0, 0, 0, {}), [])


def test_without_a_key_rows_come_and_go(shop: Harness, taken: Taken) -> None:
    counts, rows = found(shop, "gold.sums", taken.before["gold.sums"])
    assert sorted(rows) == [
        ("deleted", "Bergen", "7.00"), ("deleted", "Moss", "1.00"), ("deleted", "Oslo", "5.00"),
        ("inserted", "Bergen", "14.00"), ("inserted", "Moss", "0.00"), ("inserted", "Oslo", "13.00"),
    ]  # fmt: skip
    assert counts == Counts(3, 3, 0, {})


def test_a_row_that_another_tool_updated_is_one_row_by_its_id(shop: Harness) -> None:
    shop.spark.sql("ALTER TABLE lake.bronze.orders SET TBLPROPERTIES ('write.update.mode'='merge-on-read')")
    before = shop.state("bronze.orders").refs["main"]
    shop.spark.sql("UPDATE lake.bronze.orders SET city = 'Bodø' WHERE id = 4")
    counts, rows = found(shop, "bronze.orders", before)
    assert counts == Counts(0, 0, 1, {"city": 1})
    assert rows == [("before", "4", "Oslo", "2.00"), ("after", "4", "Bodø", "2.00")]


def test_a_column_that_came_since_is_shown_as_it_is_now(shop: Harness, taken: Taken) -> None:
    shop.redefine(
        {
            "tables/silver/newest.yaml": FILES["tables/silver/newest.yaml"].replace(
                "amount FROM", "amount, id % 2 AS odd FROM"
            )
        }
    )
    counts, _ = found(shop, "silver.newest", taken.before["silver.newest"], ("id",))
    assert counts.columns == {"amount": 1, "odd": 2}
