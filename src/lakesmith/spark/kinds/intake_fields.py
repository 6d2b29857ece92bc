"""The fields inside a batch's columns: what its files have of them, and the columns as they are with those let in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import SparkSession

from lakesmith.project.definitions import Column, OnNewColumn
from lakesmith.project.spark_types import SqlType, parse_type
from lakesmith.sources.columns.fields import (
    FieldPath,
    alike_fields,
    compare_fields,
    dotted,
    file_types,
    judge_fields,
    listed,
    typeless_fields,
    typeless_note,
)
from lakesmith.sources.columns.names import Spellings, rival_names, spellings
from lakesmith.sources.columns.notes import Holders, Told
from lakesmith.sources.columns.types import grown, type_changes, widened
from lakesmith.sources.shape import FileShape
from lakesmith.spark.read.formats.interface import RecordKeys
from lakesmith.spark.read.formats.registry import reader_of
from lakesmith.spark.read.request import ReadRequest

_Columns = tuple[Column, ...]

Held = tuple[FileShape, Holders]
"""A shape, and the files that have it."""

FieldKeys = Mapping[FieldPath, Spellings]
"""As ``ReadRequest.keys``."""


def record_shape(
    spark: SparkSession, request: ReadRequest, keys: RecordKeys, columns: Sequence[Column]
) -> tuple[FileShape, dict[str, str]]:
    """The keys of the request's records as a shape, and one of the files that have each, in words."""
    first = keys.files(spark, request)
    together = keys.together(spark, request, rival_names(columns, first))
    names = {", ".join(some): file for some, file in together.items()}
    return of_keys(first, tuple(together)), {**names, **first}


def of_keys(names: Iterable[str], together: tuple[tuple[str, ...], ...]) -> FileShape:
    """The shape of records with these keys."""
    columns = tuple(sorted(names))
    return FileShape(columns, (None,) * len(columns), together=together)


def column_keys(columns: Sequence[Column], names: Sequence[str]) -> dict[FieldPath, Spellings]:
    """How records with keys of these names spell the columns, as ``ReadRequest.keys``."""
    found = spellings(columns, names)
    return {(column,): tiers for column, tiers in found.items() if tiers != ((column,),)}


def with_field_keys(
    spark: SparkSession, request: ReadRequest, keys: RecordKeys
) -> tuple[ReadRequest, dict[FieldPath, tuple[str, ...]]]:
    """The request with the fields that its records spell otherwise, and the fields that are unknown then."""
    while True:
        unknown = keys.unknown_fields(spark, request)
        alike = alike_fields(request.columns, unknown)
        more = {
            path: tiers for path, tiers in alike.items() if not set(tiers[-1]) <= set(request.spelt(*path))
        }
        if not more:
            return request, unknown
        request = replace(request, keys={**request.keys, **more})


def match_fields(
    spark: SparkSession, request: ReadRequest, found: Sequence[Held], columns: _Columns
) -> tuple[_Columns, tuple[str, ...], FieldKeys]:
    """Holds what is inside the columns of a source's files against the columns' types.

    Returns the columns, with new fields in them where the source lets them in, notes for people, and how records spell columns and
    fields. Raises SourceError LS434 where fields are not let in, or cannot be added.
    """
    keys, policy = reader_of(request.source).keys, request.source.on_new_column
    missing: _Where = {}
    untyped: _Where = {}
    if keys:
        request, unknown = with_field_keys(spark, request, keys)
    else:
        unknown, missing = _compared(columns, found)
    after, anywhere = columns, Holders(tuple(file.path for group in request.groups for file in group.files))
    field_keys = request.keys
    if keys and unknown and policy is OnNewColumn.EVOLVE:
        request = of_good_records(spark, request, keys)
        unknown = keys.unknown_fields(spark, request)
    if unknown and policy is OnNewColumn.EVOLVE:
        if keys:
            after = _evolved(columns, [keys.field_types(spark, request, tuple(unknown))])
            known = replace(request, columns=tuple((it.name, it.type or "string") for it in after))
            known, unknown = with_field_keys(spark, known, keys) if _absent(after, unknown) else (known, {})
            field_keys = known.keys
        else:
            after = _evolved(columns, [file_types(columns, shape) for shape, _ in found])
            typeless = {path for shape, _ in found for path in typeless_fields(after, shape)}
            left = _compared(after, found)[0]
            unknown = {path: files for path, files in left.items() if path not in typeless}
            untyped = {path: files for path, files in left.items() if path in typeless}
    told = Told(request.source)
    match = judge_fields(columns, tuple(unknown), tuple(missing), policy)
    told.add((), match.problems, _holders(unknown))
    told.stop()
    if untyped:
        told.add((typeless_note(list(map(dotted, untyped))),), (), _holders(untyped))
    about = _holders({**missing, **unknown}) if match.notes else anywhere
    told.add((*match.notes, *_said(columns, after)), (), about)
    return after, tuple(told.notes), field_keys


def _holders(paths: Mapping[FieldPath, tuple[str, ...]]) -> Holders:
    return Holders(tuple(dict.fromkeys(file for files in paths.values() for file in files)))


def of_good_records(spark: SparkSession, request: ReadRequest, keys: RecordKeys) -> ReadRequest:
    """The request for records that are not bad: what only bad rows have is new to no row that gets in."""
    return replace(request, groups=request.groups[:1], records=keys.good_records(spark, request))


def widen_columns(
    columns: _Columns, shapes: Sequence[FileShape], declared: Sequence[Column]
) -> tuple[_Columns, tuple[str, ...]]:
    """The columns with the wider types of files that have types, but for those ``declared``; notes say which."""
    fixed = {column.name.lower() for column in declared}
    found = [file_types(columns, shape) for shape in shapes]
    after = tuple(
        column
        if column.name.lower() in fixed
        else _as_wide(column, [of[column.name] for of in found if column.name in of])
        for column in columns
    )
    changes = (
        change
        for old, new in zip(columns, after, strict=True)
        for change in type_changes(old.type or "", new.type or "", old.name) or ()
    )
    said = tuple(f"{dotted(it.path)}: {it.old} -> {it.new} (on_type_change: widen)" for it in changes)
    return after, said


def _as_wide(column: Column, found: Sequence[SqlType]) -> Column:
    before = parse_type(column.type or "")
    after = reduce(widened, found, before)
    return replace(column, type=after.text) if after is not before else column


_Where = dict[FieldPath, tuple[str, ...]]


def _compared(columns: _Columns, found: Sequence[Held]) -> tuple[_Where, _Where]:
    """The fields that only files have, and those that some file has not, each with these files."""
    sides: tuple[_Where, _Where] = ({}, {})
    for shape, holders in found:
        for side, paths in zip(sides, compare_fields(columns, shape), strict=True):
            side.update({path: (*side.get(path, ()), *holders.paths) for path in paths})
    return sides


def _evolved(columns: _Columns, found: Sequence[Mapping[str, SqlType]]) -> _Columns:
    """The columns with all fields of the types ``found``, by the columns' names."""
    return tuple(
        _with_fields(column, [of[column.name] for of in found if column.name in of]) for column in columns
    )


def _with_fields(column: Column, found: Sequence[SqlType]) -> Column:
    if not found:
        return column
    before = parse_type(column.type or "")
    after = reduce(lambda kind, theirs: grown(kind, theirs, before), found, before)
    return replace(column, type=after.text) if after is not before else column


def _absent(columns: _Columns, paths: _Where) -> _Where:
    """Those of the fields that the columns do not have, under exactly these names."""
    types = {column.name: parse_type(column.type or "string") for column in columns}
    return {path: files for path, files in paths.items() if not _has(types[path[0]], path[1:])}


def _has(kind: SqlType, path: FieldPath) -> bool:
    parts = dict(kind.parts)
    return not path or (path[0] in parts and _has(parts[path[0]], path[1:]))


def _said(before: _Columns, after: _Columns) -> tuple[str, ...]:
    added = [
        f"{dotted(change.path)} {change.new}"
        for old, new in zip(before, after, strict=True)
        if old is not new
        for change in type_changes(old.type or "", new.type or "", old.name) or ()
    ]
    return (f"new (on_new_column: evolve): {listed(added)}",) if added else ()
