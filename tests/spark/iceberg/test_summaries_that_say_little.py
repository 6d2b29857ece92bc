"""Commits of other engines whose summaries say no more than Iceberg asks for: the operation.

The cases follow each other in one lake, with ids and groups of their own: totals that are cut out stay away.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from foreign_rows import insertion
from harness import Harness, MakeShop

from lakesmith import limits

FILES = {
    "tables/bronze/a.yaml": "source:\n  files: {path: landing/, format: csv}\n"
    "columns: {id: int, k: string}\n",
    "tables/gold/rows.sql": "SELECT id, k FROM bronze.a",
    "tables/gold/groups.sql": "SELECT k, count(*) AS c FROM bronze.a GROUP BY k",
    "tables/gold/keyed.yaml": "from: bronze.a\nkey: [id]\n",
}


@pytest.fixture(scope="module")
def shop(make_lake: MakeShop) -> Iterator[Harness]:
    shop = make_lake(FILES)
    land(shop, 1, *(f"{case + id_},{k}{case}" for case in (10, 20, 30) for id_, k in ((1, "x"), (2, "y"))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 1)
        patch.setattr(limits, "COMPUTED_WHOLE_ABOVE_CHANGED_PART", float("inf"))
        shop.must_run()
        yield shop


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
    ("case", "is_kept"),
    [
        (10, lambda key: key == "operation" or key.startswith("total-")),
        (20, lambda key: key in ("operation", "added-records", "total-records", "total-data-files")),
        (30, lambda key: key == "operation"),
    ],
    ids=["totals", "some of each", "the operation"],
)
def test_rows_of_such_commits_are_read_and_counted(
    shop: Harness, case: int, is_kept: Callable[[str], bool]
) -> None:
    values = f"({case + 3}, 'x{case}', 1), ({case + 4}, 'z{case}', 1)"
    for statement in (
        insertion(shop.spark, "lake.bronze.a", "id, k, _batch", values),
        f"DELETE FROM lake.bronze.a WHERE id = {case + 1}",
    ):
        shop.spark.sql(statement).collect()
        shorten(shop, "bronze.a", is_kept)
        shop.must_run()
        there = shop.rows("bronze.a", "id", "k")
        assert [shop.rows(f"gold.{name}", "id", "k") for name in ("rows", "keyed")] == [there, there]
    land(shop, case, f"{case + 5},x{case}")
    published = shop.must_run("bronze.a", "gold.groups").published
    assert published["bronze.a"].account.inserted == 1
    assert published["gold.groups"].kind == "sums"
    groups = [row for row in shop.rows("gold.groups") if row[0].endswith(str(case))]
    assert groups == [(f"x{case}", 2), (f"y{case}", 1), (f"z{case}", 1)]


def test_a_derived_table_that_such_a_commit_changed_is_made_anew(shop: Harness) -> None:
    there = shop.rows("bronze.a", "id", "k")
    shop.spark.sql("INSERT INTO lake.gold.rows VALUES (99, 'q')").collect()
    shorten(shop, "gold.rows", lambda key: key == "operation")
    for number in (2, 3):
        land(shop, number, f"{number + 60},x")
        shop.must_run("bronze.a", "gold.rows")
    assert shop.rows("gold.rows") == [*there, (62, "x"), (63, "x")]
