"""Lake state read without Spark, compared with what Spark says of the same real tables."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from harness import INTERPRETED
from pyspark.sql import SparkSession
from tests.conftest import LakePaths

from lakesmith.catalog.history import HistoryKind, describe_history, resolve_as_of
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.progress import AppendRange, Reason, append_only_since, find_progress, live_rows
from lakesmith.catalog.record import Account, Record
from lakesmith.catalog.state import RECORD_TAG, TableState
from lakesmith.errors import StateError

NAMESPACE = "catalog_state"


class Lake:
    """The namespace of these tests: SQL on one side, our own reading on the other. ``{t}`` is the table."""

    def __init__(self, spark: SparkSession, catalog: LocalCatalog) -> None:
        self.spark = spark
        self.catalog = catalog
        self.table = ""

    def new(self, table: str, columns: str, version: int, **properties: str) -> None:
        """Makes an empty table of merge-on-read, and makes it the one that is meant."""
        self.table = table
        settings = {"format-version": version, "write.delete.mode": "merge-on-read"}
        settings |= {"write.update.mode": "merge-on-read", "write.merge.mode": "merge-on-read"}
        settings |= {key.replace("_", "-").replace("--", "."): value for key, value in properties.items()}
        listed = ", ".join(f"'{key}'='{value}'" for key, value in settings.items())
        self.sql(f"CREATE TABLE {{t}} ({columns}) USING iceberg TBLPROPERTIES ({listed})")

    def sql(self, text: str) -> list[Any]:
        return self.spark.sql(text.replace("{t}", f"lake.{NAMESPACE}.{self.table}")).collect()

    def call(self, procedure: str, **arguments: str) -> None:
        listed = ", ".join(f"{key} => {value}" for key, value in arguments.items())
        self.sql(
            f"CALL lake.system.{procedure}(table =>"
            f" '{NAMESPACE}.{self.table}'{', ' if listed else ''}{listed})"
        )

    def state(self) -> TableState:
        state = self.catalog.table(NAMESPACE, self.table)
        assert state is not None
        return state

    def head(self) -> int:
        return int(self.sql("SELECT snapshot_id FROM {t}.refs WHERE name = 'main'")[0][0])

    def java_table(self) -> Any:
        self.sql("REFRESH TABLE {t}")
        loader = self.spark._jvm.org.apache.iceberg.spark.Spark3Util
        return loader.loadIcebergTable(self.spark._jsparkSession, f"lake.{NAMESPACE}.{self.table}")

    def publish(self, batch: int, change: str) -> int:
        """Makes a batch as the engine does: change and record on a branch, then one commit to main."""
        table = self.java_table()
        table.manageSnapshots().createBranch("work").commit()
        self.sql(change.replace("{t}", "{t}.branch_work"))
        table = self.java_table()
        record = Record(f"attempt-{batch}", None, batch, "upsert", 0, "fingerprint", Account())
        append = table.newFastAppend().toBranch("work")
        for key, value in record.to_summary().items():
            append.set(key, value)
        append.commit()
        table.refresh()
        head = table.refs().get("work").snapshotId()
        swap = table.manageSnapshots()
        # A table without a snapshot has no main to fast-forward.
        if table.currentSnapshot() is None:
            swap.createBranch("main", head)
        else:
            swap.fastForwardBranch("main", "work")
        tagged = RECORD_TAG in table.refs()
        (swap.replaceTag if tagged else swap.createTag)(RECORD_TAG, head)
        swap.removeBranch("work").commit()
        return int(head)


@pytest.fixture(scope="module")
def lake(spark: SparkSession, lake_paths: LakePaths) -> Lake:
    reading = spark.newSession()
    for key, value in INTERPRETED.items():
        reading.conf.set(key, value)
    reading.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{NAMESPACE}")
    return Lake(reading, LocalCatalog(lake_paths.catalog_db, lake_paths.warehouse))


def assert_agrees_with_spark(lake: Lake) -> TableState:
    """Compares everything a state holds with Spark's metadata tables and schema."""
    lake.sql("REFRESH TABLE {t}")
    state = lake.state()
    assert snapshots_of(state) == spark_snapshots(lake)
    refs = {row.name: (row.type.lower(), row.snapshot_id) for row in lake.sql("SELECT * FROM {t}.refs")}
    kinds = {name: "tag" if name in state.tags else "branch" for name in state.refs}
    assert {name: (kinds[name], at) for name, at in state.refs.items()} == refs
    log = lake.sql(
        "SELECT snapshot_id, unix_millis(made_current_at) FROM {t}.history ORDER BY made_current_at"
    )
    assert list(state.published) == [tuple(row) for row in log]
    schema = lake.spark.table(f"lake.{NAMESPACE}.{lake.table}").schema
    assert [(column.name, column.type) for column in state.columns] == [
        (field.name, field.dataType.simpleString()) for field in schema
    ]
    assert [column.required for column in state.columns] == [not field.nullable for field in schema]
    files = lake.sql("SELECT file FROM {t}.metadata_log_entries ORDER BY timestamp, file")
    assert state.metadata_location == files[-1][0]
    return state


def snapshots_of(state: TableState) -> dict[int, tuple[Any, ...]]:
    return {
        key: (
            one.parent_id, one.operation, one.committed_ms, one.manifest_list, without_operation(one.summary),
        )
        for key, one in state.snapshots.items()
    }  # fmt: skip


def without_operation(summary: Any) -> dict[str, str]:
    return {key: value for key, value in summary.items() if key != "operation"}


def spark_snapshots(lake: Lake) -> dict[int, tuple[Any, ...]]:
    rows = lake.sql("SELECT *, unix_millis(committed_at) AS ms FROM {t}.snapshots")
    return {
        row.snapshot_id: (row.parent_id, row.operation, row.ms, row.manifest_list, dict(row.summary))
        for row in rows
    }


def assert_live_rows(lake: Lake, state: TableState) -> None:
    """Each snapshot's live rows against a count of a read at that snapshot."""
    counts = (f"SELECT {key}, count(*) FROM {{t}} VERSION AS OF {key}" for key in state.snapshots)
    counted = {row[0]: row[1] for row in lake.sql(" UNION ALL ".join(counts))}
    assert {key: live_rows(snapshot) for key, snapshot in state.snapshots.items()} == counted


TYPES = (
    "id bigint NOT NULL COMMENT 'the key', flag boolean, small int, real float, precise double, price"
    " decimal(9,2),"
    " day date, local timestamp_ntz, instant timestamp, text string, raw binary,"
    " address struct<City: string, at: struct<lat: double, lon: double>>, tags array<string>,"
    " prices map<string, decimal(38,10)>, deep array<map<string, struct<a: array<int>>>>"
)


@pytest.mark.parametrize(("version", "more"), [(1, ""), (2, ""), (3, ", v variant")])
def test_columns_of_every_type(lake: Lake, version: int, more: str) -> None:
    lake.new(f"types{version}", TYPES + more, version, team="shop")
    state = assert_agrees_with_spark(lake)
    assert (state.format_version, state.head, state.snapshots) == (version, None, {})
    assert (state.columns[0].doc, state.properties["team"]) == ("the key", "shop")
    assert find_progress(state) is None


@pytest.mark.parametrize("version", [2, 3])
def test_a_busy_past(lake: Lake, version: int) -> None:
    """Appends, merge-on-read deletes, branches, tags, columns, compaction, rollback and expiry."""
    lake.new(f"busy{version}", "id bigint, name string", version)
    lake.sql("INSERT INTO {t} SELECT id, concat('n', id) FROM range(0, 100, 1, 1)")
    lake.sql("ALTER TABLE {t} CREATE TAG start")
    merge = "USING (SELECT id + 90 AS id, 'new' AS name FROM range(20)) s ON t.id = s.id"
    matched = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    lake.sql(f"MERGE INTO {{t}} t {merge} {matched}")
    lake.sql("DELETE FROM {t} WHERE id % 10 = 3")
    lake.sql("ALTER TABLE {t} CREATE BRANCH work")
    lake.sql("INSERT INTO {t}.branch_work VALUES (1000, 'aside')")
    lake.sql("ALTER TABLE {t} RENAME COLUMN name TO full_name")
    lake.sql("ALTER TABLE {t} ADD COLUMN city string COMMENT 'where' AFTER id")
    state = assert_agrees_with_spark(lake)
    assert len(state.snapshots) == 4
    assert_live_rows(lake, state)
    lake.call("rewrite_data_files", options="map('rewrite-all', 'true')")
    assert_live_rows(lake, assert_agrees_with_spark(lake))
    first = state.published[0][0]
    lake.call("rollback_to_snapshot", snapshot_id=str(first))
    lake.sql("INSERT INTO {t} VALUES (7, 'Ulm', 'again')")
    state = assert_agrees_with_spark(lake)
    kinds = [line.kind for line in describe_history(state)]
    assert kinds[-3:] == [HistoryKind.COMPACTION, HistoryKind.ROLLBACK, HistoryKind.FOREIGN]
    lake.call("expire_snapshots", older_than="current_timestamp()", retain_last="1")
    state = assert_agrees_with_spark(lake)
    assert first in state.snapshots
    assert_live_rows(lake, state)


def test_gzipped_metadata(lake: Lake) -> None:
    lake.new("zipped", "id bigint", 2, write__metadata__compression_codec="gzip")
    lake.sql("INSERT INTO {t} VALUES (1)")
    assert ".gz." in assert_agrees_with_spark(lake).metadata_location


def test_the_names_of_a_layer(lake: Lake) -> None:
    lake.new("zebra", "id bigint", 2)
    lake.new("antelope", "id bigint", 2)
    shown = sorted(row.tableName for row in lake.sql(f"SHOW TABLES IN lake.{NAMESPACE}"))
    assert list(lake.catalog.names(NAMESPACE)) == shown
    lake.sql("DROP TABLE {t}")
    assert lake.catalog.table(NAMESPACE, "antelope") is None


@pytest.mark.parametrize("version", [2, 3])
def test_the_record_after_each_step_of_two_batches(lake: Lake, version: int) -> None:
    lake.new(f"batches{version}", "id bigint", version)
    lake.java_table().manageSnapshots().createBranch("killed").commit()
    lake.sql("INSERT INTO {t}.branch_killed VALUES (1)")
    assert find_progress(lake.state()) is None
    for batch in (1, 2):
        head = lake.publish(batch, f"INSERT INTO {{t}} SELECT id + {batch}00 FROM range(10)")
        progress = find_progress(assert_agrees_with_spark(lake))
        assert progress is not None
        assert (progress.record.batch, progress.snapshot.snapshot_id, progress.foreign) == (batch, head, ())
    lake.sql("DELETE FROM {t} WHERE id = 101")
    foreign = lake.head()
    progress = find_progress(lake.state())
    assert progress is not None
    assert (progress.record.batch, [one.snapshot_id for one in progress.foreign]) == (2, [foreign])
    assert [line.kind.value for line in describe_history(lake.state())] == ["batch", "batch", "foreign"]


def compact(lake: Lake) -> int:
    lake.call("rewrite_data_files", options="map('rewrite-all', 'true')")
    return lake.head()


def expire(lake: Lake) -> None:
    """Another tool's expiry of all but the heads of branches and tags."""
    lake.call("expire_snapshots", older_than="current_timestamp()", retain_last="1")


@pytest.mark.parametrize("version", [2, 3])
def test_foreign_compaction_then_foreign_expiry_keeps_the_record(lake: Lake, version: int) -> None:
    lake.new(f"compacted{version}", "id bigint", version)
    lake.publish(1, "INSERT INTO {t} SELECT * FROM range(0, 100, 1, 2)")
    tagged = lake.publish(2, "DELETE FROM {t} WHERE id % 10 = 7")
    compact(lake)
    head = compact(lake)
    expire(lake)
    state = assert_agrees_with_spark(lake)
    assert set(state.snapshots) == {tagged, head}
    progress = find_progress(state)
    assert progress is not None
    assert (progress.record.batch, progress.snapshot.snapshot_id) == (2, tagged)
    assert [one.snapshot_id for one in progress.foreign] == [head]


def append(lake: Lake) -> None:
    lake.sql("INSERT INTO {t} VALUES (1000)")


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("append_lost", [append, compact, expire]),
        ("append_last", [compact, compact, append, expire]),
        ("undone", ["rollback", compact, expire]),
        ("replaced", [lambda lake: lake.sql("CREATE OR REPLACE TABLE {t} (id bigint) USING iceberg")]),
        ("rebuilt", [lambda lake: lake.sql("CREATE OR REPLACE TABLE {t} USING iceberg AS SELECT 1 AS id")]),
    ],
)
def test_what_others_did_that_leaves_no_sure_record(
    lake: Lake, name: str, steps: list[Callable[[Lake], object] | str]
) -> None:
    """Batch 2 exchanges a row for another, so that row counts alone do not show its rollback."""
    lake.new(name, "id bigint", 2)
    first = lake.publish(1, "INSERT INTO {t} SELECT * FROM range(0, 100, 1, 2)")
    lake.publish(2, "UPDATE {t} SET id = 500 WHERE id = 7")
    for step in steps:
        if isinstance(step, str):
            lake.call("rollback_to_snapshot", snapshot_id=str(first))
        else:
            step(lake)
    with pytest.raises(StateError, match="LS501"):
        find_progress(assert_agrees_with_spark(lake))


def test_a_table_of_another_tool(lake: Lake) -> None:
    lake.new("theirs", "id bigint", 2)
    lake.sql("INSERT INTO {t} VALUES (1)")
    with pytest.raises(StateError, match="LS501"):
        find_progress(lake.state())


def test_what_is_appended_only(lake: Lake) -> None:
    lake.new("appends", "id bigint, name string", 3)
    lake.sql("INSERT INTO {t} SELECT id, 'a' FROM range(10)")
    start = lake.head()
    lake.sql("INSERT INTO {t} SELECT id + 10, 'b' FROM range(5)")
    insert_only = "USING (SELECT id + 12 AS id, 'c' AS name FROM range(5)) s ON t.id = s.id"
    lake.sql(f"MERGE INTO {{t}} t {insert_only} WHEN NOT MATCHED THEN INSERT *")
    compact(lake)
    lake.sql(f"MERGE INTO {{t}} t {insert_only} WHEN MATCHED AND s.name = '-' THEN DELETE")
    end = lake.head()
    answer = append_only_since(lake.state(), start, end)
    assert isinstance(answer, AppendRange)
    ((before,), (after,)) = (
        lake.sql(f"SELECT count(*) FROM {{t}} VERSION AS OF {at}")[0] for at in (start, end)
    )
    assert answer.added_records == after - before == 7


STATEMENTS = (
    "DELETE FROM {t} WHERE id = 3",
    "DELETE FROM {t} WHERE id >= 0",
    "UPDATE {t} SET name = 'z' WHERE id = 3",
    "INSERT OVERWRITE {t} SELECT 3, 'z'",
    "MERGE INTO {t} t USING (SELECT 3 AS id, 'z' AS name) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
    "TRUNCATE TABLE {t}",
)


@pytest.fixture(scope="module", params=[2, 3])
def changed(request: pytest.FixtureRequest, lake: Lake) -> tuple[TableState, dict[str, tuple[int, int, int]]]:
    """A table after all statements, and by each its heads before it, after it, and after the next append."""
    lake.new(f"changed{request.param}", "id bigint, name string", request.param)
    more = "INSERT INTO {t} SELECT id, 'a' FROM range(0, 10, 1, 1)"
    lake.sql(more)
    heads: dict[str, tuple[int, int, int]] = {}
    for statement in STATEMENTS:
        start = lake.head()
        lake.sql(statement)
        then = lake.head()
        lake.sql(more)
        heads[statement] = start, then, lake.head()
    return lake.state(), heads


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_is_more_than_appended(
    changed: tuple[TableState, dict[str, tuple[int, int, int]]], statement: str
) -> None:
    state, heads = changed
    start, then, end = heads[statement]
    answer = append_only_since(state, start, end)
    assert isinstance(answer, Reason)
    assert str(then) in answer.text
    assert isinstance(append_only_since(state, then, end), AppendRange)


def test_as_of_a_moment_is_what_spark_reads_at_it(lake: Lake) -> None:
    lake.new("travel", "id bigint", 2)
    for batch in (1, 2, 3):
        lake.publish(batch, f"INSERT INTO {{t}} SELECT id FROM range({batch})")
    lake.call("rollback_to_snapshot", snapshot_id=str(lake.state().published[0][0]))
    state = assert_agrees_with_spark(lake)
    now = datetime.now(UTC)
    for _, at_ms in state.published:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
        snapshot_id = resolve_as_of(state, moment, now)
        read = "SELECT count(*) FROM {t} "
        by_us = lake.sql(f"{read} VERSION AS OF {snapshot_id}")
        assert by_us == lake.sql(f"{read} TIMESTAMP AS OF timestamp'{moment}'")
    assert resolve_as_of(state, "0 seconds ago", now) == lake.head()
    assert json.loads(state.head.summary["lakesmith.record"])["batch"] == 1 if state.head else False
