"""What becomes of a landing file that holds records of people who are erased."""

from pathlib import Path

import pytest

from lakesmith.errors import Place
from lakesmith.execute.landing_erase import LandingFile, remove_empty
from lakesmith.project.definitions import FileSource, OnErase, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.model import FileIdentity

TABLE = TableName("bronze", "people")
NOW = FileIdentity("landing/f.csv", 10, 1, 2, 3)
CHANGED = FileIdentity("landing/f.csv", 11, 9, 2, 9)
REWRITE, REMOVE, KEEP = OnErase.REWRITE, OnErase.REMOVE, OnErase.KEEP


@pytest.mark.parametrize(
    ("choice", "taken", "records", "becomes"),
    [
        (REWRITE, NOW, (1, 2), "rewritten"),
        (REWRITE, None, (1, 2), "rewritten"),
        (REWRITE, NOW, (2, 2), "gone"),
        (REMOVE, NOW, (1, 2), "gone"),
        # The other records are in no table.
        (REMOVE, None, (1, 2), "rewritten"),
        (REMOVE, CHANGED, (1, 2), "rewritten"),
        (REMOVE, None, (2, 2), "gone"),
        (KEEP, NOW, (2, 2), "kept"),
        (KEEP, None, (1, 2), "kept"),
        (REMOVE, NOW, (0, 2), "kept"),
        (REWRITE, None, (0, 0), "kept"),
    ],
)
def test_what_becomes_of_a_file(
    choice: OnErase, taken: FileIdentity | None, records: tuple[int, int], becomes: str
) -> None:
    source = FileSource("files", "landing", FileFormat.CSV, Place(Path("t.yaml"), 1), on_erase=choice)
    file = LandingFile(TABLE, NOW, source, taken, *records)
    assert (file.goes, file.is_rewritten) == (becomes == "gone", becomes == "rewritten")


def test_the_same_content_with_another_time_is_what_was_taken() -> None:
    source = FileSource("files", "landing", FileFormat.CSV, Place(Path("t.yaml"), 1), on_erase=REMOVE)
    taken = FileIdentity("landing/f.csv", 10, 1, 2, 3, "print")
    touched = FileIdentity("landing/f.csv", 10, 5, 2, 6, "print")
    assert LandingFile(TABLE, touched, source, taken, 1, 2).is_as_taken
    other = FileIdentity("landing/f.csv", 10, 5, 2, 6, "other")
    assert not LandingFile(TABLE, other, source, taken, 1, 2).is_as_taken


def test_folders_that_are_empty_go_up_to_the_source_s(tmp_path: Path) -> None:
    deep = tmp_path / "landing/customer=1002/day=1"
    deep.mkdir(parents=True)
    (tmp_path / "landing/customer=7").mkdir()
    remove_empty(deep, tmp_path / "landing")
    assert sorted(path.name for path in (tmp_path / "landing").iterdir()) == ["customer=7"]
    remove_empty(tmp_path / "landing/customer=7", tmp_path / "landing")
    assert (tmp_path / "landing").is_dir()
