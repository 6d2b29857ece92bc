"""Tables refreshed by the keys of changed rows: what is written, refused, and computed in full.

The shapes of queries are in ``shapes.sql``: ``test_rule_of_keys`` and ``test_refresh_histories`` compare them
with DuckDB.
"""

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from harness import Harness

from lakesmith import limits
from lakesmith.execute.events import TableRedone
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn


SOURCED = """
source:
  files: {{path: landing/{name}/, format: csv}}
columns: {{{columns}}}
"""
ORDERS = (
    "id: int, seq: int, op: string, customer: int, item: string, amount: 'decimal(10,2)', sold: timestamp"
)
CUSTOMERS = "id: int, seq: int, op: string, city: string"
KEYED = (
    "query: SELECT * EXCEPT (_source_file, _source_position, _source_modified_at, _ingested_at, _batch)"
    " FROM bronze.{name}\n"
)
KEYED += "key: [id]\nlatest_by: [seq]\ndelete_when: \"op = 'D'\"\n"

GROUPED = (
    "SELECT customer, count(*) AS n, sum(amount) AS total, min(sold) AS earliest, count(DISTINCT item) AS"
    " items"
    " FROM silver.orders GROUP BY customer"
)
QUERIES = {
    "grouped": GROUPED,
    "items": "SELECT DISTINCT item, customer % 3 AS part FROM silver.orders",
    "plain": "SELECT item, amount * 2 AS doubled FROM silver.orders WHERE customer > 2",
    "unnamed": "SELECT count(*) AS n FROM silver.orders GROUP BY customer",
}


@pytest.fixture
def shop(tmp_path: Path, session: SessionHandle, by_keys: None) -> Harness:
    files = {
        "tables/bronze/orders.yaml": SOURCED.format(name="orders", columns=ORDERS),
        "tables/bronze/customers.yaml": SOURCED.format(name="customers", columns=CUSTOMERS),
        "tables/silver/orders.yaml": KEYED.format(name="orders"),
        "tables/silver/customers.yaml": KEYED.format(name="customers"),
    }
    (tmp_path / "shop/landing/customers").mkdir(parents=True)
    golds = {f"tables/gold/{name}.sql": query for name, query in QUERIES.items()}
    return Harness(tmp_path / "shop", session, {**files, **golds}, compiled=True)


def _land(shop: Harness, dice: random.Random, number: int, tables: tuple[str, ...]) -> None:
    if "orders" in tables:
        lines = ["id,seq,op,customer,item,amount,sold"]
        for key in dice.sample(range(40), 6 if number > 1 else 30):
            at = datetime(2024, 6, 3) + timedelta(minutes=dice.randrange(300))
            op, item = dice.choice("IUUUD"), dice.choice(["a", "b", "c", ""])
            lines.append(
                f"{key},{number},{op},{dice.randrange(1, 7)},{item},{dice.randrange(1, 9000) / 100},{at}"
            )
        shop.land(f"landing/orders/{number}.csv", "\n".join(lines) + "\n")
    if "customers" in tables:
        lines = ["id,seq,op,city"]
        for key in range(1, 7) if number == 1 else dice.sample(range(1, 8), 2):
            lines.append(f"{key},{number},{dice.choice('IUUD')},{dice.choice(['Oslo', 'Rome', ''])}")
        shop.land(f"landing/customers/{number}.csv", "\n".join(lines) + "\n")


def test_scattered_changes_are_no_reason_to_look_at_each(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_ABOVE_CHANGED_PART", 0.5)
    dice = random.Random(1)
    for number in (1, 2):
        _land(shop, dice, number, ("orders", "customers") if number == 1 else ("orders",))
        result = shop.must_run("bronze.*", "silver.*", "gold.grouped")
    assert result.published["gold.grouped"].kind == "full"
    said = [event.reason for event in result.of("gold.grouped") if isinstance(event, TableRedone)]
    assert len(said) == 1
    assert said[0].startswith("the changes of silver.orders are in ")


def _order(key: int, seq: int, customer: int, op: str = "I") -> str:
    header = "id,seq,op,customer,item,amount,sold\n"
    return f"{header}{key},{seq},{op},{customer},a,1.00,2024-06-03 00:00:00\n"


PAIRS_IN_SQL = {
    "tables/gold/pairs.sql": "SELECT a.id, b.id AS other FROM silver.orders a LEFT JOIN silver.orders b"
    " ON a.customer = b.customer AND a.id <> b.id"
}
PAIRS_IN_PYTHON = {
    "tables/gold/pairs.yaml": "inputs: {one: silver.orders, two: silver.orders}\ndeterministic: true\n",
    "tables/gold/pairs.py": "def pairs(one, two):\n"
    "    two = two.selectExpr('id AS other', 'customer')\n"
    "    joined = one.join(two, (one.customer == two.customer) & (one.id != two.other), 'left')\n"
    "    return joined.select(one.id, two.other)\n",
}


@pytest.mark.parametrize("files", [PAIRS_IN_SQL, PAIRS_IN_PYTHON], ids=["sql", "python"])
def test_a_changed_row_is_joined_with_the_rows_of_its_own_table(shop: Harness, files: dict[str, str]) -> None:
    """Given for both sides at once, changed rows would find pairs of changed rows only."""
    shop.write(files)
    names = ("bronze.*", "silver.*", "gold.pairs")
    steps = [
        (_order(1, 1, customer=1), [(1, None)]),
        (_order(2, 1, customer=1), [(1, 2), (2, 1)]),
        (_order(3, 1, customer=2), [(1, 2), (2, 1), (3, None)]),
        (_order(2, 2, customer=2), [(1, None), (2, 3), (3, 2)]),
        (_order(3, 2, customer=2, op="D"), [(1, None), (2, None)]),
    ]
    for number, (rows, expected) in enumerate(steps):
        published = shop.take(f"landing/orders/{number}.csv", rows, *names).published["gold.pairs"]
        assert published.kind == ("keys" if number else "full")
        assert shop.rows("gold.pairs") == expected
    assert published.account.read == 1, "a changed row that is read twice is counted once"


LOST_BY_BOTH_SIDES = {
    "few_of_both": "SELECT o.customer FROM (SELECT customer FROM silver.orders GROUP BY customer"
    " HAVING count(*) < 3) o"
    " JOIN (SELECT id % 2 AS part FROM silver.customers GROUP BY id % 2 HAVING count(*) < 2) c"
    " ON o.customer = c.part",
    "few_and_old": "SELECT a.customer FROM (SELECT customer FROM silver.orders GROUP BY customer"
    " HAVING count(*) < 3) a"
    " JOIN (SELECT customer FROM silver.orders GROUP BY customer HAVING max(id) < 3) b"
    " ON a.customer = b.customer",
    "without_both": "SELECT o.id FROM silver.orders o JOIN silver.customers c ON o.customer = c.id"
    " WHERE NOT EXISTS (SELECT 1 FROM silver.customers x WHERE x.id = o.id + 2)"
    " AND NOT EXISTS (SELECT 1 FROM silver.orders y WHERE y.id = c.id + 2)",
}


def test_a_key_that_both_sides_of_a_join_lose_in_one_run_is_gone(shop: Harness) -> None:
    """Neither side has it any more, so that what came on the other finds nothing there."""
    shop.write({f"tables/gold/{name}.sql": query for name, query in LOST_BY_BOTH_SIDES.items()})
    golds = [f"gold.{name}" for name in LOST_BY_BOTH_SIDES]
    shop.land("landing/orders/1.csv", _order(1, 1, customer=1))
    shop.take("landing/customers/1.csv", "id,seq,op,city\n1,1,I,Oslo\n", "bronze.*", "silver.*", *golds)
    assert {gold: shop.rows(gold) for gold in golds} == {gold: [(1,)] for gold in golds}
    for key in (3, 4):
        shop.land(f"landing/orders/{key}.csv", _order(key, 1, customer=1))
    shop.land("landing/customers/2.csv", "id,seq,op,city\n3,1,I,Oslo\n")
    published = shop.must_run("bronze.*", "silver.*", *golds).published
    assert {published[gold].kind for gold in golds} == {"keys"}
    expected = {"gold.few_of_both": [], "gold.few_and_old": [], "gold.without_both": []}
    assert {gold: shop.rows(gold) for gold in golds} == expected


def test_what_is_named_once_and_joined_with_itself_is_computed_as_a_whole(shop: Harness) -> None:
    """Which of the two a changed row stands for cannot be told apart where the text names its table once."""
    query = "WITH c AS (SELECT id, customer FROM silver.orders) SELECT a.id, b.id AS other FROM c a JOIN c b"
    shop.write({"tables/gold/pairs.sql": f"{query} ON a.customer = b.customer"})
    names = ("bronze.*", "silver.*", "gold.pairs")
    shop.take("landing/orders/1.csv", _order(1, 1, customer=1), *names)
    result = shop.take("landing/orders/2.csv", _order(2, 1, customer=1), *names)
    assert result.published["gold.pairs"].kind == "full"
    said = [event.reason for event in result.of("gold.pairs") if isinstance(event, TableRedone)]
    assert said == ["it joins silver.orders, read once, with itself"]
    assert shop.rows("gold.pairs") == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_only_what_differs_is_written(shop: Harness) -> None:
    names = ("bronze.*", "silver.*", "gold.grouped", "gold.items", "gold.plain")
    header = "id,seq,op,customer,item,amount,sold\n"
    rows = "".join(f"{key},1,I,{key % 5},a,{key}.50,2024-06-03 00:00:00\n" for key in range(50))
    shop.take("landing/orders/1.csv", header + rows, *names)
    shop.land("landing/orders/2.csv", header + "7,2,U,2,b,1.00,2024-06-03 00:00:00\n")
    published = shop.must_run(*names).published
    grouped = published["gold.grouped"].account
    assert (grouped.read, grouped.inserted, grouped.updated, grouped.deleted) == (2, 0, 1, 0)
    assert grouped.rows_after == 5
    assert (published["gold.items"].account.inserted, published["gold.items"].account.deleted) == (1, 0)
    published = shop.take("landing/orders/3.csv", header + "7,3,D,,,,\n", *names).published
    assert (published["gold.items"].account.inserted, published["gold.items"].account.deleted) == (0, 1)
    assert published["gold.plain"].account.deleted == 0


BY_ITEM = """
from pyspark.sql import DataFrame, functions as F

def by_item(silver__orders: DataFrame, silver__customers: DataFrame) -> DataFrame:
    cities = silver__customers.select(F.col("id").alias("customer"), "city")
    return silver__orders.join(cities, "customer").groupBy("item", "city").agg(F.sum("amount").alias("total"))
"""
ELSEWHERE = """
from pyspark.sql import DataFrame

def elsewhere(silver__orders: DataFrame) -> DataFrame:
    customers = silver__orders.sparkSession.table("lake.silver.customers")
    return silver__orders.join(customers.select("id", "city"), "id")
"""


def test_a_python_table_is_refreshed_by_keys(shop: Harness) -> None:
    shop.write({"tables/gold/by_item.py": BY_ITEM, "tables/gold/by_item.yaml": "deterministic: true\n"})
    names = ("bronze.*", "silver.*", "gold.by_item")
    dice = random.Random(3)
    for number, tables in enumerate([("orders", "customers"), ("orders",), ("customers",)], start=1):
        _land(shop, dice, number, tables)
        result = shop.must_run(*names)
        if number > 1 and "gold.by_item" in result.published:
            assert result.published["gold.by_item"].kind == "sums"
        expected = shop.spark.sql(
            "SELECT item, city, sum(amount) FROM lake.silver.orders o JOIN lake.silver.customers c"
            " ON o.customer = c.id"
            " GROUP BY item, city"
        )
        assert Counter(map(tuple, expected.collect())) == Counter(
            map(tuple, shop.frame("gold.by_item").select("item", "city", "total").collect())
        )


def test_a_python_table_that_reads_another_table_by_itself_is_refused(shop: Harness) -> None:
    shop.write({"tables/gold/elsewhere.py": ELSEWHERE})
    _land(shop, random.Random(3), 1, ("orders", "customers"))
    result = shop.run("bronze.*", "silver.*", "gold.elsewhere")
    assert result.code == 1
    assert [problem.code for problem in result.problems] == ["LS616"]
    assert "silver.customers" in (result.problems[0].found or "")


def test_what_the_plan_refuses_is_found_out_once(shop: Harness) -> None:
    dice = random.Random(4)
    for number in (1, 2, 3):
        _land(shop, dice, number, ("orders", "customers") if number == 1 else ("orders",))
        result = shop.must_run("bronze.*", "silver.*", "gold.unnamed")
        redone = [event.reason for event in result.of("gold.unnamed") if isinstance(event, TableRedone)]
        assert redone == (
            ["no column of its result tells which rows a change reaches"] if number == 2 else []
        )
        assert result.published["gold.unnamed"].kind == "full"


TOO_MUCH = {
    "keys": (limits, "COMPUTED_WHOLE_ABOVE_KEYS", 1, " keys of it are touched, so it is refreshed in full"),
    "rows": (limits, "ROWS_REPLACED_BY_PLACE_UP_TO", 0, " come, so it is refreshed in full"),
    "files": (
        limits,
        "DATA_FILES_REPLACED_IN_UP_TO",
        0,
        "it has too many files to replace rows in, so it is refreshed in full",
    ),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_is_too_much_to_be_replaced_is_computed_as_a_whole(
    shop: Harness, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    module, name, most, reason = TOO_MUCH[case]
    names = ("bronze.*", "silver.*", "gold.grouped")
    _land(shop, random.Random(5), 1, ("orders", "customers"))
    shop.must_run(*names)
    _land(shop, random.Random(6), 2, ("orders",))
    shop.must_run("bronze.*", "silver.*")
    monkeypatch.setattr(module, name, most)
    result = shop.must_run("gold.grouped")
    assert result.published["gold.grouped"].kind == "full"
    (said,) = [event.reason for event in result.of("gold.grouped") if isinstance(event, TableRedone)]
    assert said.endswith(reason)
    assert shop.differing({"gold.grouped": GROUPED}) == []


SESSIONS = """
from pyspark.sql import DataFrame, functions as F

def sessions(silver__orders: DataFrame) -> DataFrame:
    named = silver__orders.groupBy(F.session_window("sold", "20 minutes").alias("visit"), "customer")
    return named.agg(F.count("*").alias("n")).select(F.col("visit.start").alias("since"), "customer", "n")
"""


def test_session_windows_are_computed_as_a_whole(shop: Harness) -> None:
    """Spark's plan of them looks like groups by a column of the row, and two of them may become one."""
    shop.write({"tables/gold/sessions.py": SESSIONS, "tables/gold/sessions.yaml": "deterministic: true\n"})
    names = ("bronze.*", "silver.*", "gold.sessions")
    header = "id,seq,op,customer,item,amount,sold\n"
    early = "1,1,I,1,a,1.00,2024-06-03 00:00:00\n2,1,I,1,a,1.00,2024-06-03 00:30:00\n"
    shop.take("landing/orders/1.csv", header + early, *names)
    shop.land("landing/orders/2.csv", header + "3,1,I,1,a,1.00,2024-06-03 00:15:00\n")
    assert shop.must_run(*names).published["gold.sessions"].kind == "full"
    assert shop.rows("gold.sessions", "since", "n") == [(datetime(2024, 6, 3), 3)]
