"""Columns of typed files that Spark has no type for: refused where the table wants them, left out where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import Column, OnNewColumn, Source, TableName
from lakesmith.sources.columns.names import match_columns
from lakesmith.sources.headers import ShapeGroup
from lakesmith.sources.names import printable

_SHOWN = 20
_LONGEST = 200


def require_readable(
    table: TableName, source: Source, groups: Sequence[ShapeGroup], columns: Sequence[Column]
) -> None:
    """Raises SourceError LS436 for each column that the table wants of a file and that cannot be read.

    ``columns`` are those the table has; none: all of the files' are wanted. So are new ones that the source lets in.
    """
    problems = [
        _problem(table, source, group, unreadable, ours.get(unreadable[0]))
        for group in groups
        if group.shape.unreadable and not group.shape.empty
        for ours in [_ours(group, columns)]
        for unreadable in group.shape.unreadable
        if not columns or unreadable[0] in ours or source.on_new_column is OnNewColumn.EVOLVE
    ]
    if problems:
        raise SourceError(problems[:_SHOWN])


def without_unreadable(group: ShapeGroup) -> ShapeGroup:
    """The group as if its files did not have the columns that cannot be read."""
    left_out = {name for name, _ in group.shape.unreadable}
    if not left_out:
        return group
    pairs = zip(group.shape.columns, group.shape.types, strict=True)
    kept = [(name, kind) for name, kind in pairs if name not in left_out]
    names, kinds = tuple(name for name, _ in kept), tuple(kind for _, kind in kept)
    return replace(group, shape=replace(group.shape, columns=names, types=kinds, unreadable=()))


def _ours(group: ShapeGroup, columns: Sequence[Column]) -> dict[str, Column]:
    """The table's columns, by what the group's files call them."""
    by_name = {column.name: column for column in columns}
    match = match_columns(columns, group.shape, OnNewColumn.IGNORE)
    return {theirs: by_name[ours] for ours, theirs in match.present}


def _problem(
    table: TableName, source: Source, group: ShapeGroup, unreadable: tuple[str, str], ours: Column | None
) -> Problem:
    name, kind = unreadable
    path = printable(group.files[0].path)
    more = f" and {len(group.files) - 1} more files" if len(group.files) > 1 else ""
    return Problem(
        "LS436",
        f"source {source.name!r}: {path}{more}: column {name} cannot be read",
        (ours.place if ours else None) or source.place,
        expected="a type that Spark can read",
        found=kind[:_LONGEST],
        hint=f"have it written as another type, or leave it out (declare the columns, without it, and `on_new_column: ignore`); "
        f"or `lakesmith files {table} --skip {path}` leaves this file out",
    )
