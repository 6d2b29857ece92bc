"""New fields inside the columns of a batch: found in its files, and added where their source allows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from lakesmith.project.definitions import Column, OnNewColumn
from lakesmith.project.spark_types import SqlType, parse_type
from lakesmith.sources.columns.fields import (
    FieldPath,
    compare_fields,
    dotted,
    field_notes,
    field_problem,
    file_types,
    listed,
    typeless_note,
)
from lakesmith.sources.columns.names import Spellings
from lakesmith.sources.columns.notes import Findings, Holders
from lakesmith.sources.columns.reading import Found, SourceFiles, SourceRead, with_field_keys
from lakesmith.sources.columns.types import grown, type_changes
from lakesmith.sources.formats.registry import ColumnsIn
from lakesmith.sources.shape import FileShape

Held = tuple[FileShape, Holders]
"""A shape, and the files that have it."""

_Columns = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class _Fields:
    """The columns with new fields. ``unknown``: the files' fields that are not in them; ``untyped``: those
    whose type no file says. ``missing``: fields that some file lacks. ``keys``: as of ``SourceRead``.
    """

    columns: _Columns
    unknown: Found
    missing: Found = field(default_factory=dict)
    untyped: Found = field(default_factory=dict)
    keys: Mapping[FieldPath, Spellings] = field(default_factory=dict)


def match_fields(
    files: SourceFiles, read: SourceRead, found: Sequence[Held]
) -> tuple[_Columns, list[str], Mapping[FieldPath, Spellings]]:
    """Compares the fields inside a source's files with the columns' types.

    Returns the columns, with new fields where the source allows them, notes, and how records spell columns
    and fields. Raises SourceError LS434 if new fields are not allowed or cannot be added.
    """
    policy = read.source.on_new_column
    in_records = files.columns_in is ColumnsIn.RECORDS
    fields = _in_records(files, read) if in_records else _in_types(read, found)
    findings = Findings(read.source)
    stops = fields.unknown and policy is not OnNewColumn.IGNORE
    problems = (field_problem(read.columns, tuple(fields.unknown), policy),) if stops else ()
    findings.add((), problems, _holders(fields.unknown))
    findings.raise_problems()
    if fields.untyped:
        findings.add((typeless_note(list(map(dotted, fields.untyped))),), (), _holders(fields.untyped))
    notes = field_notes(tuple(fields.unknown), tuple(fields.missing))
    anywhere = Holders(tuple(file.path for group in read.groups for file in group.files))
    about = _holders({**fields.missing, **fields.unknown}) if notes else anywhere
    findings.add((*notes, *_added(read.columns, fields.columns)), (), about)
    return fields.columns, findings.notes, fields.keys


def _in_records(files: SourceFiles, read: SourceRead) -> _Fields:
    read, unknown = with_field_keys(files.records, read)
    if not unknown or read.source.on_new_column is not OnNewColumn.EVOLVE:
        return _Fields(read.columns, unknown, keys=read.keys)
    # Fields that only bad rows have are not new: such rows go to quarantine.
    good = files.records.good(read)
    unknown = good.unknown_fields(read)
    if not unknown:
        return _Fields(read.columns, {}, keys=read.keys)
    after = _with_fields(read.columns, [good.field_types(read, tuple(unknown))])
    grown_read = SourceRead(read.source, read.groups, after, read.keys)
    if not _lacks(after, unknown):
        return _Fields(after, {}, keys=read.keys)
    grown_read, unknown = with_field_keys(good, grown_read)
    return _Fields(after, unknown, keys=grown_read.keys)


def _in_types(read: SourceRead, found: Sequence[Held]) -> _Fields:
    columns = read.columns
    unknown, missing, _ = _compared(columns, found)
    if not unknown or read.source.on_new_column is not OnNewColumn.EVOLVE:
        return _Fields(columns, unknown, missing)
    after = _with_fields(columns, [file_types(columns, shape) for shape, _ in found])
    left, _, typeless = _compared(after, found)
    untyped = {path: files for path, files in left.items() if path in typeless}
    unknown = {path: files for path, files in left.items() if path not in typeless}
    return _Fields(after, unknown, missing, untyped)


def _holders(paths: Found) -> Holders:
    return Holders(tuple(dict.fromkeys(file for files in paths.values() for file in files)))


def _compared(columns: _Columns, found: Sequence[Held]) -> tuple[Found, Found, set[FieldPath]]:
    """The fields that only files have, and those that some file lacks, each with these files.

    The third are fields that only files have, without a type.
    """
    unknown: Found = {}
    missing: Found = {}
    typeless: set[FieldPath] = set()
    for shape, holders in found:
        only_there, only_here = compare_fields(columns, shape)
        typeless |= {path for path, kind in only_there.items() if kind.is_typeless}
        for side, paths in ((unknown, only_there), (missing, only_here)):
            side.update({path: (*side.get(path, ()), *holders.paths) for path in paths})
    return unknown, missing, typeless


def _with_fields(columns: _Columns, found: Sequence[Mapping[str, SqlType]]) -> _Columns:
    """The columns with all fields of the types ``found``, by the columns' names."""

    def grow(column: Column) -> Column:
        types = [of[column.name] for of in found if column.name in of]
        before = parse_type(column.type or "string")
        after = reduce(lambda kind, theirs: grown(kind, theirs, before), types, before)
        return replace(column, type=after.text, is_inferred=True) if after is not before else column

    return tuple(map(grow, columns))


def _lacks(columns: _Columns, paths: Found) -> bool:
    """Whether the columns lack some of the fields, under exactly these names."""
    types = {column.name: parse_type(column.type or "string") for column in columns}
    return not all(_has(types[path[0]], path[1:]) for path in paths)


def _has(kind: SqlType, path: FieldPath) -> bool:
    parts = dict(kind.parts)
    return not path or (path[0] in parts and _has(parts[path[0]], path[1:]))


def _added(before: _Columns, after: _Columns) -> tuple[str, ...]:
    added = [
        f"{dotted(change.path)} {change.new}"
        for old, new in zip(before, after, strict=True)
        if old is not new
        for change in type_changes(old.type or "", new.type or "", old.name) or ()
    ]
    return (f"new (on_new_column: evolve): {listed(added)}",) if added else ()
