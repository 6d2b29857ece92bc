"""Matches the fields inside a table's columns with those inside a file's, by name.

A field of a struct is found under its own spelling, else under the only one that differs in case or in
composition (``sources.columns.names``): in the file's type or, for JSON, in the one object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from lakesmith.errors import Problem
from lakesmith.project.definitions import Column, OnNewColumn
from lakesmith.project.spark_types import SqlType, parse_type
from lakesmith.quoting import alike, quoted_if_odd
from lakesmith.sources.columns.names import Spellings, match_columns
from lakesmith.sources.shape import FileShape

FieldPath = tuple[str, ...]
"""The path of a field: its column, then the names that lead to it (also ``element``, ``key``, ``value``)."""

_SHOWN: Final = 20
_CAN_EVOLVE: Final = (
    "new fields (on_new_column: evolve) whose names differ from others in more than case, and not in the keys"
    " of a map"
)
_NOT_EVOLVED: Final = "rename them in the files, or set `on_new_column: ignore` to leave them out"
_NOT_DECLARED: Final = (
    "declare them in the column's type (present rows get null), or set `on_new_column: evolve` to add new"
    " fields as they come, or `on_new_column: ignore` to leave them out"
)


def paired(declared: SqlType, found: SqlType) -> dict[str, str]:
    """Maps declared parts to the file's names. Case-insensitive matches that are ambiguous are omitted."""
    theirs = [name for name, _ in found.parts]
    ours = [name for name, _ in declared.parts]
    pairs = {name: name for name in ours if name in theirs}
    for name in ours:
        like = [other for other in theirs if other not in pairs and alike(other) == alike(name)]
        if name not in pairs and len(like) == 1:
            pairs[name] = like[0]
    return pairs


def alike_fields(columns: Iterable[Column], unknown: Iterable[FieldPath]) -> dict[FieldPath, Spellings]:
    """Returns which of ``unknown`` are other spellings of the columns' fields, by field."""
    kinds = {column.name: parse_type(column.type or "string") for column in columns}
    found: dict[FieldPath, list[str]] = {}
    for path in unknown:
        beside = _at(kinds[path[0]], path[1:-1])
        for field in (name for name, _ in beside.parts if alike(name) == alike(path[-1])):
            found.setdefault((*path[:-1], field), []).append(path[-1])
    return {path: ((path[-1],), tuple(sorted(others))) for path, others in found.items()}


def _at(kind: SqlType, path: FieldPath) -> SqlType:
    return _at(dict(kind.parts)[path[0]], path[1:]) if path else kind


def typeless_note(names: Sequence[str]) -> str:
    return f"only nulls in the files so far, so they have no type; new once a file says one: {listed(names)}"


def compare_fields(
    declared: Sequence[Column], shape: FileShape
) -> tuple[dict[FieldPath, SqlType], tuple[FieldPath, ...]]:
    """Returns the fields that only the file has, with types, and those that only the declared types have.

    Columns that only one side has do not count, and neither does a field of another kind (a struct declared
    as string).
    """
    found = file_types(declared, shape)
    pairs = [
        (parse_type(column.type or ""), found[column.name], (column.name,))
        for column in declared
        if column.name in found
    ]
    unknown = {path: kind for pair in pairs for path, kind in _only_in_file(*pair)}
    return unknown, tuple(path for pair in pairs for path in _only_declared(*pair))


def file_types(declared: Sequence[Column], shape: FileShape) -> dict[str, SqlType]:
    """Returns the file's types of the declared columns, where they differ from the declared ones."""
    types = dict(zip(shape.columns, shape.types, strict=True))
    present = dict(match_columns(declared, shape, OnNewColumn.IGNORE).present)
    found = ((column, types.get(present.get(column.name, ""))) for column in declared)
    return {
        column.name: parse_type(theirs)
        for column, theirs in found
        if theirs and column.type and column.type != theirs
    }


def field_notes(unknown: Sequence[FieldPath], missing: Sequence[FieldPath]) -> tuple[str, ...]:
    """Returns notes on fields that are left out, and on fields that are not in the files."""
    notes = [f"not in the files, null in their rows: {_listed(missing)}"] if missing else []
    if unknown:
        notes.append(f"left out (on_new_column: ignore): {_listed(unknown)}")
    return tuple(notes)


def field_problem(columns: Sequence[Column], unknown: Sequence[FieldPath], policy: OnNewColumn) -> Problem:
    """Returns LS434 for new fields: that the policy refuses or, under ``evolve``, that cannot be added."""
    places = {column.name: column.place for column in columns}
    fields = "a field" if len(unknown) == 1 else f"{len(unknown)} fields"
    evolves = policy is OnNewColumn.EVOLVE
    return Problem(
        "LS434",
        f"{fields} inside a column that the table {'cannot get' if evolves else 'does not have'}",
        places.get(unknown[0][0]),
        expected=_CAN_EVOLVE if evolves else "only fields that the columns' types name (on_new_column: fail)",
        found=_listed(unknown),
        hint=_NOT_EVOLVED if evolves else _NOT_DECLARED,
    )


def dotted(path: FieldPath) -> str:
    """Returns a path as Spark SQL and Iceberg write it; names are quoted where necessary."""
    return ".".join(map(quoted_if_odd, path))


def listed(texts: Sequence[str]) -> str:
    """Joins the first few texts and the number of the others."""
    names = ", ".join(texts[:_SHOWN])
    return f"{names} and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else names


def _only_in_file(declared: SqlType, found: SqlType, path: FieldPath) -> Iterator[tuple[FieldPath, SqlType]]:
    if declared.outer != found.outer:
        return
    ours = {theirs: name for name, theirs in paired(declared, found).items()}
    for name, kind in found.parts:
        if name in ours:
            inner = dict(declared.parts)[ours[name]]
            yield from _only_in_file(inner, kind, (*path, ours[name]))
        else:
            yield (*path, name), kind


def _only_declared(declared: SqlType, found: SqlType, path: FieldPath) -> Iterator[FieldPath]:
    if declared.outer != found.outer:
        return
    pairs = paired(declared, found)
    for name, kind in declared.parts:
        if name in pairs:
            yield from _only_declared(kind, dict(found.parts)[pairs[name]], (*path, name))
        else:
            yield (*path, name)


def _listed(paths: Sequence[FieldPath]) -> str:
    return listed(list(map(dotted, paths)))
