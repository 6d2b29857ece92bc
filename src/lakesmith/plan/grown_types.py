"""Types of columns that grow: with the fields that files bring (``on_new_column: evolve``), and that a table has got by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakesmith.plan.widening import type_changes
from lakesmith.project.spark_types import SqlType, composed, parse_type
from lakesmith.sources.fields import paired
from lakesmith.sources.shape import NANOS

_Parts = list[tuple[str, SqlType]]

_IN_A_TABLE: Final = {"tinyint": "int", "smallint": "int", "void": "string", **NANOS}
"""Types that files have and a table has not."""


def grown(ours: SqlType, theirs: SqlType, base: SqlType | None) -> SqlType:
    """``ours`` with the fields, at any depth, that only ``theirs`` has, each behind its struct's others.

    ``base``: what of ``ours`` was there before the batch, and keeps its type; None: nothing. What the batch brings takes the wider
    of two types where one widens to the other, else it keeps the first that is one (``is_typeless``). Left out is what no table can
    hold: a field whose name is blank or differs from another in case only, fields in the keys of maps, and fields without a type.
    """
    return _united(ours, theirs, base, last=True)


def common_type(one: str, other: str) -> str:
    """The type of a column that is new, and of one type in some files and of the other in others: see ``grown``."""
    return grown(parse_type(one), parse_type(other), None).text


def remembered(declared: str, there: str) -> str:
    """The declared type of a column with the fields besides that the table has in it, each behind the one it follows there."""
    ours = parse_type(declared)
    return _united(ours, parse_type(there), ours, last=False).text


def widened(ours: SqlType, theirs: SqlType) -> SqlType:
    """``ours``, of the same fields, with each type in it as wide as ``theirs`` where metadata alone can make it that."""
    if not ours.outer or ours.outer != theirs.outer:
        is_nested = ours.outer or theirs.outer
        return ours if is_nested or not type_changes(ours.text, theirs.text) else theirs
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
    """The type with these parts; as it was written where they are its own."""
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
    names = [name.casefold(), *(other.casefold() for other, _ in beside)]
    unlike = bool(name.strip()) and len(set(names)) == len(names)
    return unlike and not kind.is_typeless and _can_be_added(kind)


def _can_be_added(kind: SqlType) -> bool:
    names = [name.casefold() for name, _ in kind.parts]
    unlike = all(map(str.strip, names)) and len(set(names)) == len(names)
    return unlike and all(_can_be_added(part) for _, part in kind.parts)


def table_type(found: str) -> str:
    """The type of a column that is new, as a table has it: without the fields in it that have no type; a text, which holds any value,
    where it has no type itself."""
    return _in_a_table(parse_type(found)).text


def stored_type(kind: SqlType) -> SqlType:
    """The type a table has for values of a query's type: it knows neither small whole numbers nor collations."""
    return kind if kind.text == "void" else _in_a_table(kind)


def _in_a_table(kind: SqlType) -> SqlType:
    if kind.outer == "struct" and not kind.parts:
        return SqlType(text="string")
    if kind.outer:
        typed = [(name, part) for name, part in kind.parts if kind.outer != "struct" or not part.is_typeless]
        return _with(kind, [(name, _in_a_table(part)) for name, part in typed or kind.parts])
    plain = kind.text.partition(" collate ")[0]
    instead = _IN_A_TABLE.get(plain.lower(), plain)
    return kind if instead == kind.text else SqlType(text=instead)


def _wider(one: SqlType, other: SqlType) -> SqlType:
    if one.is_typeless or other.is_typeless:
        return other if one.is_typeless else one
    return _in_a_table(other if type_changes(one.text, other.text) else one)
