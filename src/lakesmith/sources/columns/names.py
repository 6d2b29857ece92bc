"""Matches the columns of a table with those of a file, by name and never by position.

One rule holds for a file and for a record that names its own columns (JSON). A column is found under its own
name, else under the only name that is alike: it differs in case, surrounding spaces or composition (``ö`` is
one character, or an o and an accent). Else, by the same rule, it is found under an earlier name
(``renamed_from``, an alias). Other files and records make no difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lakesmith.errors import Problem
from lakesmith.project.definitions import Column, OnNewColumn
from lakesmith.project.spark_types import parse_type
from lakesmith.quoting import alike, told_apart
from lakesmith.sources.shape import FileShape


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that a file has and the table does not. ``type`` is the file's, None for CSV."""

    name: str
    type: str | None


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """A file's columns matched with the declared ones.

    ``present`` pairs each declared name with the file's spelling, in declared order; for records, with each
    of their spellings, better ones first. ``missing`` are declared and not in the file (null in its rows).
    New columns are in ``new`` under ``on_new_column: evolve``, in ``ignored`` under ``ignore``, in
    ``problems`` under ``fail``. ``typeless`` are new columns that are added once a file says their type.
    """

    present: tuple[tuple[str, str], ...]
    missing: tuple[str, ...] = ()
    new: tuple[NewColumn, ...] = ()
    typeless: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


Spellings = tuple[tuple[str, ...], ...]
"""The names under which one column is found, better ones first. A record may have one name of each tuple."""

_NO_HEADER = (
    "it names none of the table's columns: if it has no header, write one into it, or leave it out"
    " (`lakesmith files TABLE --skip FILE`); if other lines come before its header, set `skip_lines`; if it"
    " has another delimiter, give such files a source of their own"
)


def match_columns(declared: Sequence[Column], shape: FileShape, policy: OnNewColumn) -> ColumnMatch:
    """Matches the columns of a file, or the keys of records, with the declared columns.

    ``problems`` has LS431 for a new column where none is allowed, LS432 for columns that are alike, and
    LS433 for a missing required column. A file without column names (CSV without a header) is not
    matched.
    """
    found = spellings(declared, shape.columns)
    present, extra_names, rivals = _chosen(found, shape)
    in_path = path_columns(declared, shape)
    missing = tuple(it.name for it in declared if it.name not in found and it.name not in in_path)
    extra = [
        NewColumn(name, kind)
        for name, kind in zip(shape.columns, shape.types, strict=True)
        if name in extra_names
    ]
    typeless = [it.name for it in extra if it.type and parse_type(it.type).is_typeless]
    if policy is OnNewColumn.EVOLVE:
        extra = [column for column in extra if column.name not in typeless]
    beside = (*(column.name for column in declared), *shape.columns)
    clashing = _too_alike(extra, declared) if policy is OnNewColumn.EVOLVE else ()
    return ColumnMatch(
        present=present,
        missing=missing,
        new=tuple(column for column in extra if column.name not in clashing)
        if policy is OnNewColumn.EVOLVE
        else (),
        typeless=tuple(typeless) if policy is OnNewColumn.EVOLVE else (),
        ignored=tuple(column.name for column in extra) if policy is OnNewColumn.IGNORE else (),
        problems=(
            *_new_problem(extra, policy, beside, strange=not found and bool(declared)),
            *_clash_problem(
                [*(name for name in clashing if _is_beside_another(name, shape)), *rivals], beside
            ),
            *_required_problem(declared, missing),
        ),
        notes=(
            *_missing_notes([column for column in declared if column.name in missing]),
            *_absent_notes([ours for ours, theirs in present if theirs in shape.absent]),
            *_in_both_notes([name for name in in_path if name in found]),
            *_notes(present, extra, policy, beside),
        ),
    )


def spellings(declared: Iterable[Column], names: Iterable[str]) -> dict[str, Spellings]:
    """Returns which of ``names`` belong to each declared column. A name belongs to at most one column."""
    declared = list(declared)
    own, like = {column.name for column in declared}, defaultdict(list)
    found: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for name in names:
        if name in own:
            found[name].append((name,))
        else:
            like[_folded(name)].append(name)
    for column in declared:
        found[column.name] += _tiers(like.pop(_folded(column.name), []), column.name)
    for column in declared:
        for earlier in column.earlier:
            found[column.name] += _tiers(like.pop(_folded(earlier), []), earlier)
    return {column.name: tuple(found[column.name]) for column in declared if found[column.name]}


def path_columns(declared: Iterable[Column], shape: FileShape) -> tuple[str, ...]:
    """Returns the columns that the file's path has a value for, in case the file, or record, has none."""
    keys = {_folded(key) for key in shape.path_keys}
    return tuple(
        it.name for it in declared if keys and _folded(it.name) in keys and "<" not in (it.type or "")
    )


def _tiers(alike: Sequence[str], name: str) -> list[tuple[str, ...]]:
    others = tuple(sorted(other for other in alike if other != name))
    return [tier for tier in ((name,) if name in alike else (), others) if tier]


def rival_names(declared: Sequence[Column], names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Returns groups of names of which a record may have one: of one column, or alike and of none."""
    names = list(names)
    found = spellings(declared, names)
    families = [tuple(name for tier in tiers for name in tier) for tiers in found.values()]
    known, unknown = {name for family in families for name in family}, defaultdict(list)
    for name in names:
        if name not in known:
            unknown[_folded(name)].append(name)
    return tuple(family for family in (*families, *map(tuple, unknown.values())) if len(family) > 1)


def _chosen(
    found: dict[str, Spellings], shape: FileShape
) -> tuple[tuple[tuple[str, str], ...], set[str], list[str]]:
    """The pairs of columns and names; the names left over; and the rival names of a file."""
    extra = {*shape.columns} - {name for tiers in found.values() for tier in tiers for name in tier}
    if shape.together is not None:
        pairs = [(column, name) for column, tiers in found.items() for tier in tiers for name in tier]
        beaten = (names for tiers in found.values() for names in _beaten(tiers, shape.together))
        return tuple(pairs), extra.union(*beaten), []
    best = {column: tiers[0] for column, tiers in found.items()}
    later = (name for tiers in found.values() for tier in tiers[1:] for name in tier)
    rivals = [name for names in best.values() if len(names) > 1 for name in names]
    return (
        tuple((column, names[0]) for column, names in best.items() if len(names) == 1),
        extra.union(later),
        rivals,
    )


def _beaten(tiers: Spellings, together: Iterable[tuple[str, ...]]) -> Iterable[set[str]]:
    """The names that a record has beside a better name of the same column."""
    for names in together:
        there = [found for tier in tiers if (found := set(tier) & set(names))]
        yield set().union(*there[1:])


def _is_beside_another(name: str, shape: FileShape) -> bool:
    return shape.together is None or any(name in names for names in shape.together)


def no_header_problem(match: ColumnMatch) -> tuple[Problem, ...]:
    """Returns LS435 if the first line of a delimited file names no column of the table, but new ones.

    The file may have no header: its first row would become one, and all its rows nulls.
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
            hint="write a header into it, or leave it out (`lakesmith files TABLE --skip FILE`); if other"
            " lines come"
            " before its header, set `skip_lines`; if it has another delimiter, give such files a source of"
            " their own; or declare its columns, if these are their names",
        ),
    )


def _folded(name: str) -> str:
    return alike(name.strip())


def _too_alike(extra: Sequence[NewColumn], declared: Sequence[Column]) -> tuple[str, ...]:
    # Spark and Iceberg see two columns that differ in case only as one, and people those that look the same.
    seen = {_folded(column.name) for column in declared}
    clashing = []
    for column in extra:
        folded = _folded(column.name)
        if folded in seen:
            clashing.append(column.name)
        seen.add(folded)
    return tuple(clashing)


def _new_problem(
    extra: Sequence[NewColumn], policy: OnNewColumn, beside: Sequence[str], strange: bool = False
) -> tuple[Problem, ...]:
    if not extra or policy is not OnNewColumn.FAIL:
        return ()
    return (
        Problem(
            "LS431",
            f"{_columns(extra)} that the table does not have",
            expected="only declared columns (on_new_column: fail)",
            found=_names([column.name for column in extra], beside),
            hint=_NO_HEADER
            if strange
            else "add them to `columns`, or set `on_new_column: evolve` to add new columns as they come, "
            "or `on_new_column: ignore` to leave them out",
        ),
    )


def _clash_problem(clashing: Sequence[str], beside: Sequence[str]) -> tuple[Problem, ...]:
    if not clashing:
        return ()
    return (
        Problem(
            "LS432",
            "columns differ from another column in case only, or look the same",
            expected="names that differ in more than case, or one that is spelt as the table's column",
            found=_names(clashing, beside),
            hint="rename them in the files, or declare the column as one of them is spelt; `on_new_column:"
            " ignore` leaves new ones out",
        ),
    )


def _required_problem(declared: Sequence[Column], missing: Sequence[str]) -> tuple[Problem, ...]:
    required = [it for it in declared if it.required and it.default is None and it.name in missing]
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


def _missing_notes(missing: Sequence[Column]) -> Iterable[str]:
    kinds = {
        "null": [it for it in missing if it.default is None],
        "their defaults": [it for it in missing if it.default],
    }
    for what, columns in kinds.items():
        if columns:
            yield f"not in the files, {what} in their rows: {_names([column.name for column in columns])}"


def _absent_notes(absent: Sequence[str]) -> Iterable[str]:
    if absent:
        yield f"not in the first lines of the files, null in lines without them: {_names(absent)}"


def _in_both_notes(twice: Sequence[str]) -> Iterable[str]:
    if twice:
        yield f"in the files and in their paths; the files count: {_names(twice)}"


def _notes(
    present: Sequence[tuple[str, str]], extra: Sequence[NewColumn], policy: OnNewColumn, beside: Sequence[str]
) -> Iterable[str]:
    for ours, theirs in present:
        if ours != theirs:
            yield f"column {ours} is read from {told_apart(repr(theirs), [repr(ours)])}"
    names = _names([column.name for column in extra], beside)
    if extra and policy is OnNewColumn.IGNORE:
        yield f"left out (on_new_column: ignore): {names}"
    if extra and policy is OnNewColumn.EVOLVE:
        yield f"new (on_new_column: evolve): {names}"


def _columns(extra: Sequence[NewColumn]) -> str:
    return "a column" if len(extra) == 1 else f"{len(extra)} columns"


def _names(names: Sequence[str], beside: Sequence[str] = ()) -> str:
    return ", ".join(told_apart(name, beside) if name.strip() else "one without a name" for name in names)
