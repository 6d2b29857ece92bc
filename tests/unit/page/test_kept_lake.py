"""What the page keeps of a lake gives what a cold reading gives, whatever was done to the lake."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lakesmith.cache import Kept
from lakesmith.errors import LakesmithError
from lakesmith.execute.opened import KeptProject, Opened, read_project
from lakesmith.page.overview import overview_of
from made_lake import MadeLake
from page_server import served

_TABLES = 9
_STEPS = 40


class Changes:
    """Random changes of a lake, of its project, and of a project whose table it reads."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random, self.number = root / "ours", Random(seed), 0
        self.theirs = MadeLake(root / "theirs", 1)
        self.theirs.publish()
        self.lake = MadeLake(self.root, _TABLES, seed)
        self.writer: Any = self.lake.catalog.writer()

    def do(self) -> str:
        self.number += 1
        all_changes: list[Callable[[], object]] = [
            self.publish, self.publish, self.publish, self.publish, self.publish_theirs, self.land, self.drop,
            self.rename, self.roll_back, self.edit, self.describe, self.declare_theirs, self.lose,
            self.remove, self.set_back,
        ]  # fmt: skip
        chosen = self.random.choice(all_changes)
        chosen()
        return chosen.__name__

    def publish(self) -> None:
        for name in self.random.sample(self._declared(), 2):
            self.lake.publish(name, rows=self.random.randrange(1, 9), bad=self.random.choice((0, 0, 2)))

    def publish_theirs(self) -> None:
        self.theirs.publish(rows=3)

    def land(self) -> None:
        (self.root / f"landing/{self.random.randrange(3)}/{self.number}.csv").write_text("id\n1\n")

    def drop(self) -> None:
        self.writer.drop_table(self._there())

    def rename(self) -> None:
        self.writer.rename_table(self._there(), f"bronze.renamed_{self.number}")

    def roll_back(self) -> None:
        table = self.writer.load_table(self._there())
        snapshot = self.random.choice([each.snapshot_id for each in table.metadata.snapshots])
        table.manage_snapshots().create_branch(snapshot, "main").commit()

    def edit(self) -> None:
        at = self.random.randrange(3)
        text = f"SELECT id + {self.number} AS id FROM bronze.source_{at}\n"
        (self.root / f"tables/silver/part_{at}.sql").write_text(text)

    def describe(self) -> None:
        (self.root / "tables/silver/part_0.yaml").write_text(f"key: [id]\ndescription: No. {self.number}\n")

    def declare_theirs(self) -> None:
        text = "external: {project: ../theirs, table: bronze.source_0}\n"
        (self.root / "tables/bronze/theirs.yaml").write_text(text)
        (self.root / f"tables/gold/of_theirs_{self.number}.sql").write_text("SELECT id FROM bronze.theirs\n")

    def lose(self) -> None:
        """Removes a metadata file that the catalog names."""
        Path(self._location().removeprefix("file://")).unlink(missing_ok=True)

    def set_back(self) -> None:
        """Puts a metadata file beside one, as a catalog that is older than its warehouse has it."""
        file = Path(self._location().removeprefix("file://"))
        for other in sorted(file.parent.glob("*.metadata.json"))[-3:]:
            other.touch()

    def remove(self) -> None:
        shutil.rmtree(self.root / f"landing/{self.random.randrange(3)}", ignore_errors=True)
        (self.root / "landing/0").mkdir(parents=True, exist_ok=True)

    def _declared(self) -> list[str]:
        return [
            str(node.name)
            for node in read_project(self.root, None).graph.nodes
            if node.definition.external is None
        ]

    def _there(self) -> str:
        return ".".join(self.random.choice(self.lake.catalog.entries())[:2])

    def _location(self) -> str:
        return self.random.choice(self.lake.catalog.entries())[2]


def _seen(opened: Callable[[], Opened]) -> object:
    try:
        project = opened()
        found = overview_of(project, project.graph.order)
    except LakesmithError as error:
        return str(error)
    return found.tables, found.findings, found.tags, found.to_dict()


@pytest.mark.parametrize("seed", range(4))
def test_a_kept_lake_is_read_like_a_cold_one(tmp_path: Path, seed: int) -> None:
    changes = Changes(tmp_path, seed)
    kept, done = KeptProject(changes.root, None), []
    changes.lake.publish()
    for _ in range(_STEPS):
        assert _seen(kept.opened) == _seen(lambda: read_project(changes.root, None)), done
        try:
            done.append(changes.do())
        except Exception as error:  # noqa: BLE001 - a table that was lost cannot be written: the next change
            done.append(type(error).__name__)
    assert len(set(done)) > 5


def test_a_view_looks_at_the_project_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, looks, opened = MadeLake(tmp_path, 4), [], KeptProject.opened
    lake.publish(bad=1)
    with served(tmp_path) as page:
        monkeypatch.setattr(KeptProject, "opened", lambda self: looks.append(1) or opened(self))
        for path in ("/", "/t/bronze.source_0", "/?show=silver.*"):
            looks.clear()
            assert page.get(path).status == 200
            assert len(looks) == 1, path


def test_what_is_kept_is_bounded_by_its_size() -> None:
    kept, made = Kept(10), []

    def get(name: str, version: int, size: int) -> int:
        return kept.get(name, version, lambda: made.append(name) or version, lambda _: size)

    assert [get("a", 1, 4), get("a", 1, 4), get("a", 2, 6), get("b", 1, 5), get("b", 1, 5)] == [1, 1, 2, 1, 1]
    assert made == ["a", "a", "b", "b"] and kept.size == 6
    assert get("b", 2, 4) == 2 and kept.size == 10
