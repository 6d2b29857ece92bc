"""Tables rolled back: progress goes back with the rows, and the tables made from them follow."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from harness import Harness, MakeShop, fail
from rewinding import rewinding

from lakesmith.catalog.family import hold_of
from lakesmith.errors import StateError
from lakesmith.execute import faults
from lakesmith.execute.rollback import Prepared, prepare
from lakesmith.project.definitions import TableName
from lakesmith.spark.past import release, roll_back

FILES = {
    "tables/bronze/orders.yaml": """
        source: {files: {path: landing/orders/, pattern: "*.csv"}}
        columns: {id: bigint, city: string, amount: bigint}
        on_bad_row: quarantine
        """,
    "tables/silver/newest.yaml": """
        key: [id]
        query: SELECT id, city, amount FROM bronze.orders
        """,
    "tables/gold/by_city.sql": "SELECT city, sum(amount) AS total FROM silver.newest GROUP BY city\n",
}
FIRST = "id,city,amount\n1,Oslo,5\n2,Bergen,7\n"
BAD = "id,city,amount\n2,Bergen,700\n3,Oslo,900\nx,Oslo,1\n"
TABLES = ("bronze.orders", "silver.newest", "gold.by_city")


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Callable[[], Harness]:
    project = make_lake(FILES)
    project.take("landing/orders/1.csv", FIRST)
    project.take("landing/orders/2.csv", BAD)
    return rewinding(project)


@pytest.fixture
def shop(taken: Callable[[], Harness]) -> Iterator[Harness]:
    yield taken()
    faults.clear()


def prepared(shop: Harness, table: str, to: str, *, downstream: bool = False) -> Prepared:
    _, graph = shop.load()
    return prepare(shop.lake(), graph, TableName.parse(table), to, datetime.now(UTC), downstream=downstream)


def back(shop: Harness, table: str, to: str, *, downstream: bool = False, hold: bool = False) -> Prepared:
    plan = prepared(shop, table, to, downstream=downstream)
    roll_back(shop.handle, shop.lake(), plan.rollback, hold=hold)
    return plan


def first_batch(shop: Harness, table: str) -> str:
    state = shop.state(table)
    return next(
        str(each.snapshot_id) for each in state.snapshots.values() if each.record and each.record.batch == 1
    )


def test_the_next_run_takes_again_what_was_undone(shop: Harness) -> None:
    plan = back(shop, "bronze.orders", first_batch(shop, "bronze.orders"))
    assert plan.files.again == ("landing/orders/2.csv",)
    assert [record.batch for record in plan.first.undone] == [2]
    assert shop.rows("bronze.orders") == [(1, "Oslo", 5), (2, "Bergen", 7)]
    assert shop.quarantine("bronze.orders") == []
    assert shop.must_run().published["bronze.orders"].files == 1
    assert shop.rows("gold.by_city") == [("Bergen", 700), ("Oslo", 905)]
    assert len(shop.quarantine("bronze.orders")) == 1
    shop.must_verify(*TABLES[1:])


def test_a_bad_file_is_left_out_and_everything_below_is_corrected(shop: Harness) -> None:
    back(shop, "bronze.orders", first_batch(shop, "bronze.orders"))
    (shop.root / "landing/orders/2.csv").unlink()
    shop.must_run()
    assert shop.rows("silver.newest") == [(1, "Oslo", 5), (2, "Bergen", 7)]
    assert shop.rows("gold.by_city") == [("Bergen", 7), ("Oslo", 5)]
    shop.must_verify(*TABLES[1:])


def test_a_table_that_is_held_stays_and_those_below_follow_it(shop: Harness) -> None:
    back(shop, "bronze.orders", first_batch(shop, "bronze.orders"), hold=True)
    shop.land("landing/orders/3.csv", "id,city,amount\n9,Moss,1\n")
    for _ in range(2):
        assert "bronze.orders" not in shop.must_run().published
        assert shop.rows("gold.by_city") == [("Bergen", 7), ("Oslo", 5)]
    release(shop.handle, shop.lake(), TableName.parse("bronze.orders"))
    assert hold_of(shop.state("bronze.orders")) is None
    shop.must_run()
    assert shop.rows("gold.by_city") == [("Bergen", 700), ("Moss", 1), ("Oslo", 905)]
    shop.must_verify(*TABLES[1:])


def test_tables_below_go_back_with_it_and_forward_again(shop: Harness) -> None:
    newest = str(shop.state("bronze.orders").refs["main"])
    plan = back(shop, "bronze.orders", first_batch(shop, "bronze.orders"), downstream=True, hold=True)
    assert [str(move.name) for move in plan.rollback.moves] == list(TABLES)
    assert shop.rows("gold.by_city") == [("Bergen", 7), ("Oslo", 5)]
    assert shop.must_run().published == {}
    shop.must_verify(*TABLES[1:])
    plan = back(shop, "bronze.orders", newest, downstream=True)
    assert [(str(move.name), move.is_forward) for move in plan.rollback.moves] == [(n, True) for n in TABLES]
    assert plan.files.again == ()
    assert shop.rows("gold.by_city") == [("Bergen", 700), ("Oslo", 900 + 5)]
    release(shop.handle, shop.lake(), TableName.parse("bronze.orders"))
    assert shop.must_run().published == {}
    shop.must_verify(*TABLES[1:])


def test_a_table_below_without_a_fitting_batch_is_left_to_the_next_run(shop: Harness) -> None:
    shop.redefine({"tables/gold/new.sql": "SELECT count(*) AS n FROM silver.newest\n"})
    plan = back(shop, "silver.newest", first_batch(shop, "silver.newest"), downstream=True, hold=True)
    assert [str(name) for name in plan.rollback.stay] == ["gold.new"]
    shop.must_run()
    assert shop.rows("gold.new") == [(2,)]


def test_a_rollback_is_undone_by_another(shop: Harness) -> None:
    now = str(shop.state("silver.newest").refs["main"])
    back(shop, "silver.newest", first_batch(shop, "silver.newest"), hold=True)
    assert len(shop.rows("silver.newest")) == 2
    back(shop, "silver.newest", now)
    assert len(shop.rows("silver.newest")) == 3
    assert hold_of(shop.state("silver.newest")) is not None


def test_what_a_file_gave_that_is_gone_is_not_given_up_unasked(shop: Harness) -> None:
    (shop.root / "landing/orders/2.csv").unlink()
    plan = prepared(shop, "bronze.orders", first_batch(shop, "bronze.orders"))
    assert plan.files.gone == ("landing/orders/2.csv",)


def test_the_middle_of_a_batch_is_no_point_to_go_back_to(shop: Harness) -> None:
    state = shop.state("bronze.orders")
    middle = next(each for each in state.snapshots.values() if not each.record)
    with pytest.raises(StateError) as refused:
        prepared(shop, "bronze.orders", str(middle.snapshot_id))
    assert refused.value.problems[0].code == "LS518"


def test_who_moves_the_table_meanwhile_is_not_undone(shop: Harness) -> None:
    plan = prepared(shop, "bronze.orders", first_batch(shop, "bronze.orders"))
    shop.take("landing/orders/3.csv", "id,city,amount\n9,Moss,1\n", "bronze.orders")
    with pytest.raises(StateError) as refused:
        roll_back(shop.handle, shop.lake(), plan.rollback, hold=False)
    assert refused.value.problems[0].code == "LS511"
    assert len(shop.rows("bronze.orders")) == 5


@pytest.mark.parametrize("point", ["before-swap", "after-publish"])
@pytest.mark.parametrize("table", TABLES)
def test_one_that_dies_half_way_is_made_good_by_the_next_run(shop: Harness, point: str, table: str) -> None:
    plan = prepared(shop, "bronze.orders", first_batch(shop, "bronze.orders"), downstream=True)
    faults.arrange(point, fail, table)
    with pytest.raises(OSError, match="arranged by a test"):
        roll_back(shop.handle, shop.lake(), plan.rollback, hold=False)
    faults.clear()
    shop.must_run()
    assert shop.rows("gold.by_city") == [("Bergen", 700), ("Oslo", 905)]
    shop.must_verify(*TABLES[1:])
