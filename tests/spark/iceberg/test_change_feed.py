"""The change feed: after any operation of any engine, removed and added rows are exactly what differs.

Most cases share a table for each format, and begin by setting it back to its first snapshot.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from equality_delete import equality_writer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from soaking import SOAK

from lakesmith.execute.engine import NotIncremental
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.change_feed import changed_rows
from lakesmith.spark.iceberg.commits import JavaTables

Rows = Counter[tuple[Any, ...]]
COPY_ON_WRITE = ", ".join(f"'write.{kind}.mode' = 'copy-on-write'" for kind in ("merge", "update", "delete"))
MERGE_ON_READ = COPY_ON_WRITE.replace("copy-on-write", "merge-on-read")


@dataclass
class Table:
    """A table ``lake.feed.NAME`` with columns id, part, val; SQL names it ``{t}``."""

    spark: SparkSession
    name: str
    start: int = 0
    made: dict[tuple[str, ...], int] = field(default_factory=dict)
    seen: dict[int, Rows] = field(default_factory=dict)

    def sql(self, *statements: str) -> int:
        for statement in statements:
            self.spark.sql(statement.format(t=f"lake.feed.{self.name}"))
        return self.head()

    def create(self, columns: str, version: int) -> None:
        self.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.feed")
        properties = f"'format-version' = '{version}', {MERGE_ON_READ}"
        self.spark.sql(
            f"CREATE TABLE lake.feed.{self.name} ({columns}) USING iceberg TBLPROPERTIES ({properties})"
        )

    def call(self, procedure: str, options: str) -> int:
        return self.sql(f"CALL lake.system.{procedure}(table => 'feed.{self.name}', {options})")

    def compact(self) -> int:
        return self.call("rewrite_data_files", "options => map('rewrite-all', 'true')")

    def delete_equal(self, column: str, value: int | str, part: str) -> int:
        """Deletes a partition's rows with this value as a streaming engine does: by an equality delete."""
        iceberg, jvm = self.java(), self.spark._jvm
        package: Any = jvm.org.apache.iceberg  # type: ignore[union-attr]
        schema = iceberg.schema().select(jvm.java.util.List.of(column))  # type: ignore[union-attr]
        ids = self.spark.sparkContext._gateway.new_array(jvm.int, 1)  # type: ignore[union-attr]
        ids[0] = schema.findField(column).fieldId()
        record = package.data.GenericRecord.create(schema)
        record.setField(column, value)
        partition = package.PartitionData(iceberg.spec().partitionType())
        partition.set(0, part)
        path = f"{iceberg.location()}/data/deletes-{random.randrange(10**9)}.parquet"
        output = package.encryption.EncryptedFiles.plainAsEncryptedOutput(iceberg.io().newOutputFile(path))
        writer = equality_writer(jvm, iceberg, (ids, schema), output, partition)
        writer.write(record)
        writer.close()
        iceberg.newRowDelta().addDeletes(writer.toDeleteFile()).commit()
        return self.head()

    def head(self) -> int:
        return int(self.java().currentSnapshot().snapshotId())

    def java(self) -> Any:
        self.spark.catalog.refreshTable(f"lake.feed.{self.name}")
        return JavaTables(self.spark).load(TableName("feed", self.name))

    def after(self, *statements: str) -> int:
        """The snapshot that the statements make of the first one; it is the table's head then."""
        if not statements:
            return self._set_to(self.start)
        if statements in self.made:
            return self._set_to(self.made[statements])
        self.after(*statements[:-1])
        self.made[statements] = self.sql(statements[-1])
        return self.made[statements]

    def _set_to(self, snapshot: int) -> int:
        self.java().manageSnapshots().setCurrentSnapshot(snapshot).commit()
        return self.head()

    def rows(self, snapshot: int) -> Rows:
        if snapshot not in self.seen:
            version = f"lake.feed.{self.name} VERSION AS OF {snapshot}"
            frame = self.spark.sql(f"SELECT id, part, val FROM {version}")
            self.seen[snapshot] = Counter(map(tuple, frame.collect()))
        return self.seen[snapshot]

    def changes(
        self, start: int | None, end: int, shown: Callable[[Any], Any] = lambda value: value
    ) -> tuple[Rows, Rows]:
        """What went and what came; the last column as it is ``shown``."""
        columns = [field.name for field in self.spark.table(f"lake.feed.{self.name}").schema.fields]
        with changed_rows(self.spark, TableName("feed", self.name), start, end) as changes:
            went, came = (
                frame.select(F.lit(is_new), *columns)
                for is_new, frame in ((False, changes.went), (True, changes.came))
            )
            rows = went.unionAll(came).collect()
        gone, new = (
            Counter((*row[1:-1], shown(row[-1])) for row in rows if row[0] is is_new)
            for is_new in (False, True)
        )
        return gone, new

    def counts(self, start: int, end: int) -> tuple[int, int]:
        """How many rows went and came; they have to lead from the one snapshot's rows to the other's."""
        gone, new = self.changes(start, end)
        assert self.rows(start) + new == self.rows(end) + gone
        return gone.total(), new.total()


FORMATS = {
    "v3": (3, MERGE_ON_READ), "v3-cow": (3, COPY_ON_WRITE),
    "v2": (2, MERGE_ON_READ), "v2-cow": (2, COPY_ON_WRITE),
}  # fmt: skip


@pytest.fixture(scope="module")
def reading(interpreted: SparkSession) -> SparkSession:
    interpreted.sql("CREATE NAMESPACE IF NOT EXISTS lake.feed")
    return interpreted


@pytest.fixture(scope="module", params=FORMATS)
def shared(request: pytest.FixtureRequest, reading: SparkSession) -> Table:
    return _ten_rows(reading, *FORMATS[request.param])


@pytest.fixture
def table(shared: Table) -> Table:
    """Ten rows in two files and two partitions: id 0 to 9, part a or b, val as the id."""
    shared.after()
    return shared


@pytest.fixture(params=FORMATS)
def own(request: pytest.FixtureRequest, reading: SparkSession) -> Table:
    """As ``table``, for cases that change more than rows."""
    return _ten_rows(reading, *FORMATS[request.param])


def _ten_rows(spark: SparkSession, version: int, modes: str) -> Table:
    made = Table(spark, f"t{random.randrange(10**9)}")
    spark.sql(
        f"CREATE TABLE lake.feed.{made.name} (id int, part string, val int)"
        " USING iceberg PARTITIONED BY (part)"
        f" TBLPROPERTIES ('format-version' = '{version}', {modes})"
    )
    made.start = made.sql(
        "INSERT INTO {t} SELECT CAST(id AS int), IF(id % 2 = 0, 'a', 'b'), CAST(id AS int) FROM range(10)"
    )
    return made


UPDATE = "UPDATE {t} SET val = val + 100 WHERE id IN (1, 2)"
DELETE = "DELETE FROM {t} WHERE id = 3"
INSERT = "INSERT INTO {t} VALUES (20, 'a', 20), (21, 'c', 21)"
MERGE = (
    "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 'a', 7), (4, 'a', 4), (30, 'b', 30) AS s(id, part,"
    " val)) s"
    " ON t.id = s.id WHEN MATCHED AND s.id = 4 THEN DELETE WHEN MATCHED THEN UPDATE SET *"
    " WHEN NOT MATCHED THEN INSERT *"
)


STATEMENTS = {
    INSERT: (0, 2), DELETE: (1, 0), "DELETE FROM {t} WHERE part = 'a'": (5, 0),
    "DELETE FROM {t} WHERE true": (10, 0), UPDATE: (2, 2), MERGE: (2, 2),
    "INSERT OVERWRITE {t} VALUES (50, 'a', 50)": (10, 1),
}  # fmt: skip
"""How many rows go and come by each."""


def test_one_statement(table: Table) -> None:
    """Each on the ten rows of before."""
    start = table.head()
    for number, (statement, (went, came)) in enumerate(STATEMENTS.items()):
        end = table.after(statement)
        assert table.counts(start, end) == (went, came)
        if number == 0:
            assert table.changes(end, end) == (Counter(), Counter())
            assert table.changes(None, end) == (Counter(), table.rows(end))


def test_several_statements_with_compactions_between_and_those_between_expired(own: Table) -> None:
    start = own.head()
    own.java().manageSnapshots().createTag("start", start).commit()
    own.sql(UPDATE)
    own.compact()
    own.sql(DELETE, INSERT)
    end = own.compact()
    assert own.counts(start, end) == (3, 4)
    own.call("expire_snapshots", "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1")
    assert {snapshot.snapshotId() for snapshot in own.java().snapshots()} == {start, end}
    assert own.counts(start, end) == (3, 4)


def test_a_compaction_alone_changes_nothing(table: Table) -> None:
    start = table.after(UPDATE, DELETE)
    assert table.counts(start, table.compact()) == (0, 0)


def test_a_rollback_brings_back_what_was_deleted(table: Table) -> None:
    start = table.head()
    end = table.after(DELETE, UPDATE, INSERT)
    table.call("rollback_to_snapshot", f"snapshot_id => {start}")
    assert table.counts(end, start) == (4, 3)
    other = table.sql("DELETE FROM {t} WHERE id = 5")
    assert table.counts(end, other) == (5, 3)


def test_a_file_of_which_every_row_is_hidden_and_then_shown(table: Table) -> None:
    start = table.head()
    # No statistics tell that these are all rows of a file: it stays, where deletes are merged on read.
    end = table.sql(*(f"DELETE FROM {{t}} WHERE part = 'a' AND id % 4 = {rest}" for rest in (0, 2)))
    assert table.counts(start, end) == (5, 0)
    assert table.counts(end, start) == (0, 5)


def test_columns_that_come_and_go_are_no_changes(own: Table) -> None:
    start = own.head()
    own.sql("ALTER TABLE {t} ADD COLUMN more string", "ALTER TABLE {t} RENAME COLUMN val TO value")
    assert own.changes(start, own.compact()) == (Counter(), Counter())
    end = own.sql("UPDATE {t} SET more = 'x' WHERE id = 1")
    assert own.changes(start, end) == (Counter([(1, "b", 1, None)]), Counter([(1, "b", 1, "x")]))
    own.sql("ALTER TABLE {t} DROP COLUMN value")
    assert own.changes(start, end) == (Counter([(1, "b", None)]), Counter([(1, "b", "x")]))


def test_another_partitioning_is_no_change(own: Table) -> None:
    start = own.head()
    own.sql("ALTER TABLE {t} REPLACE PARTITION FIELD part WITH bucket(2, id)")
    assert own.counts(start, own.compact()) == (0, 0)
    assert own.counts(start, own.sql(UPDATE)) == (2, 2)


def test_of_two_equal_rows_one_goes(table: Table) -> None:
    start = table.sql("INSERT INTO {t} VALUES (40, 'a', 1), (40, 'a', 1), (40, 'a', 1)")
    vector = table.sql("INSERT INTO {t} VALUES (40, 'a', 1)")
    assert table.counts(start, vector) == (0, 1)
    overwritten = table.sql("INSERT OVERWRITE {t} VALUES (40, 'a', 1), (41, NULL, NULL), (41, NULL, NULL)")
    went, came = table.changes(start, overwritten)
    assert table.rows(start) + came == table.rows(overwritten) + went


def test_a_row_before_and_after_an_update_has_one_id(table: Table) -> None:
    start = table.head()
    end = table.after(UPDATE)
    with changed_rows(table.spark, TableName("feed", table.name), start, end) as changes:
        if not changes.by_id:
            assert int(table.java().operations().current().formatVersion()) == 2
            return
        went, came = (
            {row["_row_id"]: row["val"] for row in frame.collect()} for frame in (changes.went, changes.came)
        )
    assert {key: value + 100 for key, value in went.items()} == came


def test_reading_leaves_no_files_behind(table: Table) -> None:
    start = table.head()
    end = table.after(DELETE)
    location = table.java().location().removeprefix("file:")
    before = set(Path(location).rglob("*"))
    table.changes(start, end)
    assert set(Path(location).rglob("*")) == before


def test_deletes_by_equality(table: Table) -> None:
    """Alone, beside deletes by position, where the row is inserted again, undone, and compacted away."""
    start = table.head()
    alone = table.delete_equal("id", 4, "a")
    assert table.changes(start, alone) == (Counter([(4, "a", 4)]), Counter())
    both = table.sql("DELETE FROM {t} WHERE id = 6")
    assert table.changes(start, both) == (Counter([(4, "a", 4), (6, "a", 6)]), Counter())
    assert table.changes(alone, both) == (Counter([(6, "a", 6)]), Counter())
    again = table.sql("INSERT INTO {t} VALUES (4, 'a', 44), (5, 'b', 55)")
    second = table.delete_equal("val", 55, "b")
    assert table.changes(both, second) == (Counter(), Counter([(4, "a", 44)]))
    assert table.changes(again, second) == (Counter([(5, "b", 55)]), Counter())
    assert table.changes(second, start) == (Counter([(4, "a", 44)]), Counter([(4, "a", 4), (6, "a", 6)]))
    assert table.counts(second, table.compact()) == (0, 0)


def test_a_delete_by_equality_of_equal_rows(table: Table) -> None:
    start = table.sql("INSERT INTO {t} VALUES (40, 'a', 1), (40, 'a', 1)")
    end = table.delete_equal("id", 40, "a")
    assert table.changes(start, end) == (Counter({(40, "a", 1): 2}), Counter())


@pytest.mark.parametrize("seed", [7, *(random.randrange(10**9) for _ in range(SOAK))])
def test_any_two_snapshots_of_any_history(table: Table, seed: int) -> None:
    """Every snapshot against some other; without row ids equal rows in both cancel out (see ``by_value``)."""
    dice = random.Random(seed)
    snapshots = [table.head()]
    for _ in range(6 if not SOAK else 15):
        snapshots.append(_step(table, dice))
    for end in snapshots[1:]:
        start = dice.choice(snapshots)
        went, came = table.changes(start, end)
        assert table.rows(start) + came == table.rows(end) + went, f"seed {seed}"


def _step(table: Table, dice: random.Random) -> int:
    ids = f"id % {dice.randint(2, 5)} = {dice.randint(0, 1)}"
    value, key = dice.randint(0, 9), dice.randint(0, 40)
    return table.sql(
        dice.choice(
            [
                f"INSERT INTO {{t}} VALUES ({key}, 'a', {value}), ({key + 1}, 'c', {value})",
                f"UPDATE {{t}} SET val = {value} WHERE {ids}",
                f"UPDATE {{t}} SET part = 'b' WHERE {ids}",
                f"DELETE FROM {{t}} WHERE {ids} AND val > {value}",
                "DELETE FROM {t} WHERE part = 'c'",
                MERGE,
                f"CALL lake.system.rewrite_data_files(table => 'feed.{table.name}', options =>"
                " map('rewrite-all', 'true'))",
            ]
        )
    )


def _entries(value: dict[str, int] | None) -> Any:
    return value if value is None else tuple(sorted(value.items()))


def test_maps_cancel_by_value(spark: SparkSession) -> None:
    made = Table(spark, f"t{random.randrange(10**9)}")
    made.create("id int, what map<string,int>", version=2)
    start = made.sql(
        "INSERT INTO {t} VALUES (1, map('a', 1)), (2, map('b', 2, 'c', 3)), (3, NULL), (3, NULL)"
    )
    assert made.changes(start, made.compact(), _entries) == (Counter(), Counter())
    end = made.sql("UPDATE {t} SET what = map('c', 3, 'b', 2) WHERE id = 3")
    went, came = made.changes(start, end, _entries)
    assert (went, came) == (Counter({(3, None): 2}), Counter({(3, (("b", 2), ("c", 3))): 2}))


def test_zeros_cancel_only_with_zeros_of_their_sign(spark: SparkSession) -> None:
    made = Table(spark, f"t{random.randrange(10**9)}")
    made.create("id int, x double, deep struct<y: float>", version=2)
    start = made.sql(
        "INSERT INTO {t} VALUES (1, -0.0D, NULL), (2, 0.0D, NULL), (3, double('NaN'), struct(float('-0.0')))"
    )
    assert made.changes(start, made.compact(), str) == (Counter(), Counter())
    end = made.sql(
        "UPDATE {t} SET x = 0.0D WHERE id = 1",
        "UPDATE {t} SET deep = named_struct('y', float(0)) WHERE id = 3",
    )
    went, came = made.changes(start, end, str)
    assert (sum(went.values()), sum(came.values())) == (2, 2)


def test_rows_without_ids_whose_values_cannot_be_compared(spark: SparkSession) -> None:
    """Files from before a table's upgrade have no row ids, and variants cannot be compared."""
    reading = spark.newSession()
    # What docs/cluster.md says of Iceberg 1.10, which fails on files with variants when it reads their other
    # columns otherwise.
    reading.conf.set("spark.sql.iceberg.vectorization.enabled", "false")
    made = Table(reading, f"t{random.randrange(10**9)}")
    made.create("id int", version=2)
    start = made.sql("INSERT INTO {t} VALUES (1), (2)")
    made.sql(
        "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')",
        "ALTER TABLE {t} ADD COLUMN what variant",
    )
    added = made.sql("INSERT INTO {t} VALUES (3, parse_json('[1]'))")
    assert made.changes(start, added, str) == (Counter(), Counter([(3, "[1]")]))
    moved = made.compact()
    with pytest.raises(NotIncremental, match="column what cannot be compared"):
        made.changes(start, moved, str)
    assert made.changes(added, moved, str) == (Counter(), Counter())
