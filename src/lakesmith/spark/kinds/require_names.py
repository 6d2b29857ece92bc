"""Refuses the columns of a batch that a table cannot have."""

from __future__ import annotations

from collections.abc import Sequence

from lakesmith.errors import RunError
from lakesmith.project.definitions import TableDefinition, is_taken
from lakesmith.project.free_names import clash_text, first_clash, own_fields, way_out
from lakesmith.project.spark_types import SqlType

_RENAME = "rename it in the query, or in the files and declare the columns to take"


def require_free_names(
    table: TableDefinition, columns: Sequence[tuple[str, SqlType]], added: Sequence[str] = ()
) -> None:
    """Raises RunError LS624 if a table cannot have a column or field of one of these names, or ``added``."""
    names = [name for name, _ in columns]
    for name in names:
        alike = [each for each in names if each.lower() == name.lower()]
        if len(alike) > 1:
            what = f"the columns {' and '.join(alike)}: names of columns are compared without case"
            raise _refused(table, what, name)
        if is_taken(name) or name.lower() in added:
            raise _refused(table, f"a column {name}: the name is lakesmith's or Iceberg's own", name)
    for column, *_, field in own_fields(columns):
        raise _refused(table, f"a field {field} in the column {column}: the name is lakesmith's own", field)
    if clash := first_clash(columns):
        hint = "give one of them another name in the query" if table.query else way_out(clash, columns)
        what = f"both {clash_text(clash)}: to Iceberg they have one name"
        raise _refused(table, what, ".".join(clash[0]), hint)


def _refused(table: TableDefinition, what: str, found: str, hint: str = _RENAME) -> RunError:
    return RunError.of(
        "LS624",
        f"{table.name} cannot have {what}",
        place=table.query.place if table.query else table.place,
        expected="a column of another name",
        found=found,
        hint=hint,
    )
