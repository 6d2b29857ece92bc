"""A table's past in words, and from words to a snapshot."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from lakesmith.catalog.history import (
    HistoryKind,
    HistoryLine,
    account_in_words,
    describe_history,
    resolve_as_of,
)
from lakesmith.catalog.record import Account, Versions
from lakesmith.catalog.state import RECORD_TAG, TableState
from lakesmith.errors import UsageError

if TYPE_CHECKING:
    from tests.unit.catalog.conftest import Past

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOW = EPOCH + timedelta(hours=10)


@pytest.fixture
def busy(past: Past) -> TableState:
    """Hours 1 to 9: batch 1 (2), a foreign append (3), batch 2 (5), a compaction (6), back to batch 1 (at 6),
    batch 3 (8).
    """
    past.commit("append", branch="work", total_records=12)
    past.move("main", past.commit("append", batch=1, branch="work", total_records=12))
    past.commit("append", total_records=15, added_records=3)
    past.refs["work"] = past.refs["main"]
    past.commit("overwrite", branch="work", total_records=15)
    past.move("main", past.commit("append", batch=2, branch="work", total_records=15))
    past.commit("replace", deleted_data_files=1200, added_data_files=2, total_records=15)
    past.published.append((2, 6 * 3_600_000 + 60_000))
    past.refs["main"] = past.refs["work"] = 2
    past.commit("delete", branch="work")
    past.move("main", past.commit("append", batch=3, branch="work", total_records=12))
    past.refs |= {RECORD_TAG: 8, "release": 5}
    del past.refs["work"]
    return past.state(tags={RECORD_TAG: 8, "release": 5})


def test_every_head_of_main_is_told_once_with_what_made_it(busy: TableState) -> None:
    lines = describe_history(busy)
    assert [(line.number, line.snapshot_id, line.kind.value, line.batch) for line in lines] == [
        (1, 2, "batch", 1), (2, 3, "foreign", None), (3, 5, "batch", 2), (4, 6, "compaction", None),
        (5, 2, "rollback", 1), (6, 8, "batch", 3),
    ]  # fmt: skip
    assert [line.text for line in lines] == [
        "batch 1 (upsert): read 5: 3 inserted, 1 updated, 1 quarantined; 12 rows now",
        "append by another tool: 15 rows now (+3)",
        "batch 2 (upsert): read 5: 3 inserted, 1 updated, 1 quarantined; 12 rows now",
        "compaction: 1,200 data files into 2",
        "set back to batch 1",
        "batch 3 (upsert): read 5: 3 inserted, 1 updated, 1 quarantined; 12 rows now",
    ]
    assert [line.is_head for line in lines] == [False] * 5 + [True]
    assert [line.refs for line in lines] == [(), (), ("release",), (), (), ()]
    assert [line.record is not None for line in lines] == [True, False, True, False, False, True]


def test_a_table_never_written_has_no_past(past: Past) -> None:
    assert describe_history(past.state()) == ()


def test_a_rollback_to_what_the_log_has_lost_is_still_a_rollback(past: Past) -> None:
    for _ in range(3):
        past.commit("append")
    past.move("main", 1)
    past.published = past.published[2:]
    assert [line.kind for line in describe_history(past.state())] == [
        HistoryKind.FOREIGN,
        HistoryKind.ROLLBACK,
    ]


def test_going_forward_again_after_a_rollback_is_no_new_batch(past: Past) -> None:
    for batch in (1, 2):
        past.commit("append", batch=batch)
    past.move("main", 1)
    past.move("main", 2)
    lines = describe_history(past.state())
    assert [(line.kind.value, line.text) for line in lines[2:]] == [
        ("rollback", "set back to batch 1"),
        ("rollback", "set back to batch 2"),
    ]


def test_clocks_that_differ_do_not_hide_the_newest(past: Past) -> None:
    for _ in range(3):
        past.commit("append")
    past.published = [(1, 5000), (2, 4000), (3, 6000)]
    found = [resolve_as_of(past.state(), f"1970-01-01T00:00:0{second}", NOW) for second in (4, 5, 6)]
    assert found == [2, 2, 3]


def test_the_same_head_twice_in_a_row_is_one_point(past: Past) -> None:
    past.move("main", past.commit("append"))
    assert len(describe_history(past.state())) == 1


@pytest.mark.parametrize(
    ("summary", "engine"),
    [
        ({"engine-name": "spark", "engine-version": "4.1.4"}, "spark 4.1.4"),
        ({"engine-name": "pyiceberg"}, "pyiceberg"),
        ({"spark.app.id": "local-1"}, "spark"),
        ({"trino_query_id": "2026"}, "trino"),
        ({}, None),
    ],
)
def test_who_committed(past: Past, summary: dict[str, str], engine: str | None) -> None:
    past.commit("append", **summary)  # type: ignore[arg-type]
    state = past.state()
    state.snapshots[1].summary.update(summary)  # type: ignore[attr-defined]
    line: HistoryLine = describe_history(state)[0]
    assert line.engine == engine
    assert line.text == f"append by {engine or 'another tool'}"


def test_an_account_that_changed_nothing() -> None:
    assert account_in_words(Account(rows_before=7, rows_after=7)) == "nothing changed; 7 rows now"
    assert account_in_words(Account(read=2000, unchanged=2000)) == "read 2,000: 2,000 unchanged; 0 rows now"


def test_an_account_of_versions() -> None:
    account = Account(read=9, inserted=3, updated=2, filtered=1, versions=Versions(4, 2, 1), rows_after=12)
    assert account_in_words(account) == (
        "read 9: 4 opened a row, 2 continued one, 1 closed one, 1 filtered; rows: 3 inserted, 2 updated; 12 "
        "rows now"
    )
    again = Account(read=2, superseded=2, versions=Versions(), rows_after=12)
    assert account_in_words(again) == "read 2: 2 superseded; 12 rows now"


@pytest.mark.parametrize(
    ("text", "snapshot_id"),
    [
        ("main", 8), (" release ", 5), ("3", 3), ("4", 4), ("1970-01-01T02:00", 2),
        ("1970-01-01T02:59:59.999", 2), ("1970-01-01 03:00:00", 3), ("1970-01-01T04:30Z", 3),
        ("1970-01-01T06:00+01:00", 5), ("1970-01-01T06:00:30", 6), ("1970-01-01T07:30", 2),
        ("8 hours ago", 2), ("120 minutes ago", 8), ("5h ago", 5), ("5 Hrs ago", 5), ("0 days ago", 8),
    ],
)  # fmt: skip
def test_texts_and_the_snapshot_they_mean(busy: TableState, text: str, snapshot_id: int) -> None:
    assert resolve_as_of(busy, text, NOW) == snapshot_id


def test_a_date_is_its_first_instant_in_utc(busy: TableState) -> None:
    later = EPOCH + timedelta(days=30)
    assert resolve_as_of(busy, "1970-01-02", later) == 8
    assert resolve_as_of(busy, "2 days ago", later.astimezone()) == 8
    with pytest.raises(UsageError, match="before anything that is known"):
        resolve_as_of(busy, "1970-01-01", later)


def test_a_branch_whose_name_is_a_number_comes_first(past: Past) -> None:
    past.commit("append")
    past.commit("append")
    past.refs["2"] = 1
    assert resolve_as_of(past.state(), "2", NOW) == 1


@pytest.mark.parametrize(
    ("text", "code", "parts"),
    [
        ("1970-01-01T01:59", "LS231", ["before anything", "1970-01-01 02:00:00.000+00:00"]),
        ("4 weeks ago", "LS231", ["before anything"]),
        ("1970-01-02T00:00", "LS231", ["in the future", "last published 1970-01-01 08:00:00.000+00:00"]),
        ("77", "LS230", ["no snapshot of that id", "lakesmith history silver.people"]),
        ("yesterday-ish", "LS230", ["neither a branch", "release", "2 hours ago", "1970-01-01 02:00"]),
        ("3 fortnights ago", "LS230", ["neither a branch"]),
        ("99999999999999 weeks ago", "LS230", ["neither a branch"]),
        ("2026-13-01", "LS230", ["neither a branch"]),
        ("", "LS230", ["neither a branch"]),
    ],
)
def test_what_means_nothing_is_said_with_the_range_there_is(
    busy: TableState, text: str, code: str, parts: list[str]
) -> None:
    with pytest.raises(UsageError) as error:
        resolve_as_of(busy, text, NOW)
    assert error.value.problems[0].code == code
    for part in parts:
        assert part in str(error.value)


def test_a_table_never_written_says_so(past: Past) -> None:
    with pytest.raises(UsageError, match="this one is empty"):
        resolve_as_of(past.state(), "1 hour ago", NOW)
