"""Names that a table cannot have: those that are reserved, and those that Iceberg cannot tell apart.

Iceberg knows a field by one text, its path with dots between the names. So a column ``log.level`` and the
field ``level`` of a column ``log`` are one to it, as are a column ``tags.element`` and the elements of
``tags``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lakesmith.project.spark_types import SqlType
from lakesmith.quoting import OWN_PREFIX, quoted_if_odd

Path = tuple[str, ...]


def is_own(name: str) -> bool:
    """Returns whether a name is kept for lakesmith's own columns and fields, in any case."""
    return name.lower().startswith(OWN_PREFIX)


def own_fields(columns: Iterable[tuple[str, SqlType]]) -> list[Path]:
    """Returns the fields inside columns that have a name of lakesmith's own."""
    return [path for path in _paths(columns) if len(path) > 1 and is_own(path[-1])]


def first_clash(columns: Iterable[tuple[str, SqlType]]) -> tuple[Path, Path] | None:
    """Returns two columns or fields that Iceberg cannot tell apart; None if there are none.

    >>> first_clash([("a.b", SqlType()), ("a", SqlType("struct", (("b", SqlType()),)))])
    (('a.b',), ('a', 'b'))
    """
    seen: dict[str, Path] = {}
    for path in _paths(columns):
        other = seen.setdefault(".".join(path).lower(), path)
        if len(other) != len(path) or [*map(str.lower, other)] != [*map(str.lower, path)]:
            return other, path
    return None


def clash_text(clash: tuple[Path, Path]) -> str:
    """Returns the two in words."""
    return " and ".join(map(_in_words, clash))


def way_out(clash: tuple[Path, Path], types: Iterable[tuple[str, SqlType]]) -> str:
    """Returns what to declare of a source whose files have such names."""
    column = min(clash, key=len)
    if len(column) > 1:
        return f"declare the column {column[0]} as string, and take it apart in a query (from_json)"
    name = column[0]
    kind = dict(types)[name].text
    declared = f"columns: {{{name.replace('.', '_')}: {{type: {kind!r}, renamed_from: {name!r}}}}}"
    return f"give one another name, as `{declared}` does; `on_new_column: evolve` adds the other columns"


def _in_words(path: Path) -> str:
    if len(path) == 1:
        return f"the column {quoted_if_odd(path[0])}"
    return f"the part {'.'.join(map(quoted_if_odd, path[1:]))} of the column {quoted_if_odd(path[0])}"


def _paths(columns: Iterable[tuple[str, SqlType]]) -> Iterator[Path]:
    for name, kind in columns:
        yield (name,)
        yield from ((name, *path) for path in _paths(kind.parts))
