"""Columns that another engine drops, adds again or renames: a name may stand for other values now.

One lake for all cases. What a change of its input's columns asks of a table is decided without a batch, as if
the table had been made before the change; some tables show that runs do what was decided.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult, refresh_by_keys

from lakesmith.catalog.progress import Progress
from lakesmith.catalog.record import Account, Pin, Record
from lakesmith.execute.decide import Decider
from lakesmith.execute.events import TableStarted
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.planner import plan_derived
from lakesmith.plan.steps import Decision, Strategy, TableStep, UpToDate
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables

OWN = "_source_file, _source_position, _source_modified_at, _ingested_at, _batch"
COLUMNS = (
    "id: int, x: int, y: int, u: int, v: int, day: int, op: string, note: string, s: 'struct<x:int,y:int>'"
)
BRONZE = "source:\n  files: {{path: landing/p/, format: json, on_new_column: evolve}}\ncolumns: {{{}}}\n"
STAR = f"SELECT * EXCEPT ({OWN}) FROM bronze.p"
NEWEST = (
    "key: [id]\nlatest_by: [day]\ndelete_when: op = 'D'\n"
    "query: SELECT id, {day}, op FROM bronze.p WHERE id > 10\n"
)
FIRST = {
    "silver.s": "SELECT id, CAST(x AS string) AS a, CAST(y AS string) AS b FROM bronze.p",
    "gold.own": "SELECT CAST(x AS string) AS a, avg(y) AS m FROM bronze.p GROUP BY CAST(x AS string)",
}
THEN = {name: query.replace("CAST(x AS string)", "x").replace("CAST(y AS string)", "y")
        for name, query in FIRST.items()}  # fmt: skip
OF_S = {
    "gold.few": "SELECT id, a AS z FROM silver.s WHERE a > '50'",
    "gold.joined": "SELECT s.id, p.id AS other FROM silver.s AS s JOIN bronze.p AS p ON s.a = p.y",
    "gold.groups": "SELECT a, count(*) AS c FROM silver.s WHERE a > '50' GROUP BY a",
}
ALL = {"silver.all": STAR}
SOME = {"silver.some": "SELECT id, y AS z FROM bronze.p"}
BUILT = ("bronze.p", "silver.now", *ALL, *SOME, *FIRST, *OF_S)
DECIDED = {
    "silver.named": "SELECT id, u AS z FROM bronze.p",
    "silver.summed": "SELECT u, count(*) AS c FROM bronze.p GROUP BY u",
    "silver.deep": "SELECT id, s.x + 1 AS more, s FROM bronze.p",
    "silver.passed": "SELECT id, s FROM bronze.p",
    "silver.more": "SELECT id, x * 2 AS total, total + 1 AS more FROM bronze.p",
    "silver.grouped": "SELECT x, count(*) AS c FROM bronze.p GROUP BY x",
    "silver.joined": f"SELECT id, concat_ws('-', *) AS all FROM (SELECT * EXCEPT ({OWN}) FROM bronze.p)",
    "silver.both": f"{STAR} UNION ALL {STAR}",
    "silver.by_place": f"SELECT a, c FROM ({STAR}) AS t(a, b, c, d, e, f, g, h, i)",
    "gold.both": "SELECT p.id, p.x, o.z AS other FROM bronze.p p LEFT JOIN silver.some o ON p.id = o.id",
}
FILES = {
    "tables/bronze/p.yaml": BRONZE.format(COLUMNS),
    "tables/silver/now.yaml": NEWEST.format(day="day"),
    "tables/silver/keyed.yaml": "key: [id]\nlatest_by: [id]\nquery: SELECT id, u FROM bronze.p\n",
    **{
        f"tables/silver/{history}.yaml": f"key: [id]\nlatest_by: [x]\nhistory: {history}\nquery: {STAR}\n"
        for history in ("type1", "type2")
    },
}
USE_U = ("silver.named", "silver.all", "silver.summed", "silver.keyed")
BY_ORDER = ("silver.joined", "silver.both", "silver.by_place")


@dataclass
class Lake:
    """``decided``: by what had happened and table. ``runs``, ``rows`` and ``differing``: by run."""

    shop: Harness
    decided: dict[tuple[str, str], Decision] = field(default_factory=dict)
    runs: dict[str, RunResult] = field(default_factory=dict)
    rows: dict[tuple[str, str], list[tuple[Any, ...]]] = field(default_factory=dict)
    differing: dict[str, list[str]] = field(default_factory=dict)

    def alter(self, table: str, *changes: str) -> None:
        for change in changes:
            self.shop.spark.sql(f"ALTER TABLE lake.{table} {change}")

    def swap(self, table: str, one: str, other: str) -> None:
        names = ((one, "t"), (other, one), ("t", other))
        self.alter(table, *(f"RENAME COLUMN {before} TO {after}" for before, after in names))

    def run(self, name: str, *tables: str, compared: Mapping[str, str]) -> None:
        self.runs[name] = self.shop.must_run(*tables)
        self.differing[name] = self.shop.differing(compared)
        for table in ("silver.some", "gold.few", "silver.s"):
            self.rows[name, table] = self.shop.rows(table)

    def pin(self, *tables: str) -> dict[str, Pin]:
        """Where tables stand, as the record of a batch says it that reads them now."""
        states = {table: self.shop.state(table) for table in tables}
        return {table: Pin(state.uuid, state.head_id, state.schema_id) for table, state in states.items()}

    def decide(self, name: str, read: Mapping[str, Pin], *tables: str) -> None:
        """What these tables need that read their inputs up to there, and in those columns."""
        graph, lake = self.shop.load()[1], self.shop.lake()
        for table in tables:
            node = graph.node(TableName.parse(table))
            query = Decider(graph, lake).query(node)
            inputs = {each: lake.facts(each) for each in query.inputs}
            state = inputs[query.inputs[0]].state
            assert state is not None
            assert state.head is not None
            record = Record("it", None, 1, "full", 0, query.fingerprint, Account(), inputs=read)
            facts = TableFacts(state, Progress(record, state.head))
            self.decided[name, table] = plan_derived(node.definition, query, facts, inputs)

    def full_because(self, name: str, table: str) -> str:
        """The reason of the full refresh that was decided, which reads every input whole."""
        decision = self.decided[name, table]
        assert isinstance(decision, TableStep)
        assert decision.strategy is Strategy.FULL
        assert all(item.start is None for item in decision.inputs)
        return decision.reason

    def strategy(self, name: str, table: str) -> Strategy:
        decision = self.decided[name, table]
        assert isinstance(decision, TableStep)
        return decision.strategy


def _land(shop: Harness, number: int, *rows: Mapping[str, Any]) -> None:
    shop.land(f"landing/p/{number}.json", "".join(json.dumps(row) + "\n" for row in rows))


def _declare(shop: Harness, columns: str) -> None:
    shop.write({"tables/bronze/p.yaml": BRONZE.format(columns)})


@pytest.fixture(scope="module")
def lake(make_lake: MakeShop) -> Lake:
    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        return _made(Lake(make_lake(FILES, approves=True)))


def _made(lake: Lake) -> Lake:
    shop = lake.shop
    shop.define({**FIRST, **OF_S, **ALL, **SOME, **DECIDED})
    rows = ({"id": id, "x": id, "y": y, "u": 10 * id, "v": id, "note": "a", "s": {"x": 7, "y": 8}}
            for id, y in ((1, 600), (2, 700), (3, 800)))  # fmt: skip
    _land(shop, 1, *rows, {"id": 11, "day": 1, "op": "I"}, {"id": 12, "day": 5, "op": "D"})
    lake.run("first", *BUILT, compared={})
    heads = {table: shop.head(table).snapshot_id for table in ("silver.s", "silver.now")}
    _swap_in_an_input(lake)
    for day in ("CAST(day AS string) AS day", "day"):
        shop.redefine({"tables/silver/now.yaml": NEWEST.format(day=day)}, "silver.now")
    _roll_back(shop, "silver.now", heads["silver.now"])
    _change_the_columns_of_bronze(lake)
    _go_on(lake)
    _change_derived_tables(lake, heads["silver.s"])
    return lake


def _roll_back(shop: Harness, table: str, snapshot: int) -> None:
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {snapshot})")


def _swap_in_an_input(lake: Lake) -> None:
    lake.swap("silver.s", "a", "b")
    lake.run("swapped", *OF_S, compared=OF_S)
    lake.swap("silver.s", "a", "b")


def _change_the_columns_of_bronze(lake: Lake) -> None:
    shop, read = lake.shop, lake.pin("bronze.p")
    _declare(shop, COLUMNS.replace("x: int, y: int", "y: int, x: int", 1))
    lake.run("moved", "bronze.p", compared={})
    lake.decide("moved", read, *BY_ORDER)
    lake.alter("bronze.p", "ALTER COLUMN y AFTER x")
    graph = shop.load()[1]
    lake.decided["moved back", "bronze.p"] = Decider(graph, shop.lake()).decide(TableName("bronze", "p"))
    _declare(shop, COLUMNS)
    lake.decide("moved back", read, *BY_ORDER)

    lake.swap("bronze.p", "u", "v")
    lake.decide("swapped", read, *USE_U)
    lake.swap("bronze.p", "u", "v")
    lake.decide("swapped back", read, *USE_U)
    lake.alter("bronze.p", "DROP COLUMN u", "ADD COLUMN u int AFTER y")
    lake.decide("dropped and added again", read, *USE_U)

    lake.alter("bronze.p", "RENAME COLUMN s.x TO z")
    lake.decide("renamed", read, "silver.passed")
    lake.alter("bronze.p", "RENAME COLUMN s.z TO x")
    lake.decide("renamed back", read, "silver.passed", "silver.deep")
    lake.alter("bronze.p", "DROP COLUMN s.x", "ADD COLUMN s.x int FIRST")
    lake.decide("dropped and added again", read, "silver.deep")
    read = lake.pin("bronze.p")
    lake.alter("bronze.p", "DROP COLUMN s.y")
    lake.decide("dropped", read, "silver.passed")

    read = lake.pin("bronze.p")
    lake.alter("bronze.p", "DROP COLUMN note")
    lake.decide("dropped", read, "silver.type1", "silver.type2")
    _declare(shop, COLUMNS.replace("x:int,y:int", "x:int").replace(" note: string,", ""))

    read = lake.pin("bronze.p")
    iceberg = shop.spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
    changes = JavaTables(shop.spark).load(TableName("bronze", "p")).updateSchema()
    five = iceberg.expressions.Expressions.lit(5)
    changes.addColumn("z", iceberg.types.Types.IntegerType.get(), "", five).commit()
    shop.spark.catalog.refreshTable("lake.bronze.p")
    lake.decide("by default", read, "silver.all")


def _go_on(lake: Lake) -> None:
    """Two more batches of all tables. Before each, columns change in another way."""
    shop, read = lake.shop, lake.pin("bronze.p")
    # What a rebuild that failed leaves behind.
    lake.alter("silver.some", "ALTER COLUMN z TYPE bigint")
    shop.define(THEN)
    _land(shop, 2, {"id": 4, "x": 60, "y": 60, "u": 40, "s": {"x": 9}, "total": 7},
          {"id": 13, "day": 2, "op": "D"})  # fmt: skip
    lake.run("second", *BUILT, compared={**THEN, **OF_S, **ALL})
    lake.rows["second", "silver.all"] = shop.rows("silver.all", "id", "z")
    lake.decide("came", read, "silver.more")

    read = lake.pin("bronze.p", "silver.some")
    lake.alter("bronze.p", "ADD COLUMN extra int")
    _land(shop, 3, {"id": 5, "x": 3, "y": 9, "s": {"x": 1}}, {"id": 6, "x": 60, "y": 60},
          {"id": 12, "day": 3, "op": "I"})  # fmt: skip
    lake.run("third", *(each for each in BUILT if each not in SOME), compared={**THEN, **OF_S, **ALL})
    lake.decide("extra", {"bronze.p": read["bronze.p"]}, "silver.grouped")
    lake.alter("silver.some", "DROP COLUMN z", "ADD COLUMN z int")
    lake.decide("while another moves", read, "gold.both")


def _change_derived_tables(lake: Lake, snapshot: int) -> None:
    lake.alter("silver.some", "DROP COLUMN z")
    lake.alter("gold.few", "RENAME COLUMN z TO w")
    _roll_back(lake.shop, "silver.s", snapshot)
    lake.shop.define(FIRST)
    lake.run("last", "silver.s", "silver.some", "gold.few", compared={})
    lake.runs["idle"] = lake.shop.must_run("silver.s", "silver.some", "gold.few")


@pytest.mark.parametrize("change", ["dropped and added again", "swapped"])
def test_a_name_that_stands_for_another_column_now(lake: Lake, change: str) -> None:
    for table in USE_U:
        assert lake.full_because(change, table).startswith("its input bronze.p has "), table
        assert lake.strategy("swapped back", table) is Strategy.ADVANCE
    assert (lake.runs["second"].published["silver.all"].kind, lake.differing["second"]) == ("full", [])


@pytest.mark.parametrize(
    ("change", "table"),
    [("dropped and added again", "silver.deep"), ("renamed", "silver.passed")],
    ids=["dropped and added again", "renamed"],
)
def test_a_field_that_is_another_now(lake: Lake, change: str, table: str) -> None:
    """Nothing was committed since: the rows are as they were, and read by the fields' ids."""
    assert lake.full_because(change, table) == (
        "its input bronze.p has a changed column: s, which its query uses"
    )
    assert lake.strategy("renamed back", table) is Strategy.ADVANCE
    assert (lake.runs["second"].published["silver.all"].kind, lake.differing["second"]) == ("full", [])


def test_a_column_of_an_input_that_changes_while_another_input_moves(lake: Lake) -> None:
    assert lake.full_because("while another moves", "gold.both") == (
        "its input silver.some has a changed column: z, which its query uses"
    )


@pytest.mark.parametrize("change", ["DROP COLUMN z", "RENAME COLUMN z TO w"])
def test_a_derived_tables_own_column_is_made_again(lake: Lake, change: str) -> None:
    table, rows = {
        "DROP COLUMN z": ("silver.some", [(1, 600), (2, 700), (3, 800), (4, 60), (5, 9), (6, 60)]),
        "RENAME COLUMN z TO w": ("gold.few", [(4, "60"), (6, "60")]),
    }[change]
    (started,) = (event for event in lake.runs["last"].of(table) if isinstance(event, TableStarted))
    assert started.step.reason.startswith("its column z is not the one that was written")
    assert [row for row in lake.rows["last", table] if row[0] < 10] == rows
    assert lake.runs["idle"].published == {}


def test_a_table_that_is_rolled_back_over_a_change_of_its_columns(lake: Lake) -> None:
    """The column of before is gone with the rebuild: its values are not there any more."""
    assert lake.runs["last"].published["silver.s"].kind == "full"
    rows = [(row[0], row[1]) for row in lake.rows["last", "silver.s"] if row[0] < 10]
    assert rows == [(1, "1"), (2, "2"), (3, "3"), (4, "60"), (5, "3"), (6, "60")]


def test_a_rebuild_that_failed_leaves_the_table_wider_and_the_definition_of_before_fits(lake: Lake) -> None:
    assert lake.runs["second"].published["silver.some"].kind == "append"
    rows = [(1, 600), (2, 700), (3, 800), (4, 60), (11, None), (12, None), (13, None)]
    assert lake.rows["second", "silver.some"] == rows


def test_an_input_whose_type_changed_by_a_rebuild_is_read_anew(lake: Lake) -> None:
    assert lake.runs["second"].published["gold.few"].kind == "full"
    assert lake.rows["second", "gold.few"] == [(4, 60)]


def test_tombstones_keep_their_times_over_a_change_of_type_and_a_rollback(lake: Lake) -> None:
    """The sidecar has them under columns of the same names and types, which are not the earlier columns."""
    rows = lake.shop.rows("silver.now", "id", "day")
    assert rows == [(11, 1)], "an older version of a deleted key comes back"
    kinds = [lake.runs[run].published["silver.now"].kind for run in ("second", "third")]
    assert kinds == ["full", "upsert"]


def test_a_column_that_comes_takes_over_a_name_of_the_query(lake: Lake) -> None:
    assert lake.full_because("came", "silver.more") == (
        "its input bronze.p has a new column: total, which its query uses"
    )


def test_a_column_that_no_grouping_names_comes_at_no_cost(lake: Lake) -> None:
    assert lake.strategy("extra", "silver.grouped") is Strategy.KEYS
    # So does one of the built tables, which reads the same input.
    assert (lake.runs["third"].published["gold.own"].kind, lake.differing["third"]) == ("keys", [])


def test_columns_in_another_order(lake: Lake) -> None:
    assert set(lake.runs["moved"].published) == {"bronze.p"}
    for table in BY_ORDER:
        assert lake.full_because("moved", table) == (
            "its input bronze.p has changed columns: y, x, which its query uses"
        )
        assert lake.strategy("moved back", table) is Strategy.ADVANCE
    # A change that did not last is not made over and over.
    assert isinstance(lake.decided["moved back", "bronze.p"], UpToDate)


def test_a_column_with_a_default_for_rows_from_before_it(lake: Lake) -> None:
    assert lake.full_because("by default", "silver.all") == (
        "its input bronze.p has a new column: z, which its query uses"
    )
    assert lake.rows["second", "silver.all"][:3] == [(1, 5), (2, 5), (3, 5)]


def test_a_field_that_is_dropped_inside_a_column_that_is_passed_on(lake: Lake) -> None:
    assert lake.full_because("dropped", "silver.passed") == (
        "its input bronze.p has a changed column: s, which its query uses"
    )
    kinds = [lake.runs[run].published["silver.all"].kind for run in ("second", "third")]
    assert (kinds, lake.differing["third"]) == (["full", "append"], [])


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_a_column_that_goes_where_versions_were_told_apart_by_it(lake: Lake, history: str) -> None:
    assert lake.full_because("dropped", f"silver.{history}") == (
        "its input bronze.p has lost a column: note, which its query uses"
    )


def test_conditions_on_columns_that_have_other_names_than_in_the_snapshot_that_is_read(lake: Lake) -> None:
    """Iceberg knows a file's columns by their present names, and would skip files by others' values."""
    assert lake.rows["first", "gold.few"] == []
    assert lake.rows["swapped", "gold.few"] == [(1, "600"), (2, "700"), (3, "800")]
    assert lake.differing["swapped"] == []


def test_a_column_of_another_type_since_its_last_batch(lake: Lake) -> None:
    """The batch that brings it is written beside the old column, which goes with the publish."""
    published = lake.runs["third"].published
    assert (published["gold.own"].kind, published["gold.groups"].kind) == ("keys", "sums")
    assert lake.differing["second"] == lake.differing["third"] == []
