"""Tables that keep versions (``history: type2``): from the versions of keys to rows, each with the time it holds.

A key's versions stand in the order of ``latest_by``, nulls oldest. One that comes after a delete, or differs from the one before
it in a tracked column, *opens* a row; any other *continues* the row: it is the newest to speak for it. A delete *closes* the row
and is none itself. A row holds from the time of the version that opened it to that of what closed it or opened the next.

This is the one place that says so: rebuilds, refreshes of some keys and ``verify`` all come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import NullType
from pyspark.sql.window import WindowSpec

from lakesmith.errors import RunError
from lakesmith.project.definitions import IS_CURRENT, VALID_FROM, VALID_TO, TableDefinition
from lakesmith.project.nearest import did_you_mean, listed
from lakesmith.quoting import quoted
from lakesmith.spark.frames.comparable import comparable, has_equality, holds_maps, is_collated
from lakesmith.spark.validation.key_versions import DELETE

VERSION_FATE: Final = "_lakesmith_fate"
"""What a version did: opened, continued, closed, or absent (a delete of what was not there)."""

VERSION_FATES: Final = ("opened", "continued", "closed", "absent")

IS_ROW: Final = "_lakesmith_is_row"
"""True for the newest version of each row, which is the row."""


def as_rows(versions: DataFrame, table: TableDefinition) -> DataFrame:
    """Each version as a row that holds from its own time on, which is how ``put_in_order`` takes it."""
    time = F.col(quoted(table.latest_by[0]))
    never = F.when(F.lit(False), time)
    return versions.withColumns({VALID_FROM: time, VALID_TO: never, IS_CURRENT: F.lit(True)})


def put_in_order(
    versions: DataFrame, table: TableDefinition, tracked: Sequence[str], carried: Sequence[str] = ()
) -> DataFrame:
    """The versions with ``VERSION_FATE``, ``IS_ROW`` and the times they hold. ``IS_CURRENT``: no other version of the key is newer.

    Args:
        versions: all versions of a key, or those from one on that is a row already; of each place in ``latest_by`` one.
            As ``as_rows`` gives them, with ``DELETE``; a row that is there has the ``VALID_FROM`` that it has.
        table: has ``latest_by``.
        tracked: as ``tracked_columns`` gives them.
        carried: columns that a row has from the version that opened it, as it has ``VALID_FROM``.
    """
    window = Window.partitionBy(*map(quoted, table.key)).orderBy(*_oldest_first(table))
    so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    fated = versions.withColumn(VERSION_FATE, _fate(versions, tracked, window))
    begins = F.col(VERSION_FATE) != "continued"
    opening = F.last(F.when(begins, F.struct(VALID_FROM, *carried)), ignorenulls=True).over(so_far)
    next_begins = F.lead(begins).over(window)
    return fated.withColumns(
        {
            **{name: opening[name] for name in (VALID_FROM, *carried)},
            VALID_TO: F.lead(VALID_FROM).over(window),
            IS_CURRENT: next_begins.isNull(),
            IS_ROW: ~F.col(DELETE) & F.coalesce(next_begins, F.lit(True)),
        }
    )


def tracked_columns(rows: DataFrame, columns: Sequence[str], table: TableDefinition) -> tuple[str, ...]:
    """The columns in which a version has to differ to open a row; ``columns`` are the query's.

    Raises RunError LS615 when one of them is none of the query's, or has values that cannot be compared, or are by a collation.
    """
    ordering = {name.lower() for name in (*table.key, *table.latest_by)}
    tracked = table.track or tuple(name for name in columns if name.lower() not in ordering)
    types = {field.name.lower(): field.dataType for field in rows.schema.fields}
    for name in (*table.key, *table.latest_by, *tracked):
        if is_collated(types.get(name.lower(), NullType()).simpleString()):
            what = (
                f"versions cannot be told apart by the column {name!r}: its texts are compared by a collation"
            )
            raise _untracked(table, what, columns, f"CAST({name} COLLATE UTF8_BINARY AS string)")
    for name in table.latest_by:
        if holds_maps(types.get(name.lower(), NullType())):
            what = f"versions cannot be put in order by the column {name!r}: maps have none"
            raise _untracked(table, what, columns, "order them by a value that is in the map")
    for name in tracked:
        if name.lower() not in map(str.lower, columns):
            raise _untracked(
                table, f"track names the column {name!r}, which the query does not give", columns
            )
        if not has_equality(types[name.lower()]):
            what = f"changes of the column {name!r} cannot be told: values of its type, variant, have no equality"
            raise _untracked(table, what, [each for each in columns if has_equality(types[each.lower()])])
    return tracked


def fate_counts(of: SparkColumn | None = None) -> list[SparkColumn]:
    """An aggregate for each of ``VERSION_FATES``, of all versions or of those for which ``of`` holds."""
    counted = F.lit(True) if of is None else of
    return [F.count_if(counted & (F.col(VERSION_FATE) == fate)).alias(fate) for fate in VERSION_FATES]


def _fate(versions: DataFrame, tracked: Sequence[str], window: WindowSpec) -> SparkColumn:
    schema = {field.name.lower(): field.dataType for field in versions.schema.fields}
    values = F.struct(
        F.lit(0).alias("none"), *(comparable(F.col(quoted(name)), schema[name.lower()]) for name in tracked)
    )
    is_there = ~F.coalesce(F.lag(DELETE).over(window), F.lit(True))
    return (
        F.when(F.col(DELETE), F.when(is_there, "closed").otherwise("absent"))
        .when(is_there & F.lag(values).over(window).eqNullSafe(values), "continued")
        .otherwise("opened")
    )


def _oldest_first(table: TableDefinition) -> list[SparkColumn]:
    return [F.asc_nulls_first(quoted(name)) for name in table.latest_by]


def _untracked(
    table: TableDefinition, what: str, columns: Sequence[str], hint: str | None = None
) -> RunError:
    place = dict(table.settings_from).get("track", table.place)
    known = [name for name in columns if name.lower() not in {*table.key, *table.latest_by}]
    meant = did_you_mean(what.split("'")[1], known) or "name the columns that count: track: [column, …]"
    return RunError.of("LS615", what, place, f"some of {listed(known)}", hint=hint or meant)
