"""A batch is one commit of its table: nobody sees anything of it before, and nothing is left if it fails.

The cases share one story of ``silver.a``: batches that succeed, and attempts at one that fail in between.
"""

import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import Harness, MakeShop, RunResult, fail

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
POINTS = ("after-branch", "after-data", "after-check", "before-swap")


@dataclass(frozen=True)
class Attempt:
    """A run in which silver's batch failed: what each table's metadata is after it, and what is left."""

    run: RunResult
    metadata: dict[str, str]
    refs: frozenset[str]
    drafts: int


@dataclass
class Story:
    """``added``: how many files of metadata each table got, by batch. ``before``: those before it failed."""

    shop: Harness
    added: dict[str, dict[str, int]] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Attempt] = field(default_factory=dict)
    seen: list[object] = field(default_factory=list)
    theirs: str | None = None
    rows: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)

    def batch(self, name: str, *patterns: str) -> None:
        before = self._files()
        self.shop.must_run(*patterns)
        self.added[name] = {table: count - before[table] for table, count in self._files().items()}
        self.rows[name] = self.shop.rows("silver.a")

    def _files(self) -> dict[str, int]:
        folder = self.shop.root / ".lakesmith/warehouse"
        found = {table: folder.joinpath(*table.split("."), "metadata") for table in TABLES}
        return {table: len(list(files.glob("*.metadata.json"))) for table, files in found.items()}

    def metadata(self) -> dict[str, str]:
        return {table: self.shop.state(table).metadata_location for table in TABLES}

    def fail_at(self, point: str) -> None:
        faults.arrange(point, fail, "silver.a")
        run = self.shop.run()
        faults.clear()
        refs = frozenset(self.shop.state("silver.a").refs)
        self.failed[point] = Attempt(run, self.metadata(), refs, self.drafts())

    def drafts(self) -> int:
        return int(own_class(self.shop.spark, "lakesmith.Drafts").getField("TABLES").get(None).size())

    def look(self) -> None:
        """Reads silver's row 1 inside of its batch, and the table in another thread."""
        name, shop = self.shop.load()[1].order[1], self.shop
        assert str(name) == "silver.a" and draft_of(name) is not None and "lake_draft" in physical(name)
        inside = shop.spark.sql(f"SELECT v FROM {physical(name)} WHERE id = 1").collect()

        def read() -> None:
            self.seen.append((draft_of(name), physical(name), shop.rows("silver.a")))

        beside = threading.Thread(target=read)
        beside.start()
        beside.join()
        self.seen.append([row.v for row in inside])

    def change(self) -> None:
        """Another tool commits a change, once."""
        if self.theirs is None:
            self.theirs = "there"
            self.shop.spark.sql("ALTER TABLE lake.silver.a SET TBLPROPERTIES ('theirs' = 'yes')")


@pytest.fixture(scope="module")
def story(make_lake: MakeShop) -> Story:
    story = Story(make_lake(FILES))
    story.shop.take("landing/a/1.csv", "id,v\n1,x\n2,y\n")
    story.shop.land("landing/a/2.csv", "id,v\n3,x\n4,x\n")
    story.batch("new rows")

    story.shop.land("landing/a/3.csv", "id,v\n1,z\n3,y\n")
    story.before = story.metadata()
    for point in POINTS:
        story.fail_at(point)
    faults.arrange("after-data", story.look, "silver.a")
    story.batch("changed rows")
    faults.clear()

    story.shop.land("landing/a/2.csv", "id,v\n5,x\n")
    faults.arrange("after-data", story.change, "silver.a")
    story.batch("replaced file")
    faults.clear()
    return story


def test_each_batch_of_each_kind_adds_one_file_of_metadata(story: Story) -> None:
    assert story.added["new rows"] == dict.fromkeys(TABLES, 1)
    # The failed attempts took the file in already, and added nothing to the others.
    assert story.added["changed rows"] == {"bronze.a": 0, "silver.a": 1, "gold.a": 1}
    # One of silver's is the other tool's.
    assert story.added["replaced file"] == {"bronze.a": 1, "silver.a": 2, "gold.a": 1}
    assert story.rows["replaced file"] == [(1, "z"), (2, "y"), (3, "y"), (5, "x")]
    story.shop.must_verify("silver.a", "gold.a")
    assert story.drafts() == 0


@pytest.mark.parametrize("point", POINTS)
def test_a_batch_that_fails_leaves_its_table_as_it_was(story: Story, point: str) -> None:
    """And the next attempt succeeds, or comes as far as to the next point."""
    attempt = story.failed[point]
    assert attempt.run.code == 1
    (problem,) = attempt.run.problems
    assert "arranged by a test" in " ".join(problem.lines())
    as_before = [attempt.metadata[table] == story.before[table] for table in TABLES]
    assert as_before == [False, True, True]
    assert attempt.refs <= {"main", "lakesmith_record"}
    assert attempt.drafts == 0
    assert story.rows["changed rows"] == [(1, "z"), (2, "y"), (3, "y"), (4, "x")]


def test_other_threads_read_what_is_published(story: Story) -> None:
    # Main of the draft is where it was, too: the rows are on its working branch.
    published = [(1, "x"), (2, "y"), (3, "x"), (4, "x")]
    assert story.rows["new rows"] == published
    assert story.seen == [(None, "`lake`.`silver`.`a`", published), ["x"]]


def test_what_another_tool_commits_meanwhile_stays_and_the_batch_is_made_again(story: Story) -> None:
    assert story.shop.state("silver.a").properties["theirs"] == "yes"
    assert story.rows["replaced file"] == [(1, "z"), (2, "y"), (3, "y"), (5, "x")]


def test_a_draft_is_no_file_of_the_project(story: Story) -> None:
    root = story.shop.root
    assert not (root / ".lakesmith/drafts.db").exists()
    marked = [path for path in Path(root).rglob("*.metadata.json") if "lakesmith.draft" in path.read_text()]
    assert marked == []
