from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from lakesmith.project.definitions import FileSource, OnBadFile, OnChangedFile, TableName
from lakesmith.sources.choose import FileChoice, choose_files, uncertain_files
from lakesmith.sources.ledger_view import EMPTY, LedgerView
from lakesmith.sources.listing import Listing
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

Make = Callable[..., FileSource]
ORDERS = TableName("bronze", "orders")
FILE = FileIdentity("in/a.csv", 10, 1_700_000_000_000_000_001, inode=7, changed_ns=8, etag="f00d")


def ledger(*lines: tuple[FileIdentity, FileAction]) -> LedgerView:
    return EMPTY.plus(
        LedgerEntry(file, "orders", action, f"attempt-{batch}", batch, 1000 * batch)
        for batch, (file, action) in enumerate(lines, 1)
    )


def listed(*files: FileIdentity) -> Listing:
    return Listing(tuple(replace(file, etag="") for file in files))


def non_empty(choice: FileChoice) -> dict[str, list[str]]:
    names = ("take", "replace", "changed", "ignored_changed", "skipped", "unread")
    return {name: [file.path for file in getattr(choice, name)] for name in names if getattr(choice, name)}


@dataclass
class Case:
    title: str
    lines: list[tuple[FileIdentity, FileAction]]
    now: FileIdentity
    expected: dict[str, list[str]]
    policy: OnChangedFile = OnChangedFile.REPLACE
    fingerprints: dict[str, str] = field(default_factory=dict)
    asked: bool = False


TAKEN, SKIPPED, FORGOTTEN = FileAction.TAKEN, FileAction.SKIPPED, FileAction.FORGOTTEN
A = [FILE.path]
TOUCHED = replace(FILE, inode=70, changed_ns=80)
CASES = [
    Case("a new file", [], FILE, {"take": A}),
    Case("a file that was taken", [(FILE, TAKEN)], FILE, {}),
    Case(
        "back-dated: older than all that was taken",
        [(replace(FILE, path="in/z.csv"), TAKEN)],
        replace(FILE, modified_ns=1),
        {"take": A},
    ),
    Case("another file of the same second", [(replace(FILE, path="in/b.csv"), TAKEN)], FILE, {"take": A}),
    Case("longer than it was", [(FILE, TAKEN)], replace(FILE, size=11), {"replace": A}),
    Case(
        "written again, same length",
        [(FILE, TAKEN)],
        replace(FILE, modified_ns=FILE.modified_ns + 1),
        {"replace": A},
        asked=True,
    ),
    Case(
        "set back in time",
        [(FILE, TAKEN)],
        replace(FILE, modified_ns=FILE.modified_ns - 1),
        {"replace": A},
        asked=True,
    ),
    Case(
        "delivered again, same content",
        [(FILE, TAKEN)],
        replace(FILE, modified_ns=FILE.modified_ns + 1, changed_ns=9),
        {},
        fingerprints={A[0]: "f00d"},
        asked=True,
    ),
    Case(
        "a large file delivered again: samples are not enough to call it the same",
        [(replace(FILE, size=5_000_000), TAKEN)],
        replace(FILE, size=5_000_000, modified_ns=FILE.modified_ns + 1, changed_ns=9),
        {"replace": A},
        fingerprints={A[0]: "f00d"},
    ),
    Case(
        "same times and length, other content",
        [(FILE, TAKEN)],
        TOUCHED,
        {"replace": A},
        fingerprints={A[0]: "bad"},
        asked=True,
    ),
    Case(
        "same times and length, same content",
        [(FILE, TAKEN)],
        TOUCHED,
        {},
        fingerprints={A[0]: "f00d"},
        asked=True,
    ),
    Case(
        "same times and length, content not looked at", [(FILE, TAKEN)], TOUCHED, {"replace": A}, asked=True
    ),
    Case(
        "same times and length, taken without a fingerprint",
        [(replace(FILE, etag=""), TAKEN)],
        TOUCHED,
        {"replace": A},
    ),
    Case(
        "only the change time differs (chmod)",
        [(FILE, TAKEN)],
        replace(FILE, changed_ns=9),
        {},
        fingerprints={A[0]: "f00d"},
        asked=True,
    ),
    Case(
        "same content does not excuse another length",
        [(FILE, TAKEN)],
        replace(TOUCHED, size=9),
        {"replace": A},
        fingerprints={A[0]: "f00d"},
    ),
    Case(
        "changed and the table ignores it",
        [(FILE, TAKEN)],
        replace(FILE, size=11),
        {"ignored_changed": A},
        OnChangedFile.IGNORE,
    ),
    Case(
        "changed and the table fails",
        [(FILE, TAKEN)],
        replace(FILE, size=11),
        {"changed": A},
        OnChangedFile.FAIL,
    ),
    Case("skipped", [(FILE, SKIPPED)], FILE, {"skipped": A}),
    Case(
        "skipped and changed since",
        [(FILE, SKIPPED)],
        replace(FILE, size=99),
        {"skipped": A},
        OnChangedFile.FAIL,
    ),
    Case(
        "taken, changed, then skipped",
        [(FILE, TAKEN), (FILE, SKIPPED)],
        replace(FILE, size=99),
        {"skipped": A},
        OnChangedFile.FAIL,
    ),
    Case("skipped, then forgotten", [(FILE, SKIPPED), (FILE, FORGOTTEN)], FILE, {"take": A}),
    Case("taken, then forgotten", [(FILE, TAKEN), (FILE, FORGOTTEN)], FILE, {"take": A}),
    Case("forgotten, then taken", [(FILE, FORGOTTEN), (FILE, TAKEN)], FILE, {}),
    Case("replaced: the newest line counts", [(replace(FILE, size=5), TAKEN), (FILE, TAKEN)], FILE, {}),
    Case(
        "back to what it once was",
        [(replace(FILE, size=5), TAKEN), (FILE, TAKEN)],
        replace(FILE, size=5),
        {"replace": A},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_file_is_known_by_its_whole_identity(case: Case, make_source: Make) -> None:
    source = make_source(on_changed_file=case.policy)
    choice = choose_files(source, listed(case.now), ledger(*case.lines), case.fingerprints)
    assert non_empty(choice) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_content_is_asked_for_only_where_it_decides(case: Case) -> None:
    uncertain = uncertain_files(listed(case.now), ledger(*case.lines))
    assert bool(uncertain) == case.asked


def test_a_file_that_went_away_is_no_matter(make_source: Make) -> None:
    assert non_empty(choose_files(make_source(), Listing(()), ledger((FILE, TAKEN)))) == {}


def test_waiting_files_are_not_chosen(make_source: Make) -> None:
    assert non_empty(choose_files(make_source(), Listing((), (FILE,)), EMPTY)) == {}


def test_a_changed_file_is_a_problem_with_choices(make_source: Make) -> None:
    now = listed(*(replace(FILE, path=f"in/{name}", size=11) for name in "abc"))
    before = ledger(*((replace(FILE, path=f"in/{name}"), TAKEN) for name in "abc"))
    choice = choose_files(make_source(on_changed_file=OnChangedFile.FAIL), now, before, table=ORDERS)
    (problem,) = choice.problems
    assert problem.code == "LS410"
    assert "3 files changed after being taken: in/a, in/b, in/c" in problem.what
    assert "10 bytes, modified 2023-11-14 22:13:20.000000001 UTC" in (problem.expected or "")
    assert "11 bytes" in (problem.found or "")
    for choice_named in (
        "lakesmith files bronze.orders --skip FILE",
        "on_changed_file: replace",
        "on_changed_file: ignore",
    ):
        assert choice_named in (problem.hint or "")
    assert choice.notes == ()


def test_a_changed_file_of_which_only_the_content_tells(make_source: Make) -> None:
    now = listed(replace(FILE, changed_ns=80))
    prints = {FILE.path: "beef"}
    (problem,) = choose_files(make_source(), now, ledger((FILE, TAKEN)), prints).problems
    assert (problem.found or "").removesuffix(", with other content") in (problem.expected or "")
    assert (problem.found or "").endswith("inode 7, with other content")


def test_ignored_files_are_said_with_count_and_names(make_source: Make) -> None:
    now = listed(*(replace(FILE, path=f"in/{number:02}", size=11) for number in range(12)))
    before = ledger(*((replace(FILE, path=f"in/{number:02}"), TAKEN) for number in range(12)))
    (note,) = choose_files(make_source(on_changed_file=OnChangedFile.IGNORE), now, before).notes
    assert "12 files changed" in note
    assert note.endswith("in/08, in/09 and 2 more")


def test_a_changed_file_is_replaced_and_a_new_one_taken(make_source: Make) -> None:
    new, old = replace(FILE, path="in/b"), replace(FILE, path="in/a")
    choice = choose_files(
        make_source(on_changed_file=OnChangedFile.REPLACE),
        listed(replace(old, size=1), new),
        ledger((old, TAKEN)),
    )
    assert ([file.path for file in choice.replace], [file.path for file in choice.take]) == (
        ["in/a"],
        ["in/b"],
    )


def test_newest_line_is_by_batch_whatever_the_order_they_are_read_in() -> None:
    def line(batch: int, action: FileAction) -> Any:
        return LedgerEntry(FILE, "orders", action, f"attempt-{batch}", batch, 1)

    lines = [line(3, TAKEN), line(1, TAKEN), line(2, SKIPPED)]
    for order in (lines, lines[::-1], lines[1:] + lines[:1]):
        assert EMPTY.plus(order)[FILE.path] == lines[0]


UNREADABLE, KEPT = FileAction.UNREADABLE, FileAction.KEPT
UNREAD_CASES = [
    ("as it was when it could not be read", UNREADABLE, FILE, OnBadFile.SKIP, {}, {"unread": A}),
    ("touched, same content", UNREADABLE, TOUCHED, OnBadFile.SKIP, {A[0]: "f00d"}, {"unread": A}),
    ("with other content", UNREADABLE, TOUCHED, OnBadFile.SKIP, {A[0]: "good"}, {"take": A}),
    ("longer than it was", UNREADABLE, replace(FILE, size=11), OnBadFile.SKIP, {}, {"take": A}),
    ("its source does not leave files out any more", UNREADABLE, FILE, OnBadFile.FAIL, {}, {"take": A}),
    ("taken in an earlier version", KEPT, FILE, OnBadFile.SKIP, {}, {"unread": A}),
    ("taken in an earlier version, and other now", KEPT, replace(FILE, size=11), OnBadFile.SKIP, {},
     {"replace": A}),
    ("taken before, not left out any more", KEPT, FILE, OnBadFile.FAIL, {}, {"replace": A}),
]  # fmt: skip


@pytest.mark.parametrize(("title", "action", "now", "policy", "known", "expected"), UNREAD_CASES)
def test_an_unreadable_file_is_left_out_until_it_is_another(
    title: str,
    action: FileAction,
    now: FileIdentity,
    policy: OnBadFile,
    known: dict[str, str],
    expected: dict[str, list[str]],
    make_source: Make,
) -> None:
    source = make_source(on_bad_file=policy, on_changed_file=OnChangedFile.REPLACE)
    choice = choose_files(source, listed(now), ledger((FILE, action)), known, ORDERS)
    assert non_empty(choice) == expected, title
    assert ("unread" in expected) == any("could not be read" in note for note in choice.notes)
    # Its content is asked for only where its status leaves it open: not in every idle run.
    uncertain = now != FILE and now.size == FILE.size
    assert bool(uncertain_files(listed(now), ledger((FILE, action)))) == uncertain
