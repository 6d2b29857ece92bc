"""Commits of other engines whose summaries say no more than Iceberg asks for: the operation.

All cases share a lake: the rows of each kind of summary have a ``k`` of their own.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from foreign_rows import insertion
from harness import Harness, MakeShop, RunResult

from lakesmith import limits
from lakesmith.catalog.progress import AppendRange, Reason, append_only_since

FILES = {
    "tables/bronze/a.yaml": "source:\n  files: {path: landing/a/, format: csv}\n"
    "columns: {id: int, k: string}\n",
    "tables/gold/rows.sql": "SELECT id, k FROM bronze.a",
    "tables/gold/groups.sql": "SELECT k, count(*) AS c FROM bronze.a GROUP BY k",
    "tables/gold/keyed.yaml": "from: bronze.a\nkey: [id, k]\n",
    "tables/gold/changed.sql": "SELECT id, k FROM bronze.a WHERE k = 'x'",
}
READERS = ("gold.rows", "gold.keyed", "gold.groups")
KINDS: dict[str, Callable[[str], bool]] = {
    "the operation": lambda key: key == "operation",
    "totals": lambda key: key == "operation" or key.startswith("total-"),
    "some of each": lambda key: key in ("operation", "added-records", "total-records", "total-data-files"),
}
K = {"the operation": "o", "totals": "t", "some of each": "s"}


@dataclass
class Lake:
    """By run how it ended and the tables' rows; by commit what planning ``found`` it to be."""

    shop: Harness
    runs: dict[str, RunResult] = field(default_factory=dict)
    rows: dict[str, dict[str, list[tuple[Any, ...]]]] = field(default_factory=dict)
    found: dict[tuple[str, str], AppendRange | Reason] = field(default_factory=dict)

    def run(self, name: str, *patterns: str) -> None:
        self.runs[name] = self.shop.must_run(*patterns)
        tables = ("bronze.a", "gold.rows", "gold.keyed")
        self.rows[name] = {table: self.shop.rows(table, "id", "k") for table in tables}

    def commit(self, what: str, kind: str, statement: str) -> None:
        """Another engine commits this in the bronze table, and says little of it."""
        before = self.shop.head("bronze.a").snapshot_id
        self.shop.spark.sql(statement).collect()
        shorten(self.shop, "bronze.a", KINDS[kind])
        head = self.shop.head("bronze.a").snapshot_id
        self.found[what, kind] = append_only_since(self.shop.state("bronze.a"), before, head)

    def insert(self, kind: str, values: str) -> None:
        statement = insertion(self.shop.spark, "lake.bronze.a", "id, k, _batch", values)
        self.commit("inserted", kind, statement)

    def delete(self, kind: str) -> None:
        self.commit("deleted", kind, f"DELETE FROM lake.bronze.a WHERE id = 1 AND k = '{K[kind]}'")


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


@pytest.fixture(scope="module")
def lake(make_lake: MakeShop) -> Lake:
    lake = Lake(make_lake(FILES))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 1)
        patch.setattr(limits, "COMPUTED_WHOLE_ABOVE_CHANGED_PART", float("inf"))
        lake.shop.land_rows("a", 1, *(f"{id},{k}" for k in K.values() for id in (1, 2)), "1,x", "2,y")
        lake.run("first")

        lake.insert("some of each", "(3, 's', 1), (4, 'z', 1)")
        lake.shop.spark.sql("INSERT INTO lake.gold.changed VALUES (9, 'q')").collect()
        shorten(lake.shop, "gold.changed", KINDS["the operation"])
        lake.shop.land_rows("a", 2, "5,s", "3,x")
        lake.run("appended")

        lake.insert("totals", "(3, 't', 1), (4, 'z', 1)")
        lake.insert("the operation", "(3, 'o', 1), (4, 'z', 1)")
        for kind in ("some of each", "totals", "the operation"):
            lake.delete(kind)
        lake.run("deleted", *READERS)

        lake.shop.land_rows("a", 3, "5,t", "5,o", "4,x")
        lake.run("landed")
    return lake


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_such_commits_are_read_and_counted(lake: Lake, kind: str) -> None:
    k = K[kind]
    then = {"deleted": [2, 3, 5] if k == "s" else [2, 3], "landed": [2, 3, 5]}
    then |= {"appended": [1, 2, 3, 5]} if k == "s" else {}
    for run, ids in then.items():
        for table, rows in lake.rows[run].items():
            assert [row for row in rows if row[1] == k] == [(id, k) for id in ids], (run, table)
    published = lake.runs["landed"].published
    assert (published["bronze.a"].account.inserted, published["gold.groups"].kind) == (3, "sums")
    assert {row[0]: row[1] for row in lake.shop.rows("gold.groups")}[k] == 3
    # Only what says how many rows were added is read as an append.
    inserted, deleted = lake.found["inserted", kind], lake.found["deleted", kind]
    assert isinstance(deleted, Reason)
    assert "changed or removed rows" in deleted.text
    if kind != "some of each":
        assert isinstance(inserted, Reason)
        assert "does not say how many rows" in inserted.text
        return
    assert isinstance(inserted, AppendRange)
    assert inserted.added_records == 2
    appended = lake.runs["appended"].published
    assert (appended["gold.rows"].kind, appended["gold.rows"].account.read) == ("append", 4)


def test_a_derived_table_that_such_a_commit_changed_is_made_anew(lake: Lake) -> None:
    assert lake.runs["appended"].published["gold.changed"].kind == "full"
    assert lake.shop.rows("gold.changed") == [(1, "x"), (3, "x"), (4, "x")]
