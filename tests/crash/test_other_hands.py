"""What other tools do to tables between and during batches: rollbacks, drops, compaction, expiry, writes."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from audit import Audit
from harness import Harness, RunResult, refresh_by_keys
from killed_shop import FILES, Shop

from lakesmith.execute import faults
from lakesmith.execute.events import TableRedone
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

TABLES = BRONZE, KEYED, PLAIN, GOLD = "bronze.orders", "silver.orders", "silver.order_log", "gold.by_customer"


class Lake:
    """A shop and its project, and the statements of another tool."""

    def __init__(self, root: Path, session: SessionHandle) -> None:
        self.shop = Shop(root, seed=7)
        self.project = Harness(root, session, FILES)
        self.expired = False
        self.rewritten: set[str] = set()

    def sql(self, text: str) -> None:
        self.project.spark.sql(text).collect()

    def call(self, procedure: str, table: str, more: str = "") -> None:
        self.sql(f"CALL lake.system.{procedure}(table => '{table}'{', ' if more else ''}{more})")

    def roll_back(self, table: str, snapshot: int) -> None:
        self.call("rollback_to_snapshot", table, f"snapshot_id => {snapshot}")

    def head(self, table: str) -> int:
        head = self.project.head(table)
        return head.snapshot_id

    def batch_before(self, table: str) -> int:
        """The snapshot that published the last batch but one."""
        state = self.project.state(table)
        return [found.snapshot_id for found in state.ancestors(self.head(table)) if found.record][1]

    def compact(self, table: str) -> None:
        self.call("rewrite_data_files", table, "options => map('rewrite-all', 'true')")

    def expire(self, table: str) -> None:
        """Expires all snapshots that no reference holds."""
        self.expired = True
        self.call(
            "expire_snapshots", table, "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1"
        )

    def land_and_run(self) -> RunResult:
        self.shop.land()
        return self.project.must_run()

    def check_complete(self) -> None:
        """Every table is what the landing files say."""
        Audit(self.shop, self.expired, frozenset(self.rewritten)).check_complete()


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Lake:
    lake = Lake(tmp_path_factory.mktemp("hands") / "shop", session)
    lake.land_and_run()
    return lake


@pytest.fixture
def lake(grown: Lake) -> Lake:
    """The lake, complete, with two batches or more in every table."""
    while any(grown.project.record(table).batch < 2 for table in TABLES):
        grown.land_and_run()
    return grown


@pytest.fixture
def own_lake(tmp_path: Path, session: SessionHandle) -> Lake:
    """A lake of the test's own, for what leaves a table with another past than the others have."""
    lake = Lake(tmp_path / "shop", session)
    lake.land_and_run()
    return lake


@pytest.fixture(autouse=True, scope="module")
def _by_keys() -> Iterator[None]:
    """Small tables are refreshed by keys too, where large ones are, however much of them changes."""
    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        yield


def at_first(point: str, table: str, action: Callable[[], None]) -> None:
    """Does something when ``table`` comes by ``point`` for the first time."""
    left = [action]

    def once() -> None:
        if left:
            left.pop()()

    faults.arrange(point, once, table)


def redone(result: RunResult, table: str) -> list[str]:
    return [event.reason for event in result.of(table) if isinstance(event, TableRedone)]


# Rollbacks


@pytest.mark.parametrize("point", ["after-data", "before-swap"])
def test_a_rollback_in_the_middle_of_a_batch_is_not_undone(lake: Lake, point: str) -> None:
    before = lake.batch_before(BRONZE)
    undone, files = lake.head(BRONZE), lake.project.record(BRONZE).files
    at_first(point, BRONZE, lambda: lake.roll_back(BRONZE, before))
    result = lake.land_and_run()
    assert len(redone(result, BRONZE)) == 1
    state = lake.project.state(BRONZE)
    assert undone not in [snapshot.snapshot_id for snapshot in state.ancestors(lake.head(BRONZE))]
    assert result.published[BRONZE].files == files + 1
    lake.check_complete()


def test_a_rollback_between_runs_takes_progress_back_with_it(lake: Lake) -> None:
    files = lake.project.record(BRONZE).files
    lake.roll_back(BRONZE, lake.batch_before(BRONZE))
    result = lake.project.must_run()
    assert result.published[BRONZE].files == files
    assert result.published[KEYED].kind == "keys"
    lake.check_complete()


def test_a_rollback_that_nothing_new_follows_reaches_the_tables_below(lake: Lake) -> None:
    lake.roll_back(KEYED, lake.batch_before(KEYED))
    assert set(lake.project.must_run().published) == {KEYED, GOLD}
    lake.check_complete()


def test_a_rollback_of_every_table(lake: Lake) -> None:
    for table in TABLES:
        lake.roll_back(table, lake.batch_before(table))
    lake.land_and_run()
    lake.check_complete()


@pytest.mark.parametrize("table", [BRONZE, KEYED, PLAIN])
def test_a_rollback_into_the_middle_of_a_batch_doubles_nothing(lake: Lake, table: str) -> None:
    """Main is set to a snapshot with a batch's rows but no record yet, which lakesmith never does."""
    state = lake.project.state(table)
    middle = next(snapshot for snapshot in state.ancestors(lake.head(table)) if snapshot.record is None)
    lake.roll_back(table, middle.snapshot_id)
    result = lake.project.run()
    if table == BRONZE:
        assert (result.code, [problem.code for problem in result.problems]) == (1, ["LS505"])
        before = next(found for found in state.ancestors(middle.snapshot_id) if found.record is not None)
        lake.roll_back(table, before.snapshot_id)
        lake.project.must_run()
    else:
        assert (result.code, result.published[table].kind) == (0, "full")
        lake.rewritten.add(table)
    lake.check_complete()


# Tables that go and come


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_was_dropped_is_built_anew(lake: Lake, table: str) -> None:
    lake.sql(f"DROP TABLE lake.{table} PURGE")
    lake.land_and_run()
    lake.check_complete()


@pytest.mark.parametrize(
    ("table", "point"), [(BRONZE, "after-branch"), (KEYED, "after-data"), (PLAIN, "before-swap")]
)
def test_a_table_that_is_dropped_in_the_middle_of_a_batch(lake: Lake, table: str, point: str) -> None:
    at_first(point, table, lambda: lake.sql(f"DROP TABLE lake.{table} PURGE"))
    lake.shop.land()
    result = lake.project.run()
    if result.code:
        assert all(problem.code in ("LS601", "LS612") for problem in result.problems), result.problems
        lake.project.must_run()
    lake.check_complete()


@pytest.mark.parametrize("point", ["after-data", "before-swap"])
def test_a_table_that_is_created_again_in_the_middle_of_a_batch(own_lake: Lake, point: str) -> None:
    def again() -> None:
        own_lake.sql(f"DROP TABLE lake.{KEYED} PURGE")
        own_lake.sql(
            f"CREATE TABLE lake.{KEYED} (order_id bigint, customer string, amount bigint, op string, "
            "changed_at timestamp) USING iceberg TBLPROPERTIES ('format-version' = '3', 'lakesmith.project'"
            " = 'shop')"
        )

    at_first(point, KEYED, again)
    assert len(redone(own_lake.land_and_run(), KEYED)) == 1
    own_lake.check_complete()


def test_a_table_of_others_in_the_place_of_ours_is_left_alone(own_lake: Lake) -> None:
    own_lake.sql(f"DROP TABLE lake.{KEYED} PURGE")
    own_lake.sql(f"CREATE TABLE lake.{KEYED} USING iceberg AS SELECT 1 AS x")
    own_lake.shop.land()
    result = own_lake.project.run()
    assert (result.code, [problem.code for problem in result.problems]) == (1, ["LS503"])
    assert own_lake.project.rows(KEYED) == [(1,)]
    own_lake.sql(f"DROP TABLE lake.{KEYED} PURGE")
    own_lake.project.must_run()
    own_lake.check_complete()


# Maintenance by others


def test_compaction_alone_costs_no_full_refresh(lake: Lake) -> None:
    for table in 2 * TABLES:
        lake.compact(table)
        lake.call("rewrite_manifests", table)
    result = lake.land_and_run()
    assert result.published[KEYED].kind == "upsert"
    assert result.published[PLAIN].kind == "append"
    lake.check_complete()


def test_compaction_and_nothing_else_moves_positions_only(lake: Lake) -> None:
    lake.compact(BRONZE)
    result = lake.project.must_run()
    assert {record.kind for record in result.published.values()} <= {"advance"}
    assert lake.project.must_run().published == {}
    lake.check_complete()


def test_compaction_in_the_middle_of_a_batch(lake: Lake) -> None:
    at_first("after-data", KEYED, lambda: lake.compact(KEYED))
    assert len(redone(lake.land_and_run(), KEYED)) == 1
    lake.check_complete()


# Rows of others


INSERT, DELETE = "INSERT INTO lake.{t} SELECT * FROM lake.{t} LIMIT 1", "DELETE FROM lake.{t}"


@pytest.mark.parametrize(("table", "change"), [(KEYED, INSERT), (PLAIN, DELETE), (GOLD, INSERT)])
def test_rows_that_others_change_in_a_derived_table_are_said_and_rebuilt(
    lake: Lake, table: str, change: str
) -> None:
    lake.sql(change.format(t=table))
    lake.rewritten.add(table)
    result = lake.project.must_run()
    (started,) = [event for event in result.of(table) if type(event).__name__ == "TableStarted"]
    assert "another engine changed its rows" in started.step.reason  # type: ignore[attr-defined]
    assert result.published[table].kind == "full"
    lake.check_complete()


# Expiry by others: from here on the oldest records are gone


@pytest.mark.parametrize("compactions", [0, 2])
def test_expiry_by_others_after_compaction_by_others(lake: Lake, compactions: int) -> None:
    for table in TABLES:
        for _ in range(compactions):
            lake.compact(table)
        lake.expire(table)
    lake.land_and_run()
    lake.check_complete()
    lake.land_and_run()
    lake.check_complete()


def test_expiry_of_the_sidecars_keeps_what_the_record_pins(lake: Lake) -> None:
    sidecars = [
        f"lakesmith.{name}"
        for name in (
            "bronze__orders__files",
            "bronze__orders__quarantine",
            "silver__orders__quarantine",
            "silver__orders__tombstones",
        )
    ]
    for table in sidecars:
        lake.expire(table)
    lake.land_and_run()
    lake.check_complete()
