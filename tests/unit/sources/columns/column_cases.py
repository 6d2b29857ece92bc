"""Titled files of cases of the column plan: what files bring, what is declared and what the table has, and
the plan expected.

Each file of ``cases/`` is one case; its name is the title.

    declared: {id: bigint, city: {type: string, required: true}}
    table: {id: bigint}        # absent: the table does not exist yet
    sources:
      - {format: csv, on_new_column: evolve, files: {in/a.csv: [id, city]}}
    plan:
      columns: {id: bigint, city: string}
      notes: [...]
      read: {in/a.csv: {city: City}}     # columns that a file, or a record, spells otherwise
      problems: [...]                    # in place of all that: the codes and texts that stop the batch

A file of ``csv`` is its header, or a mapping with one row of values; of ``parquet`` and ``avro`` it is names
and types; of ``json`` it is records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.errors import Place
from lakesmith.project.definitions import (
    Column,
    CsvOptions,
    FileSource,
    HttpSource,
    KafkaSource,
    OnNewColumn,
    OnTypeChange,
    Source,
    TableDefinition,
    TableName,
)
from lakesmith.project.formats import FileFormat
from lakesmith.project.spark_types import SqlType, composed, parse_type
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.shape import FileShape, ShapeGroup, path_keys

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
SYSTEM_COLUMNS = {"_source_file": "string", "_batch": "bigint"}


@dataclass(frozen=True)
class CaseSource:
    """One source of a case: its files by shape, and their records."""

    source: Source
    groups: tuple[ShapeGroup, ...]
    records: FakeRecords


@dataclass(frozen=True)
class Case:
    table: TableDefinition
    there: TableState | None
    sources: tuple[CaseSource, ...]
    expected: dict[str, Any]


def read_case(path: Path) -> Case:
    given = yaml.safe_load(path.read_text())
    place = Place("t.yaml", 1)
    declared = [_column(name, it) for name, it in given.get("declared", {}).items()]
    sources = tuple(_source(f"s{number}", it) for number, it in enumerate(given["sources"], 1))
    table = TableDefinition(
        TableName("bronze", "t"), place, tuple(it.source for it in sources), columns=tuple(declared)
    )
    there = _state({**given["table"], **SYSTEM_COLUMNS}) if "table" in given else None
    return Case(table, there, sources, given.get("plan", {}))


def _column(name: str, given: str | dict[str, Any]) -> Column:
    return Column(name, **({"type": given} if isinstance(given, str) else given), place=Place("t.yaml", 3))


def _state(columns: dict[str, str]) -> TableState:
    found = tuple(ColumnState(n, name, kind, False) for n, (name, kind) in enumerate(columns.items(), 1))
    return TableState("t", "uuid", "", "", 3, found, {}, {}, frozenset(), (), {})


def _source(name: str, given: dict[str, Any]) -> CaseSource:
    kinds = {
        "kafka": partial(KafkaSource, connection="K", topic="t"),
        "http": partial(HttpSource, url_path="/e"),
    }
    kind = next((kinds[each] for each in kinds if each in given), FileSource)
    source = kind(
        name,
        "in/",
        FileFormat(given["format"]),
        Place("t.yaml", 2),
        csv=CsvOptions(header=given.get("header", True)),
        on_new_column=OnNewColumn(given.get("on_new_column", "fail")),
        on_type_change=OnTypeChange(given.get("on_type_change", "quarantine")),
    )
    groups: dict[FileShape, list[FileIdentity]] = {}
    records: list[tuple[str, dict[str, Any]]] = []
    for path, content in given["files"].items():
        shape, rows = _shape(source, path, content)
        groups.setdefault(shape, []).append(FileIdentity(path, 0 if content is None else 1, 0))
        records += [(path, row) for row in rows]
    grouped = tuple(ShapeGroup(shape, tuple(files)) for shape, files in groups.items())
    return CaseSource(source, grouped, FakeRecords(records))


def _shape(source: Source, path: str, content: Any) -> tuple[FileShape, list[dict[str, Any]]]:
    keys = path_keys(path)
    if content is None:
        return FileShape(empty=True, path_keys=keys), []
    if source.format is FileFormat.JSON:
        return FileShape(path_keys=keys), content
    names = tuple(content)
    if source.format is FileFormat.CSV:
        rows = [content] if isinstance(content, dict) else []
        return FileShape(names if source.csv.header else (), (None,) * len(names), path_keys=keys), rows
    kinds = [None if kind.startswith("!") else kind for kind in content.values()]
    unreadable = tuple((name, kind[1:]) for name, kind in content.items() if kind.startswith("!"))
    return FileShape(names, tuple(kinds), unreadable=unreadable, path_keys=keys), []


class FakeRecords:
    """Records as plain values, which answer as ``Records`` does."""

    def __init__(self, records: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self.records = records

    def keys(self, _: Any) -> dict[str, str]:
        return self._first((key, file) for file, record in self.records for key in record)

    def together(self, _: Any, rivals: Sequence[Sequence[str]]) -> dict[tuple[str, ...], str]:
        some = ((tuple(sorted({*family} & {*it})), file) for file, it in self.records for family in rivals)
        return self._first((names, file) for names, file in some if len(names) > 1)

    def good(self, read: Any) -> FakeRecords:
        return FakeRecords([(file, it) for file, it in self.records if self._is_good(read, it)])

    def unknown_fields(self, read: Any) -> dict[tuple[str, ...], tuple[str, ...]]:
        found = self._first((path, file) for file, it in self.records for path, _ in self._unknown(read, it))
        return {path: (file,) for path, file in sorted(found.items())}

    def field_types(self, read: Any, unknown: Sequence[tuple[str, ...]]) -> dict[str, SqlType]:
        values: dict[tuple[str, ...], list[Any]] = {path: [] for path in unknown}
        for _, record in self.records:
            for path, value in self._unknown(read, record):
                values[path].append(value)
        kinds = {path: _type_of(given) for path, given in values.items()}
        declared = {it.name: parse_type(it.type) for it in read.columns}
        return {path[0]: _only(declared[path[0]], (path[0],), kinds) for path in unknown}

    def infer(self, read: Any) -> tuple[Column, ...]:
        asked = {file.path for group in read.groups for file in group.files}
        values: dict[str, list[Any]] = {}
        for record in (it for file, it in self.records if file in asked):
            for key, value in record.items():
                values.setdefault(key, []).append(value)
        return tuple(Column(key, _type_of(given).text) for key, given in values.items())

    @staticmethod
    def _first(found: Iterator[tuple[Any, str]]) -> dict[Any, str]:
        files: dict[Any, list[str]] = {}
        for what, file in found:
            files.setdefault(what, []).append(file)
        return {it: f"{min(of)}{' and others' if min(of) != max(of) else ''}" for it, of in files.items()}

    @staticmethod
    def _is_good(read: Any, record: Mapping[str, Any]) -> bool:
        kinds = [(parse_type(it.type), record.get(key)) for it in read.columns for key in read.spelt(it.name)]
        return all(value is None or _fits(kind, value) for kind, value in kinds)

    def _unknown(self, read: Any, record: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
        for column in read.columns:
            for key in read.spelt(column.name):
                yield from _unknown_in(read, parse_type(column.type), record.get(key), (column.name,))


def _unknown_in(
    read: Any, kind: SqlType, value: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    if kind.outer == "array" and isinstance(value, list):
        for item in value:
            yield from _unknown_in(read, kind.parts[0][1], item, (*path, "element"))
    elif kind.outer == "map" and isinstance(value, dict):
        for item in value.values():
            yield from _unknown_in(read, kind.parts[1][1], item, (*path, "value"))
    elif kind.outer == "struct" and isinstance(value, dict):
        spelt = {name: read.spelt(*path, name) for name, _ in kind.parts}
        known = {key for keys in spelt.values() for key in keys}
        beaten = {key for first, *others in spelt.values() if value.get(first) is not None for key in others}
        yield from (((*path, key), item) for key, item in value.items() if key not in known or key in beaten)
        for name, part in kind.parts:
            for key in spelt[name]:
                yield from _unknown_in(read, part, value.get(key), (*path, name))


def _only(kind: SqlType, path: tuple[str, ...], kinds: Mapping[tuple[str, ...], SqlType]) -> SqlType:
    if kind.outer == "struct":
        inner = [(name, _only(part, (*path, name), kinds)) for name, part in kind.parts if part.has_fields]
        return composed("struct", [*inner, *((at[-1], of) for at, of in kinds.items() if at[:-1] == path)])
    *key, (name, part) = kind.parts
    return composed(kind.outer, [*key, (name, _only(part, (*path, name), kinds))])


def _type_of(values: Sequence[Any]) -> SqlType:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, dict) for value in known):
        names = dict.fromkeys(name for value in known for name in value)
        return composed("struct", [(it, _type_of([value.get(it) for value in known])) for it in names])
    whole = known and all(isinstance(value, int) for value in known)
    return parse_type("bigint" if whole else "string")


def _fits(kind: SqlType, value: Any) -> bool:
    if kind.outer == "struct":
        return isinstance(value, dict)
    return isinstance(value, int) if kind.text in ("int", "bigint") else True
