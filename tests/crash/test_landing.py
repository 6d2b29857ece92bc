"""Landing files that change, go or turn out to be broken while a batch takes them."""

import gzip

import pytest
from harness import Harness

from lakesmith.execute import faults

FILES = {
    "tables/bronze/orders.yaml": (
        'source:\n  files: {path: landing/orders/, pattern: "*.csv*", format: csv}\n'
        "columns: {id: bigint, city: string}\n"
    ),
    "tables/bronze/visits.yaml": (
        'source:\n  files: {path: landing/visits/, pattern: "*.parquet"}\n'
        "columns: {id: bigint, page: string}\n"
    ),
    "landing/visits/.gitkeep": "",
    "tables/silver/orders.yaml": "key: [id]\nquery: SELECT id, city FROM bronze.orders\n",
}
ONE = "id,city\n1,Oslo\n2,Rome\n"
BIG = "id,city\n" + "".join(f"{number},Oslo{number * 7919}\n" for number in range(20_000))


@pytest.mark.parametrize("point", ["after-listing", "after-intent", "after-data"])
def test_a_file_that_changes_after_it_was_listed(shop: Harness, point: str) -> None:
    """What is taken is one version of the file, whole, and it is the one that is there."""
    shop.land("landing/orders/1.csv", ONE)
    left = ["id,city\n1,Oslo\n2,Paris\n3,Bonn\n"]

    def change() -> None:
        if left:
            shop.land("landing/orders/1.csv", left.pop())

    faults.arrange(point, change, "bronze.orders")
    shop.must_run()
    assert shop.rows("bronze.orders", "id", "city") == [(1, "Oslo"), (2, "Paris"), (3, "Bonn")]
    assert shop.rows("silver.orders") == [(1, "Oslo"), (2, "Paris"), (3, "Bonn")]
    assert shop.must_run().published == {}


@pytest.mark.parametrize("point", ["after-listing", "after-intent", "after-data"])
def test_a_file_that_goes_after_it_was_listed(shop: Harness, point: str) -> None:
    shop.land("landing/orders/1.csv", ONE)
    gone = shop.land("landing/orders/2.csv", "id,city\n3,Bonn\n")
    faults.arrange(point, lambda: gone.unlink(missing_ok=True), "bronze.orders")
    result = shop.run()
    faults.clear()
    if result.code:
        assert "2.csv" in "\n".join(line for problem in result.problems for line in problem.lines())
        shop.must_run()
    assert shop.rows("bronze.orders", "id", "city") == [(1, "Oslo"), (2, "Rome")]
    shop.take("landing/orders/2.csv", "id,city\n3,Bonn\n")
    assert shop.rows("silver.orders") == [(1, "Oslo"), (2, "Rome"), (3, "Bonn")]


def test_a_file_that_changes_all_the_time(shop: Harness) -> None:
    """It is given up after a few tries, with nothing taken; once it stands still it is taken."""
    shop.land("landing/orders/1.csv", ONE)
    count = iter(range(3, 100))
    faults.arrange(
        "after-data",
        lambda: shop.land("landing/orders/1.csv", f"{ONE}{next(count)},Bonn\n") and None,
        "bronze.orders",
    )
    result = shop.run()
    assert (result.code, [problem.code for problem in result.problems]) == (1, ["LS612"])
    assert shop.count("bronze.orders") == 0
    faults.clear()
    shop.must_run()
    assert len(shop.rows("bronze.orders", "id", "city")) == 3


BROKEN = {
    "an archive that ends too early": (
        "landing/orders/2.csv.gz",
        gzip.compress(BIG.encode())[:20_000],
        "bronze.orders",
    ),
    "an archive that is none": ("landing/orders/2.csv.gz", b"id,city\n3,Bonn\n", "bronze.orders"),
    "a Parquet file that is none": ("landing/visits/2.parquet", b"id,city\n3,Bonn\n", "bronze.visits"),
    "a Parquet file that is cut off": ("landing/visits/2.parquet", b"PAR1" + b"\0" * 500, "bronze.visits"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_named_and_nothing_is_taken(shop: Harness, case: str) -> None:
    """Tables that do not read it are brought up to date all the same."""
    path, content, table = BROKEN[case]
    good = shop.spark.createDataFrame([(1, "home")], "id bigint, page string")
    good.coalesce(1).write.parquet(str(shop.root / "landing/visits/1"))
    shop.land("landing/orders/1.csv", ONE)
    broken = shop.land(path, content)
    result = shop.run()
    assert result.code == 1
    (failed,) = [event for event in result.events if type(event).__name__ == "TableFailed"]
    assert str(failed.table) == table  # type: ignore[attr-defined]
    assert broken.name in "\n".join(line for problem in result.problems for line in problem.lines())
    other = "bronze.visits" if table == "bronze.orders" else "bronze.orders"
    assert other in result.published
    assert table not in result.published
    broken.unlink()
    shop.must_run()
    assert shop.rows("bronze.orders", "id", "city") == [(1, "Oslo"), (2, "Rome")]
    assert shop.rows("bronze.visits", "id", "page") == [(1, "home")]
