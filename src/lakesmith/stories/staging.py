"""A story's project: the tables as they are declared, over files and a lake of the story's own.

Nothing of the real lake is in it: no catalog, bucket, export, alert or address. What arrives is written as
landing files in a folder of the story, in each source's own format.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lakesmith.errors import Place, Problem, ProjectError, did_you_mean
from lakesmith.graph.graph import Graph
from lakesmith.project.definitions import (
    AS_IN_PROJECT,
    TOMBSTONE,
    Column,
    FileSource,
    HttpSource,
    KafkaSource,
    PostgresSource,
    Project,
    Source,
    SqlQuery,
    TableDefinition,
    TableName,
    Target,
)
from lakesmith.project.formats import FileFormat
from lakesmith.quoting import quoted
from lakesmith.sources.event_file import is_packed, text_of
from lakesmith.sources.postgres.changes import Comparison, ReadRow
from lakesmith.stories.model import Batch, Given, Story

GIVEN_LAYER: Final = "given"
"""The layer of the tables whose rows stand for those of a derived or external table."""
_LANDING: Final = "arrived"


def asked_tables(story: Story, graph: Graph) -> tuple[TableName, ...]:
    """Returns the tables that a story runs, in the graph's order: those of which something is expected, and
    what they read, up to tables that are given directly."""
    wanted, waiting = set[TableName](), list(story.expected | set(story.given))
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            definition = graph.node(name).definition
            if definition.is_sourced or name not in story.given:
                waiting += graph.node(name).inputs
    return tuple(name for name in graph.order if name in wanted)


def problems_of(story: Story, graph: Graph) -> Iterator[Problem]:
    """LS152: a story is about a table, a source or a column that the project does not have; LS153: what it
    gives is not what the table takes."""
    names = {str(name): name for name in graph.order}
    for batch in story.batches:
        about = [(each.table, each.place) for each in batch.given]
        for table, place in (*about, *((each.table, each.place) for each in batch.expected)):
            if str(table) not in names:
                yield Problem(
                    "LS152", f"there is no table {table}", place, hint=did_you_mean(str(table), names)
                )
        for given in batch.given:
            if given.table in graph.order:
                yield from _problems_of(story, given, graph.node(given.table).definition)


def _problems_of(story: Story, given: Given, table: TableDefinition) -> Iterator[Problem]:
    sources = [source.name for source in table.sources]
    if given.source is not None and given.source not in sources:
        what = f"{table.name} has no source {given.source}"
        yield Problem("LS152", what, given.place, ", ".join(sources) or "a table with sources")
    elif given.source is None and len(sources) > 1:
        what = f"{table.name} has several sources: say which of them is given"
        yield Problem("LS153", what, given.place, f"{sources[0]}: rows")
    elif not table.is_sourced and table.name not in dict(story.columns):
        what = f"the types of {table.name}, which is given directly, are not known"
        yield Problem("LS153", what, given.place, f"columns: {{{table.name}: {{column: type}}}} in the story")
    elif not table.is_sourced and given.rows is None:
        what = f"{table.name} has no source: it is given by rows"
        yield Problem("LS153", what, given.place, "a list of rows")
    elif given.rows is not None and table.is_sourced:
        source = _source_of(given, table)
        if source.format not in _WRITTEN and not is_packed(source):
            what = f"rows are not written as {source.format.value}"
            yield Problem("LS153", what, given.place, "text: or file: with what such a file holds")
        if table.columns and isinstance(source, FileSource | PostgresSource):
            known = {column.name.lower() for column in table.columns}
            odd = {name: None for row in given.rows for name in row if name.lower() not in known}
            for name in odd if source.on_new_column.value == "fail" else ():
                hint = did_you_mean(name, [column.name for column in table.columns])
                yield Problem("LS152", f"{table.name} has no column {name}", given.place, hint=hint)


def _source_of(given: Given, table: TableDefinition) -> Source:
    return next(source for source in table.sources if given.source in (None, source.name))


def staged(story: Story, project: Project, graph: Graph, root: Path) -> Project:
    """Returns the project that a story runs, whose folder is ``root``.

    Each source reads what arrives in the story; a table that is given directly becomes a query over a table
    of what is given. The project's Python modules are copied to ``root``.
    """
    given, tables, types = story.given, list[TableDefinition](), dict(story.columns)
    for name in asked_tables(story, graph):
        table = replace(graph.node(name).definition, export=None, schedule=None, freshness_seconds=None)
        if table.is_sourced:
            tables.append(replace(table, sources=tuple(_sources(table, given.get(name, ()), root))))
        elif name in given:
            tables += _given_directly(table, types[name])
        else:
            tables.append(table)
    _copy_modules(project.root, root)
    return Project(
        root=root,
        name=project.name,
        target=Target("story", "local", spark=sql_settings(project.target), naming=AS_IN_PROJECT),
        tables=tuple(sorted(tables, key=lambda table: table.name)),
        variables=project.variables,
    )


def sql_settings(target: Target) -> tuple[tuple[str, str], ...]:
    """Returns a target's settings of Spark SQL, without catalogs: those that may decide values."""
    return tuple(
        (name, value)
        for name, value in target.spark
        if name.startswith("spark.sql.") and not name.startswith("spark.sql.catalog")
    )


def _sources(table: TableDefinition, given: Sequence[Given], root: Path) -> Iterator[Source]:
    for source in table.sources:
        folder = str(root / folder_of(table.name, source))
        if isinstance(source, FileSource):
            # Rows in place of packed files are written as JSON.
            is_by_rows = is_packed(source) and not any(each.file for each in given)
            format_ = FileFormat.JSON if is_by_rows else source.format
            there = replace(source, path=folder, format=format_, pattern="*", store=None)
            yield replace(there, min_age_seconds=0.0, since=None)
        elif isinstance(source, HttpSource):
            yield replace(source, path=folder)
        else:
            yield FileSource(source.name, folder, FileFormat.JSON, source.place, "*.jsonl")


def folder_of(table: TableName, source: Source) -> str:
    """Where a source's files arrive, below a story's folder."""
    return f"{_LANDING}/{table}/{source.name}"


def _given_directly(
    table: TableDefinition, types: Sequence[tuple[str, str]]
) -> tuple[TableDefinition, TableDefinition]:
    """Two tables in place of one: what is given, and the table, which takes from it what its key says."""
    name = _standing_for(table.name)
    source = FileSource("given", f"{_LANDING}/{name}", FileFormat.JSON, table.place, "*.jsonl")
    columns = tuple(Column(column, type_) for column, type_ in types)
    given = TableDefinition(name, table.place, (source,), columns=columns)
    chosen = ", ".join(quoted(column) for column, _ in types)
    query = SqlQuery(f"SELECT {chosen} FROM {name}", table.place)
    return given, TableDefinition(table.name, table.place, query=query, key=table.key)


def _copy_modules(there: Path, here: Path) -> None:
    """Copies the project's Python files, which its Python tables may import."""
    for path in there.rglob("*.py"):
        below = path.relative_to(there)
        if not any(part.startswith(".") for part in below.parts):
            (here / below).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, here / below)


@dataclass
class Arrivals:
    """What is given in a story, as landing files of its project.

    ``project`` is the story's own, ``kinds`` the sources that its tables really have, and ``real`` the folder
    of the project that is tested. ``known``: the rows of each table in PostgreSQL as they were last given.
    """

    project: Project
    kinds: Mapping[TableName, Sequence[Source]]
    real: Path
    now: datetime | None = None
    known: dict[str, dict[str, str | None]] = field(default_factory=dict)

    def arrive(self, batch: Batch, number: int) -> None:
        """Writes what is given in a batch, the ``number``-th from 1. With the first one, sources that
        are given nothing get a file without a row, so that their tables are there.

        Raises ProjectError LS153 for a file that is not there, or not inside the project's folder.
        """
        given = {(each.table, source.name) for each in batch.given for source in (self._source(each),)}
        for at, each in enumerate(batch.given):
            self._write(self._source(each), each, f"{number:03}-{at + 1:02}")
        for table in self.project.tables if number == 1 else ():
            for source in table.sources:
                name = _meant(table.name)
                if (name, source.name) not in given and table.columns and source.format in _WRITTEN:
                    self._write(source, Given(name, table.place, rows=()), "000")

    def _table(self, name: TableName) -> TableDefinition:
        table = self.project.table(name)
        return table if table.is_sourced else self.project.table(_standing_for(name))

    def _source(self, given: Given) -> Source:
        return _source_of(given, self._table(given.table))

    def _write(self, source: Source, given: Given, number: str) -> None:
        folder = self.project.root / source.path
        if given.file is not None:
            content = _inside(self.real, given.file, given.place).read_bytes()
            path = folder / (given.name or Path(given.file).name)
        else:
            content = self._content(source, given)
            path = folder / (given.name or f"{number}{_ENDINGS.get(source.format, '')}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if self.now is not None:
            os.utime(path, (self.now.timestamp(), self.now.timestamp()))

    def _content(self, source: Source, given: Given) -> bytes:
        if given.text is not None:
            return given.text.encode(source.csv.encoding)
        table, rows = self._table(given.table), given.rows or ()
        kinds = [each for each in self.kinds.get(given.table, ()) if each.name == source.name]
        if kinds and isinstance(kinds[0], KafkaSource):
            rows = [{TOMBSTONE: False, **row} for row in rows]
        if kinds and isinstance(kinds[0], PostgresSource):
            return self._changes(kinds[0], source.path, rows).encode()
        return _written(source, table, rows).encode(source.csv.encoding)

    def _changes(self, kind: PostgresSource, path: str, rows: Sequence[Mapping[str, Any]]) -> str:
        """The changes that make of the rows that were given last those that are given now."""
        now = [
            ReadRow(json.dumps({name: row.get(name) for name in kind.key}), json.dumps(row)) for row in rows
        ]
        found, aside = Comparison(kind, self.known.get(path, {}), {}), _Kept()
        at = self.now or datetime.now(UTC)
        lines = [change.line(at) for change in found.changes(now, lambda _keys: {}, aside)]
        self.known[path] = {**self.known.get(path, {}), **found.rows} if kind.is_growing else found.rows
        return "".join(f"{line}\n" for line in lines)


@dataclass
class _Kept:
    """Rows that are kept in memory until all have been read."""

    kept: list[ReadRow] = field(default_factory=list)

    def put(self, row: ReadRow) -> None:
        self.kept.append(row)

    def rows(self) -> Iterator[ReadRow]:
        return iter(self.kept)


def _standing_for(table: TableName) -> TableName:
    return TableName(GIVEN_LAYER, f"{table.layer}__{table.name}")


def _meant(table: TableName) -> TableName:
    """The table that is given in place of one of the layer ``given``."""
    if table.layer != GIVEN_LAYER:
        return table
    layer, _, name = table.name.partition("__")
    return TableName(layer, name)


def _inside(root: Path, name: str, place: Place) -> Path:
    path = (root / name).resolve()
    if not path.is_relative_to(root.resolve()) or not path.is_file():
        raise ProjectError.of(
            "LS153", f"there is no file {name} in the project", place, "a file of the project"
        )
    return path


def _written(source: Source, table: TableDefinition, rows: Sequence[Mapping[str, Any]]) -> str:
    if rows or not source.csv.header:
        return text_of(source, table.columns, rows)
    # A file without a row still names its columns, where its format does.
    header, *_ = text_of(
        source, table.columns, [{column.name: None for column in table.columns}]
    ).splitlines()
    return "" if header.startswith("{") else f"{header}\n"


_WRITTEN: Final = (FileFormat.CSV, FileFormat.TSV, FileFormat.JSON)
_ENDINGS: Final = {FileFormat.CSV: ".csv", FileFormat.TSV: ".tsv", FileFormat.JSON: ".jsonl"}
