"""What holds of landing files wherever they land: in a folder, and under a prefix in S3."""

import bz2
import gzip

import pytest

from lakesmith.errors import SourceError
from lakesmith.project.definitions import OnChangedFile, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.sources.bad_files import BadFiles
from lakesmith.sources.choose import FileChoice, choose_files, uncertain_files
from lakesmith.sources.identity import changed_files, fingerprints, with_fingerprints
from lakesmith.sources.inspect import count_records, damaged_files, group_by_shape
from lakesmith.sources.ledger_view import EMPTY, LedgerView
from lakesmith.sources.listing import Listing
from lakesmith.sources.model import FileAction, LedgerEntry
from landings import FAR, Landing, files_in, listing_of, name_in, names_in, source_of

ORDERS = TableName("bronze", "orders")
SECOND = 1_000_000_000


def taken(landing: Landing, action: FileAction = FileAction.TAKEN) -> LedgerView:
    """The ledger once all that is there was taken."""
    files = with_fingerprints(files_in(landing), landing.root)
    return EMPTY.plus(LedgerEntry(file, "orders", action, "x", 1, 1) for file in files)


def choice(landing: Landing, ledger: LedgerView, **fields: object) -> FileChoice:
    source, listing = source_of(landing, **fields), listing_of(landing, known=list(ledger))
    known = fingerprints(uncertain_files(listing, ledger), landing.root)
    return choose_files(source, listing, ledger, known, ORDERS)


def test_files_of_all_levels_are_listed_in_order_with_their_sizes(landing: Landing) -> None:
    landing.put("2024/05/z.csv", "xyz")
    landing.put("b.csv")
    landing.put("a.csv")
    assert [(name_in(landing, file), file.size) for file in files_in(landing)] == [
        ("2024/05/z.csv", 3), ("a.csv", 8), ("b.csv", 8),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "_committed", ".hidden.csv", "a.csv.tmp", "a.csv.crdownload", "a.csv.part", "a.csv.PART",
        "a.csv.filepart", "a.csv~", "a.csv._COPYING_", "_temporary/0/a.csv", "2024/.staging/a.csv",
        "upload.tmp/a.csv",
    ],
)  # fmt: skip
def test_hidden_and_temporary_names_are_left_out_at_every_level(name: str, landing: Landing) -> None:
    landing.put("kept.csv")
    landing.put(name)
    listing = listing_of(landing)
    assert [name_in(landing, file) for file in listing.found] == ["kept.csv"]
    assert listing.ignored == 1


def test_a_folder_that_is_left_out_counts_once(landing: Landing) -> None:
    landing.put("kept.csv")
    for name in ("a.csv", "b.csv", "deep/c.csv"):
        landing.put(f"_tmp/{name}")
        landing.put(f"2024/.staging/{name}")
    listing = listing_of(landing)
    assert (len(listing.found), listing.ignored) == (1, 2)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*", ["A.CSV", "a.csv", "a.csv.gz", "b.tsv"]), ("*.csv", ["a.csv"]),
        ("*.csv*", ["a.csv", "a.csv.gz"]), ("[ab].?sv", ["a.csv", "b.tsv"]), ("*.json", []),
    ],
)  # fmt: skip
def test_the_pattern_is_matched_against_the_whole_name_and_its_case(
    pattern: str, found: list[str], landing: Landing
) -> None:
    for name in ("A.CSV", "a.csv", "a.csv.gz", "b.tsv"):
        landing.put(name)
    assert names_in(landing, pattern=pattern) == found


ODD_NAMES = [
    "a b.csv",
    "100%.csv",
    "%20.csv",
    "%2F.csv",
    "a+b.csv",
    "#1.csv",
    "q?x=1&y.csv",
    "day=1.csv",
    "[x].csv",
    "{x,y}.csv",
    "*.csv",
    "a\tb.csv",
    "12:30.csv",
    'it\'s "so".csv',
    "back\\slash.csv",
    "<&>.csv",
    "žluť 😀.csv",
    "\U0010ffff.csv",
]


@pytest.mark.parametrize("name", ODD_NAMES, ids=[f"name{n}" for n in range(len(ODD_NAMES))])
def test_names_that_other_tools_trip_over_are_listed_and_read(name: str, landing: Landing) -> None:
    landing.put(f"d {name}/{name}")
    files = files_in(landing)
    assert [name_in(landing, file) for file in files] == [f"d {name}/{name}"]
    (group,) = group_by_shape(files, source_of(landing), landing.root, ORDERS)
    assert group.shape.columns == ("a", "b")
    assert changed_files(files, landing.root, landing.store) == ()


def test_names_that_differ_by_their_case_alone_are_two_files(landing: Landing) -> None:
    landing.put("a.csv")
    landing.put("A.csv")
    assert names_in(landing) == ["A.csv", "a.csv"]


def test_a_misspelt_ending_is_told_of(landing: Landing) -> None:
    landing.put("a.csv")
    landing.put("B.CSV")
    (note,) = listing_of(landing, pattern="*.csv").notes
    assert f"left out: {landing.path}B.CSV, which the pattern '*.csv' misses by its case" in note


@pytest.mark.parametrize(("age", "waits"), [(59.0, True), (60.0, False), (61.0, False), (-500.0, True)])
def test_young_files_wait(age: float, waits: bool, landing: Landing) -> None:
    landing.put("a.csv")
    (file,) = files_in(landing)
    written = max(file.modified_ns, file.changed_ns)
    listing = listing_of(landing, now_ns=written + int(age * SECOND), min_age_seconds=60.0)
    assert [name_in(landing, each) for each in listing.waiting] == ["a.csv"] * waits
    assert [name_in(landing, each) for each in listing.found] == ["a.csv"] * (not waits)


@pytest.mark.parametrize(
    ("title", "since", "names"),
    [
        ("none", None, ["a.csv", "dt=2026-10-31/x.csv", "dt=2026-11-01/x.csv",
         "dt=2026-11-02/y/z.csv", "e.csv"]),
        ("a folder", "dt=2026-11-01", ["dt=2026-11-01/x.csv", "dt=2026-11-02/y/z.csv", "e.csv"]),
        ("a folder with its slash", "dt=2026-11-02/", ["dt=2026-11-02/y/z.csv", "e.csv"]),
        ("a folder that is not there", "dt=2026-11",
         ["dt=2026-11-01/x.csv", "dt=2026-11-02/y/z.csv", "e.csv"]),
        ("a folder in a folder", "dt=2026-11-02/y", ["dt=2026-11-02/y/z.csv", "e.csv"]),
        ("a file", "dt=2026-11-01/x.csv", ["dt=2026-11-01/x.csv", "dt=2026-11-02/y/z.csv", "e.csv"]),
        ("behind all", "f", []),
    ],
)  # fmt: skip
def test_since_says_where_the_names_begin_that_count(
    title: str, since: str | None, names: list[str], landing: Landing
) -> None:
    for name in ("a.csv", "dt=2026-10-31/x.csv", "dt=2026-11-01/x.csv", "dt=2026-11-02/y/z.csv", "e.csv"):
        landing.put(name)
    listing = listing_of(landing, since=since)
    assert [name_in(landing, file) for file in listing.found] == names
    assert listing.ignored == 0


def test_what_was_taken_is_not_taken_again_and_what_is_new_is(landing: Landing) -> None:
    landing.put("a.csv")
    landing.put("b.csv.gz", gzip.compress(b"a,b\n1,2\n"))
    ledger = taken(landing)
    assert choice(landing, ledger) == FileChoice()
    landing.put("A-before-all.csv")
    assert [name_in(landing, file) for file in choice(landing, ledger).take] == ["A-before-all.csv"]


@pytest.mark.parametrize("megabytes", [0, 5])
def test_the_same_content_put_there_again_is_the_same_file(megabytes: int, landing: Landing) -> None:
    content = b"a,b\n1,2\n" + b"x" * (megabytes * 1024 * 1024)
    landing.put("a.csv", content)
    ledger = taken(landing)
    (before,) = files_in(landing)
    landing.put("a.csv", content)
    # Of a large file in a folder samples alone are compared, which is not enough where its time has changed.
    if before.etag or not megabytes:
        assert choice(landing, ledger) == FileChoice()


def test_other_content_of_the_same_size_in_the_same_second_is_seen(landing: Landing) -> None:
    landing.put("a.csv", "a,b\n1,2\n")
    ledger = taken(landing)
    landing.put("a.csv", "a,b\n1,3\n")
    (problem,) = choice(landing, ledger).problems
    assert problem.code == "LS410"
    assert f"{landing.path}a.csv" in problem.what
    assert problem.expected != problem.found
    (replaced,) = choice(landing, ledger, on_changed_file=OnChangedFile.REPLACE).replace
    assert name_in(landing, replaced) == "a.csv"
    ignored = choice(landing, ledger, on_changed_file=OnChangedFile.IGNORE)
    assert (len(ignored.ignored_changed), ignored.problems) == (1, ())


def test_a_file_that_is_gone_and_comes_back_is_the_same_file(landing: Landing) -> None:
    landing.put("a.csv")
    ledger = taken(landing)
    landing.delete("a.csv")
    assert choice(landing, ledger) == FileChoice()
    landing.put("a.csv")
    assert choice(landing, ledger) == FileChoice()


def test_a_file_that_is_left_out_on_record_stays_so_and_one_that_is_forgotten_is_taken(
    landing: Landing,
) -> None:
    landing.put("a.csv")
    assert len(choice(landing, taken(landing, FileAction.SKIPPED)).skipped) == 1
    assert len(choice(landing, taken(landing, FileAction.FORGOTTEN)).take) == 1


@pytest.mark.parametrize(
    ("title", "content", "reason"),
    [
        ("nothing happened", None, None),
        ("deleted", "", "is gone"),
        ("appended to", "a,b\n1,2\n3,4\n", "has 12 bytes, had 8"),
    ],
)
def test_what_happened_to_a_file_since_it_was_listed(
    title: str, content: str | None, reason: str | None, landing: Landing
) -> None:
    landing.put("a.csv")
    files = files_in(landing)
    if content == "":
        landing.delete("a.csv")
    elif content is not None:
        landing.put("a.csv", content)
    found = changed_files(files, landing.root, landing.store)
    assert [changed.reason for changed in found] == ([reason] if reason else [])


def test_a_file_of_the_same_size_since_it_was_listed_is_another(landing: Landing) -> None:
    landing.put("a.csv", "a,b\n1,2\n")
    files = files_in(landing)
    landing.put("a.csv", "a,b\n1,3\n")
    assert len(changed_files(files, landing.root, landing.store)) == 1


def test_files_are_grouped_by_the_order_of_their_columns(landing: Landing) -> None:
    for name, content in (
        ("1.csv", b"a,b\n1,2\n"),
        ("2.csv", b"b,a\n1,2\n"),
        ("3.csv", b"a,b\n1,2\n"),
        ("4.csv", b"a,b\n"),
        ("5.csv", b""),
        ("6.csv.gz", gzip.compress(b"a,b\n1,2\n")),
        ("7.csv.bz2", bz2.compress(b"a,b\n1,2\n")),
    ):
        landing.put(name, content)
    groups = group_by_shape(files_in(landing), source_of(landing), landing.root, ORDERS)
    assert [
        (group.shape.columns, group.shape.empty, [name_in(landing, file) for file in group.files])
        for group in groups
    ] == [
        (("a", "b"), False, ["1.csv", "3.csv", "6.csv.gz", "7.csv.bz2"]), (("b", "a"), False, ["2.csv"]),
        (("a", "b"), True, ["4.csv"]), ((), True, ["5.csv"]),
    ]  # fmt: skip


@pytest.mark.parametrize("format", list(FileFormat))
def test_a_file_without_a_byte_is_empty_where_a_format_begins_with_rows(
    format: FileFormat, landing: Landing
) -> None:
    """Of Parquet and of Avro not even the first bytes are there."""
    landing.put("nothing", b"")
    source = source_of(landing, format=format)
    if format in (FileFormat.PARQUET, FileFormat.AVRO):
        with pytest.raises(BadFiles, match=r"LS422(.|\n)*nothing: it is not a whole"):
            group_by_shape(files_in(landing), source, landing.root, ORDERS)
        return
    (group,) = group_by_shape(files_in(landing), source, landing.root, ORDERS)
    assert (group.shape.columns, group.shape.empty) == ((), True)
    assert not damaged_files(group.files, source, landing.root, ORDERS)


@pytest.mark.parametrize("format", list(FileFormat))
def test_a_file_that_went_away_is_named(format: FileFormat, landing: Landing) -> None:
    landing.put("gone.x")
    files = files_in(landing)
    landing.delete("gone.x")
    with pytest.raises(SourceError, match=r"LS421(.|\n)*gone\.x"):
        group_by_shape(files, source_of(landing, format=format), landing.root, ORDERS)


def test_records_are_counted_in_plain_and_packed_files_that_take_several_reads(landing: Landing) -> None:
    lines = b"id,text\n" + b"".join(b"%d,%x\n" % (n, n * 7919 % 99991) for n in range(60_000))
    landing.put("plain.csv", lines)
    landing.put("packed.csv.gz", gzip.compress(lines))
    landing.put("packed.csv.bz2", bz2.compress(lines))
    assert count_records(files_in(landing), source_of(landing), landing.root) == 180_000


def test_cut_files_are_found_by_reading_them_to_the_end(landing: Landing) -> None:
    whole = gzip.compress(b"a,b\n" + b"1234567890\n" * 100_000)
    landing.put("whole.csv.gz", whole)
    landing.put("cut.csv.gz", whole[: len(whole) // 2])
    bad = damaged_files(files_in(landing), source_of(landing), landing.root, ORDERS)
    assert [(name_in(landing, each.file), each.problem.code) for each in bad] == [("cut.csv.gz", "LS422")]
    with pytest.raises(OSError, match=r"cut\.csv\.gz is damaged"):
        count_records(files_in(landing), source_of(landing), landing.root)


def test_an_empty_place_holds_nothing(landing: Landing) -> None:
    landing.put("a.csv")
    landing.delete("a.csv")
    assert listing_of(landing, now_ns=FAR) == Listing(())
