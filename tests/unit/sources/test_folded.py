"""Lines that leave the ledger: what stands for them says as much of each segment and each partition."""

import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from lakesmith import limits
from lakesmith.catalog.record import Pin
from lakesmith.project.definitions import TableName
from lakesmith.sources import ledger_table
from lakesmith.sources.folded import NOTHING, fold
from lakesmith.sources.kafka.slices import Slice
from lakesmith.sources.ledger import LedgerStore
from lakesmith.sources.ledger_view import EMPTY, LedgerView
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry, Series, place_of, segment_name

FOLDER = ".lakesmith/intake/bronze.sales/http"
SALES = TableName("bronze", "sales")
ONE, OTHER = "4f2a9c1b", "00c0ffee"
NOW = 1_800_000_000_000
AT = datetime(2026, 11, 23, 10, 15, 0, 123456, UTC)


def path(number: int, series: str = ONE, folder: str = FOLDER) -> str:
    return f"{folder}/{segment_name(AT, series, number)}.jsonl"


def line(
    file: str | int, batch: int = 1, action: FileAction = FileAction.TAKEN, at_ms: int = 0, series: str = ONE
) -> LedgerEntry:
    name = path(file, series) if isinstance(file, int) else file
    return LedgerEntry(FileIdentity(name, 7, 8, 9), "http", action, f"attempt-{batch}", batch, at_ms)


def folded(view: LedgerView, there: frozenset[str] = frozenset(), before_ms: int = NOW) -> LedgerView:
    return fold(view, {FOLDER: there}, before_ms).of(view)


def taken(*numbers: int, series: str = ONE) -> LedgerView:
    return EMPTY.plus(line(number, number, at_ms=number, series=series) for number in numbers)


def test_names_say_whose_they_are_and_how_manieth() -> None:
    name = segment_name(AT, ONE, 17)
    assert name == "20261123T101500123456-4f2a9c1b-0000017"
    assert place_of(f"{FOLDER}/{name}.jsonl") == (Series(FOLDER, ONE), 17)
    assert place_of(path(12_345_678)) == (Series(FOLDER, ONE), 12_345_678)


@pytest.mark.parametrize(
    "other",
    [
        "landing/orders.jsonl", f"{FOLDER}/*-{ONE}.jsonl", f"{FOLDER}/20261123T101500123456-{ONE}.jsonl",
        path(17) + ".gz", path(17).replace("4f2a", "4F2A"),
    ],
)  # fmt: skip
def test_other_names_are_of_no_series(other: str) -> None:
    assert place_of(other) is None


def test_one_line_stands_for_a_series() -> None:
    view = folded(taken(1, 2, 3))
    assert list(view) == [Series(FOLDER, ONE).path]
    (standing,) = view.values()
    assert (standing.action, standing.file.size, standing.batch) == (FileAction.FOLDED, 3, 3)
    assert standing.file.etag == path(3).rpartition("/")[2]
    assert all(view[path(number)].action is FileAction.TAKEN for number in (1, 2, 3))
    assert path(4) not in view
    assert path(1, OTHER) not in view
    assert path(1, folder="landing") not in view


def test_it_grows_by_what_follows() -> None:
    view = folded(taken(1, 2, 3))
    view = folded(view.plus([line(4, 9, at_ms=9)]))
    assert len(view) == 1
    assert view[Series(FOLDER, ONE).path].file.size == 4
    assert view[path(4)].batch == 9


def test_never_past_a_segment_that_was_not_taken() -> None:
    """It may have been moved away, and come back."""
    view = folded(taken(1, 2, 4, 5))
    assert view[Series(FOLDER, ONE).path].file.size == 2
    assert path(3) not in view
    assert {path(4), path(5)} <= set(view)
    view = folded(view.plus([line(3, 9)]))
    assert list(view) == [Series(FOLDER, ONE).path]
    assert view[Series(FOLDER, ONE).path].file.size == 5


def test_a_series_of_which_the_first_is_not_known_stays() -> None:
    assert fold(taken(2, 3, 4), {FOLDER: ()}, NOW) == NOTHING


def test_each_writer_has_a_line() -> None:
    view = folded(taken(1, 2).plus(taken(1, 2, 3, series=OTHER).values()))
    assert sorted(view) == sorted(Series(FOLDER, name).path for name in (ONE, OTHER))


def test_what_is_still_there_or_was_lately_taken_stays() -> None:
    there = frozenset({path(2).rpartition("/")[2]})
    assert folded(taken(1, 2, 3, 4), there).rows == taken(1, 2, 3, 4).rows
    view = folded(taken(1, 2, 3, 4), before_ms=3)
    assert set(view) == {Series(FOLDER, ONE).path, path(4)}


def test_one_line_alone_is_not_worth_another() -> None:
    assert fold(taken(1), {FOLDER: ()}, NOW) == NOTHING


def test_what_somebody_said_of_a_segment_counts() -> None:
    view = taken(1, 2, 3, 4).plus([line(2, 8, FileAction.FORGOTTEN), line(4, 8, FileAction.SKIPPED)])
    view = folded(view)
    assert view[Series(FOLDER, ONE).path].file.size == 4
    assert view[path(2)].action is FileAction.FORGOTTEN
    assert view[path(4)].action is FileAction.SKIPPED
    assert not view.is_folded(path(2))
    view = folded(view.plus([line(2, 9)]))
    assert view.is_folded(path(2))
    assert view[Series(FOLDER, ONE).path].file.etag == path(4).rpartition("/")[2]


def test_files_that_people_bring_keep_their_lines() -> None:
    """Also those that have such names: a copy of a folder of events, say."""
    names = [path(number, folder="landing") for number in (1, 2, 3)]
    view = EMPTY.plus(line(name) for name in names)
    assert folded(view).rows == view.rows


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_taken_in_whatever_order(seed: int) -> None:
    """Folded at any time, a ledger says of each segment what one says that never folds."""
    dice = random.Random(seed)
    plain = short = EMPTY
    numbers = [(number, series) for number in range(1, 15) for series in (ONE, OTHER)]
    numbers.sort(key=lambda at: at[0] + 4 * dice.random())
    for batch, (number, series) in enumerate(numbers):
        action = dice.choice([*[FileAction.TAKEN] * 8, FileAction.SKIPPED, FileAction.FORGOTTEN])
        entry = line(number, batch, action, batch, series)
        plain, short = plain.plus([entry]), short.plus([entry])
        if dice.random() < 0.3:
            short = folded(short, before_ms=batch - dice.randrange(4))
        for each in (path(*at) for at in numbers):
            said = [view[each].action if each in view else None for view in (plain, short)]
            assert said[0] == said[1], each
    assert len(folded(short)) < len(plain)


# In the table


def slice_line(start: int, end: int, batch: int, partition: int = 0) -> LedgerEntry:
    file = Slice("clicks", "id", partition, start, end).as_file()
    return LedgerEntry(file, "kafka", FileAction.TAKEN, f"attempt-{batch}", batch, batch)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger is written anew at each third append, and lines may leave at once."""
    monkeypatch.setattr(limits, "LEDGER_FILES_UP_TO", 2)
    monkeypatch.setattr(limits, "SEGMENT_LINES_KEPT_SECONDS", 0)


def lines_of(catalog: Any, pin: Pin) -> int:
    ledger = catalog.writer().load_table(ledger_table.identifier(SALES))
    return ledger_table.rows_at(ledger, pin.snapshot or 0)


@pytest.mark.usefixtures("often")
def test_the_ledger_stays_short_and_knows_all(
    store: LedgerStore, uncached: Callable[[], LedgerStore], catalog: Any
) -> None:
    pin: Pin | None = None
    pins, most = [], 0
    for batch in range(1, 31):
        entries = [line(batch, batch, at_ms=batch), slice_line(10 * batch, 10 * batch + 10, batch)]
        pin = store.append(SALES, pin, entries, lambda: {FOLDER: ()})
        pins.append(pin)
        most = max(most, lines_of(catalog, pin))
    assert pin is not None
    assert most <= 12
    for view in (store.read(SALES, pin), uncached().read(SALES, pin)):
        assert all(path(number) in view for number in range(1, 31))
        assert path(31) not in view
        assert view[slice_line(0, 0, 0).file.path].file.etag == "300-310"
    for batch, older in enumerate(pins, 1):
        view = uncached().read(SALES, older)
        assert [number for number in range(1, 32) if path(number) in view] == list(range(1, batch + 1))
        assert view[slice_line(0, 0, 0).file.path].file.etag == f"{10 * batch}-{10 * batch + 10}"


@pytest.mark.usefixtures("often")
def test_an_older_version_goes_on_as_it_was(store: LedgerStore, uncached: Callable[[], LedgerStore]) -> None:
    """As after a rollback of the table: what was taken later counts no more, though lines of it have left
    meanwhile."""
    pins: list[Pin | None] = [None]
    for batch in range(1, 13):
        pins.append(store.append(SALES, pins[-1], [line(batch, batch, at_ms=batch)], lambda: {FOLDER: ()}))
    pin = store.append(SALES, pins[4], [line(6, 5, at_ms=5)], lambda: {FOLDER: ()})
    for batch in range(6, 12):
        pin = store.append(SALES, pin, [line(f"{FOLDER}/own-{batch}.jsonl", batch)], lambda: {FOLDER: ()})
    for view in (store.read(SALES, pin), uncached().read(SALES, pin)):
        assert [number for number in range(1, 13) if path(number) in view] == [1, 2, 3, 4, 6]


@pytest.mark.usefixtures("often")
def test_an_attempt_that_died_after_its_lines_had_left(
    store: LedgerStore, uncached: Callable[[], LedgerStore]
) -> None:
    pin: Pin | None = None
    for batch in range(1, 9):
        dead = store.append(SALES, pin, [line(50, batch, at_ms=batch)], lambda: {FOLDER: ()})
        pin = store.append(SALES, pin, [line(batch, batch, at_ms=batch)], lambda: {FOLDER: ()})
        assert path(50) in store.read(SALES, dead)
    for view in (store.read(SALES, pin), uncached().read(SALES, pin)):
        assert path(50) not in view
        assert all(path(number) in view for number in range(1, 9))


@pytest.mark.usefixtures("often")
def test_an_append_whose_answer_was_lost_is_not_made_twice(
    store: LedgerStore, uncached: Callable[[], LedgerStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    pin: Pin | None = None
    for batch in range(1, 4):
        pin = store.append(SALES, pin, [line(batch, batch, at_ms=batch)], lambda: {FOLDER: ()})
    commit, lost = ledger_table.commit, []

    def lose(*arguments: Any) -> int:
        found = commit(*arguments)
        if not lost:
            lost.append(found)
            from pyiceberg.exceptions import CommitFailedException

            raise CommitFailedException("its answer was lost")
        return found

    monkeypatch.setattr(ledger_table, "commit", lose)
    pin = store.append(SALES, pin, [line(4, 4, at_ms=4)], lambda: {FOLDER: ()})
    assert pin.snapshot == lost[0]
    assert set(uncached().read(SALES, pin)) == {Series(FOLDER, ONE).path, path(4)}


@pytest.mark.usefixtures("often")
def test_a_segment_without_a_line_was_ever_taken(store: LedgerStore) -> None:
    pin: Pin | None = None
    for batch in range(1, 5):
        pin = store.append(SALES, pin, [line(batch, batch, at_ms=batch)], lambda: {FOLDER: ()})
    assert store.ever_taken(SALES, pin, [path(1)])
    assert not store.ever_taken(SALES, pin, [path(9)])
