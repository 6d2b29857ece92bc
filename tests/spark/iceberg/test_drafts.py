"""A batch is one commit of its table: nobody sees anything of it before, and nothing is left if it fails."""

import threading
from pathlib import Path

import pytest
from harness import Harness, MakeShop

from lakesmith.execute import faults
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.iceberg.drafts import draft_of
from lakesmith.spark.jvm.gateway import own_class

FILES = {
    "tables/bronze/a.yaml": (
        "source: {files: {path: landing/a/, format: csv, on_changed_file: replace}}\n"
        "columns: {id: bigint, v: string}\n"
    ),
    "tables/silver/a.yaml": "key: [id]\nquery: SELECT id, v FROM bronze.a\n",
    "tables/gold/a.sql": "SELECT v, count(*) AS n FROM silver.a GROUP BY v",
}
TABLES = ("bronze.a", "silver.a", "gold.a")


@pytest.fixture
def shop(make_shop: MakeShop) -> Harness:
    shop = make_shop(FILES)
    shop.take("landing/a/1.csv", "id,v\n1,x\n2,y\n")
    return shop


def _metadata(shop: Harness) -> dict[str, int]:
    folder = shop.root / ".lakesmith/warehouse"
    found = {
        table: folder.joinpath(*table.split("."), "metadata").glob("*.metadata.json") for table in TABLES
    }
    return {table: len(list(files)) for table, files in found.items()}


def _drafts(shop: Harness) -> int:
    return int(own_class(shop.spark, "lakesmith.Drafts").getField("TABLES").get(None).size())


def test_each_batch_of_each_kind_adds_one_file_of_metadata(shop: Harness) -> None:
    for number, rows in enumerate(("3,x\n", "1,z\n3,y\n", "4,x\n"), 2):
        before = _metadata(shop)
        shop.take(f"landing/a/{number}.csv", f"id,v\n{rows}")
        assert _metadata(shop) == {table: count + 1 for table, count in before.items()}
    shop.take("landing/a/4.csv", "id,v\n5,x\n")
    assert shop.rows("silver.a") == [(1, "z"), (2, "y"), (3, "y"), (5, "x")]
    shop.must_verify("silver.a", "gold.a")
    assert _drafts(shop) == 0


@pytest.mark.parametrize("point", ["after-branch", "after-data", "after-check", "before-swap"])
def test_a_batch_that_fails_leaves_its_table_as_it_was(shop: Harness, point: str) -> None:
    before = {table: shop.state(table).metadata_location for table in TABLES}
    shop.land("landing/a/2.csv", "id,v\n1,z\n")

    def fail() -> None:
        raise OSError("the disk is gone")

    faults.arrange(point, fail, "silver.a")
    assert shop.run().code == 1
    faults.clear()
    assert [shop.state(table).metadata_location == before[table] for table in TABLES] == [False, True, True]
    assert set(shop.state("silver.a").refs) <= {"main", "lakesmith_record"}
    assert _drafts(shop) == 0
    shop.must_run()
    assert shop.rows("silver.a") == [(1, "z"), (2, "y")]


def test_other_threads_read_what_is_published(shop: Harness) -> None:
    shop.land("landing/a/2.csv", "id,v\n1,z\n")
    name = shop.load()[1].order[1]
    seen: list[object] = []

    def look() -> None:
        assert str(name) == "silver.a" and draft_of(name) is not None and "lake_draft" in physical(name)
        inside = shop.spark.sql(f"SELECT v FROM {physical(name)} WHERE id = 1").collect()
        beside = threading.Thread(
            target=lambda: seen.append((draft_of(name), physical(name), shop.rows("silver.a")))
        )
        beside.start()
        beside.join()
        seen.append([row.v for row in inside])

    faults.arrange("after-data", look, "silver.a")
    shop.must_run()
    # Main of the draft is where it was, too: the rows are on its working branch.
    assert seen == [(None, "`lake`.`silver`.`a`", [(1, "x"), (2, "y")]), ["x"]]
    assert shop.rows("silver.a") == [(1, "z"), (2, "y")]


def test_what_another_tool_commits_meanwhile_stays_and_the_batch_is_made_again(shop: Harness) -> None:
    shop.land("landing/a/2.csv", "id,v\n1,z\n")
    left = [True]

    def change() -> None:
        if left and left.pop():
            shop.spark.sql("ALTER TABLE lake.silver.a SET TBLPROPERTIES ('theirs' = 'yes')")

    faults.arrange("after-data", change, "silver.a")
    shop.must_run()
    assert shop.state("silver.a").properties["theirs"] == "yes"
    assert shop.rows("silver.a") == [(1, "z"), (2, "y")]


def test_a_draft_is_no_file_of_the_project(shop: Harness) -> None:
    assert not (shop.root / ".lakesmith/drafts.db").exists()
    marked = [
        path for path in Path(shop.root).rglob("*.metadata.json") if "lakesmith.draft" in path.read_text()
    ]
    assert marked == []
