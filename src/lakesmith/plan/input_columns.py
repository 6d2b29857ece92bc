"""What a table's query makes of columns that have changed since it was last refreshed.

Rows that were read before are not read again, so a query that does more with a column than pass it on would have given them
something else: ``to_json(struct(*))`` knows of a new column, and of the order they stand in, ``CAST(amount AS string)`` of a wider
one. Columns that are only passed on take part in their input's evolution without a rebuild, unless a name means another column
now: one that was dropped and added again, that another column has got, or that meant something of the query's own until it came.
"""

from __future__ import annotations

from collections.abc import Sequence

from lakesmith.catalog.state import ColumnState
from lakesmith.plan.facts import Query
from lakesmith.project.definitions import TableDefinition
from lakesmith.sql.used_columns import WHOLE_ROW


def columns_that_count(
    table: TableDefinition, query: Query, before: Sequence[ColumnState], now: Sequence[ColumnState]
) -> tuple[str, ...]:
    """The columns that are new, gone, of another type or in another place, and make a difference to rows that were read before."""
    old = {column.field_id: column for column in before}
    new = {column.field_id: column for column in now}
    added = [column.name for key, column in new.items() if key not in old]
    changed = [column.name for key, column in old.items() if _differs(column, new.get(key))]
    others, moved = _of_another_column(before, now), _moved(before, now)
    computed, named = query.computed, query.named
    if computed is None or named is None:
        return tuple(dict.fromkeys((*changed, *added, *others, *moved)))
    whole, uses = WHOLE_ROW in computed, {*computed, *named}
    # Rules and deletes judge a row by the values of its columns, under whatever name the query gave them.
    if table.checks or table.delete_when:
        computed = named
    counting = [name for name in changed if WHOLE_ROW in computed or name.lower() in computed]
    coming = [name for name in added if whole or name.lower() in named]
    # Versions of a key, and which of them wins, are told apart by columns that are passed on as well.
    going = [column.name for key, column in old.items() if key not in new and table.key]
    # What a column was called that has another name now.
    lost = [old[key].name for key, column in new.items() if column.name in others and key in old]
    used = [name for name in (*others, *lost, *going) if WHOLE_ROW in uses or name.lower() in uses]
    return tuple(dict.fromkeys((*used, *counting, *coming, *(moved if whole else ()))))


def how_they_differ(names: Sequence[str], before: Sequence[ColumnState], now: Sequence[ColumnState]) -> str:
    """What became of these columns, in words.

    >>> how_they_differ(["b"], [], [ColumnState(1, "b", "int", False)])
    'a new column: b'
    """
    old, new = ({column.name for column in columns} for columns in (before, now))
    kinds = {"new": new - old, "lost": old - new, "other": old & new}
    told = {kind: [name for name in names if name in of] for kind, of in kinds.items()}
    words = (
        ("new", "a new column", "new columns"),
        ("lost", "lost a column", "lost columns"),
        ("other", "a changed column", "changed columns"),
    )
    return " and ".join(
        f"{one if len(told[kind]) == 1 else several}: {', '.join(told[kind])}"
        for kind, one, several in words
        if told[kind]
    )


def _moved(before: Sequence[ColumnState], now: Sequence[ColumnState]) -> list[str]:
    """The columns that stand in another place among those that are still there."""
    ids = {column.field_id for column in before} & {column.field_id for column in now}
    was, there = ([column for column in columns if column.field_id in ids] for columns in (before, now))
    return [new.name for old, new in zip(was, there, strict=True) if old.field_id != new.field_id]


def _of_another_column(before: Sequence[ColumnState], now: Sequence[ColumnState]) -> list[str]:
    """The names that stood for another column, or that a column has got: their values are others, in rows that did not change.

    So are those of a column that comes with a default, and of one inside which that happens to a field.
    """
    ids = {column.name.lower(): column.field_id for column in before}
    was = {column.field_id: column for column in before}
    return [
        column.name
        for column in now
        if ids.get(column.name.lower(), column.field_id) != column.field_id
        or _is_another(was.get(column.field_id), column)
    ]


def _is_another(before: ColumnState | None, now: ColumnState) -> bool:
    if before is None:
        return now.has_default
    return before.name.lower() != now.name.lower() or _has_other_fields(before, now)


def _has_other_fields(before: ColumnState, now: ColumnState) -> bool:
    """Whether a path inside a column stands for another field or none, or a field has got another path."""
    ids, paths = dict(before.inner), {number: path for path, number in before.inner}
    gone = ids.keys() - dict(now.inner).keys()
    return bool(gone) or any(
        ids.get(path, number) != number or paths.get(number, path) != path for path, number in now.inner
    )


def _differs(old: ColumnState, new: ColumnState | None) -> bool:
    return new is None or (old.name, old.type) != (new.name, new.type)
