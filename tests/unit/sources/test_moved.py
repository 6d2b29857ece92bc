"""Landing files that a recovery found in a copy of their bucket: each is ingested once, by either name."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from lakesmith.project.definitions import FileSource, OnChangedFile
from lakesmith.sources.choose import choose_files, uncertain_files
from lakesmith.sources.ledger_view import EMPTY, LedgerView, hidden_path
from lakesmith.sources.listing import Listing
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

Make = Callable[..., FileSource]
MOVED = (("s3://copy/in/", "s3://lake/in/"), ("s3://copy/in/", "s3://older/in/"))
FILE = FileIdentity("s3://lake/in/a.csv", 10, 1_700_000_000_000_000_000, etag="f00d")
HERE = replace(FILE, path="s3://copy/in/a.csv")
LATER = 1_800_000_000_000_000_000


def ledger(*files: FileIdentity, action: FileAction = FileAction.TAKEN) -> LedgerView:
    lines = (LedgerEntry(file, "orders", action, "attempt", at, at) for at, file in enumerate(files, 1))
    return EMPTY.plus(lines).with_moved(MOVED)


@pytest.mark.parametrize(
    ("title", "now", "expected"),
    [
        ("the same file", HERE, ([], [])),
        ("copied at another time", replace(HERE, modified_ns=LATER), ([], [])),
        ("encrypted with another key", replace(HERE, etag="beef"), ([], [])),
        ("another file", replace(HERE, path="s3://copy/in/b.csv"), (["s3://copy/in/b.csv"], [])),
        ("replaced later", replace(HERE, etag="beef", modified_ns=LATER), ([], [HERE.path])),
        ("longer", replace(HERE, size=11), ([], [HERE.path])),
    ],
)
def test_what_is_ingested_again(
    title: str, now: FileIdentity, expected: tuple[list[str], list[str]], make_source: Make
) -> None:
    known, listing = ledger(FILE), Listing((now,))
    prints = {file.path: file.etag for file in uncertain_files(listing, known)}
    source = make_source(on_changed_file=OnChangedFile.REPLACE)
    choice = choose_files(source, listing, known, prints)
    found = [[file.path for file in files] for files in (choice.take, choice.replace)]
    assert tuple(found) == expected, title


def test_rows_are_found_by_all_names() -> None:
    hidden = hidden_path("s3://older/in/b.csv", "aa")
    known = ledger(FILE, replace(FILE, path=hidden))
    assert "s3://lake/in/a.csv" in list(known.other_names(HERE.path))
    assert known.known_as("s3://copy/in/b.csv") == hidden
    assert known.known_as("s3://copy/in/c.csv") == "s3://copy/in/c.csv"


def test_a_file_that_was_ingested_here_has_its_own_name() -> None:
    again = replace(HERE, size=12)
    known = ledger(FILE, again)
    assert known[HERE.path].file == again
    assert not known.is_moved(HERE.path)
