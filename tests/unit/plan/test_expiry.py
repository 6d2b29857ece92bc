"""What expiry leaves of a table's past, and which files it puts together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith import limits
from lakesmith.catalog.history import describe_history, points
from lakesmith.catalog.progress import find_progress, published_records
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import Place
from lakesmith.plan.expiry import fresh_files_below, needed_by_others, old_of_sidecar, old_snapshots
from lakesmith.plan.snapshot_ranges import last_of_snapshot_ranges
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import ExternalTable, TableDefinition, TableName

if TYPE_CHECKING:
    from conftest import Table

MB = 1024 * 1024


@pytest.fixture
def past(monkeypatch: pytest.MonkeyPatch, new_table: type[Table]) -> TableState:
    """Twenty batches of two snapshots, a second apart: records are 2, 4, .. 40. Three points stay."""
    monkeypatch.setattr(limits, "NEWEST_POINTS_KEPT", 3)
    monkeypatch.setattr(limits, "PAST_KEPT", ())
    table = new_table("bronze.orders")
    for _ in range(20):
        table.publish(rows=1)
    return with_log(state_of(table))


def state_of(table: Table) -> TableState:
    state = table.facts().state
    assert state is not None
    return state


def with_log(state: TableState) -> TableState:
    """With the log that Iceberg would keep: main's heads are the records."""
    return replace(state, published=tuple((each, at) for each, at in state.published if each % 2 == 0))


def thinned(state: TableState, *gone: int) -> TableState:
    """After Iceberg has expired snapshots: its log begins anew behind the last one that is gone from it."""
    left = {key: snapshot for key, snapshot in state.snapshots.items() if key not in gone}
    log = list(state.published)
    while any(snapshot not in left for snapshot, _ in log):
        log.pop(0)
    return replace(state, snapshots=left, published=tuple(log))


def left_of(state: TableState, *needed: int, now: int = 10**9) -> list[int]:
    return sorted(set(state.snapshots).difference(old_snapshots(state, needed, now)))


def test_the_newest_points_stay_and_what_is_needed_or_named(past: TableState) -> None:
    named = replace(past, refs={**past.refs, "audit": 4})
    assert left_of(past) == [36, 38, 40]
    assert left_of(named, 11) == [4, 11, 36, 38, 40]


def test_what_the_table_itself_asks_for_stays(past: TableState) -> None:
    asked = replace(past, properties={"history.expire.max-snapshot-age-ms": "8000"})
    assert left_of(asked, now=40_000) == [33, 34, 35, 36, 37, 38, 39, 40]


def test_of_older_points_one_of_each_stretch_of_time_stays(
    past: TableState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PAST_KEPT", ((15, 5), (1000, 20)))
    # A point is 40 minus its number of seconds old: periods of 5 s end at 28 (25 to 29), 34 and 38.
    assert left_of(past, now=40_000) == [18, 28, 34, 36, 38, 40]


def test_files_that_were_put_together_stay_for_who_reads_them(new_table: type[Table]) -> None:
    table = new_table("bronze.orders")
    for _ in range(200):
        table.publish(rows=1)
    table.compact()
    table.publish(rows=1)
    state = state_of(table)
    lately, later = 403_000, (403 + limits.COMPACTED_FILES_KEPT_SECONDS) * 1000
    assert 400 in left_of(state, now=lately)
    assert 401 not in old_snapshots(state, (), lately), "the compaction's own point is one of the newest"
    only_head = replace(
        state, published=((403, 403_000),), snapshots={key: state.snapshots[key] for key in (400, 401, 403)}
    )
    assert left_of(only_head, now=lately)[0] == 400
    assert old_snapshots(
        replace(only_head, snapshots={**only_head.snapshots, 400: without_record(400)}), (), later
    ) == (400, 401)


def without_record(number: int) -> Snapshot:
    return Snapshot(number, None, number, number * 1000, "append", "")


def test_what_was_published_before_a_gap_is_still_history(past: TableState) -> None:
    state = thinned(past, *[each for each in past.snapshots if each not in (2, 8, 36, 38, 40)])
    assert [snapshot for snapshot, _ in points(state)] == [2, 8, 36, 38, 40]
    assert [line.batch for line in describe_history(state)] == [2, 8, 36, 38, 40]
    progress = find_progress(state)
    assert progress is not None
    found = [snapshot.snapshot_id for snapshot, _ in published_records(state, progress.snapshot)]
    assert found == [40, 38, 36, 8, 2]


def test_expiry_again_leaves_what_it_has_left_where_it_is_wanted(past: TableState) -> None:
    state = thinned(past, *old_snapshots(past, (8,), 10**9))
    assert left_of(state, 8) == [8, 36, 38, 40]
    assert left_of(state) == [36, 38, 40]


def test_a_sidecar_keeps_what_records_pin(past: TableState) -> None:
    assert old_of_sidecar(past, {7, 9}) == tuple(each for each in range(1, 40) if each not in (7, 9))


def test_what_a_reader_of_new_rows_has_still_to_read_stays(new_table: type[Table]) -> None:
    orders, sales = new_table("bronze.orders"), new_table("silver.sales")
    orders.publish(rows=1)
    sales.publish(rows=1, orders=orders)
    for _ in range(10):
        orders.publish(rows=1)
    names = [TableName.parse(name) for name in ("bronze.orders", "silver.sales")]
    tables = [definition(str(name)) for name in names]
    states = dict(zip(names, map(state_of, (orders, sales)), strict=True))
    assert needed_by_others(tables, states)[names[0]] == set(range(2, 23))

    tables.append(
        replace(
            definition("shop.sales"),
            external=ExternalTable(Place("tables/shop/sales.yaml", 1), TableName.parse("bronze.sales")),
        )
    )
    states[TableName.parse("shop.sales")] = state_of(foreign := new_table("shop.sales"))
    foreign.add(5)
    assert needed_by_others(tables, states)[names[0]] == set(range(2, 23)), "a table of others has no record"

    groups = replace(as_kind(last_record(states[names[1]])), by_row=False)
    states[names[1]] = with_record(states[names[1]], groups)
    assert needed_by_others(tables, states)[names[0]] == {2}


def last_record(state: TableState) -> Record:
    progress = find_progress(state)
    assert progress is not None
    return progress.record


def with_record(state: TableState, record: Record) -> TableState:
    head = state.head
    assert head is not None
    changed = replace(head, summary={**head.summary, **record.to_summary()})
    return replace(state, snapshots={**state.snapshots, head.snapshot_id: changed})


def definition(name: str, *lookups: str) -> TableDefinition:
    found = tuple(map(TableName.parse, lookups))
    return TableDefinition(TableName.parse(name), Place(f"tables/{name}.sql", 1), lookups=found)


def test_of_batches_with_the_same_lookup_the_last_is_needed_and_the_one_computed_as_a_whole(
    new_table: type[Table],
) -> None:
    orders, products, sales = (
        new_table("bronze.orders"), new_table("silver.products"), new_table("silver.sales"),
    )  # fmt: skip
    products.publish(rows=1)
    for change in (False, False, True, False, False):
        orders.publish(rows=1)
        if change:
            products.publish(rows=1)
        sales.publish(rows=1, orders=orders, products=products)
    state = state_of(sales)
    records = [
        (snapshot, as_kind(record)) for snapshot, record in published_records(state, state.snapshots[10])
    ]
    first_is_whole = [*records[:-1], (records[-1][0], replace(records[-1][1], kind=Strategy.FULL.value))]
    kept = last_of_snapshot_ranges(definition("silver.sales", "silver.products"), first_is_whole)
    assert sorted({snapshot.snapshot_id for snapshot, _ in kept}) == [2, 4, 10]


def as_kind(record: Record) -> Record:
    return replace(record, kind=Strategy.APPEND.value)


def test_few_files_or_whole_ones_are_left_alone() -> None:
    assert fresh_files_below([1] * (limits.FRESH_FILES - 1)) is None
    assert fresh_files_below([limits.WHOLE_FILE_BYTES] * 100) is None
    assert fresh_files_below([10] * limits.FRESH_FILES) == 11
    assert fresh_files_below([10] * 100 + [limits.WHOLE_FILE_BYTES]) == 11


def test_a_growing_table_is_rewritten_once_for_each_doubling() -> None:
    files, written, fresh = list[int](), 0, MB // 50
    for _ in range(200):
        files += [fresh] * 100
        below = fresh_files_below(files)
        assert below is not None
        together = [size for size in files if size < below]
        written += sum(together)
        files = [size for size in files if size >= below] + [sum(together)]
    total = 200 * 100 * fresh
    assert sum(files) == total
    assert len(files) < 20
    assert written < 9 * total, "log2 of 200 slices is under 8; all of it each time would be a hundred times"
