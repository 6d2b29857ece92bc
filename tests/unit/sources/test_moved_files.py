"""Files that have another path than when they were ingested: said, left out on proof alone."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith.project.definitions import OnChangedFile, OnMovedFile
from lakesmith.sources.choose import FileChoice
from lakesmith.sources.identity import WHOLE_UP_TO, with_fingerprints
from lakesmith.sources.ledger_view import EMPTY, LedgerView
from lakesmith.sources.model import FileAction, LedgerEntry
from lakesmith.sources.moved_files import chosen_files
from landings import FolderLanding, Landing, files_in, listing_of, name_in, source_of

Change = Callable[[Path], object]


def taken(landing: Landing, action: FileAction = FileAction.TAKEN) -> LedgerView:
    """The ledger once all files were ingested."""
    files = with_fingerprints(files_in(landing), landing.root)
    return EMPTY.plus(LedgerEntry(file, "orders", action, "x", 1, 1) for file in files)


def chosen(landing: Landing, ledger: LedgerView, same: bool = True, **fields: object) -> FileChoice:
    source = source_of(landing, on_moved_file=OnMovedFile.SAME if same else None, **fields)
    return chosen_files(source, listing_of(landing, known=list(ledger)), ledger, landing.root)


def new_names(landing: Landing, choice: FileChoice) -> list[str]:
    return [name_in(landing, file) for file in choice.take]


def _to_another_file_system(top: Path) -> None:
    """As ``mv`` does it between two file systems: a copy with the same times, then a removal."""
    (top / "done").mkdir()
    shutil.copy2(top / "a.csv", top / "done/a.csv")
    (top / "a.csv").unlink()


def _copy(top: Path) -> None:
    shutil.copy2(top / "a.csv", top / "b.csv")


def _written_again(top: Path) -> None:
    content = (top / "a.csv").read_bytes()
    (top / "a.csv").unlink()
    (top / "b.csv").write_bytes(content)
    os.utime(top / "b.csv", ns=(1, 1))


def _moved_and_changed(top: Path) -> None:
    (top / "a.csv").rename(top / "b.csv")
    (top / "b.csv").write_text("a,b\n3,4\n5,6\n")


def _moved(top: Path) -> None:
    (top / "done").mkdir()
    (top / "a.csv").rename(top / "done/a.csv")


def _moved_and_delivered_again(top: Path) -> None:
    _moved(top)
    (top / "a.csv").write_text("a,b\n7,8\n")


def _linked(top: Path) -> None:
    os.link(top / "a.csv", top / "b.csv")


def _linked_and_copied(top: Path) -> None:
    _linked(top)
    shutil.copy2(top / "a.csv", top / "c.csv")


def _copied_twice(top: Path) -> None:
    shutil.copy2(top / "a.csv", top / "b.csv")
    (top / "a.csv").rename(top / "c.csv")


@pytest.mark.parametrize(
    ("change", "new"),
    [
        (_moved, []),
        (_linked, []),
        (_to_another_file_system, []),
        (_moved_and_delivered_again, []),
        (_copy, ["b.csv"]),
        (_linked_and_copied, ["c.csv"]),
        (_copied_twice, ["b.csv"]),
        (_written_again, ["b.csv"]),
        (_moved_and_changed, ["b.csv"]),
    ],
)
def test_only_a_file_that_is_proved_to_be_ingested_is_left_out(
    change: Change, new: list[str], tmp_path: Path
) -> None:
    landing = FolderLanding(tmp_path)
    landing.put("a.csv")
    ledger = taken(landing)
    change(tmp_path / source_of(landing).path)
    assert new_names(landing, chosen(landing, ledger)) == new
    # By default all is ingested, and a note names what was left out above.
    choice = chosen(landing, ledger, same=False)
    paths = new_names(landing, choice)
    others = sorted(set(paths) - set(new))
    assert set(paths) >= set(new) and ("LS413" in "".join(choice.notes)) == bool(others)
    assert all(name in choice.notes[0] for name in others)


def test_a_large_file_of_another_inode_is_new(tmp_path: Path) -> None:
    landing = FolderLanding(tmp_path)
    landing.put("a.csv", b"x" * (WHOLE_UP_TO + 1))
    ledger = taken(landing)
    _to_another_file_system(tmp_path / source_of(landing).path)
    assert new_names(landing, chosen(landing, ledger)) == ["done/a.csv"]


def test_a_file_that_was_never_ingested_is_new_wherever_it_is(tmp_path: Path) -> None:
    landing = FolderLanding(tmp_path)
    landing.put("a.csv")
    _moved(tmp_path / source_of(landing).path)
    for ledger in (EMPTY, taken(landing, FileAction.FORGOTTEN), taken(landing, FileAction.UNREADABLE)):
        assert new_names(landing, chosen(landing, ledger)) == ["done/a.csv"]


def test_two_hard_links_that_arrive_together_are_one_file(tmp_path: Path) -> None:
    landing = FolderLanding(tmp_path)
    landing.put("a.csv")
    _linked(tmp_path / source_of(landing).path)
    assert new_names(landing, chosen(landing, EMPTY)) == ["a.csv"]
    assert "b.csv" in chosen(landing, EMPTY, same=False).notes[0]


def test_a_moved_file_whose_rows_are_replaced_is_ingested_again(tmp_path: Path) -> None:
    """Another file has its path now, and the batch deletes the rows that came from this path."""
    landing = FolderLanding(tmp_path)
    landing.put("a.csv")
    ledger = taken(landing)
    _moved_and_delivered_again(tmp_path / source_of(landing).path)
    choice = chosen(landing, ledger, on_changed_file=OnChangedFile.REPLACE)
    assert new_names(landing, choice) == ["done/a.csv"] and len(choice.replace) == 1


def test_who_says_that_it_is_new_is_not_told_again(tmp_path: Path) -> None:
    landing = FolderLanding(tmp_path)
    landing.put("a.csv")
    ledger = taken(landing)
    _moved(tmp_path / source_of(landing).path)
    listing, source = listing_of(landing), source_of(landing, on_moved_file=OnMovedFile.NEW)
    choice = chosen_files(source, listing, ledger, landing.root)
    assert new_names(landing, choice) == ["done/a.csv"] and not choice.notes


def test_an_object_is_the_same_by_its_etag_once_the_first_is_gone(landing: Landing) -> None:
    """In S3 nothing has an inode; a folder's file that is written anew has another time."""
    landing.put("a.csv", "a,b\n1,2\n")
    ledger = taken(landing)
    landing.put("b.csv", "a,b\n1,2\n")
    assert new_names(landing, chosen(landing, ledger)) == ["b.csv"], "both are there"
    landing.delete("a.csv")
    in_store = source_of(landing).is_in_store
    assert new_names(landing, chosen(landing, ledger)) == ([] if in_store else ["b.csv"])
    landing.delete("b.csv")
    landing.put("b.csv", "a,b\n1,3\n")
    assert new_names(landing, chosen(landing, ledger)) == ["b.csv"], "other content"
    assert not chosen(landing, ledger).notes
