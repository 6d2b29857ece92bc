"""How changed columns of an input affect a table's query.

Rows read before are not read again. A query that computes with a column would give them other values now:
``to_json(struct(*))`` depends on new columns and their order, ``CAST(amount AS string)`` on a wider type.
Columns that are only passed on follow their input without a rebuild, unless the name means another column
now: it was dropped and added again, another column was renamed to it, or the query used the name for
something else until the column was added.
"""

from collections.abc import Sequence

from lakesmith.catalog.state import ColumnState
from lakesmith.plan.facts import Query
from lakesmith.project.definitions import TableDefinition
from lakesmith.sql.used_columns import WHOLE_ROW


def columns_that_count(
    table: TableDefinition, query: Query, before: Sequence[ColumnState], now: Sequence[ColumnState]
) -> tuple[str, ...]:
    """Returns the columns that are new, gone, retyped or moved, and affect rows that were read before."""
    old = {column.field_id: column for column in before}
    new = {column.field_id: column for column in now}
    added = [column.name for key, column in new.items() if key not in old]
    changed = [column.name for key, column in old.items() if _differs(column, new.get(key))]
    others, moved = _of_another_column(before, now), _moved(before, now)
    computed, named = query.computed, query.named
    if computed is None or named is None:
        return tuple(dict.fromkeys((*changed, *added, *others, *moved)))
    whole, uses = WHOLE_ROW in computed, {*computed, *named}
    # Rules and deletes use values of columns under any name that the query gives them.
    if table.checks or table.delete_when:
        computed = named
    counting = [name for name in changed if WHOLE_ROW in computed or name.lower() in computed]
    coming = [name for name in added if whole or name.lower() in named]
    # Versions of a key are compared by columns that are passed on, too.
    going = [column.name for key, column in old.items() if key not in new and table.key]
    # The earlier names of renamed columns.
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
    named = {kind: [name for name in names if name in of] for kind, of in kinds.items()}
    words = (
        ("new", "a new column", "new columns"),
        ("lost", "lost a column", "lost columns"),
        ("other", "a changed column", "changed columns"),
    )
    return " and ".join(
        f"{one if len(named[kind]) == 1 else several}: {', '.join(named[kind])}"
        for kind, one, several in words
        if named[kind]
    )


def _moved(before: Sequence[ColumnState], now: Sequence[ColumnState]) -> list[str]:
    """Returns the columns in another position among those that remain."""
    ids = {column.field_id for column in before} & {column.field_id for column in now}
    was, there = ([column for column in columns if column.field_id in ids] for columns in (before, now))
    return [new.name for old, new in zip(was, there, strict=True) if old.field_id != new.field_id]


def _of_another_column(before: Sequence[ColumnState], now: Sequence[ColumnState]) -> list[str]:
    """Returns the names that mean another column now: their values differ in unchanged rows.

    So do values of a new column with a default, and of a column in which a field changed that way.
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
    """Whether a path inside a column names another field or none, or a field has another path."""
    ids, paths = dict(before.inner), {number: path for path, number in before.inner}
    gone = ids.keys() - dict(now.inner).keys()
    return bool(gone) or any(
        ids.get(path, number) != number or paths.get(number, path) != path for path, number in now.inner
    )


def _differs(old: ColumnState, new: ColumnState | None) -> bool:
    return new is None or (old.name, old.type) != (new.name, new.type)
