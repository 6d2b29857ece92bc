"""Commits of other engines whose summaries say no more than Iceberg asks for: the operation."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from foreign_rows import insertion
from harness import Harness, MakeShop

from lakesmith import limits

pytestmark = pytest.mark.in_turn

FILES = {
    "tables/bronze/a.yaml": "source:\n  files: {path: landing/, format: csv}\n"
    "columns: {id: int, k: string}\n",
    "tables/gold/rows.sql": "SELECT id, k FROM bronze.a",
    "tables/gold/groups.sql": "SELECT k, count(*) AS c FROM bronze.a GROUP BY k",
    "tables/gold/keyed.yaml": "from: bronze.a\nkey: [id]\n",
}


@pytest.fixture
def shop(make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> Harness:
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 1)
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_ABOVE_CHANGED_PART", float("inf"))
    shop = make_shop(FILES)
    land(shop, 1, "1,x", "2,y")
    shop.must_run()
    return shop


def land(shop: Harness, number: int, *rows: str) -> None:
    shop.land(f"landing/{number}.csv", "\n".join(["id,k", *rows, ""]))


def shorten(shop: Harness, table: str, is_kept: Callable[[str], bool]) -> None:
    """Leaves of the summary of the table's head what is kept."""
    path = Path(shop.state(table).metadata_location.removeprefix("file:"))
    metadata = json.loads(path.read_text())
    for snapshot in metadata["snapshots"]:
        if snapshot["snapshot-id"] == metadata["current-snapshot-id"]:
            summary = snapshot["summary"]
            snapshot["summary"] = {key: summary[key] for key in summary if is_kept(key)}
    path.write_text(json.dumps(metadata))
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "is_kept",
    [
        lambda key: key == "operation",
        lambda key: key == "operation" or key.startswith("total-"),
        lambda key: key in ("operation", "added-records", "total-records", "total-data-files"),
    ],
    ids=["the operation", "totals", "some of each"],
)
def test_rows_of_such_commits_are_read_and_counted(shop: Harness, is_kept: Callable[[str], bool]) -> None:
    for statement in (
        insertion(shop.spark, "lake.bronze.a", "id, k, _batch", "(3, 'x', 1), (4, 'z', 1)"),
        "DELETE FROM lake.bronze.a WHERE id = 1",
    ):
        shop.spark.sql(statement).collect()
        shorten(shop, "bronze.a", is_kept)
        shop.must_run()
        there = shop.rows("bronze.a", "id", "k")
        assert [shop.rows(f"gold.{name}", "id", "k") for name in ("rows", "keyed")] == [there, there]
    land(shop, 2, "5,x")
    published = shop.must_run().published
    assert published["bronze.a"].account.inserted == 1
    assert published["gold.groups"].kind == "sums"
    assert shop.rows("gold.groups") == [("x", 2), ("y", 1), ("z", 1)]


def test_a_derived_table_that_such_a_commit_changed_is_made_anew(shop: Harness) -> None:
    shop.spark.sql("INSERT INTO lake.gold.rows VALUES (9, 'q')").collect()
    shorten(shop, "gold.rows", lambda key: key == "operation")
    for number in (2, 3):
        land(shop, number, f"{number + 1},x")
        shop.must_run()
    assert shop.rows("gold.rows") == [(1, "x"), (2, "y"), (3, "x"), (4, "x")]
