"""Finding the record, and telling appends from everything else, on hand-made pasts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith.catalog.progress import (
    AppendRange,
    Reason,
    append_only_since,
    find_progress,
    live_rows,
    most_live_rows,
)
from lakesmith.catalog.record import SUMMARY_KEY
from lakesmith.catalog.state import RECORD_TAG, Snapshot, TableState
from lakesmith.errors import StateError

if TYPE_CHECKING:
    from tests.unit.catalog.conftest import Past


def found(state: TableState) -> tuple[int, int, list[int]]:
    """The batch, the snapshot that carries it, and the snapshots since."""
    progress = find_progress(state)
    assert progress is not None
    foreign = [snapshot.snapshot_id for snapshot in progress.foreign]
    return progress.record.batch, progress.snapshot.snapshot_id, foreign


def refused(state: TableState) -> str:
    """What LS501 says it found."""
    with pytest.raises(StateError) as error:
        find_progress(state)
    (problem,) = error.value.problems
    assert problem.code == "LS501"
    assert state.name in problem.what
    assert "--full-refresh" in (problem.hint or "")
    return problem.found or ""


def publish(past: Past, batch: int, rows: int) -> int:
    """A batch as it is made: data, then the record on an empty append; main moves once."""
    past.refs["work"] = past.refs.get("main", 0)
    if not past.refs["work"]:
        del past.refs["work"]
    past.commit("overwrite", branch="work", total_records=rows, total_data_files=1, added_data_files=1)
    head = past.commit("append", batch=batch, branch="work", total_records=rows, total_data_files=1)
    past.move("main", head)
    past.move(RECORD_TAG, head)
    return head


def test_a_table_without_a_snapshot_has_no_progress(past: Past) -> None:
    assert find_progress(past.state()) is None


def test_a_first_batch_that_was_killed_counts_for_nothing(past: Past) -> None:
    past.commit("append", branch="work", added_records=3)
    past.commit("append", batch=1, branch="work")
    assert find_progress(past.state()) is None


def test_the_newest_record_of_main_counts(past: Past) -> None:
    publish(past, 1, rows=3)
    publish(past, 2, rows=5)
    past.commit("append", batch=3, branch="work")
    assert found(past.state()) == (2, 4, [])


def test_what_others_committed_since_comes_oldest_first(past: Past) -> None:
    publish(past, 1, rows=3)
    past.commit("append", added_records=2)
    past.commit("replace")
    assert found(past.state()) == (1, 2, [3, 4])


def test_after_a_rollback_the_tag_does_not_count(past: Past) -> None:
    first = publish(past, 1, rows=3)
    publish(past, 2, rows=5)
    past.move("main", first)
    past.commit("replace", total_records=3)
    assert found(past.state()) == (1, first, [5])


def test_the_data_of_a_batch_that_was_rolled_back_to_is_foreign(past: Past) -> None:
    publish(past, 1, rows=3)
    publish(past, 2, rows=5)
    past.move("main", 3)
    assert found(past.state()) == (1, 2, [3])


def test_snapshots_without_any_record(past: Past) -> None:
    past.commit("append", added_records=3)
    assert "none is tagged" in refused(past.state())


def test_a_table_that_was_replaced(past: Past) -> None:
    publish(past, 1, rows=3)
    del past.refs["main"]
    assert "started again" in refused(past.state())
    past.commit("append", total_records=3)
    past.commit("replace", total_records=3)
    assert "started again" in refused(past.state())


def test_a_tag_without_a_record(past: Past) -> None:
    past.commit("append")
    past.move(RECORD_TAG, past.commit("append"))
    assert "none is tagged" in refused(past.state())


def compacted_twice(past: Past, operation: str = "replace", **counts: int) -> tuple[int, int]:
    """Batch 2 with 5 live rows, two foreign commits; returns the tagged snapshot and the first of the two."""
    publish(past, 1, rows=3)
    tagged = publish(past, 2, rows=5)
    first = past.commit("replace", total_records=5)
    past.commit(operation, **counts)
    return tagged, first


def test_foreign_compaction_then_foreign_expiry(past: Past) -> None:
    tagged, first = compacted_twice(past, total_records=6, total_position_deletes=1)
    assert found(past.state(expired=(1, 2, 3, first))) == (2, tagged, [6])


@pytest.mark.parametrize(
    ("operation", "counts", "doubt"),
    [
        ("replace", {"total_records": 4}, "live rows differ: 5 then, 4 now"),
        ("replace", {"total_records": 5, "total_position_deletes": 1}, "live rows differ: 5 then, 4 now"),
        (
            "replace",
            {"total_records": 5, "total_equality_deletes": 1},
            "live rows differ: 5 then, unknown now",
        ),
        ("replace", {}, "live rows differ: 5 then, unknown now"),
        ("append", {"total_records": 5}, "snapshot 6 (append)"),
    ],
)
def test_a_broken_chain_with_a_doubt(past: Past, operation: str, counts: dict[str, int], doubt: str) -> None:
    tagged, first = compacted_twice(past, operation, **counts)
    assert doubt in refused(past.state(expired=(1, 2, 3, first)))
    assert find_progress(past.state(expired=(1, 2, 3))) is not None
    assert tagged == 4


def test_rows_that_nobody_counted_are_not_taken_for_the_same(past: Past) -> None:
    past.move(RECORD_TAG, past.commit("append", batch=1, total_records=5, total_equality_deletes=1))
    first = past.commit("replace", total_records=5, total_equality_deletes=1)
    past.commit("replace", total_records=5, total_equality_deletes=1)
    assert "unknown then, unknown now" in refused(past.state(expired=(first,)))


def test_a_foreign_append_after_the_compactions_is_refused_too(past: Past) -> None:
    _, first = compacted_twice(past, total_records=5)
    past.commit("append", total_records=6)
    assert "snapshot 7 (append)" in refused(past.state(expired=(1, 2, 3, first)))


def test_foreign_rollback_compaction_and_expiry_is_not_taken_for_compaction(past: Past) -> None:
    """Batch 2 changed no row count; it was rolled back, main compacted, the old snapshots expired; the tag
    survives.
    """
    first = publish(past, 1, rows=5)
    publish(past, 2, rows=5)
    past.move("main", first)
    past.commit("replace", total_records=5)
    assert "rolled back" in refused(past.state(expired=(1, first, 3)))


def test_foreign_rollback_and_expiry_of_the_record(past: Past) -> None:
    """Rolled back to the data snapshot before batch 2's tagged record: older than the tag."""
    publish(past, 1, rows=5)
    publish(past, 2, rows=5)
    past.move("main", 3)
    assert "rolled back" in refused(past.state(expired=(1, 2)))


def test_format_1_has_no_sequence_numbers_so_nothing_is_taken_on_trust(past: Past) -> None:
    _, first = compacted_twice(past, total_records=5)
    state = past.state(expired=(1, 2, 3, first))
    old = {key: replace(snapshot, sequence_number=0) for key, snapshot in state.snapshots.items()}
    assert "rolled back" in refused(replace(state, snapshots=old))


@pytest.mark.parametrize("text", ['{"format": 2}', "{", "[]", '"x"', '{"format": 1, "account": {}}'])
def test_a_record_that_cannot_be_read(past: Past, text: str) -> None:
    head = past.commit("append")
    state = past.state()
    broken = replace(state.snapshots[head], summary={SUMMARY_KEY: text})
    with pytest.raises(StateError, match="LS502"):
        find_progress(replace(state, snapshots={head: broken}))


APPEND = {"added_data_files": 1, "added_records": 2, "total_data_files": 9}


def test_appends_compactions_and_empty_commits_are_appends(past: Past) -> None:
    start = past.commit("append", **APPEND)
    first = past.commit("append", **APPEND)
    past.commit("replace", added_data_files=1, deleted_data_files=2, total_data_files=8)
    past.commit("append", batch=1, total_data_files=8, changed_partition_count=0)
    past.commit("append", total_data_files=8)
    past.commit("overwrite", total_data_files=8, changed_partition_count=0)
    last = past.commit("append", **APPEND)
    found = append_only_since(past.state(), start, last)
    assert isinstance(found, AppendRange)
    assert [snapshot.snapshot_id for snapshot in found.appends] == [first, last]
    assert found.added_records == 4


def test_from_the_beginning_and_up_to_date(past: Past) -> None:
    first = past.commit("append", **APPEND)
    state = past.state()
    assert append_only_since(state, first, first) == AppendRange(first, first, ())
    assert append_only_since(state, None, first) == AppendRange(None, first, (state.snapshots[first],))


@pytest.mark.parametrize(
    ("operation", "counts", "reason"),
    [
        (
            "overwrite",
            {"added_data_files": 1, "deleted_data_files": 1, "total_data_files": 1},
            "snapshot 2 (overwrite)",
        ),
        ("overwrite", {"added_data_files": 1, "total_data_files": 2}, "snapshot 2 (overwrite)"),
        ("delete", {"deleted_data_files": 1, "total_data_files": 0}, "snapshot 2 (delete)"),
        ("delete", {"added_delete_files": 1, "total_data_files": 1}, "snapshot 2 (delete)"),
        ("append", {**APPEND, "added_delete_files": 1}, "snapshot 2 (append) also removed"),
        ("append", {"total_data_files": 10}, "snapshot 2 (append) does not say how many rows it added"),
        ("append", {}, "snapshot 2 (append) does not say how many rows it added"),
        ("overwrite", {"total_data_files": 9}, "snapshot 2 (overwrite) changed or removed rows"),
        ("delete", {}, "snapshot 2 (delete)"),
        ("unknown", {}, "snapshot 2 (unknown)"),
    ],
)
def test_what_is_more_than_an_append(past: Past, operation: str, counts: dict[str, int], reason: str) -> None:
    start = past.commit("append", **APPEND)
    past.commit(operation, **counts)
    end = past.commit("append", **APPEND)
    answer = append_only_since(past.state(), start, end)
    assert isinstance(answer, Reason)
    assert reason in answer.text
    assert isinstance(append_only_since(past.state(), 2, end), AppendRange)


def test_expired_links(past: Past) -> None:
    first, second, third = (past.commit("append", **APPEND) for _ in range(3))
    cut = append_only_since(past.state(expired=(second,)), first, third)
    assert cut == Reason(f"snapshot {second}, committed since, has expired")
    assert isinstance(append_only_since(past.state(expired=(first,)), first, third), AppendRange)
    assert isinstance(append_only_since(past.state(expired=(first,)), None, third), Reason)


def test_a_start_that_is_no_ancestor(past: Past) -> None:
    first = past.commit("append", **APPEND)
    undone = past.commit("append", **APPEND)
    past.move("main", first)
    end = past.commit("append", **APPEND)
    answer = append_only_since(past.state(), undone, end)
    assert isinstance(answer, Reason)
    assert "rolled back" in answer.text


@pytest.mark.parametrize(
    ("summary", "rows", "most"),
    [
        ({"total-records": "7", "total-position-deletes": "2", "total-equality-deletes": "0"}, 5, 5),
        ({"total-records": "7"}, 7, 7),
        ({"total-records": "7", "total-position-deletes": "2", "total-equality-deletes": "1"}, None, 5),
        ({}, None, None),
    ],
)
def test_live_rows(summary: dict[str, str], rows: int | None, most: int | None) -> None:
    snapshot = Snapshot(1, None, 1, 0, "append", "", summary)
    assert (live_rows(snapshot), most_live_rows(snapshot)) == (rows, most)
