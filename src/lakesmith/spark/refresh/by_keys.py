"""Refreshes a derived table incrementally: recomputes touched keys, or updates their sums.

The query over all rows, filtered by those keys, gives their new rows, bad rows and deletes. These are
compared with the table's current rows of the keys, and only differences are replaced.

A table with a key of its own is filtered by the keys of its query's changed rows: all their versions are
read, and the newest wins, or each has its period, as in a rebuild.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.catalog.record import Account
from lakesmith.execute.engine import NeverIncremental, NotIncremental
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import VALID_FROM
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft
from lakesmith.spark.catalyst.key_columns import Keys
from lakesmith.spark.catalyst.key_origins import Origins
from lakesmith.spark.catalyst.summable import Adding, Role, additive
from lakesmith.spark.frames.comparable import has_equality, holds_maps
from lakesmith.spark.frames.row_counts import Kept, RowCounts, counts_of
from lakesmith.spark.iceberg.snapshots import column_types, in_types, read_version
from lakesmith.spark.jvm.failures import wrong_value
from lakesmith.spark.query.table_query import QueryRows, rows_over
from lakesmith.spark.refresh.sidecars import SidecarChange, refresh_quarantine, refresh_tombstones
from lakesmith.spark.refresh.sums import Sums, bring_forward, find_sums
from lakesmith.spark.refresh.touched_keys import Touched, find_touched, moved_inputs
from lakesmith.spark.validation.key_versions import Validated, note_of_ties
from lakesmith.spark.validation.outcome import outcome_of, validated_rows
from lakesmith.spark.write.replace_rows import can_replace
from lakesmith.spark.write.row_difference import Difference, difference, replace_differing, with_places


@dataclass(frozen=True)
class Query:
    """The query's rows over its whole inputs, and the ``names`` of the columns that filter them.

    ``origins``: for each of these columns its origin, if known.
    """

    rows: QueryRows
    names: tuple[str, ...]
    origins: tuple[Origins, ...]

    def by(self, names: Sequence[str]) -> Query:
        """The same, asked by other columns."""
        known = dict(zip(self.names, self.origins, strict=True))
        return replace(self, names=tuple(names), origins=tuple(known.get(name, {}) for name in names))


def refresh_keys(batch: Batch, rows: QueryRows, keys: Keys) -> Draft:
    """Writes the recomputed rows of the affected keys to the working branch.

    ``rows`` are the query's over its whole inputs. Raises NotIncremental if rows cannot be compared, or are
    too many.
    """
    query = _by_keys(batch, rows, keys)
    _require_comparable(query)
    if not can_replace(batch.state(), batch.step.base.snapshot, 0):
        raise NotIncremental("it has too many files to replace rows in, so it is refreshed in full")
    with Kept() as kept:
        batch.say("finding the keys that changed rows have")
        sums, touched = _find(batch, query, keys, kept)
        if touched.count > limits.COMPUTED_WHOLE_ABOVE_KEYS:
            raise NotIncremental(f"{touched.count} keys of it are touched, so it is refreshed in full")
        draft = _bring(batch, query, sums, touched, kept)
    return replace(draft, done=Strategy.KEYS if sums is None else Strategy.SUMS)


def _bring(batch: Batch, query: Query, sums: Sums | None, touched: Touched, kept: Kept) -> Draft:
    if not touched.count:
        return Draft(Account(read=touched.read), by_row=False)
    if sums is None:
        batch.say(f"computing {touched.count} keys")
        return _compute(batch, _validated(batch, query, touched), touched, kept)
    batch.say(f"adding up the changes of {touched.count} keys")
    with _whole_where_values_fail(batch):
        return _add_up(batch, query, sums, touched, kept)


def _find(batch: Batch, query: Query, keys: Keys, kept: Kept) -> tuple[Sums | None, Touched]:
    """Returns the touched keys, with the sums of the changed rows if they can be used."""
    adding = _adding(batch, query.rows)
    with _whole_where_values_fail(batch):
        if adding:
            return find_sums(batch, adding, kept)
        return None, find_touched(batch, query.names, keys.alone, kept)


@contextmanager
def _whole_where_values_fail(batch: Batch) -> Iterator[None]:
    """Raises NotIncremental if Spark cannot compute with a value.

    Changed rows may reach expressions from which the query keeps them, and parts of a sum may exceed all of
    it.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if (said := wrong_value(error, batch.project.secrets)) is None:
            raise
        raise NotIncremental(f"its changed rows alone cannot be computed: {said}") from error


def _adding(batch: Batch, rows: QueryRows) -> dict[str, Adding] | None:
    """Returns the kinds of a table's columns if its one changed input can be added up; else None."""
    table, moved = batch.step.table, moved_inputs(batch)
    if table.key or table.checks or len(moved) != 1:
        return None
    name = moved[0].table
    found = rows.proofs.once(f"adding {name}", lambda: additive(rows.frame, rows.occurrences, name))
    if found is None or any(
        each.role is Role.GROUP and holds_maps(field.dataType)
        for field, each in zip(rows.frame.schema.fields, found, strict=True)
    ):
        return None
    return dict(zip(rows.columns, found, strict=True))


def _add_up(batch: Batch, query: Query, sums: Sums, touched: Touched, kept: Kept) -> Draft:
    """Updates sums by the changed rows; other groups are computed from all their rows."""
    columns = tuple(sums.columns)
    forward = bring_forward(sums, touched, _there(batch, touched, columns), kept)
    differing = forward.differing
    if forward.open.count:
        batch.say(f"computing {forward.open.count} keys from their rows")
        validated = _validated(batch, query.by(sums.groups), forward.open)
        wanted = in_types(outcome_of(validated).rows, columns, sums.types)
        differing += difference(wanted, _there(batch, forward.open, columns), columns, sums.groups, kept)
    replace_differing(batch, differing)
    batch.pass_point("after-data")
    return Draft(_account(touched, differing), by_row=False)


def _compute(batch: Batch, validated: Validated, touched: Touched, kept: Kept) -> Draft:
    """Replaces differences of the touched keys in the table, its quarantine and its tombstones."""
    table, seen = batch.step.table, RowCounts()
    has_sidecars = bool(table.key or table.checks)
    if has_sidecars:
        validated = replace(validated, frame=kept.keep(validated.observed(seen).frame))
    outcome = outcome_of(validated)
    columns = (*validated.columns, *table.added_columns)
    wanted = in_types(outcome.rows, columns, column_types(batch.spark, batch.name))
    there = _there(batch, touched, columns)
    differing = difference(wanted, there, columns, _identity(batch, touched), kept)
    aside = SidecarChange({}, 0, {})
    if has_sidecars:
        aside = refresh_quarantine(batch, validated, touched, kept, counts_of(seen)["bad"])
    replace_differing(batch, differing)
    batch.pass_point("after-data")
    tombstones = refresh_tombstones(batch, outcome.deletes, touched, kept) if table.key else {}
    account = replace(_account(touched, differing), quarantined=aside.bad)
    ties = note_of_ties(validated.ties_by_values) if table.key else ()
    return Draft(
        account, by_row=False, sidecars={**aside.pins, **tombstones}, checks=aside.checks, warnings=ties
    )


def _account(touched: Touched, differing: Difference) -> Account:
    return Account(
        read=touched.read,
        inserted=differing.came - differing.continued,
        updated=differing.continued,
        deleted=differing.went - differing.continued,
    )


def _by_keys(batch: Batch, rows: QueryRows, keys: Keys) -> Query:
    """Returns the query filtered by its key columns, or by those in the table's own key.

    Raises NeverIncremental if the table has a key, and none of its columns is among them.
    """
    of_key = {name.lower() for name in batch.step.table.key}
    found = [
        (rows.frame.columns[number], origins)
        for number, origins in zip(keys.positions, keys.origins, strict=True)
    ]
    chosen = [(name, origins) for name, origins in found if not of_key or name.lower() in of_key]
    if not chosen:
        raise NeverIncremental("no column of its key tells which rows a change reaches")
    return Query(rows, tuple(name for name, _ in chosen), tuple(origins for _, origins in chosen))


def _validated(batch: Batch, query: Query, touched: Touched) -> Validated:
    """All rows of the touched keys in the query, validated."""
    views = touched.inputs(batch, query.origins)
    found = rows_over(batch, views, with_arrival=bool(batch.step.table.key))
    given = {name.lower() for name in found.columns}
    gone = {name: F.lit(None) for name in query.rows.columns if name.lower() not in given}
    among = replace(found, frame=touched.among(found.frame.withColumns(gone)))
    return validated_rows(batch, among)


def _there(batch: Batch, touched: Touched, columns: Sequence[str]) -> DataFrame:
    """The table's current rows of the touched keys, with their places."""
    there = read_version(batch.spark, batch.name, batch.step.base.snapshot)
    return touched.among(with_places(batch, touched.among_stored(there), columns))


def _identity(batch: Batch, touched: Touched) -> list[str]:
    """The columns that identify a new row as a removed one with other values."""
    table = batch.step.table
    if not table.key:
        return touched.names
    return [*table.key, *([VALID_FROM] if table.keeps_versions else [])]


def _require_comparable(query: Query) -> None:
    for field in query.rows.frame.select(*map(quoted, query.rows.columns)).schema.fields:
        if not has_equality(field.dataType) or (field.name in query.names and holds_maps(field.dataType)):
            kind = field.dataType.simpleString()
            raise NotIncremental(
                f"its column {field.name} is of a type, {kind}, whose values cannot be compared"
            )
