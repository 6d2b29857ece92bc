"""The incremental refresh of a table that keeps versions: only keys of new versions are read.

A key whose new versions are all newer than the known ones continues from its current row. A *late* key, with
a new version in the past, is computed from all its versions, which only the input has; the input is not read
otherwise. Both use ``validity_periods.put_in_order``. The result is compared with the existing rows, and
differences are replaced by place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.catalog.record import Account, Versions
from lakesmith.execute.engine import NotIncremental
from lakesmith.project.definitions import IS_CURRENT, VALID_FROM, VALIDITY_COLUMNS
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft, rows_read
from lakesmith.spark.batch.quarantine import set_aside
from lakesmith.spark.batch.sidecar import write_tombstones
from lakesmith.spark.frames.row_counts import Kept, RowCounts, counts_of
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.iceberg.uncommitted_files import ROW_ID
from lakesmith.spark.query.table_query import QueryRows, at_occurrences, rows_over
from lakesmith.spark.validation.key_versions import note_of_ties, same_key, validate
from lakesmith.spark.validation.rules import DELETE, checks_of, stop_if_asked
from lakesmith.spark.validation.validity_periods import (
    IS_ROW,
    VERSION_OUTCOMES,
    as_rows,
    outcome_counts,
    put_in_order,
    tracked_columns,
)
from lakesmith.spark.write.replace_rows import by_file, can_replace, nowhere, replace_rows
from lakesmith.spark.write.version_statuses import (
    PLACE,
    STANDING,
    Standings,
    Task,
    find_standings,
    only,
    without,
)
from lakesmith.spark.write.version_statuses import same_version as same

_NEW: Final = "_lakesmith_new"
"""True for a version of this batch."""

_NUMBER: Final = "_lakesmith_number"
_CHANGE: Final = "_lakesmith_change"


@dataclass(frozen=True)
class _VersionChanges:
    """The rows to change, in ``frame``: the table's columns, ``PLACE`` and ``_CHANGE``; and their counts.

    ``places``: the rows to update or delete.
    """

    frame: DataFrame
    insert: int
    update: int
    delete: int
    places: list[Row]


def upsert_versions(batch: Batch, rows: QueryRows) -> Draft:
    """Writes the new versions to the working branch.

    Raises NotIncremental if they, or the rows they change, are too many to replace by place; RunError LS615
    as ``tracked_columns``.
    """
    tracked = tracked_columns(rows.frame, rows.columns, batch.step.table)
    validated, seen = validate(batch, rows), RowCounts()
    with Kept() as kept:
        task = Task(batch, validated.columns, tracked, validated.ties, kept)
        tasks = 1 + rows_read(batch) // limits.ROWS_A_WRITING_TASK
        new = task.typed(validated.observed(seen).versions()).coalesce(tasks)
        new = kept.keep(new)
        count, counts = new.count(), counts_of(seen)
        stop_if_asked(batch, counts["bad"], validated.bad)
        _require_few(batch, count, f"{count} versions are new")
        batch.say(f"finding the keys of {count} versions")
        standings = find_standings(task, new, count)
        versions = put_in_order(_versions(task, standings), task.table, tracked, (PLACE,))
        placed, outcomes = kept.cut_and_count(versions, *_outcomes())
        changes = _changes(task, placed, standings)
        _write(task, changes)
        pins = {
            **set_aside(batch, validated.bad, validated.columns, counts["bad"]),
            **write_tombstones(batch, placed.where(_is_last_delete()), outcomes["tombstones"]),
        }
        account = _account(task, counts, standings.counts, outcomes)
        account = replace(account, inserted=changes.insert, updated=changes.update, deleted=changes.delete)
        return Draft(
            account,
            sidecars=pins,
            checks=checks_of(validated.table.checks, counts),
            warnings=note_of_ties(max(each.ties_by_values for each in (validated, *task.whole))),
        )


def _account(
    task: Task, counts: Mapping[str, int], standings: Mapping[str, int], outcomes: Mapping[str, int]
) -> Account:
    """Returns the outcome of each version read; ordered versions are counted where they are used."""
    read, out, bad = rows_read(task.batch), counts["out"], counts["bad"]
    placed = sum(outcomes[outcome] for outcome in VERSION_OUTCOMES)
    beaten = standings["newer"] + standings["late"] - placed if task.ties else 0
    return Account(
        read=read,
        superseded=out - bad - sum(standings.values()) + standings["again"] + beaten,
        filtered=read - out,
        quarantined=bad,
        absent_deletes=outcomes["absent"] + standings["absent"],
        versions=Versions(
            outcomes["opened"], outcomes["continued"] + standings["continued"], outcomes["closed"]
        ),
    )


def _require_few(batch: Batch, count: int, what: str) -> None:
    if not can_replace(batch.state(), batch.step.base.snapshot, count):
        raise NotIncremental(f"{what}, or its data files too many, to replace rows one by one")


def _versions(task: Task, standings: Standings) -> DataFrame:
    """The versions of every key that has new ones: from its current row on, or all of a late one."""
    table, late = task.table, standings.late
    newer = without(standings.versions.where(F.col(STANDING) == "newer"), late, table)
    current = without(standings.current, late, table)
    came = as_rows(newer.drop(STANDING), table).withColumns({_NEW: F.lit(True), PLACE: nowhere()})
    was = current.withColumns({DELETE: F.lit(False), _NEW: F.lit(False)})
    versions = came.unionByName(was)
    if late is None:
        return versions
    return versions.unionByName(_whole(task, standings, late).withColumn(PLACE, nowhere()))


def _whole(task: Task, standings: Standings, late: DataFrame) -> DataFrame:
    """All versions of the late keys, from the whole input as the batch consumes it."""
    batch, table = task.batch, task.table
    batch.say("computing late keys from all their versions")
    (item,) = batch.step.inputs
    rows = {item.table: read_version(batch.spark, item.table, item.end)}
    whole = rows_over(batch, at_occurrences(batch, rows), with_arrival=True)
    validated = validate(batch, whole)
    task.whole.append(validated)
    versions = as_rows(
        task.typed(replace(validated, frame=only(validated.frame, late, table)).versions()), table
    )
    # If values settle ties, a new version may have lost to an earlier one: then that one is not new.
    by = tuple(dict.fromkeys((*table.latest_by, *task.ties)))
    came = standings.versions.where(F.col(STANDING).isin("newer", "late"))
    came = came.select(*map(quoted, dict.fromkeys((*table.key, *by))), F.lit(True).alias(_NEW))
    on = same_key("v", "n", table) & task.same("v", "n", by, came)
    joined = versions.alias("v").join(came.alias("n"), on, "left")
    return joined.select("v.*", F.coalesce(F.col(f"n.{_NEW}"), F.lit(False)).alias(_NEW))


def _is_last_delete() -> SparkColumn:
    """True for a new delete that is the newest version of its key."""
    return F.col(_NEW) & F.col(DELETE) & F.col(IS_CURRENT)


def _outcomes() -> list[SparkColumn]:
    """Aggregates of what the new versions did, and how many of them delete their key for now."""
    return [*outcome_counts(F.col(_NEW)), F.count_if(_is_last_delete()).alias("tombstones")]


def _changes(task: Task, placed: DataFrame, standings: Standings) -> _VersionChanges:
    """Returns the changes of rows."""
    rows = placed.where(IS_ROW).withColumn(_CHANGE, _change_in_order())
    if standings.late is not None and standings.past is not None:
        in_order, late = (part(rows, standings.late, task.table) for part in (without, only))
        differing = _differing(task, late, standings.past)
        rows = task.kept.cut(in_order.select(*map(quoted, differing.columns)).unionByName(differing))
    frame = rows.where(F.col(_CHANGE).isNotNull())
    kinds = ("insert", "update", "delete")
    counts = (F.count_if(F.col(_CHANGE) == kind).alias(kind) for kind in kinds)
    places = F.collect_list(F.when(F.col(_CHANGE) != "insert", F.col(PLACE))).alias("places")
    row: Row = frame.agg(*counts, places).collect()[0]
    return _VersionChanges(frame, **row.asDict())


def _change_in_order() -> SparkColumn:
    """The changes of a key that is not late: the period of its current row goes on, others are new."""
    return F.when(F.col(PLACE).isNull(), "insert").when(F.col(_NEW) | ~F.col(IS_CURRENT), "update")


def _differing(task: Task, late: DataFrame, past: DataFrame) -> DataFrame:
    """The changed rows of late keys. Rows with the same key and ``valid_from`` are the same row."""
    names = (*task.columns, *VALIDITY_COLUMNS)
    wanted, there = _numbered(task, late.select(*map(quoted, names))), _numbered(task, past)
    on = same("w", "t", (VALID_FROM, _NUMBER), task.table)
    joined = wanted.alias("w").join(there.alias("t"), on, "full")
    change = (
        F.when(F.col(f"t.{_NUMBER}").isNull(), "insert")
        .when(F.col(f"w.{_NUMBER}").isNull(), "delete")
        .when(~task.identical("w", "t", names, late), "update")
    )
    columns = [F.col(f"w.{quoted(name)}").alias(name) for name in names]
    return joined.select(*columns, F.col(f"t.{PLACE}").alias(PLACE), change.alias(_CHANGE))


def _numbered(task: Task, frame: DataFrame) -> DataFrame:
    """Versions that begin at one time, numbered in their order by the other columns."""
    if len(task.table.latest_by) == 1:
        return frame.withColumn(_NUMBER, F.lit(1))
    window = Window.partitionBy(*map(quoted, (*task.table.key, VALID_FROM)))
    order = [F.asc_nulls_first(quoted(name)) for name in task.table.latest_by]
    return frame.withColumn(_NUMBER, F.row_number().over(window.orderBy(*order)))


def _write(task: Task, changes: _VersionChanges) -> None:
    batch, written = task.batch, changes.insert + changes.update
    gone = changes.update + changes.delete
    _require_few(batch, max(written, gone), f"{written} rows come and {gone} go")
    if written or gone:
        batch.say(f"writing {changes.insert} new rows, {changes.update} updates and {changes.delete} deletes")
        kind = F.col(_CHANGE)
        # A continued or closed row keeps its id: for readers of the table's changes it is the same row.
        row_id = F.when(kind == "update", F.col(f"{PLACE}.id")).alias(ROW_ID)
        names = (*task.columns, *VALIDITY_COLUMNS)
        rows = changes.frame.where(kind != "delete").select(*map(quoted, names), row_id)
        replace_rows(batch, by_file((place.file, place.pos) for place in changes.places), rows, written)
    batch.pass_point("after-data")
