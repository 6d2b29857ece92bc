"""Compares expected rows with found ones: missing rows, unexpected ones, and those that differ in columns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lakesmith.errors import did_you_mean
from lakesmith.stories.model import Rows
from lakesmith.stories.values import WrongValue, comparable, found_value, shown, typed

if TYPE_CHECKING:
    import pyarrow as pa

Values = tuple[Any, ...]

_MOST_PAIRED: Final = 300
"""Of more rows that differ, those that belong together are not looked for without a key."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value that differs. ``type``: that of the column."""

    column: str
    expected: Any
    found: Any
    type: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A row that is there with other values. ``known_by``: the values that say which row it is."""

    known_by: tuple[tuple[str, Any], ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """How found rows differ from expected ones. ``columns`` are those of ``missing`` and ``unexpected``;
    ``wrong``: what makes the expectation one that no table can meet."""

    columns: tuple[str, ...] = ()
    missing: tuple[Values, ...] = ()
    unexpected: tuple[Values, ...] = ()
    changed: tuple[Changed, ...] = ()
    wrong: tuple[str, ...] = ()
    hints: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected or self.changed or self.wrong)


def differences(expected: Rows, found: pa.Table, key: Sequence[str] = ()) -> Differences:
    """Compares the rows of a table with those that are expected, whatever their order.

    Args:
        found: all columns of the table.
        key: the columns by which rows that differ are put together.
    """
    names = {name.lower(): name for name in found.column_names}
    if unknown := [name for name in expected.columns if name.lower() not in names]:
        hints = (did_you_mean(name, found.column_names) for name in unknown)
        what = tuple(
            f"there is no column {name}" + (f": {hint}" if hint else "")
            for name, hint in zip(unknown, hints, strict=True)
        )
        return Differences(wrong=what, hints=(f"its columns are {', '.join(found.column_names)}",))
    columns = tuple(names[name.lower()] for name in expected.columns)
    types = [found.schema.field(name).type for name in columns]
    wrong, wanted = list[str](), list[Values]()
    for row in expected.rows:
        values = []
        for name, value, type_ in zip(columns, row, types, strict=True):
            try:
                values.append(typed(value, type_, expected.texts))
            except WrongValue as error:
                wrong.append(f"column {name} is {type_}: {error}")
        wanted.append(tuple(values))
    if wrong:
        return Differences(wrong=tuple(dict.fromkeys(wrong)))
    there = [found.column(name).to_pylist() for name in columns]
    rows = [tuple(map(found_value, row)) for row in zip(*there, strict=True)] if columns else []
    if not columns:
        rows = [tuple(map(found_value, row.values())) for row in found.to_pylist()]
        columns = tuple(found.column_names)
        types = [found.schema.field(name).type for name in columns]
    missing, unexpected = _unmatched(wanted, rows, _floats(types), expected.tolerance)
    known = [at for at, name in enumerate(columns) if name in key] if set(key) <= set(columns) else []
    return _paired(columns, [str(each) for each in types], (missing, unexpected), known)


def _floats(types: Sequence[Any]) -> list[int]:
    import pyarrow.types as pt

    return [at for at, type_ in enumerate(types) if pt.is_floating(type_)]


def _unmatched(
    wanted: Sequence[Values], rows: Sequence[Values], floats: Sequence[int], tolerance: float
) -> tuple[list[Values], list[Values]]:
    """The rows of either side that have no equal on the other, each counted as often as it is there."""
    apart: dict[Hashable, tuple[list[Values], list[Values]]] = defaultdict(lambda: ([], []))
    for side, each in enumerate((wanted, rows)):
        for row in each:
            exact = tuple(comparable(value) for at, value in enumerate(row) if at not in floats)
            apart[exact][side].append(row)
    missing, unexpected = list[Values](), list[Values]()
    for here, there in apart.values():
        left = list(there)
        for row in here:
            match = next(
                (at for at, other in enumerate(left) if _is_close(row, other, floats, tolerance)), None
            )
            if match is None:
                missing.append(row)
            else:
                left.pop(match)
        unexpected += left
    return missing, unexpected


def _is_close(row: Values, other: Values, floats: Sequence[int], tolerance: float) -> bool:
    return all(
        comparable(row[at]) == comparable(other[at])
        or (
            row[at] is not None
            and other[at] is not None
            and math.isclose(row[at], other[at], rel_tol=tolerance, abs_tol=0.0)
        )
        for at in floats
    )


def _paired(
    columns: tuple[str, ...],
    types: Sequence[str],
    sides: tuple[list[Values], list[Values]],
    key: Sequence[int],
) -> Differences:
    missing, unexpected = map(list, sides)
    changed = []
    for row, other in _pairs(missing, unexpected, key):
        missing.remove(row)
        unexpected.remove(other)
        differ = [at for at in range(len(columns)) if comparable(row[at]) != comparable(other[at])]
        known_by = key or [at for at in range(len(columns)) if at not in differ]
        changed.append(
            Changed(
                tuple((columns[at], other[at]) for at in known_by),
                tuple(Cell(columns[at], row[at], other[at], types[at]) for at in differ),
            )
        )
    return Differences(columns, tuple(missing), tuple(unexpected), tuple(changed))


def _pairs(
    missing: Sequence[Values], unexpected: Sequence[Values], key: Sequence[int]
) -> Iterator[tuple[Values, Values]]:
    """Yields missing rows with unexpected ones that are meant to be the same: of one key, or without a key
    those of most equal values, of which at least half are equal."""
    left = list(unexpected)
    if key:
        by_key = defaultdict(list)
        for row in left:
            by_key[tuple(comparable(row[at]) for at in key)].append(row)
        for row in missing:
            if others := by_key[tuple(comparable(row[at]) for at in key)]:
                yield row, others.pop(0)
    elif max(len(missing), len(left)) <= _MOST_PAIRED:
        for row in missing:
            same = [
                sum(comparable(a) == comparable(b) for a, b in zip(row, other, strict=True)) for other in left
            ]
            best = max(range(len(left)), key=same.__getitem__, default=None)
            if best is not None and 2 * same[best] >= len(row) and same[best]:
                yield row, left.pop(best)


def lines_of(found: Differences, most: int = 20) -> Iterator[str]:
    """The differences as lines for a person; of very many only the first."""
    yield from (*found.wrong, *found.hints)
    for each in found.changed[:most]:
        known = ", ".join(f"{name} {shown(value)}" for name, value in each.known_by)
        for cell in each.cells:
            values = f"{shown(cell.found)}, expected {shown(cell.expected)}"
            yield f"~ {known}: {cell.column} is {values} ({cell.type})"
    for sign, rows in (("- missing", found.missing), ("+ unexpected", found.unexpected)):
        for row in rows[:most]:
            values = ", ".join(
                f"{name} {shown(value)}" for name, value in zip(found.columns, row, strict=True)
            )
            yield f"{sign}: {values}"
    left = sum(max(0, len(each) - most) for each in (found.changed, found.missing, found.unexpected))
    if left:
        yield f"and {left:,} more"
