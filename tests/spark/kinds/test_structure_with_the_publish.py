"""Columns, comments and partitions of a table's file change with the publish of a batch, or not at all."""

from datetime import UTC, datetime
from typing import Any

import pytest
from harness import MakeShop

from lakesmith.catalog.state import TableState
from lakesmith.execute import faults
from lakesmith.execute.rollback import prepare
from lakesmith.project.definitions import TableName

pytestmark = pytest.mark.in_turn("file", of=3)

BRONZE, SILVER = "tables/bronze/people.yaml", "tables/silver/people.yaml"
SOURCE = "source: {files: {path: landing/, format: csv}}\n"
BEFORE = SOURCE + "columns: {id: bigint, name: string, n: int, at: date}\n"
AFTER = (
    SOURCE
    + """
description: All of them
columns:
  n: bigint
  id: bigint
  full_name: {type: string, renamed_from: name, doc: As in the passport}
  at: date
  vat: double
partition_by: [months(at), "bucket(2, id)"]
"""
)
FILES = {
    BRONZE: BEFORE,
    SILVER: "query: SELECT id, name, n FROM bronze.people\nkey: [id]\n",
    "tables/silver/copy.sql": "SELECT id, n FROM bronze.people\n",
}


def structure(state: TableState) -> dict[str, Any]:
    """All that readers see of a table besides its rows."""
    return {
        "columns": [(c.name, c.field_id, c.type, c.doc) for c in state.columns],
        "partitioning": state.partitioning,
        "properties": dict(state.properties),
        "format": state.format_version,
        "schema": state.schema_id,
    }


@pytest.mark.in_turn
def test_a_batch_that_fails_changes_nothing(make_shop: MakeShop) -> None:
    people = make_shop(FILES)
    people.take("landing/1.csv", "id,name,n,at\n1,Ada,1,2026-01-05\n2,Bob,2,2026-02-06\n")
    # Iceberg then deletes all metadata files but the last two at each commit: never one that the table names.
    short_log = "SET TBLPROPERTIES ('write.metadata.previous-versions-max'='1')"
    people.spark.sql(f"ALTER TABLE lake.bronze.people {short_log}")
    before = {table: people.state(table) for table in ("bronze.people", "silver.people")}
    rows = {table: people.rows(table) for table in before}

    # An undeclared column stops the batch; the column is not renamed, and nothing else is changed.
    people.write({BRONZE: AFTER, SILVER: "query: SELECT id, full_name, n FROM bronze.people\nkey: [id]\n"})
    people.land("landing/2.csv", "id,full_name,n,at,other\n3,Cyd,3,2026-03-05,x\n")
    result = people.run()
    assert "LS431" in {problem.code for problem in result.problems}
    assert people.state("bronze.people") == before["bronze.people"]

    # Nor at any later point: readers see what they saw until the publish.
    people.land("landing/2.csv", "id,full_name,n,at\n3,Cyd,3000000000,2026-03-05\n")
    for point in ("after-branch", "after-data", "before-publish", "before-swap"):

        def look_and_fail() -> None:
            state = people.state("bronze.people")
            assert structure(state) == structure(before["bronze.people"])
            assert people.rows("bronze.people") != []
            raise OSError("pulled the plug")

        faults.arrange(point, look_and_fail, "bronze.people")
        assert people.run("bronze.people").code == 1
        faults.clear()
    assert structure(people.state("bronze.people")) == structure(before["bronze.people"])
    assert people.rows("bronze.people") == rows["bronze.people"]

    # The definition taken back: all is as it was, and nothing below is computed anew.
    people.write(FILES)
    result = people.take("landing/2.csv", "id,name,n,at\n3,Cyd,3,2026-03-05\n")
    assert result.published["silver.people"].kind == "upsert"
    assert people.rows("silver.people") == [(1, "Ada", 1), (2, "Bob", 2), (3, "Cyd", 3)]

    # And then it is done, by one commit, with the rows.
    people.write({BRONZE: AFTER, SILVER: "query: SELECT id, full_name, n FROM bronze.people\nkey: [id]\n"})
    people.land("landing/3.csv", "id,full_name,n,at,vat\n4,Dan,3000000000,2026-04-05,0.5\n")
    people.must_run(approve=["silver.people"])
    state, ids = people.state("bronze.people"), {c.name: c.field_id for c in before["bronze.people"].columns}
    now = {column.name: column for column in state.columns}
    assert list(now)[:5] == ["n", "id", "full_name", "at", "vat"]
    assert (now["full_name"].field_id, now["full_name"].doc) == (ids["name"], "As in the passport")
    assert (now["n"].field_id, now["n"].type) == (ids["n"], "bigint")
    assert state.partitioning == ("months(at)", "bucket(2, id)")
    assert state.properties["comment"] == "All of them"
    assert dict(state.properties) == {**before["bronze.people"].properties, "comment": "All of them"}
    assert people.rows("bronze.people", "id", "full_name", "n", "vat") == [
        (1, "Ada", 1, None), (2, "Bob", 2, None), (3, "Cyd", 3, None), (4, "Dan", 3_000_000_000, 0.5),
    ]  # fmt: skip
    assert people.rows("silver.people") == [
        (1, "Ada", 1), (2, "Bob", 2), (3, "Cyd", 3), (4, "Dan", 3_000_000_000),
    ]  # fmt: skip
    assert len(state.published) == 3, "one entry of main's history for each publish"
    assert people.rows("silver.copy") == [(1, 1), (2, 2), (3, 3), (4, 3_000_000_000)]
    assert not people.must_run().published

    # A rollback says that columns do not go back.
    name, then = TableName.parse("bronze.people"), str(before["bronze.people"].refs["main"])
    back = prepare(people.lake(), people.load()[1], name, then, datetime.now(UTC), downstream=False)
    assert back.columns == ("full_name (then name)", "vat (then not there, so NULL)")


def test_a_run_with_nothing_new_makes_what_is_declared(make_shop: MakeShop) -> None:
    people = make_shop(FILES)
    people.take("landing/1.csv", "id,name,n,at\n1,Ada,1,2026-01-05\n2,Bob,2,2026-02-06\n")
    before = people.state("bronze.people")
    people.write(
        {
            BRONZE: AFTER.partition("partition_by")[0],
            "tables/silver/copy.sql": "SELECT id, n, vat FROM bronze.people\n",
        }
    )
    people.write(
        {SILVER: "query: SELECT id, full_name AS name, n FROM bronze.people\nkey: [id]\nowner: Ann\n"}
    )
    result = people.must_run()
    record = result.published["bronze.people"]
    assert record.kind == "advance"
    assert set(record.notes) >= {
        "column name becomes full_name, in metadata alone",
        "column vat double was added",
        "column n was widened from int to bigint",
    }
    state = people.state("bronze.people")
    ids = {column.name: column.field_id for column in before.columns}
    assert [(c.name, c.field_id, c.type, c.doc) for c in state.columns][:5] == [
        ("n", ids["n"], "bigint", None),
        ("id", ids["id"], "bigint", None),
        ("full_name", ids["name"], "string", "As in the passport"),
        ("at", ids["at"], "date", None),
        ("vat", max(ids.values()) + 1, "double", None),
    ]
    assert state.properties["comment"] == "All of them"
    assert people.state("silver.people").properties["lakesmith.owner"] == "Ann"

    # The tables below see it in the same run, and Spark reads and writes what is there.
    assert people.rows("silver.copy") == [(1, 1, None), (2, 2, None)]
    assert people.rows("bronze.people", "id", "full_name", "vat") == [(1, "Ada", None), (2, "Bob", None)]
    assert not people.must_run().published
    people.take("landing/2.csv", "id,full_name,n,at,vat\n3,Cyd,3000000000,2026-03-05,0.5\n")
    assert people.rows("silver.copy") == [(1, 1, None), (2, 2, None), (3, 3_000_000_000, 0.5)]
    assert people.rows("silver.people") == [(1, "Ada", 1), (2, "Bob", 2), (3, "Cyd", 3_000_000_000)]
    assert people.redefine({BRONZE: AFTER}, "bronze.people").published["bronze.people"].kind == "advance"
    assert people.state("bronze.people").partitioning == ("months(at)", "bucket(2, id)")
    assert len(people.rows("bronze.people")) == 3


def test_a_renaming_that_cannot_be_is_said(make_shop: MakeShop) -> None:
    people = make_shop({BRONZE: SOURCE + "columns: {id: bigint, a: string}\n"})
    people.take("landing/1.csv", "id,a\n1,x\n")
    people.redefine({BRONZE: SOURCE + "columns: {id: bigint, b: {type: string, renamed_from: a}}\n"})
    assert people.rows("bronze.people", "id", "b") == [(1, "x")]
    assert not people.must_run().published
    # The earlier name came back, by another tool.
    people.spark.sql("ALTER TABLE lake.bronze.people ADD COLUMN a string")
    (current,) = (event for event in people.must_run().of("bronze.people") if hasattr(event, "notes"))
    assert "column b is declared as renamed from a, and the table has both" in str(current.notes)


@pytest.mark.parametrize("version", [2, 3])
def test_a_rebuild_that_fails_leaves_no_column_behind(make_shop: MakeShop, version: int) -> None:
    yaml = f"query: SELECT id, name, n FROM bronze.people\nkey: [id]\nformat_version: {version}\n"
    people = make_shop({**FILES, SILVER: yaml}, approves=True)
    people.take("landing/1.csv", "id,name,n,at\n1,Ada,1,2026-01-05\n2,Bob,2,2026-02-06\n")
    before = people.state("silver.people")
    people.write({SILVER: yaml.replace("name, n", "CAST(n AS string) AS n, upper(name) AS loud")})
    for point in ("after-data", "before-swap"):

        def fail() -> None:
            assert structure(people.state("silver.people")) == structure(before)
            raise OSError("pulled the plug")

        faults.arrange(point, fail, "silver.people")
        assert people.run().code == 1
        faults.clear()
    assert people.state("silver.people") == before
    people.must_run()
    assert people.rows("silver.people", "id", "n", "loud") == [(1, "1", "ADA"), (2, "2", "BOB")]
    people.take("landing/2.csv", "id,name,n,at\n1,Eve,7,2026-01-05\n")
    assert people.rows("silver.people", "id", "n", "loud") == [(1, "7", "EVE"), (2, "2", "BOB")]
    read = people.spark.sql(
        f"SELECT id, name, n FROM lake.silver.people VERSION AS OF {before.head.snapshot_id}"
    )  # type: ignore[union-attr]
    assert sorted(map(tuple, read.collect())) == [(1, "Ada", 1), (2, "Bob", 2)]
