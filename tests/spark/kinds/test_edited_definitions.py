"""Edited definitions: what makes no work, what rebuilds and is named, what readers see meanwhile."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from harness import Harness, fail, in_order

from lakesmith.execute import faults
from lakesmith.execute.decide import Decider
from lakesmith.execute.events import TableCurrent, TableStarted
from lakesmith.execute.forecast import Forecast, forecasts
from lakesmith.plan.steps import Strategy
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn("file")

ORDERS, NAMES, BY_CITY = "silver.orders", "silver.names", "gold.by_city"
YAML, SQL, MODULE = "tables/silver/orders.yaml", "tables/silver/orders.sql", "lib/names.py"
FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv}
        columns: {id: int, at: int, op: string, city: string, amount: int}
        """,
    SQL: "SELECT id, at, op, city, amount FROM bronze.orders",
    "tables/silver/names.py": """
        from lib.names import called

        def names(bronze__orders):
            return called(bronze__orders)
        """,
    "tables/silver/names.yaml": "deterministic: true\n",
    MODULE: """
        from pyspark.sql import functions as F

        def called(orders):
            return orders.select("id", F.concat("city", F.lit("!")).alias("name"))
        """,
    "tables/gold/by_city.sql": "SELECT city, count(*) AS n, sum(amount) AS total FROM silver.orders"
    " GROUP BY city",
}

Row = tuple[int, int, str, str | None, int | None]
ROWS: list[Row] = [
    (1, 1, "I", "Oslo", 5), (1, 2, "U", "Rome", 7), (2, 1, "I", "Oslo", 30), (2, 2, "D", None, None),
    (3, 1, "I", "Rome", -1), (3, 2, "I", "Rome", 11), (4, 5, "I", "Bonn", 2), (4, 3, "U", "Bonn", 9),
    (5, 1, "I", "Bonn", 8), (5, 1, "I", "Oslo", 4),
]  # fmt: skip
COLUMNS = ("id", "at", "op", "city", "amount")


@dataclass(frozen=True)
class Settings:
    """silver.orders as declared; ``oracle`` computes it in Python."""

    times: int = 1
    key: tuple[str, ...] = ("id",)
    latest_by: str = "at"
    dead: str = "D"
    above: int = 0
    amount_type: str = ""

    def files(self) -> dict[str, str]:
        columns = f"columns: {{amount: {self.amount_type}}}\n" if self.amount_type else ""
        settings = (
            f"key: [{', '.join(self.key)}]\nlatest_by: [{self.latest_by}]\ndelete_when: op = '{self.dead}'\n"
            f"rules: 'Rules = [ ColumnValues \"amount\" > {self.above} ]'\n"
        )
        amount = "amount" if self.times == 1 else f"amount * {self.times} AS amount"
        if self.amount_type == "bigint":
            amount = f"CAST(amount * {self.times} AS bigint) AS amount"
        return {YAML: settings + columns, SQL: f"SELECT id, at, op, city, {amount} FROM bronze.orders"}

    def oracle(self) -> list[tuple[Any, ...]]:
        newest: dict[tuple[Any, ...], dict[str, Any]] = {}
        for values in ROWS:
            row: dict[str, Any] = dict(zip(COLUMNS, values, strict=True))
            row["amount"] = None if row["amount"] is None else row["amount"] * self.times
            key = tuple(row[name] for name in self.key)
            good = row["op"] == self.dead or (row["amount"] or 0) > self.above
            if None in key or not good:
                continue
            if key not in newest or self._order(row) >= self._order(newest[key]):
                newest[key] = row
        return in_order(tuple(row.values()) for row in newest.values() if row["op"] != self.dead)

    def _order(self, row: dict[str, Any]) -> tuple[bool, int]:
        return row[self.latest_by] is not None, row[self.latest_by] or 0


BEGIN = Settings()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Harness:
    """One project, built once, that is edited test by test."""
    shop = Harness(
        tmp_path_factory.mktemp("edited") / "shop", session, {**FILES, **BEGIN.files()}, approves=True
    )
    lines = (",".join("" if value is None else str(value) for value in row) for row in ROWS)
    shop.take("landing/orders/1.csv", "\n".join([",".join(COLUMNS), *lines]) + "\n")
    return shop


def planned(shop: Harness) -> dict[str, Forecast]:
    graph = shop.load()[1]
    decider = Decider(graph, shop.lake())
    return {str(item.decision.name): item for item in forecasts(decider, decider.decide_all(graph.order))}


def by_city(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """gold.by_city over rows of silver.orders."""
    amounts: dict[Any, list[int]] = {}
    for row in rows:
        amounts.setdefault(row[3], []).append(row[4])
    return in_order((city, len(each), sum(each)) for city, each in amounts.items())


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (SQL, "-- All orders\nselect id, at,op,\n  city , amount\nfrom bronze.orders;\n"),
        (SQL, "SELECT id, at, op, /* where to */ city, amount FROM bronze.orders"),
        (
            YAML,
            """
            # By the shop's number.
            latest_by: [ at ]
            key: [id]
            rules: |
              Rules = [
                ColumnValues "amount"   > 0
              ]
            delete_when: |
              op   = 'D'  -- gone
            """,
        ),
        (
            "tables/silver/names.py",
            "from lib.names import called  # by us\n\n\ndef names( bronze__orders ):\n"
            "    return (called(bronze__orders))\n",
        ),
        (MODULE, "# Names.\n" + FILES[MODULE].replace("        ", "").replace('"!"', "'!'")),
    ],
    ids=["layout", "comment", "settings", "python", "module"],
)
def test_what_only_looks_different_makes_no_work(shop: Harness, file: str, text: str) -> None:
    before = (shop.root / file).read_text()
    result = shop.redefine({file: text})
    shop.write({file: before})
    assert [type(event) for event in result.events if isinstance(event, TableStarted | TableCurrent)] == [
        TableCurrent
    ] * 4


BEFORE_PUBLISH = ("after-branch", "after-data", "after-check", "before-publish", "before-swap")
EDITED = replace(BEGIN, times=5, dead="U")


@dataclass
class Reader:
    """Reads the table over and over in a thread of its own, until it is told to end."""

    shop: Harness
    seen: list[list[tuple[Any, ...]]]
    stop: threading.Event

    def __call__(self) -> None:
        while not self.stop.is_set():
            self.seen.append(self.shop.rows(ORDERS))


def test_readers_have_the_old_rows_whole_until_the_publish(shop: Harness) -> None:
    old, held, at = shop.rows(ORDERS), shop.state(ORDERS).refs["main"], {}
    new = EDITED.oracle()
    assert old == BEGIN.oracle() and old != new
    shop.write(EDITED.files())

    def look(point: str) -> None:
        at[point] = shop.rows(ORDERS), _held(shop, held)

    for point in (*BEFORE_PUBLISH, "after-publish"):
        # In a thread of its own: in that of the batch the table's name stands for the draft.
        faults.arrange(point, partial(_in_a_thread, partial(look, point)), ORDERS)
    reader = Reader(shop, [], threading.Event())
    thread = threading.Thread(target=reader)
    thread.start()
    try:
        shop.must_run()
    finally:
        reader.stop.set()
        thread.join()
    assert at == {**dict.fromkeys(BEFORE_PUBLISH, (old, old)), "after-publish": (new, old)}
    assert _held(shop, held) == old
    turned = reader.seen.index(new)
    assert turned > 0
    assert reader.seen == [old] * turned + [new] * (len(reader.seen) - turned)


def _in_a_thread(call: Callable[[], None]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def _held(shop: Harness, snapshot: int) -> list[tuple[Any, ...]]:
    return in_order(tuple(row) for row in shop.frame(ORDERS, as_of=snapshot).select(*COLUMNS).collect())


@pytest.mark.parametrize("point", BEFORE_PUBLISH)
def test_a_rebuild_that_fails_leaves_the_old_rows(shop: Harness, point: str) -> None:
    shop.redefine(EDITED.files())
    shop.write(replace(EDITED, times=7).files())
    faults.arrange(point, fail, ORDERS)
    assert shop.run().code == 1
    assert shop.rows(ORDERS) == EDITED.oracle()
    assert planned(shop)[ORDERS].decision.reason == "its query has changed"  # type: ignore[union-attr]


EDITS: dict[str, tuple[Callable[[Settings], Settings], str]] = {
    "query": (lambda now: replace(now, times=2), "its query has changed"),
    "latest_by": (lambda now: replace(now, latest_by="amount"), "its latest_by has changed"),
    "key": (lambda now: replace(now, key=("id", "city")), "its key has changed"),
    "delete_when": (lambda now: replace(now, dead="U"), "its delete_when has changed"),
    "rules": (lambda now: replace(now, above=20), "its rules have changed"),
    "columns": (lambda now: replace(now, amount_type="int"), "its columns have changed"),
    "type": (lambda now: replace(now, amount_type="bigint"), "its query and its columns have changed"),
    "several": (
        lambda now: replace(now, times=3, key=("at", "id"), above=0),
        "its query, its key and its rules have changed",
    ),
}


def test_each_part_that_is_edited_is_named_and_rebuilds(shop: Harness) -> None:
    now = BEGIN
    shop.redefine(now.files())
    assert shop.rows(ORDERS) == now.oracle()
    for edit, words in EDITS.values():
        there, now = shop.count(ORDERS), edit(now)
        shop.write(now.files())
        plan = planned(shop)
        cost, outlook = plan[ORDERS].cost, plan[BY_CITY].outlook
        assert cost and outlook and cost.replaces
        assert (cost.reads.rows, cost.replaces.rows, (cost.reads.bytes or 0) > 0) == (len(ROWS), there, True)
        assert (outlook.strategy, outlook.reason) == (Strategy.FULL, "all rows of silver.orders are replaced")
        assert plan[NAMES].cost is None
        result = shop.must_run()
        (started,) = [event for event in result.of(ORDERS) if isinstance(event, TableStarted)]
        assert (started.step.strategy, started.step.reason) == (Strategy.FULL, words)
        assert shop.rows(ORDERS) == now.oracle()
        assert shop.rows(BY_CITY) == by_city(now.oracle())


def test_an_imported_module_that_is_edited_is_named(shop: Harness) -> None:
    result = shop.redefine({MODULE: FILES[MODULE].replace("!", "?")})
    assert [str(event.step.name) for event in result.events if isinstance(event, TableStarted)] == [NAMES]
    assert [e.step.reason for e in result.of(NAMES) if isinstance(e, TableStarted)] == [
        "its module lib.names has changed"
    ]
    names = in_order((row[0], None if row[3] is None else f"{row[3]}?") for row in ROWS)
    assert shop.rows(NAMES) == names
