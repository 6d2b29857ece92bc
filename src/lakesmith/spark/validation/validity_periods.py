"""Tables that keep versions (``history: type2``): from versions of keys to rows with periods.

A key's versions are ordered by ``latest_by``, nulls oldest. A version after a delete, or one that differs
from the previous in a tracked column, *opens* a row. Any other *continues* the row: it is the newest version
of it. A delete *closes* the row and is not a row itself. A row is valid from the time of the version that
opened it to that of the version that closed it or opened the next.

Rebuilds, refreshes of some keys and ``verify`` all use this module.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import NullType
from pyspark.sql.window import WindowSpec

from lakesmith.errors import RunError, did_you_mean, listed
from lakesmith.project.definitions import IS_CURRENT, VALID_FROM, VALID_TO, TableDefinition
from lakesmith.quoting import own, quoted
from lakesmith.spark.frames.comparable import comparable, has_equality, holds_maps, is_collated
from lakesmith.spark.validation.rules import DELETE

VERSION_OUTCOME: Final = own("outcome")
"""What a version did: opened, continued, closed, or absent (a delete of a key that was not there)."""

VERSION_OUTCOMES: Final = ("opened", "continued", "closed", "absent")

IS_ROW: Final = own("is_row")
"""True for the newest version of each row, which is the row."""


def as_rows(versions: DataFrame, table: TableDefinition) -> DataFrame:
    """Returns each version as a row that is valid from its own time on, the input of ``put_in_order``."""
    time = F.col(quoted(table.latest_by[0]))
    never = F.when(F.lit(False), time)
    return versions.withColumns({VALID_FROM: time, VALID_TO: never, IS_CURRENT: F.lit(True)})


def put_in_order(
    versions: DataFrame, table: TableDefinition, tracked: Sequence[str], carried: Sequence[str] = ()
) -> DataFrame:
    """Returns versions with ``VERSION_OUTCOME``, ``IS_ROW``, ``IS_CURRENT`` and their validity.

    Args:
        versions: all versions of a key, or those from an existing row on; one for each position in
            ``latest_by``. As ``as_rows`` gives them, with ``DELETE``; an existing row keeps its
            ``VALID_FROM``.
        table: has ``latest_by``.
        tracked: as ``tracked_columns`` gives them.
        carried: columns that a row has from the version that opened it, like ``VALID_FROM``.
    """
    window = Window.partitionBy(*map(quoted, table.key)).orderBy(*_oldest_first(table))
    so_far = window.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    with_outcome = versions.withColumn(VERSION_OUTCOME, _outcome(versions, tracked, window))
    begins = F.col(VERSION_OUTCOME) != "continued"
    opening = F.last(F.when(begins, F.struct(VALID_FROM, *carried)), ignorenulls=True).over(so_far)
    next_begins = F.lead(begins).over(window)
    return with_outcome.withColumns(
        {
            **{name: opening[name] for name in (VALID_FROM, *carried)},
            VALID_TO: F.lead(VALID_FROM).over(window),
            IS_CURRENT: next_begins.isNull(),
            IS_ROW: ~F.col(DELETE) & F.coalesce(next_begins, F.lit(True)),
        }
    )


def tracked_columns(rows: DataFrame, columns: Sequence[str], table: TableDefinition) -> tuple[str, ...]:
    """Returns the columns in which a version must differ to open a row; ``columns`` are the query's.

    Raises RunError LS615 if one is not a column of the query, or has values without equality or with a
    collation.
    """
    ordering = {name.lower() for name in (*table.key, *table.latest_by)}
    tracked = table.track or tuple(name for name in columns if name.lower() not in ordering)
    types = {field.name.lower(): field.dataType for field in rows.schema.fields}
    for name in (*table.key, *table.latest_by, *tracked):
        if is_collated(types.get(name.lower(), NullType()).simpleString()):
            what = f"versions cannot be distinguished by the column {name!r}: texts with a collation"
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
            what = f"changes of the column {name!r} cannot be found: variants have no equality"
            raise _untracked(table, what, [each for each in columns if has_equality(types[each.lower()])])
    return tracked


def outcome_counts(of: SparkColumn | None = None) -> list[SparkColumn]:
    """Returns an aggregate for each of ``VERSION_OUTCOMES``, over versions for which ``of`` holds."""
    counted = F.lit(True) if of is None else of
    return [
        F.count_if(counted & (F.col(VERSION_OUTCOME) == outcome)).alias(outcome)
        for outcome in VERSION_OUTCOMES
    ]


def _outcome(versions: DataFrame, tracked: Sequence[str], window: WindowSpec) -> SparkColumn:
    schema = {field.name.lower(): field.dataType for field in versions.schema.fields}
    compared = (comparable(quoted(name), schema[name.lower()]) for name in tracked)
    values = F.expr(f"struct({', '.join(('0 AS none', *compared))})")
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
