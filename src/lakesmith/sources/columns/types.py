"""Types of columns: what Iceberg changes in metadata alone, and how types grow with what files bring.

Source: Iceberg table specification, "Schema Evolution": int to bigint, float to double, more digits for a
decimal of the same scale; fields may be added to structs, at any depth; the keys of a map do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.project.definitions import ADDED_COLUMNS, Column, TableDefinition
from lakesmith.project.spark_types import MAX_PRECISION, SqlType, composed, parse_type, precision_and_scale
from lakesmith.quoting import alike
from lakesmith.sources.columns.fields import FieldPath, dotted, paired
from lakesmith.sources.file_types import usual_type

_WIDENINGS: Final = {("int", "bigint"), ("float", "double")}


@dataclass(frozen=True, slots=True)
class TypeChange:
    """A change at ``path`` inside a type. ``old`` is None for a field to add, behind ``after``."""

    path: FieldPath
    old: str | None
    new: str
    after: str | None = None

    def __str__(self) -> str:
        kind = "column" if len(self.path) == 1 else "field"
        if self.old is None:
            return f"{kind} {dotted(self.path)} {self.new} was added"
        return f"{kind} {dotted(self.path)} was widened from {self.old} to {self.new}"


class _NeedsNewData(Exception):
    """A change that metadata alone cannot make."""


def type_changes(old: str, new: str, column: str = "") -> tuple[TypeChange, ...] | None:
    """Returns the changes that turn a column's type ``old`` into ``new``; None if new data is needed.

    The types are Spark SQL. Two spellings of one type have no changes between them.

    >>> [change.path for change in type_changes("struct<a:int>", "struct<a:bigint,b:date>", "s") or ()]
    [('s', 'a'), ('s', 'b')]
    """
    try:
        return tuple(_changes(parse_type(old), parse_type(new), (column,)))
    except _NeedsNewData:
        return None


def column_changes(
    there: Iterable[ColumnState], wanted: Iterable[Column]
) -> list[tuple[Column, tuple[TypeChange, ...] | None]]:
    """Returns the wanted columns that a table lacks or has otherwise, each with its changes.

    The changes are None if the column would need new data.
    """
    types = {column.name.lower(): column.type for column in there}
    found: list[tuple[Column, tuple[TypeChange, ...] | None]] = []
    for column in wanted:
        old, new = types.get(column.name.lower()), column.type
        if old is None:
            found.append((column, (TypeChange((column.name,), None, new or ""),)))
        elif new and new != old and (changes := type_changes(old, new, column.name)) != ():
            found.append((column, changes))
    return found


def known_columns(table: TableDefinition, there: TableState | None) -> tuple[Column, ...]:
    """Returns the declared columns, then those that the table has besides (inferred once, or added since).

    The types of declared columns have the fields that the table has got in them.
    """
    present = {column.name.lower(): column for column in (there.columns if there else ())}
    declared = [_with_remembered(column, present.pop(column.name.lower(), None)) for column in table.columns]
    besides = (column for column in present.values() if column.name not in ADDED_COLUMNS)
    return (*declared, *(Column(column.name, column.type, is_inferred=True) for column in besides))


def _with_remembered(column: Column, there: ColumnState | None) -> Column:
    if there is None or column.type is None or "<" not in column.type:
        return column
    kind = remembered(column.type, there.type)
    return replace(column, type=kind, is_inferred=kind != column.type)


def _changes(old: SqlType, new: SqlType, path: FieldPath) -> Iterator[TypeChange]:
    if old.outer != new.outer:
        raise _NeedsNewData
    if old.outer == "struct":
        yield from _of_struct(old, new, path)
    elif old.outer:
        for (part, was), (_, becomes) in zip(old.parts, new.parts, strict=True):
            inside = tuple(_changes(was, becomes, (*path, part)))
            if inside and part == "key":
                raise _NeedsNewData
            yield from inside
    elif _plain(old) != _plain(new):
        if not _widens(_plain(old), _plain(new)):
            raise _NeedsNewData
        yield TypeChange(path, old.text, new.text)


def _of_struct(old: SqlType, new: SqlType, path: FieldPath) -> Iterator[TypeChange]:
    there, names = dict(old.parts), [field for field, _ in new.parts]
    if [field for field in names if field in there] != list(there) or _clash(names):
        raise _NeedsNewData  # a field is gone, has moved, or is spelt otherwise
    for before, (field, kind) in zip((None, *names), new.parts, strict=False):
        if field in there:
            yield from _changes(there[field], kind, (*path, field))
        else:
            yield TypeChange((*path, field), None, kind.text, before)


def _clash(names: Sequence[str]) -> bool:
    return len(set(map(alike, names))) < len(names)


def _plain(kind: SqlType) -> str:
    return usual_type(kind).text.replace(" ", "").lower()


def _widens(old: str, new: str) -> bool:
    had, gets = precision_and_scale(old), precision_and_scale(new)
    if had and gets:
        return had[1] == gets[1] and gets[0] >= had[0]
    return (old, new) in _WIDENINGS


_Parts = list[tuple[str, SqlType]]

_IN_A_TABLE: Final = {"tinyint": "int", "smallint": "int", "void": "string"}
"""Types that files have and a table has not."""


def grown(ours: SqlType, theirs: SqlType, base: SqlType | None) -> SqlType:
    """Returns ``ours`` with the fields, at any depth, that only ``theirs`` has, behind the others of a
    struct.

    ``base`` is the part of ``ours`` that the table has: it keeps its types; None: nothing. New fields get the
    wider of two types, or the decimal that holds both; else the first type. Omitted are fields that no table
    can hold: with a blank name or one that differs from another in case only, in the keys of maps, or without
    a type.
    """
    return _united(ours, theirs, base, last=True)


def common_type(one: str, other: str) -> str:
    """Returns the type of a new column that has two types in two files (as ``grown``)."""
    return one if one == other else grown(parse_type(one), parse_type(other), None).text


def remembered(declared: str, there: str) -> str:
    """Returns a declared type with the table's additional fields, each behind its predecessor there."""
    ours = parse_type(declared)
    return _united(ours, parse_type(there), ours, last=False).text


def widened(ours: SqlType, theirs: SqlType) -> SqlType:
    """Returns ``ours`` with each type in it as wide as in ``theirs``, where metadata alone can widen it."""
    if not ours.outer or ours.outer != theirs.outer:
        is_nested = ours.outer or theirs.outer
        return ours if is_nested or not type_changes(ours.text, theirs.text) else usual_type(theirs)
    pairs = paired(ours, theirs) if ours.outer == "struct" else {part: part for part, _ in ours.parts}
    kinds, fixed = dict(theirs.parts), "key" if ours.outer == "map" else None
    return _with(
        ours,
        [
            (part, widened(kind, kinds[pairs[part]]) if part in pairs and part != fixed else kind)
            for part, kind in ours.parts
        ],
    )


def _united(ours: SqlType, theirs: SqlType, base: SqlType | None, *, last: bool) -> SqlType:
    if not ours.outer or ours.outer != theirs.outer:
        return ours if base else _wider(ours, theirs)
    if ours.outer == "struct":
        return _with(ours, _fields(ours, theirs, base, last=last))
    *key, (part, inner) = ours.parts
    value = _united(inner, theirs.parts[-1][1], base.parts[-1][1] if base else None, last=last)
    return _with(ours, [*key, (part, value)])


def _with(kind: SqlType, parts: _Parts) -> SqlType:
    """``kind`` with these parts; unchanged if they are its own."""
    own = len(parts) == len(kind.parts) and all(
        one is other for (_, one), (_, other) in zip(parts, kind.parts, strict=True)
    )
    return kind if own else composed(kind.outer, parts)


def _fields(ours: SqlType, theirs: SqlType, base: SqlType | None, *, last: bool) -> _Parts:
    pairs, kinds, before = paired(ours, theirs), dict(theirs.parts), dict(base.parts if base else ())
    fields = [
        (name, _united(kind, kinds[pairs[name]], before.get(name), last=last) if name in pairs else kind)
        for name, kind in ours.parts
    ]
    mine, place = {there: name for name, there in pairs.items()}, 0
    for name, kind in theirs.parts:
        if name in mine:
            place = [field for field, _ in fields].index(mine[name]) + 1
        elif _fits_in(name, kind, fields):
            place = len(fields) if last else place
            fields.insert(place, (name, _in_a_table(kind)))
            place += 1
    return fields


def _fits_in(name: str, kind: SqlType, beside: Sequence[tuple[str, SqlType]]) -> bool:
    names = [alike(name), *(alike(other) for other, _ in beside)]
    unlike = bool(name.strip()) and len(set(names)) == len(names)
    return unlike and not kind.is_typeless and _can_be_added(kind)


def _can_be_added(kind: SqlType) -> bool:
    names = [alike(name) for name, _ in kind.parts]
    unlike = all(map(str.strip, names)) and len(set(names)) == len(names)
    return unlike and all(_can_be_added(part) for _, part in kind.parts)


def table_type(found: str) -> str:
    """Returns the type that a table gets for a file's type: without fields of no type; string for void."""
    return _in_a_table(parse_type(found)).text


def stored_type(kind: SqlType) -> SqlType:
    """Returns the type that a table gets for a query's type: without small integers and collations."""
    return kind if kind.text == "void" else _in_a_table(kind)


def _in_a_table(kind: SqlType) -> SqlType:
    if kind.outer == "struct" and not kind.parts:
        return SqlType(text="string")
    if kind.outer:
        typed = [(name, part) for name, part in kind.parts if kind.outer != "struct" or not part.is_typeless]
        return _with(kind, [(name, _in_a_table(part)) for name, part in typed or kind.parts])
    plain = usual_type(kind).text.partition(" collate ")[0]
    instead = _IN_A_TABLE.get(plain.lower(), plain)
    return kind if instead == kind.text else SqlType(text=instead)


def _wider(one: SqlType, other: SqlType) -> SqlType:
    if one.is_typeless or other.is_typeless:
        return other if one.is_typeless else one
    one, other = usual_type(one), usual_type(other)
    if type_changes(one.text, other.text):
        return _in_a_table(other)
    return _decimal_of_both(one, other) or _in_a_table(one)


def _decimal_of_both(one: SqlType, other: SqlType) -> SqlType | None:
    """The smallest decimal that holds the values of two decimals; None if no decimal does."""
    first, second = precision_and_scale(one.text), precision_and_scale(other.text)
    if not first or not second:
        return None
    scale = max(first[1], second[1])
    precision = scale + max(first[0] - first[1], second[0] - second[1])
    return SqlType(text=f"decimal({precision},{scale})") if precision <= MAX_PRECISION else None
