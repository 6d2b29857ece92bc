"""What can be changed of a column's type in metadata alone: Iceberg's rules of schema evolution, and nothing of a lake.

Source: Iceberg table specification, "Schema Evolution": int to bigint, float to double, more digits for a decimal of the same
scale; fields may be added to structs, at any depth; the keys of a map stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from lakesmith.project.spark_types import SqlType, parse_type, precision_and_scale
from lakesmith.sources.fields import FieldPath, dotted

_WIDENINGS: Final = {("int", "bigint"), ("float", "double")}


@dataclass(frozen=True, slots=True)
class TypeChange:
    """One change inside a type. ``path`` leads to it; ``old`` is the type there, None where a field is to be added.

    An added field stands behind its sibling ``after``, or first.
    """

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
    """The changes, in the order to make them, that turn a column's type ``old`` into ``new``; None: new data is needed.

    Types are Spark SQL. Two spellings of one type have no changes between them.

    >>> [change.path for change in type_changes("struct<a:int>", "struct<a:bigint,b:date>", "s") or ()]
    [('s', 'a'), ('s', 'b')]
    """
    try:
        return tuple(_changes(parse_type(old), parse_type(new), (column,)))
    except _NeedsNewData:
        return None


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
    return len({field.casefold() for field in names}) < len(names)


def _plain(kind: SqlType) -> str:
    return kind.text.replace(" ", "").lower()


def _widens(old: str, new: str) -> bool:
    had, gets = precision_and_scale(old), precision_and_scale(new)
    if had and gets:
        return had[1] == gets[1] and gets[0] >= had[0]
    return (old, new) in _WIDENINGS
