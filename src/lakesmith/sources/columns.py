"""The columns of a table against those of a file: a pure match by name, never by position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lakesmith.errors import Problem
from lakesmith.project.definitions import Column, OnNewColumn
from lakesmith.sources.shape import FileShape


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that a file has and the table does not. ``type``: as the file says, None when it says nothing (CSV)."""

    name: str
    type: str | None


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """How a file's columns and the declared ones go together.

    ``present`` pairs each declared name with the file's spelling of it, in declared order; ``missing`` are declared and not
    in the file (null in its rows). ``new`` are to be added under ``on_new_column: evolve``; under ``ignore`` they are in
    ``ignored``, under ``fail`` in ``problems``. ``notes`` are for people.
    """

    present: tuple[tuple[str, str], ...]
    missing: tuple[str, ...] = ()
    new: tuple[NewColumn, ...] = ()
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


_NO_HEADER = (
    "it names none of the table's columns: if it has no header, write one into it, or leave it out"
    " (`lakesmith files TABLE --skip FILE`); if it has another delimiter, give such files a source of their own"
)


def match_columns(declared: Sequence[Column], shape: FileShape, policy: OnNewColumn) -> ColumnMatch:
    """Matches by name: spelt the same first, else the same but for case and surrounding spaces, with a note.

    A file of a format without column names (JSON, CSV without a header) has none here and is not to be matched. Raises
    nothing: LS431 a new column where none is allowed, LS432 new columns that differ from another in case only, and LS433 a
    required column that is missing, are in ``problems``.
    """
    spelt = _spellings(declared, shape)
    missing = tuple(column.name for column in declared if column.name not in spelt)
    taken = set(spelt.values())
    extra = [
        NewColumn(name, kind)
        for name, kind in zip(shape.columns, shape.types, strict=True)
        if name not in taken
    ]
    clashing = _clashing(extra, declared) if policy is OnNewColumn.EVOLVE else ()
    return ColumnMatch(
        present=tuple((column.name, spelt[column.name]) for column in declared if column.name in spelt),
        missing=missing,
        new=tuple(column for column in extra if column.name not in clashing)
        if policy is OnNewColumn.EVOLVE
        else (),
        ignored=tuple(column.name for column in extra) if policy is OnNewColumn.IGNORE else (),
        problems=(
            *_new_problem(extra, policy, strange=not spelt and bool(declared)),
            *_clash_problem(clashing),
            *_required_problem(declared, missing),
        ),
        notes=_notes(spelt, missing, extra, policy),
    )


def no_header_problem(match: ColumnMatch) -> tuple[Problem, ...]:
    """LS435 for a delimited file, let in by its source, whose first line names no column of the table: it has columns that all are new.

    Without a header its first row would be taken for one, and all others would be nulls.
    """
    names = [*(column.name for column in match.new), *match.ignored]
    if match.present or not match.missing or not names:
        return ()
    return (
        Problem(
            "LS435",
            "its first line names none of the table's columns",
            expected=f"a header with some of {_names(match.missing)}",
            found=_names(names),
            hint="write a header into it, or leave it out (`lakesmith files TABLE --skip FILE`); if it has another"
            " delimiter, give such files a source of their own; or declare its columns, if these are their names",
        ),
    )


def _spellings(declared: Sequence[Column], shape: FileShape) -> dict[str, str]:
    """Declared name -> the file's name for it. A column of the file is given away once, exact spellings first."""
    spelt = {column.name: column.name for column in declared if column.name in shape.columns}
    free: dict[str, list[str]] = defaultdict(list)
    for name in shape.columns:
        if name not in spelt:
            free[_folded(name)].append(name)
    for column in declared:
        earlier = free.get(_folded(column.renamed_from), []) if column.renamed_from else []
        candidates = free.get(_folded(column.name), []) or earlier
        if column.name not in spelt and candidates:
            spelt[column.name] = candidates.pop(0)
    return spelt


def _folded(name: str) -> str:
    return name.strip().casefold()


def _clashing(extra: Sequence[NewColumn], declared: Sequence[Column]) -> tuple[str, ...]:
    # Spark and Iceberg see two columns that differ in case only as one.
    seen = {_folded(column.name) for column in declared}
    clashing = []
    for column in extra:
        folded = _folded(column.name)
        if folded in seen:
            clashing.append(column.name)
        seen.add(folded)
    return tuple(clashing)


def _new_problem(
    extra: Sequence[NewColumn], policy: OnNewColumn, strange: bool = False
) -> tuple[Problem, ...]:
    if not extra or policy is not OnNewColumn.FAIL:
        return ()
    return (
        Problem(
            "LS431",
            f"{_columns(extra)} that the table does not have",
            expected="only declared columns (on_new_column: fail)",
            found=_names([column.name for column in extra]),
            hint=_NO_HEADER
            if strange
            else "add them to `columns`, or set `on_new_column: evolve` to add new columns as they come, "
            "or `on_new_column: ignore` to leave them out",
        ),
    )


def _clash_problem(clashing: Sequence[str]) -> tuple[Problem, ...]:
    if not clashing:
        return ()
    return (
        Problem(
            "LS432",
            "new columns differ from another column in case only",
            expected="names that differ in more than case",
            found=_names(clashing),
            hint="rename them in the files, or set `on_new_column: ignore`",
        ),
    )


def _required_problem(declared: Sequence[Column], missing: Sequence[str]) -> tuple[Problem, ...]:
    required = [column for column in declared if column.required and column.name in missing]
    if not required:
        return ()
    return (
        Problem(
            "LS433",
            "columns that are required are missing",
            required[0].place,
            expected=_names([column.name for column in required]),
            found="no such column",
            hint="put the column into the files, or drop `required` from it",
        ),
    )


def _notes(
    spelt: dict[str, str], missing: Sequence[str], extra: Sequence[NewColumn], policy: OnNewColumn
) -> tuple[str, ...]:
    notes = [f"column {ours} is read from {theirs!r}" for ours, theirs in spelt.items() if ours != theirs]
    if missing:
        notes.append(f"not in the files, null in their rows: {_names(missing)}")
    if extra and policy is OnNewColumn.IGNORE:
        notes.append(f"left out (on_new_column: ignore): {_names([column.name for column in extra])}")
    if extra and policy is OnNewColumn.EVOLVE:
        notes.append(f"new (on_new_column: evolve): {_names([column.name for column in extra])}")
    return tuple(notes)


def _columns(extra: Sequence[NewColumn]) -> str:
    return "a column" if len(extra) == 1 else f"{len(extra)} columns"


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)
