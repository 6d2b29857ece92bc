"""Versions of a key with the same ``latest_by``: the same one wins, however the table is refreshed.

The cases share a lake and most of its tables: each has keys (``id``) of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from foreign_rows import insertion
from harness import Harness, MakeShop, RunResult, in_order, refresh_by_keys

from lakesmith import limits
from lakesmith.execute.events import TablePublished
from lakesmith.execute.verify import Verdict
from lakesmith.spark.write.merge_outcomes import Outcomes, count_outcomes, settle_ties
from lakesmith.spark.write.rows_at import rows_at

BRONZE = "source:\n  files: {{path: landing/{name}/, format: csv}}\ncolumns: {{id: int, at: int, {more}}}\n"
TYPES = {
    "flag": ("boolean", "true", "false"),
    "real": ("double", "-0.0", "0.0"),
    "price": ("decimal(20,3)", "1.500", "1.501"),
    "day": ("date", "0001-01-01", "9999-12-31"),
    "instant": ("timestamp", "1883-11-18 12:00:00.000001", "9999-12-31 23:59:59.999999"),
    "wall": ("timestamp_ntz", "0001-01-01 00:00:00", "2024-03-31 02:30:00"),
    "text": ("string", "ü😀", "ü"),
    "nothing": ("string", "", "x"),
    "small": ("float", "NaN", "1.5"),
}
SAME = [value for _, value, _ in TYPES.values()]

QUERIES = {
    "union": """
        SELECT id, at, v, w FROM bronze.a WHERE w = 'D'
        UNION ALL SELECT id, at, v, w FROM bronze.a WHERE w <> 'D'
        UNION ALL SELECT id, at, w, w FROM bronze.a WHERE id > 90""",
    "windows": """
        SELECT id, at, v, w, e + count(*) OVER (PARTITION BY id) AS n
        FROM (SELECT * FROM bronze.a ORDER BY v) LATERAL VIEW explode(array(1)) AS e""",
    "groups": """
        SELECT a.id, a.at, a.v, a.w, g.n FROM bronze.a
        JOIN (SELECT id, count(*) AS n FROM bronze.a GROUP BY id) g ON g.id = a.id""",
    "tables": "SELECT id, at, v, w FROM bronze.b UNION ALL (SELECT id, at, v, w FROM bronze.a)",
    "join": "SELECT a.id, a.at, a.v, a.w, n.v AS name FROM bronze.a LEFT JOIN bronze.names n ON n.id = a.id",
    "sql": "SELECT id, at, v, w FROM bronze.a",
}
CTES = """
    WITH x AS (SELECT * FROM bronze.a), y AS (SELECT * FROM x WHERE id > 0)
    SELECT y.id, y.at, y.v, y.w FROM y LEFT SEMI JOIN x ON x.id = y.id AND x.at = y.at"""
"""Queries that give each row of a once (the union: those above 90 twice), and do not speak of arrival."""

PYTHON = "def {}(bronze__a):\n    return bronze__a.select('id', 'at', 'v', 'w')\n"
MAPS = """
    from pyspark.sql import functions as F

    def {}(silver__plain):
        return silver__plain.select("id", "at", F.create_map(F.lit("v"), "v").alias("m"))
"""
FILES = {
    **{f"tables/bronze/{name}.yaml": BRONZE.format(name=name, more="v: string, w: string")
       for name in ("a", "b", "names")},
    "tables/bronze/typed.yaml": BRONZE.format(
        name="typed", more=", ".join(f'{name}: "{kind}"' for name, (kind, *_) in TYPES.items())),
    "tables/silver/typed.sql": f"SELECT id, at, {', '.join(TYPES)} FROM bronze.typed",
    "tables/silver/typed.yaml": "key: [id]\nlatest_by: [at]\n",
    "tables/silver/plain.sql": "SELECT id, at, v FROM bronze.a WHERE id BETWEEN 61 AND 63",
    "tables/silver/collated_type1.sql": "SELECT at, w, v COLLATE UTF8_LCASE AS v FROM bronze.a WHERE id = 81",
    "tables/silver/collated_type1.yaml": "key: [v]\nlatest_by: [at]\n",
}  # fmt: skip
LATER = {
    "tables/silver/collated_type2.sql": FILES["tables/silver/collated_type1.sql"],
    "tables/silver/collated_type2.yaml": "key: [v]\nlatest_by: [at]\nhistory: type2\n",
    "tables/silver/several.sql": """
        SELECT * FROM bronze.a WHERE id IN (71, 72)
        UNION ALL SELECT * FROM bronze.names WHERE id IN (71, 72)""",
    "tables/gold/t.sql": "SELECT id, at, v FROM silver.several",
    "tables/gold/t.yaml": "key: [id]\nlatest_by: [at]\n",
}
HISTORIES = ("type1", "type2")
KINDS = {name: "upsert" if name in ("sql", "py") else "keys" for name in (*QUERIES, "py")}
"""How the tables of these queries, and one of Python, are refreshed."""
THROUGH = {history: [f"silver.{name}_{history}" for name in KINDS] for history in HISTORIES}


def files_of(history: str) -> dict[str, str]:
    """Tables with this history. Those of type 1 spell the names of columns otherwise in their settings."""
    id_, at = ("Id", "At") if history == "type1" else ("id", "at")
    more = f"latest_by: [{at}]\nhistory: {history}\n"
    deletes = f"{more}delete_when: w = 'D'\n"
    return {
        **{f"tables/silver/{name}_{history}.sql": query for name, query in QUERIES.items()},
        **{f"tables/silver/{name}_{history}.yaml": f"key: [{id_}]\n{deletes}" for name in QUERIES},
        f"tables/silver/py_{history}.py": PYTHON.format(f"py_{history}"),
        f"tables/silver/py_{history}.yaml": f"key: [{id_}]\n{deletes}deterministic: true\n",
        f"tables/silver/maps_{history}.py": MAPS.format(f"maps_{history}"),
        f"tables/silver/maps_{history}.yaml": f"key: [{id_}]\n{more}deterministic: true\n",
    }


def ctes_of(history: str) -> dict[str, str]:
    settings = f"key: [id]\nlatest_by: [at]\nhistory: {history}\ndelete_when: w = 'D'\n"
    return {f"tables/silver/ctes_{history}.sql": CTES, f"tables/silver/ctes_{history}.yaml": settings}


FIRST = (
    *("1,10,z,I", "1,10,y,U", "2,10,z,D", "2,10,a,I", "3,10,z,I", "6,10,z,I", "6,10,y,U", "7,10,z,I"),
    *("11,5,batch 1,", "11,6,x,", "13,5,batch 1,", "13,6,x,"),  # another writes rows without, with a batch
    *("21,5,first,", "22,5,first,", "31,5,gone,D", "32,5,there,"),  # and such as tie with none, or a delete
    *("41,5,p,", "42,5,p,", "43,1,gone,D"),  # names that are spelled otherwise
    *("61,5,p,", "62,5,q,", "63,5,q,"),  # maps
    *("71,1,a 1,", "81,5,c,", "91,5,p,q", "95,5,first,"),  # several tables, collations, both, expired
)  # fmt: skip
SECOND = (
    *("1,10,c,U", "2,10,z,D", "3,10,b,I"),
    *("11,5,batch 2,", "12,6,x,", "13,5,batch 2,", "14,6,x,"),
    *("41,5,q,", "42,6,,D", "43,0,late,"),
    *("61,5,q,", "62,5,p,", "63,5,q,"),
    *("71,2,a 2,", "81,6,C,", "92,5,q,p"),
)
"""Rows of the cases, each of which has ids of its own."""


@dataclass(frozen=True)
class Ties:
    """``runs``: by what had happened; ``verified``: what ``lakesmith verify`` said then.

    ``outcomes``: of the ties of ``silver.typed``, settled by places and by a scan. ``by_place``: whether its
    rows were read by their places, each time that was tried.
    """

    shop: Harness
    runs: dict[str, RunResult]
    verified: dict[str, dict[str, Verdict]]
    outcomes: list[Outcomes]
    by_place: list[bool]

    def rows(self, run: str, table: str, *columns: str, where: str = "true") -> list[tuple[Any, ...]]:
        """The table's rows as the run published them."""
        (published,) = (each for each in self.runs[run].of(table) if isinstance(each, TablePublished))
        frame = self.shop.frame(table, as_of=published.report.snapshot)
        return in_order(map(tuple, frame.where(where).select(*columns).collect()))

    def kind(self, run: str, table: str) -> str:
        return self.runs[run].published[table].kind


@pytest.fixture(scope="module")
def ties(make_lake: MakeShop) -> Ties:
    shop = make_lake({**FILES, **files_of("type1"), **files_of("type2")})
    ties = Ties(shop, {}, {}, [], [])

    def run(name: str, *patterns: str, verified: Sequence[str] = ()) -> None:
        ties.runs[name] = shop.must_run(*patterns)
        ties.verified[name] = {table: each.verdict for table, each in shop.verify(*verified).items()}

    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        shop.land_rows("names", 1, "1,0,one,", "72,0,b,")
        shop.land_rows("b", 1, "4,10,z,I")
        shop.land_rows("a", 1, *FIRST)
        shop.land_rows("a", 2, "1,10,x,U", "3,10,a,D", "5,10,z,I", "7,10,a,U")
        shop.land_rows("typed", 1, *(f"{number},1,{','.join(SAME)}" for number in range(len(TYPES) + 2)))
        run("first")
        shop.take_rows("b", 2, "5,10,b,U", run=("bronze.b",))
        shop.land_rows("a", 3, *SECOND)
        shop.land_rows("a", 4, "5,10,a,U", "1,10,b,U")
        shop.land_rows("typed", 2, *changed_in_one_column())
        patch.setattr("lakesmith.spark.write.merge_outcomes.rows_at", noted(ties.by_place))
        with patch.context() as settling:
            settling.setattr("lakesmith.spark.write.upsert.settle_ties", settled_twice(ties.outcomes, patch))
            run("second", verified=[*THROUGH["type1"], *THROUGH["type2"]])
        shop.write(
            {"tables/bronze/typed.yaml": FILES["tables/bronze/typed.yaml"].replace("at: int", "at: bigint")}
        )
        others = ",".join(other for *_, other in TYPES.values())
        shop.land_rows("typed", 3, f"{len(TYPES) + 1},1,{','.join(SAME)}", f"{len(TYPES)},1,{others}")
        run("widened", "bronze.typed", "silver.typed")
    shop.write({**ctes_of("type1"), **ctes_of("type2")})
    run("ctes", "silver.ctes_type1", "silver.ctes_type2")

    write_as_another(shop, "id, at, v", "(21, 6, 'newer'), (22, 4, 'older')")
    run("untied", "silver.sql_type1")
    write_as_another(shop, "id, at, v, _batch", "(11, 5, 'foreign', NULL), (11, 6, 'y', NULL)")
    both = ["silver.sql_type1", "silver.sql_type2"]
    run("no batch", *both, verified=both)
    write_as_another(shop, "id, at, v, _batch", "(13, 5, 'foreign', 1L), (13, 6, 'y', 1L)")
    run("old batch", "silver.sql_type1", verified=["silver.sql_type1"])
    write_as_another(shop, "id, at, v", "(31, 5, 'foreign')")
    run("deleted", "silver.sql_type1")
    read = shop.record("silver.sql_type1").inputs["bronze.a"].snapshot
    shop.take_rows("a", 5, "95,5,second,", "71,3,a 3,", run=("bronze.a",))
    shop.spark.sql(
        "CALL lake.system.expire_snapshots(table => 'bronze.a',"
        f" snapshot_ids => ARRAY({read}), older_than => TIMESTAMP '1970-01-01 00:00:00')"
    )
    run("expired", "silver.sql_type1")

    shop.write(LATER)
    shop.must_run("silver.several", "gold.t")
    shop.land_rows("names", 2, "71,3,b 2,")
    run("several", "bronze.names", "silver.several", "gold.t", verified=["gold.t"])
    return ties


def write_as_another(shop: Harness, columns: str, values: str) -> None:
    shop.spark.sql(insertion(shop.spark, "lake.bronze.a", columns, values))


def changed_in_one_column() -> list[str]:
    """A row as it was, and for each column a row that differs in it."""
    others = [[*SAME[:at], other, *SAME[at + 1 :]] for at, (_, _, other) in enumerate(TYPES.values())]
    return [
        f"{len(TYPES) + 1},1,{','.join(SAME)}",
        *(f"{at},1,{','.join(row)}" for at, row in enumerate(others)),
    ]


def noted(by_place: list[bool]) -> Any:
    def found(batch: Any, *given: Any) -> Any:
        rows = rows_at(batch, *given)
        if str(batch.name) == "silver.typed":
            by_place.append(rows is not None)
        return rows

    return found


def settled_twice(outcomes: list[Outcomes], patch: pytest.MonkeyPatch) -> Any:
    """Settles ties of ``silver.typed`` by a scan and by places, in the same batch."""

    def found(batch: Any, *given: Any) -> Any:
        budgets = (0, limits.BYTES_READ_BY_PLACE) if str(batch.name) == "silver.typed" else ()
        for budget in budgets:
            patch.setattr(limits, "BYTES_READ_BY_PLACE", budget)
            outcomes.append(count_outcomes(settle_ties(batch, *given)))
        return settle_ties(batch, *given)

    return found


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_arrival_settles_ties_through_any_query_that_it_passes(ties: Ties, history: str) -> None:
    """In one file, between files and between batches: the last row counts, by keys and in a rebuild."""

    def current(run: str, name: str) -> list[tuple[Any, ...]]:
        where = "id < 10" + ("" if history == "type1" else " AND is_current")
        return ties.rows(run, f"silver.{name}_{history}", "id", "v", where=where)

    first = [(1, "x"), (2, "a"), (5, "z"), (6, "y"), (7, "a")]
    then = [(1, "b"), (3, "b"), (5, "a"), (6, "y"), (7, "a")]
    for run, rows in (("first", first), ("second", then)):
        expected = {**dict.fromkeys(KINDS, rows), "tables": sorted([*rows, (4, "z")])}
        assert {name: current(run, name) for name in KINDS} == expected
    assert current("ctes", "ctes") == then
    assert {name: ties.kind("second", f"silver.{name}_{history}") for name in KINDS} == KINDS
    assert {ties.verified["second"][table] for table in THROUGH[history]} == {Verdict.SAME}


@pytest.mark.parametrize(
    ("first", "then", "history"), [("p", "q", "type1"), ("q", "p", "type1"), ("q", "p", "type2")]
)
def test_where_arrival_is_not_known_maps_settle_ties_as_well(
    ties: Ties, first: str, then: str, history: str
) -> None:
    table, key = f"silver.maps_{history}", 61 if (first, then) == ("p", "q") else 62
    assert (f"{key},5,{first}," in FIRST, f"{key},5,{then}," in SECOND) == (True, True)
    assert ties.kind("second", table) == "upsert"
    said = "2 ties of latest_by were settled by the values, as arrival does not tell the rows apart"
    record = ties.runs["second"].published[table]
    assert said in record.notes
    assert ties.rows("second", table, "m", where=f"id = {key}") == [({"v": "q"},)]
    # The key 63, whose values came again, is none of the updates.
    assert record.account.updated == 1
    assert ties.rows("second", table, "m", where="id = 63") == [({"v": "q"},)]


@pytest.mark.parametrize(("v", "w", "history"), [("p", "q", "type1"), ("q", "p", "type2")])
def test_of_two_versions_out_of_one_row_the_greatest_values_win(
    ties: Ties, v: str, w: str, history: str
) -> None:
    table, where = f"silver.union_{history}", "id IN (91, 92)"
    assert {f"91,5,{v},{w}", f"92,5,{v},{w}"} & {*FIRST, *SECOND}
    assert ties.rows("first", table, "id", "v", where=where) == [(91, "q")]
    assert ties.rows("second", table, "id", "v", where=where) == [(91, "q"), (92, "q")]
    assert ties.verified["second"][table] is Verdict.SAME


@pytest.mark.parametrize(("batch", "history"), [("NULL", "type1"), ("1L", "type1"), ("NULL", "type2")])
def test_a_row_that_another_wrote_with_no_or_an_old_batch_wins_no_tie(
    ties: Ties, batch: str, history: str
) -> None:
    run, key = ("no batch", 11) if batch == "NULL" else ("old batch", 13)
    table = f"silver.sql_{history}"
    assert ties.verified[run][table] is Verdict.SAME
    where = f"id BETWEEN {key} AND {key + 1}"
    found = ties.rows(run, table, "id", "at", "v", where=where)
    older = [] if history == "type1" else [(key, 5, "batch 2")]
    assert found == [*older, (key, 6, "x"), (key + 1, 6, "x")]


def test_a_row_that_another_wrote_and_that_ties_with_none_comes_by_its_key(ties: Ties) -> None:
    table = "silver.sql_type1"
    found = ties.rows("untied", table, "id", "v", where="id IN (21, 22)")
    assert (ties.kind("untied", table), found) == ("upsert", [(21, "newer"), (22, "first")])


def test_a_deleted_key_does_not_come_back_by_a_tie_that_another_wrote(ties: Ties) -> None:
    assert ties.rows("deleted", "silver.sql_type1", "id", "v", where="id IN (31, 32)") == [(32, "there")]


def test_batches_of_two_tables_do_not_order_their_rows(ties: Ties) -> None:
    assert ties.verified["several"] == {"gold.t": Verdict.SAME}
    assert ties.rows("several", "gold.t", "v") == [("a 3",), ("b",)]


def test_a_tie_after_the_snapshot_that_was_read_has_expired(ties: Ties) -> None:
    table = "silver.sql_type1"
    found = ties.rows("expired", table, "v", where="id = 95")
    assert (ties.kind("expired", table), found) == ("full", [("second",)])


@pytest.mark.parametrize("arrival", [True, False])
def test_keys_and_times_that_are_spelled_otherwise_in_the_settings(ties: Ties, arrival: bool) -> None:
    table = "silver.sql_type1" if arrival else "silver.py_type1"
    found = ties.rows("second", table, "id", "v", where="id BETWEEN 41 AND 43")
    assert (ties.kind("second", table), found) == ("upsert", [(41, "q")])


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_keys_that_are_equal_by_a_collation(ties: Ties, history: str) -> None:
    if history == "type2":
        (problem,) = ties.shop.run("silver.collated_type2").problems
        assert (problem.code, "collation" in problem.what) == ("LS615", True)
        return
    table = "silver.collated_type1"
    assert (ties.kind("second", table), ties.rows("second", table, "at")) == ("full", [(6,)])


def test_a_tie_is_unchanged_if_each_value_is(ties: Ties) -> None:
    """Ties are settled by reading their places; the scan must say the same."""
    record = ties.runs["second"].published["silver.typed"]
    assert record.kind == "upsert"
    found = [(each.unchanged, each.update, each.insert) for each in ties.outcomes]
    account = record.account
    assert found == [(1, len(TYPES), 0)] * 2
    assert (account.unchanged, account.updated, account.inserted) == (1, len(TYPES), 0)


def test_places_are_read_where_types_and_ids_are_the_tables(ties: Ties) -> None:
    """A file from before a column came, or was widened, is left to the scan."""
    # By a scan, as no byte may be read by place; by places; in the batch itself; and once it was widened.
    assert ties.by_place == [False, True, True, False]
    account = ties.runs["widened"].published["silver.typed"].account
    assert (account.unchanged, account.updated, account.inserted) == (1, 1, 0)
