"""What of a table's files and past is worth maintaining, and why not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lakesmith import limits
from lakesmith.catalog.family import newest_compaction
from lakesmith.catalog.progress import find_progress
from lakesmith.catalog.state import TableState
from lakesmith.errors import Place
from lakesmith.plan.expiry import (
    HeldBack,
    held_back,
    needed_by_others,
    needs_of_readers,
    old_of_sidecar,
    old_snapshots,
)
from lakesmith.plan.maintenance import (
    FileFacts,
    Health,
    ManifestFacts,
    Past,
    Small,
    Task,
    care_of,
    health_of,
    signs,
    small_files,
    specs_to_rewrite,
)
from lakesmith.project.definitions import Maintenance, Orphans, TableDefinition, TableName

if TYPE_CHECKING:
    from conftest import Table

MB = 1024 * 1024
SALES = TableName("bronze", "sales")
DAY = 86400.0
WELL = Health(data_files=3, data_bytes=3 * 100 * MB, rows=1000, snapshots=4)


def needs(health: Health = WELL, **facts: object) -> dict[Task, str]:
    given = {"files": FileFacts(), "past": Past(), "settings": Maintenance(), **facts}
    return dict(care_of(SALES, health, **given).todo)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([100 * MB] * 3, Small()),
        ([1 * MB] * 4, Small()),
        ([1 * MB] * 5 + [100 * MB], Small(5, 5 * MB)),
        ([60 * MB] * 3, Small(3, 180 * MB)),
        ([300 * MB], Small(1, 300 * MB)),
        # What Iceberg makes of three of 60: two of 90, which are left alone from then on.
        ([90 * MB] * 20, Small()),
    ],
)
def test_small_files_are_worth_it_where_they_are_enough(sizes: list[int], found: Small) -> None:
    assert small_files({"all": sizes}, 128 * MB) == found


def test_files_are_put_together_within_their_partition() -> None:
    assert small_files({str(day): [MB] * 3 for day in range(100)}, 128 * MB) == Small()
    assert small_files({"1": [MB] * 6, "2": [MB]}, 128 * MB) == Small(6, 6 * MB)


def test_a_table_that_is_well_needs_nothing_and_it_is_said_why() -> None:
    manifests = [ManifestFacts(0, False, 5000)] * 3
    care = care_of(SALES, WELL, FileFacts({"all": [100 * MB] * 3}, manifests), Past(3), Maintenance())
    assert care.todo == {}
    assert care.left == {
        Task.COMPACT: "3 data files, not enough small ones", Task.DELETES: "no deletes",
        Task.MANIFESTS: "3 manifests", Task.EXPIRE: "3 snapshots can leave",
        Task.ORPHANS: "not asked for: --orphans looks for them",
    }  # fmt: skip


def test_each_task_is_found_by_what_was_measured() -> None:
    small = FileFacts({"all": [MB] * 8})
    assert needs(replace(WELL, data_files=8), files=small) == {
        Task.COMPACT: "8 of 8 data files are not of their size"
    }
    assert needs(files=FileFacts(sidecars=(TableName("lakesmith", "q"),))) == {
        Task.COMPACT: "many small files in lakesmith.q"
    }
    assert needs(replace(WELL, deleted_rows=150)) == {Task.DELETES: "15% of the rows are deleted"}
    assert needs(replace(WELL, equality_deletes=1)) == {Task.DELETES: "1 row of equality deletes"}
    scattered = FileFacts(manifests=[ManifestFacts(0, False, 5000)] * limits.MANIFESTS_WORTH)
    assert needs(files=scattered) == {Task.MANIFESTS: "10 manifests"}
    assert needs(past=Past(20, 5)) == {Task.EXPIRE: "25 snapshots can leave, 5 of them of its sidecars"}
    removing = Maintenance(orphans=Orphans(remove=True))
    assert needs(settings=removing) == {Task.ORPHANS: "files of more than 3 days that no snapshot has"}
    assert set(needs(orphans=True)) == {Task.ORPHANS}


def test_manifests_count_by_spec_and_kind_and_large_ones_are_left() -> None:
    many = limits.MANIFESTS_WORTH
    data, deletes = ManifestFacts(0, False, 5000), ManifestFacts(1, True, 5000)
    assert specs_to_rewrite([data] * (many - 1) + [deletes] * many) == (1,)
    assert specs_to_rewrite([ManifestFacts(0, False, limits.MANIFEST_BYTES)] * 100) == ()


def test_the_summaries_show_what_may_be_unwell() -> None:
    assert signs(WELL) == ()
    ill = Health(data_files=2000, data_bytes=2000, rows=10_000, deleted_rows=3000, snapshots=600)
    assert signs(ill) == ("2,000 data files", "30% of the rows in them are deleted", "600 snapshots")
    assert signs(Health(data_files=1, data_bytes=2000, rows=19, deleted_rows=3)) == ()


def test_health_is_read_from_the_head(new_table: type[Table]) -> None:
    table = new_table("bronze.orders")
    assert health_of(state_of(table)) == Health()
    table.add(10, size=500)
    assert health_of(state_of(table)) == Health(1, 500, 10, snapshots=1, oldest_ms=1000)


def state_of(table: Table) -> TableState:
    state = table.facts().state
    assert state is not None
    return state


@pytest.fixture
def past(new_table: type[Table]) -> TableState:
    """Twenty batches, a second apart from each other: the points are 2, 4, .. 40, at as many seconds."""
    table = new_table("bronze.orders")
    for _ in range(20):
        table.publish(rows=1)
    state = state_of(table)
    return replace(state, published=tuple((each, at) for each, at in state.published if each % 2 == 0))


def left_of(state: TableState, settings: Maintenance, now_ms: int) -> list[int]:
    return sorted(set(state.snapshots).difference(old_snapshots(state, (), now_ms, settings)))


def test_every_point_that_is_young_enough_can_be_travelled_to(past: TableState) -> None:
    # Ten seconds ago readers saw point 30: that is the oldest promise.
    assert left_of(past, Maintenance(older_than=10.0), 41_000) == [30, 32, 34, 36, 38, 40]
    assert left_of(past, Maintenance(older_than=10.0), 10**9) == [40]


def test_so_many_of_the_newest_points_stay_however_old_they_are(past: TableState) -> None:
    assert left_of(past, Maintenance(older_than=10.0, retain_last=3), 10**9) == [36, 38, 40]
    assert len(left_of(past, Maintenance(), 10**12)) == 20


def test_a_tag_stays_whatever_the_settings_say(past: TableState) -> None:
    tagged = replace(past, refs={**past.refs, "audit": 8}, tags=frozenset({"audit"}))
    assert left_of(tagged, Maintenance(older_than=1.0), 10**9) == [8, 40]


def test_a_reader_that_holds_the_past_back_for_long_is_named(past: TableState) -> None:
    late, prompt = TableName("silver", "late"), TableName("silver", "prompt")
    needs = {late: {4, 6, 8}, prompt: {40, 8}}
    settings, now = Maintenance(older_than=1.0), int(3 * DAY * 1000)
    assert held_back(past, needs, now, settings) == (HeldBack(late, 2, 4000),)
    assert held_back(past, needs, int(DAY * 500), settings) == ()


def test_what_others_did_since_the_last_batch_stays_so_that_main_is_known_to_have_grown_out_of_it(
    new_table: type[Table],
) -> None:
    """Another tool's row, two compactions, and no batch since: all of them show what was consumed."""
    table = new_table("bronze.orders")
    table.publish(rows=1)
    table.add(1)
    table.compact()
    table.compact()
    state = replace(
        state_of(table), refs={"main": 5, "lakesmith_record": 2}, tags=frozenset({"lakesmith_record"})
    )
    needed = needed_by_others([definition("bronze.orders")], {TableName("bronze", "orders"): state})
    gone = old_snapshots(
        state, needed[TableName("bronze", "orders")], 10**9, Maintenance(older_than=1.0, retain_last=1)
    )
    assert gone == (1,)
    left = {number: each for number, each in state.snapshots.items() if number not in gone}
    progress = find_progress(replace(state, snapshots=left))
    assert progress is not None and [each.snapshot_id for each in progress.foreign] == [3, 4, 5]


def definition(name: str) -> TableDefinition:
    return TableDefinition(TableName.parse(name), Place(f"tables/{name}.sql", 1))


def test_for_a_reader_of_which_nobody_knows_what_it_has_consumed_everything_stays(
    new_table: type[Table],
) -> None:
    orders, lost = new_table("bronze.orders"), new_table("silver.lost")
    for _ in range(3):
        orders.publish(rows=1)
    lost.add(1)
    states = {TableName.parse(each.name): state_of(each) for each in (orders, lost)}
    needs = needs_of_readers([definition(each) for each in ("bronze.orders", "silver.lost")], states)
    assert needs[TableName("bronze", "orders")][TableName("silver", "lost")] == {1, 2, 3, 4, 5, 6}


def test_compactions_of_a_sidecar_stay_until_a_batch_begins_at_the_last_of_them(
    new_table: type[Table],
) -> None:
    """With the first of two gone, the next batch began at the old files again."""
    table = new_table("lakesmith.bronze__sales__quarantine")
    for _ in range(3):
        table.add(1)
    table.compact()
    table.compact()
    state = state_of(table)
    assert newest_compaction(state, 3) == 5
    gone = old_of_sidecar(state, {3})
    assert gone == (1, 2)
    left = {number: each for number, each in state.snapshots.items() if number not in gone}
    assert newest_compaction(replace(state, snapshots=left), 3) == 5
    assert newest_compaction(state, 2) == 2, "a batch came in between"
