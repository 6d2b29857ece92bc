"""Columns that another engine drops, adds again or renames: a name may stand for other values now."""

import pytest
from harness import Harness

from lakesmith import limits
from lakesmith.execute.events import TableStarted
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.commits import JavaTables

pytestmark = pytest.mark.in_turn

BRONZE = "source:\n  files: {path: landing/p/, format: csv}\ncolumns: {id: int, x: int, y: int}\n"
NESTED = "source:\n  files: {path: landing/n/, format: json}\ncolumns: {id: int, s: 'struct<x:int,y:int>'}\n"
OWN = "_source_file, _source_position, _source_modified_at, _ingested_at, _batch"
QUERIES = {
    "silver.some": "SELECT id, x AS z FROM bronze.p",
    "silver.all": f"SELECT * EXCEPT ({OWN}) FROM bronze.p",
    "silver.summed": "SELECT x, count(*) AS c FROM bronze.p GROUP BY x",
}
KEYED = "key: [id]\nlatest_by: [id]\nquery: SELECT id, x FROM bronze.p\n"
ALTER = "ALTER TABLE lake.bronze"
FILES = {"tables/bronze/p.yaml": BRONZE}
APPROVES = True


@pytest.mark.parametrize(
    "changes",
    [
        ["DROP COLUMN x", "ADD COLUMN x int AFTER id"],
        ["RENAME COLUMN x TO t", "RENAME COLUMN y TO x", "RENAME COLUMN t TO y"],
    ],
    ids=["dropped and added again", "swapped"],
)
def test_a_name_that_stands_for_another_column_now(shop: Harness, changes: list[str]) -> None:
    shop.define(QUERIES)
    shop.write({"tables/silver/keyed.yaml": KEYED})
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n2,20,200\n")
    for change in changes:
        shop.spark.sql(f"{ALTER}.p {change}")
    published = shop.take("landing/p/2.csv", "id,x,y\n3,30,300\n").published
    assert shop.differing({**QUERIES, "silver.keyed": "SELECT id, x FROM bronze.p"}) == []
    assert {published[name].kind for name in (*QUERIES, "silver.keyed")} == {"full"}
    assert shop.must_run().published == {}


@pytest.mark.parametrize(
    ("changes", "query"),
    [
        (["DROP COLUMN s.x", "ADD COLUMN s.x int FIRST"], "SELECT id, s.x + 1 AS more, s FROM bronze.n"),
        (["RENAME COLUMN s.x TO z"], "SELECT id, s FROM bronze.n"),
    ],
    ids=["dropped and added again", "renamed"],
)
def test_a_field_that_is_another_now(shop: Harness, changes: list[str], query: str) -> None:
    """Nothing was committed since: the rows are as they were, and read by the fields' ids."""
    shop.write({"tables/bronze/n.yaml": NESTED, "tables/silver/some.sql": query})
    shop.take("landing/n/1.json", '{"id": 1, "s": {"x": 7, "y": 8}}\n', "bronze.n", "silver.some")
    for change in changes:
        shop.spark.sql(f"{ALTER}.n {change}")
    assert shop.must_run("silver.some").published["silver.some"].kind == "full"
    assert shop.differing({"silver.some": query}) == []
    assert shop.must_run("silver.some").published == {}


def test_a_column_of_an_input_that_changes_while_another_input_moves(shop: Harness) -> None:
    query = "SELECT p.id, p.x, o.x AS other FROM bronze.p p LEFT JOIN bronze.o o ON p.id = o.id"
    shop.write({"tables/bronze/o.yaml": BRONZE.replace("/p/", "/o/"), "tables/gold/both.sql": query})
    shop.land("landing/p/1.csv", "id,x,y\n1,10,100\n2,20,200\n")
    shop.take("landing/o/1.csv", "id,x,y\n1,11,100\n2,21,200\n")
    shop.spark.sql(f"{ALTER}.o DROP COLUMN x")
    shop.spark.sql(f"{ALTER}.o ADD COLUMN x int AFTER id")
    shop.take("landing/p/2.csv", "id,x,y\n3,30,300\n", "bronze.p", "gold.both")
    assert shop.differing({"gold.both": query}) == []


@pytest.mark.parametrize("change", ["DROP COLUMN z", "RENAME COLUMN z TO w"])
def test_a_derived_tables_own_column_is_made_again(shop: Harness, change: str) -> None:
    shop.write({"tables/silver/some.sql": QUERIES["silver.some"]})
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n2,20,200\n")
    shop.spark.sql(f"ALTER TABLE lake.silver.some {change}")
    result = shop.must_run()
    (started,) = (event for event in result.of("silver.some") if isinstance(event, TableStarted))
    assert started.step.reason.startswith("its column z is not the one that was written")
    assert shop.rows("silver.some") == [(1, 10), (2, 20)]
    assert shop.must_run().published == {}


def test_a_table_that_is_rolled_back_over_a_change_of_its_columns(shop: Harness) -> None:
    """The column of before is gone with the rebuild: its values are not there any more."""
    shop.write({"tables/silver/some.sql": QUERIES["silver.some"]})
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n2,20,200\n")
    head = shop.head("silver.some")
    shop.redefine({"tables/silver/some.sql": "SELECT id, CAST(x AS string) AS z FROM bronze.p"})
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('silver.some', {head.snapshot_id})")
    shop.write({"tables/silver/some.sql": QUERIES["silver.some"]})
    assert shop.must_run().published["silver.some"].kind == "full"
    assert shop.rows("silver.some") == [(1, 10), (2, 20)]


def test_a_rebuild_that_failed_leaves_the_table_wider_and_the_definition_of_before_fits(
    shop: Harness,
) -> None:
    shop.write({"tables/silver/some.sql": QUERIES["silver.some"]})
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n")
    shop.spark.sql("ALTER TABLE lake.silver.some ALTER COLUMN z TYPE bigint")
    assert shop.take("landing/p/2.csv", "id,x,y\n2,20,200\n").published["silver.some"].kind == "append"
    assert shop.rows("silver.some") == [(1, 10), (2, 20)]


def test_an_input_whose_type_changed_by_a_rebuild_is_read_anew(shop: Harness) -> None:
    first = {
        "tables/silver/some.sql": QUERIES["silver.some"],
        "tables/gold/copy.sql": "SELECT id, z FROM silver.some",
    }
    shop.write(first)
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n")
    shop.write({"tables/silver/some.sql": "SELECT id, concat('n', x) AS z FROM bronze.p"})
    assert shop.must_run().published["gold.copy"].kind == "full"
    assert shop.rows("gold.copy") == [(1, "n10")]


DELETES = "source:\n  files: {path: landing/d/, format: csv}\ncolumns: {id: int, day: int, op: string}\n"
NEWEST = "key: [id]\nlatest_by: [day]\ndelete_when: op = 'D'\nquery: SELECT id, {day}, op FROM bronze.d\n"


def test_tombstones_keep_their_times_over_a_change_of_type_and_a_rollback(shop: Harness) -> None:
    """The sidecar has them under columns of the same names and types, which are not the earlier columns."""
    shop.write({"tables/bronze/d.yaml": DELETES, "tables/silver/now.yaml": NEWEST.format(day="day")})
    names = ("bronze.d", "silver.now")
    shop.take("landing/d/1.csv", "id,day,op\n1,1,I\n2,5,D\n", *names)
    head = shop.head("silver.now")
    for day in ("CAST(day AS string) AS day", "day"):
        shop.redefine({"tables/silver/now.yaml": NEWEST.format(day=day)}, *names)
    shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('silver.now', {head.snapshot_id})")
    shop.take("landing/d/2.csv", "id,day,op\n3,2,D\n", *names)
    shop.take("landing/d/3.csv", "id,day,op\n2,3,I\n", *names)
    assert shop.rows("silver.now", "id", "day") == [(1, 1)], "an older version of a deleted key comes back"


def test_a_column_that_comes_takes_over_a_name_of_the_query(shop: Harness) -> None:
    evolving = (
        "source:\n  files: {path: landing/e/, format: csv, on_new_column: evolve}\n"
        "columns: {id: int, x: int}\n"
    )
    query = "SELECT id, x * 2 AS total, total + 1 AS more FROM bronze.e"
    shop.write({"tables/bronze/e.yaml": evolving, "tables/silver/more.sql": query})
    shop.take("landing/e/1.csv", "id,x\n1,10\n2,20\n", "bronze.e", "silver.more")
    shop.land("landing/e/2.csv", "id,x,total\n3,30,7\n")
    assert shop.must_run("bronze.e", "silver.more").published["silver.more"].kind == "full"
    assert shop.differing({"silver.more": query}) == []


def test_a_column_that_no_grouping_names_comes_at_no_cost(shop: Harness, by_keys: None) -> None:
    query = QUERIES["silver.summed"]
    shop.write({"tables/silver/summed.sql": query})
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n2,20,200\n")
    shop.spark.sql(f"{ALTER}.p ADD COLUMN extra int")
    assert shop.take("landing/p/2.csv", "id,x,y\n3,20,300\n").published["silver.summed"].kind == "sums"
    assert shop.differing({"silver.summed": query}) == []


def test_columns_in_another_order(shop: Harness) -> None:
    queries = {
        "silver.joined": f"SELECT id, concat_ws('-', *) AS all FROM (SELECT * EXCEPT ({OWN}) FROM bronze.p)",
        "silver.both": f"SELECT * EXCEPT ({OWN}) FROM bronze.p UNION ALL SELECT * EXCEPT ({OWN})"
        " FROM bronze.p",
        "silver.named": f"SELECT a, c FROM (SELECT * EXCEPT ({OWN}) FROM bronze.p) AS t(a, b, c)",
    }
    shop.define(queries)
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n2,20,200\n")
    shop.write({"tables/bronze/p.yaml": BRONZE.replace("id: int, x: int, y: int", "id: int, y: int, x: int")})
    assert set(shop.must_run().published) == {"bronze.p", *queries}
    # A change that did not last is not made over and over.
    shop.spark.sql(f"{ALTER}.p ALTER COLUMN y AFTER x")
    assert "bronze.p" not in shop.must_run().published
    assert shop.differing(queries) == []


def test_a_column_with_a_default_for_rows_from_before_it(shop: Harness) -> None:
    query = f"SELECT * EXCEPT ({OWN}) FROM bronze.p"
    shop.write({"tables/silver/all.sql": query})
    shop.take("landing/p/1.csv", "id,x,y\n1,10,100\n2,20,200\n")
    table = JavaTables(shop.spark).load(TableName("bronze", "p"))
    table.updateProperties().set("format-version", "3").commit()
    iceberg = shop.spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
    five = iceberg.expressions.Expressions.lit(5)
    table.updateSchema().addColumn("z", iceberg.types.Types.IntegerType.get(), "", five).commit()
    shop.spark.catalog.refreshTable("lake.bronze.p")
    assert shop.must_run("silver.all").published["silver.all"].kind == "full"
    assert shop.rows("silver.all", "id", "z") == [(1, 5), (2, 5)]


def test_a_field_that_is_dropped_inside_a_column_that_is_passed_on(shop: Harness) -> None:
    query = "SELECT id, s FROM bronze.n"
    shop.write({"tables/bronze/n.yaml": NESTED, "tables/silver/some.sql": query})
    shop.take("landing/n/1.json", '{"id": 1, "s": {"x": 7, "y": 8}}\n', "bronze.n", "silver.some")
    shop.spark.sql(f"{ALTER}.n DROP COLUMN s.y")
    shop.write({"tables/bronze/n.yaml": NESTED.replace("x:int,y:int", "x:int")})
    assert shop.must_run("silver.some").published["silver.some"].kind == "full"
    shop.take("landing/n/2.json", '{"id": 2, "s": {"x": 9}}\n', "bronze.n", "silver.some")
    assert shop.differing({"silver.some": query}) == []


@pytest.mark.parametrize("history", ["type1", "type2"])
def test_a_column_that_goes_where_versions_were_told_apart_by_it(shop: Harness, history: str) -> None:
    keyed = f"key: [id]\nlatest_by: [x]\nhistory: {history}\nquery: SELECT * EXCEPT ({OWN}) FROM bronze.p\n"
    shop.write({"tables/silver/keyed.yaml": keyed})
    shop.take("landing/p/1.csv", "id,x,y\n1,1,100\n1,2,200\n2,1,100\n")
    shop.spark.sql(f"{ALTER}.p DROP COLUMN y")
    shop.write({"tables/bronze/p.yaml": BRONZE.replace(", y: int", "")})
    shop.take("landing/p/2.csv", "id,x\n2,2\n")
    incremental = shop.rows("silver.keyed")
    shop.must_run(full=["silver.keyed"])
    assert incremental == shop.rows("silver.keyed")
    assert len(incremental) == 2


def test_conditions_on_columns_that_have_other_names_than_in_the_snapshot_that_is_read(
    shop: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iceberg knows a file's columns by their present names, and would skip files by others' values."""
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 0)
    queries = {
        "gold.few": "SELECT id, x FROM silver.s WHERE x > 50",
        "gold.groups": "SELECT x, count(*) AS c FROM silver.s WHERE x > 50 GROUP BY x",
        "gold.joined": "SELECT s.id, p.id AS other FROM silver.s AS s JOIN bronze.p AS p ON s.x = p.y",
    }
    shop.write({"tables/silver/s.sql": "SELECT id, x, y FROM bronze.p"})
    shop.define(queries)
    shop.take("landing/p/1.csv", "id,x,y\n1,1,100\n2,2,200\n3,3,300\n")
    assert shop.rows("gold.few") == []
    for change in ("RENAME COLUMN x TO t", "RENAME COLUMN y TO x", "RENAME COLUMN t TO y"):
        shop.spark.sql(f"ALTER TABLE lake.silver.s {change}")
    shop.must_run("gold.*")
    assert shop.rows("gold.few") == [(1, 100), (2, 200), (3, 300)]
    assert shop.differing(queries) == []


def test_a_column_of_another_type_since_its_last_batch(shop: Harness, by_keys: None) -> None:
    """The batch that brings it is written beside the old column, which goes with the publish."""
    first = {
        "silver.s": "SELECT id, CAST(x AS string) AS a FROM bronze.p",
        "gold.own": "SELECT CAST(x AS string) AS a, avg(y) AS m FROM bronze.p GROUP BY CAST(x AS string)",
        "gold.few": "SELECT id, a FROM silver.s WHERE a > '1'",
        "gold.joined": "SELECT s.id, p.x FROM silver.s AS s JOIN bronze.p AS p ON s.a = p.x",
        "gold.groups": "SELECT a, count(*) AS c FROM silver.s GROUP BY a",
    }
    then = {
        name: query.replace("CAST(x AS string)", "x").replace("'1'", "1") for name, query in first.items()
    }
    for queries in (first, then):
        shop.define(queries)
        shop.take(f"landing/p/{queries is then}.csv", "id,x,y\n1,1,100\n2,2,200\n3,3,300\n")
    published = shop.take("landing/p/3.csv", "id,x,y\n4,3,400\n5,4,500\n").published
    assert (published["gold.own"].kind, published["gold.groups"].kind) == ("keys", "sums")
    assert shop.differing(then) == []
