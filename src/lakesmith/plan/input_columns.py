"""What a table's query makes of columns that have changed since it was last refreshed.

Rows that were read before are not read again, so a query that does more with a column than pass it on would have given them
something else: ``to_json(struct(*))`` knows of a new column, ``CAST(amount AS string)`` of a wider one. Columns that are only
passed on take part in their input's evolution without a rebuild.
"""

from __future__ import annotations

from collections.abc import Sequence

from lakesmith.catalog.state import ColumnState
from lakesmith.graph.sql_computed import WHOLE_ROW
from lakesmith.project.definitions import TableDefinition


def columns_that_count(
    table: TableDefinition,
    computed: Sequence[str] | None,
    before: Sequence[ColumnState],
    now: Sequence[ColumnState],
) -> tuple[str, ...]:
    """The columns that are new, gone or of another type, and make a difference to rows that were read before.

    ``computed``: what the query does more with than pass on (``*``: all columns there are); None: anything.
    """
    old = {column.field_id: column for column in before}
    new = {column.field_id: column for column in now}
    added = [column.name for key, column in new.items() if key not in old]
    changed = [column.name for key, column in old.items() if _differs(column, new.get(key))]
    if computed is None:
        return (*changed, *added)
    # Rules and deletes judge a row by the values of its columns, under whatever name the query gave them.
    judged = bool(table.checks or table.delete_when)
    whole = WHOLE_ROW in computed
    counting = [name for name in changed if judged or whole or name.lower() in computed]
    return (*counting, *(added if whole else ()))


def _differs(old: ColumnState, new: ColumnState | None) -> bool:
    return new is None or (old.name, old.type) != (new.name, new.type)
