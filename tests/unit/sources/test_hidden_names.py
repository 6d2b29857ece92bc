"""Files whose names the ledger does not have any more: they are known all the same."""

from pathlib import Path

from lakesmith.errors import Place
from lakesmith.project.definitions import FileSource, OnChangedFile
from lakesmith.project.formats import FileFormat
from lakesmith.sources.choose import choose_files
from lakesmith.sources.ledger_view import HIDDEN, LedgerView, hidden_path, row_of
from lakesmith.sources.listing import Listing
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

SOURCE = FileSource(
    "files", "landing", FileFormat.CSV, Place(Path("t.yaml"), 1), on_changed_file=OnChangedFile.REPLACE
)
ADA = FileIdentity("landing/ada@x.com.csv", 10, 1, 2, 3, "print")
SALT = "5a17"


def ledger(action: FileAction = FileAction.TAKEN) -> LedgerView:
    entry = LedgerEntry(ADA, "files", action, "attempt", 1, 1)
    return LedgerView({hidden_path(ADA.path, SALT): row_of(entry)})


def listing(file: FileIdentity) -> Listing:
    return Listing((FileIdentity(file.path, file.size, file.modified_ns, file.inode, file.changed_ns),))


def test_the_hash_is_salted_and_tells_no_name() -> None:
    hidden = hidden_path(ADA.path, SALT)
    assert hidden.startswith(f"{HIDDEN}{SALT}:")
    assert "ada" not in hidden
    assert hidden != hidden_path(ADA.path, "5a18")


def test_it_is_found_by_its_name() -> None:
    view = ledger()
    assert ADA.path in view
    assert view[ADA.path].file.etag == "print"
    assert view.known_as(ADA.path) == hidden_path(ADA.path, SALT)
    assert view.known_as("landing/other.csv") == "landing/other.csv"
    assert "landing/other.csv" not in view


def test_it_is_not_taken_again() -> None:
    choice = choose_files(SOURCE, listing(ADA), ledger())
    assert (choice.take, choice.replace) == ((), ())


def test_one_that_was_changed_is_replaced_and_one_that_was_forgotten_is_taken() -> None:
    changed = FileIdentity(ADA.path, 11, 9, 2, 3)
    assert [file.path for file in choose_files(SOURCE, listing(changed), ledger()).replace] == [ADA.path]
    again = choose_files(SOURCE, listing(ADA), ledger(FileAction.FORGOTTEN))
    assert [file.path for file in again.take] == [ADA.path]


def test_one_that_came_again_under_its_name_counts_as_that() -> None:
    plain = row_of(LedgerEntry(ADA, "files", FileAction.SKIPPED, "attempt", 2, 2))
    view = LedgerView({**ledger().rows, ADA.path: plain})
    assert view[ADA.path].action is FileAction.SKIPPED
