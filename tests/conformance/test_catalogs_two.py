"""On every shared catalog: another machine publishes the same batch during one, after a lease ran out."""

from typing import Any

import pytest
from places import Place
from py4j.protocol import Py4JError
from shared_project import Make, SharedProject, grown
from small_shop import FIRST, LINES, NEWEST, ORDERS, SECOND, SUMS, csv

from lakesmith.execute import faults
from lakesmith.execute.events import TableRedone
from lakesmith.spark.iceberg.commits import JavaTables

pytestmark = pytest.mark.release

FILES = ORDERS | LINES | NEWEST | SUMS
TABLES = ("bronze.orders", "silver.lines", "silver.newest", "gold.sums")


def test_a_commit_that_others_were_before_at_each_try_is_no_failure(
    make: Make, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not place.is_remote:
        pytest.skip("two machines share no embedded catalog")
    shop = make(ORDERS)
    shop.land("orders/0.csv", csv(*FIRST))
    recorded, beaten = JavaTables._recorded, list[str]()

    def once_beaten(*given: Any) -> Any:
        if not beaten:
            beaten.append("as BaseTransaction says it")
            text = "org.apache.iceberg.exceptions.CommitFailedException: Table metadata refresh is required"
            raise Py4JError(f"An error occurred while calling o1.commit.\n: {text}\n\tat a.B.c(B.java:1)")
        return recorded(*given)

    monkeypatch.setattr(JavaTables, "_recorded", once_beaten)
    result = shop.must_run()
    assert [str(event.table) for event in result.events if isinstance(event, TableRedone)] == [
        "bronze.orders"
    ]
    assert shop.rows("bronze.orders") == sorted(FIRST)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("point", ["after-branch", "before-swap"])
def test_another_machine_publishes_in_the_middle_of_a_batch(
    make: Make, place: Place, monkeypatch: pytest.MonkeyPatch, table: str, point: str
) -> None:
    if not place.is_remote:
        pytest.skip("two machines share no embedded catalog")
    monkeypatch.setattr("lakesmith.catalog.lease.LASTS_SECONDS", 0)
    one, two = grown(make, FILES, FIRST), make(FILES)
    one.land("orders/1.csv", csv(*SECOND))
    if table != "bronze.orders":
        one.must_run("bronze.orders")
    beaten: list[SharedProject] = []

    def beat() -> None:
        if not beaten:
            beaten.append(two)
            assert table in two.must_run(table).published

    faults.arrange(point, beat, table)
    result = one.must_run(table)
    assert [str(event.table) for event in result.events if isinstance(event, TableRedone)] == [table]
    assert table not in result.published
    one.must_run()
    landed = FIRST + SECOND
    one.require(landed, "bronze.orders", "silver.lines", "silver.newest", "gold.sums")
