"""Reading of one table: from its settings to its definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from lakesmith.errors import Place, Problem, ProjectError, did_you_mean
from lakesmith.project.columns import ColumnReader
from lakesmith.project.declaring import all_settings, settings_of
from lakesmith.project.definitions import (
    ADDED_COLUMNS,
    KAFKA_COLUMNS,
    READ_COLUMNS,
    AsOf,
    Column,
    ExternalTable,
    FileOrder,
    FullExport,
    History,
    Maintenance,
    OnBadRow,
    PostgresSource,
    PythonQuery,
    Source,
    SqlQuery,
    TableDefinition,
    TableName,
    Target,
)
from lakesmith.project.keyed import KEYED_ONLY, VersionReader, keyed_query
from lakesmith.project.layout import DraftReader
from lakesmith.project.python_query import PythonSettings, python_query
from lakesmith.project.sources import SourceReader
from lakesmith.project.table_parts import PartitionProblem, partition_field
from lakesmith.project.variables import Filler
from lakesmith.project.windows import closed_windows, emit_of
from lakesmith.project.written import Level, find, values_of
from lakesmith.quality.model import Rule

_READ_HERE: Final = frozenset(
    {"sources", "external", "query", "columns", "emit", "lookups", "rules", "on_bad_row", "partition_by"}
    | {*KEYED_ONLY, "history"}
)
"""Fields whose values depend on more than what is written for them."""


@dataclass(frozen=True, slots=True)
class TableBuilder(DraftReader):
    """Builder of the definition of one draft. ``sourced``: all sourced tables of the project, with their full
    exports."""

    filler: Filler
    sourced: Mapping[TableName, FullExport | None]

    kind: ClassVar[Any] = TableDefinition

    def build(self) -> TableDefinition:
        """Returns the definition. It is not valid if there are ``problems``."""
        draft = self.draft
        if (external := external_table(draft.files.name, draft.own, self.problems)) is not None:
            return self._external(external)
        self._check_kind()
        reader = ColumnReader(draft, self.files, self.problems)
        columns = reader.columns()
        sources, places = self._sources(columns, reader.avro_schema())
        query = self._query()
        emit = emit_of(query, draft.own, self.problems) if isinstance(query, SqlQuery) else None
        table: TableDefinition = self.kind(
            name=draft.files.name,
            place=draft.place,
            sources=sources,
            query=closed_windows(emit) if emit else query,
            emit=emit,
            columns=(*columns, *self._read_columns(sources, columns)),
            lookups=self._lookups(),
            exports=self._exports(),
            **VersionReader(draft, self.files, self.problems, self._exports()).versions(),
            rules=self._rules(),
            on_bad_row=self._on_bad_row(sources),
            partition_by=self._partitions(),
            settings_from=(*places, *self._settings_from()),
            **self._plain_values(),
        )
        return table

    def _plain_values(self) -> dict[str, Any]:
        """The fields that depend on nothing but their own setting."""
        values = values_of(self.kind, self.draft.levels, self.problems, but=_READ_HERE)
        if "maintenance" in values:
            maintained = (level.below("maintain") for level in self.draft.levels)
            levels = [level for level in maintained if level is not None]
            values["maintenance"] = checked_maintenance(values["maintenance"], levels, self.problems)
        return values

    def _external(self, external: ExternalTable) -> TableDefinition:
        files = self.draft.files
        if queries := [path for path in (files.sql, files.py) if path]:
            what = f"{files.name} is an external table and has a query"
            self.problem("LS112", what, external.place, expected="one of the two", found=queries[0])
        levels, but = self.draft.levels, frozenset({*settings_of(self.kind)} - OF_EXTERNAL)
        values = values_of(self.kind, levels, self.problems, but=but)
        table: TableDefinition = self.kind(files.name, self.draft.place, external=external, **values)
        return table

    def _sources(
        self, columns: Sequence[Column], avro_schema: str | None
    ) -> tuple[tuple[Source, ...], list[tuple[str, Place]]]:
        draft, bad = self.draft, self.find("on_bad_row")
        takes_bad = bad is not None and bad.value is OnBadRow.QUARANTINE
        reader = SourceReader(
            draft.files.name, draft.own, draft.defaults, columns, takes_bad, avro_schema, self.problems
        )
        return reader.sources(), list(reader.places())

    def _read_columns(self, sources: Sequence[Source], columns: Sequence[Column]) -> Iterator[Column]:
        """The additional columns of rows from PostgreSQL and of records from Kafka."""
        of_postgres = READ_COLUMNS if any(isinstance(source, PostgresSource) for source in sources) else ()
        of_kafka = KAFKA_COLUMNS if not all(source.has_files for source in sources) else ()
        declared = {column.name.lower(): column for column in columns}
        for name, kind in (*of_postgres, *of_kafka):
            if (taken := declared.get(name)) is not None:
                origin = "rows of PostgreSQL" if (name, kind) in of_postgres else "records of Kafka"
                what = f"the column {taken.name!r} is what lakesmith adds to {origin}"
                self.problem("LS105", what, taken.place or self.draft.place, hint="leave it out")
            yield Column(name, kind)

    def _lookups(self) -> tuple[TableName, ...]:
        """The lookups as of arrival. Current lookups are inputs like any others."""
        found = []
        for name, settings in (self.draft.settings.lookups or {}).items():
            if self.is_sourced:
                place = self.draft.own.document.place("lookups", name)
                self.problem("LS112", "lookups are for derived tables", place, expected="a query")
            if settings.as_of is AsOf.ARRIVAL:
                found.append(TableName.parse(name))
        return tuple(found)

    def _settings_from(self) -> Iterator[tuple[str, Place]]:
        left_out = {"source", "external", *self._left_out()}
        for key, (_, declared) in all_settings(self.kind).items():
            levels = self.draft.levels if declared.shared else (self.draft.own,)
            if key not in left_out and (setting := find(levels, key)) is not None:
                yield key, setting.place

    def _left_out(self) -> frozenset[str]:
        """Settings that a folder shares and that do not concern this table."""
        if self.is_sourced or self.find("key") is None:
            return frozenset({*KEYED_ONLY, "history"})
        keeps_versions = self.value("history", History.TYPE1) is History.TYPE2
        return frozenset() if keeps_versions else frozenset({"track"})

    def _check_kind(self) -> None:
        files, own = self.draft.files, self.draft.settings
        ways = {"query": own.query, "from": own.from_, files.sql: files.sql, files.py: files.py}
        queries = [str(name) for name, given in ways.items() if given]
        if own.source is not None and queries:
            what = f"{files.name} is both sourced and derived"
            found = f"source and {', '.join(queries)}"
            self.problem("LS112", what, self.draft.place, expected="source, or a query", found=found)
        elif own.source is None and not queries:
            what = f"{files.name} is neither sourced nor derived"
            expected = f"source:, external: or a query ({files.name.name}.sql beside it, query:, from:)"
            self.problem("LS112", what, self.draft.place, expected=expected)
        elif len(queries) > 1 and not (files.sql and files.py and len(queries) == 2):
            what = f"{files.name} has more than one query"
            self.problem("LS111", what, self.draft.place, expected="one query", found=", ".join(queries))
        self._check_python_settings()

    def _check_python_settings(self) -> None:
        for name in ("function", "inputs", "deterministic"):
            setting = find([self.draft.own], name)
            if setting is not None and self.draft.files.py is None:
                expected = f"{self.draft.files.name.name}.py beside this file"
                self.problem("LS112", f"{name} is for Python queries", setting.place, expected=expected)

    def _query(self) -> SqlQuery | PythonQuery | None:
        query = self._whole_query()
        if isinstance(query, PythonQuery) and self.draft.settings.emit not in (None, "live"):
            place = self.draft.own.document.place("emit")
            self.problem("LS112", "emit is for SQL queries", place, expected="a SELECT")
        return query

    def _whole_query(self) -> SqlQuery | PythonQuery | None:
        files = self.draft.files
        own = self.draft.own
        if self.draft.settings.query is not None:
            return SqlQuery(self.draft.settings.query, own.document.text_place("query"))
        if self.draft.settings.from_ is not None:
            return self._copy(TableName.parse(self.draft.settings.from_), own.document.text_place("from"))
        if files.sql is not None:
            place = Place(files.sql, 1)
            return SqlQuery(self.filler.text(self.files.read(files.sql), place), place)
        return None if files.py is None else self._python(files.py)

    def _copy(self, table: TableName, place: Place) -> SqlQuery:
        """The query of ``from:``: all columns, except those that lakesmith adds to a sourced table.

        A copy is a table of data; when and from which file a row came stays with the sourced table. With a
        key over full exports, the query computes their changes.
        """
        if (exports := self._exports()) is not None:
            return keyed_query(table, self.names("key"), exports, place)
        left_out = f" EXCEPT ({', '.join(ADDED_COLUMNS)})" if table in self.sourced else ""
        # In backticks: layers and tables may be called as words of SQL are.
        return SqlQuery(f"SELECT *{left_out} FROM `{table.layer}`.`{table.name}`", place)

    def _python(self, path: str) -> PythonQuery | None:
        own = self.draft.settings
        inputs = {parameter: TableName.parse(table) for parameter, table in (own.inputs or {}).items()}
        place = self.draft.own.document.place("inputs")
        settings = PythonSettings(
            own.function or self.draft.files.name.name, inputs, own.deterministic, place
        )
        try:
            return python_query(self.files.read(path), path, self.files.root, settings)
        except ProjectError as error:
            self.problems.extend(error.problems)
            return None

    def _exports(self) -> FullExport | None:
        """The full exports from which a table with a key is computed."""
        own = self.draft.settings
        if own.from_ is None or self.find("key") is None:
            return None
        return self.sourced.get(TableName.parse(own.from_))

    def _on_bad_row(self, sources: Sequence[Source]) -> OnBadRow:
        """A row in quarantine would count as missing from its export."""
        setting = self.find("on_bad_row")
        if not any(source.snapshot for source in sources):
            return OnBadRow.QUARANTINE if setting is None else OnBadRow(setting.value)
        if setting is not None and setting.value is not OnBadRow.FAIL:
            table = self.draft.files.name
            what = f"a row in quarantine would count as deleted: the files of {table} are full exports"
            self.problem("LS105", what, setting.place, expected="on_bad_row: fail", found=str(setting.value))
        if len(sources) > 1:
            what = f"the files of {self.draft.files.name} are full exports, and it has {len(sources)} sources"
            self.problem("LS105", what, self.draft.place, expected="one source, or snapshot: false")
        return OnBadRow.FAIL

    def _rules(self) -> tuple[Rule, ...]:
        setting = self.find("rules")
        if setting is None:
            return ()
        from lakesmith.quality.dqdl import parse_rules

        try:
            return parse_rules(setting.value, setting.text_place)
        except ProjectError as error:
            self.problems.extend(error.problems)
            return ()

    def _partitions(self) -> tuple[str, ...]:
        setting = self.find("partition_by")
        found = []
        for index, text in enumerate(setting.value if setting else ()):
            try:
                found.append(partition_field(text)[0])
            except PartitionProblem as error:
                place = setting.item_place(index) if setting else self.draft.place
                expected = "a column or years(c), months(c), days(c), hours(c), bucket(n, c), truncate(n, c)"
                self.problem("LS115", str(error), place, expected=expected, hint=error.hint)
        return tuple(found)


def checked_maintenance(found: Maintenance, levels: Sequence[Level], problems: list[Problem]) -> Maintenance:
    """Returns the settings without columns that the strategy does not use, which a folder may share.

    Appends LS105 for a strategy that lacks its columns.
    """
    if found.strategy is FileOrder.BINPACK:
        return replace(found, columns=())
    strategy = find(levels, "strategy")
    if strategy is not None and find(levels, "columns") is None:
        what = f"the strategy {found.strategy.value} needs columns"
        problems.append(Problem("LS105", what, strategy.place, "columns: [column, …] beside it"))
    return found


OF_EXTERNAL: Final = frozenset({"description", "owner", "tags"})
"""What can be said of a table of others: all else is up to whom it belongs to."""


def external_table(name: TableName, own: Level, problems: list[Problem]) -> ExternalTable | None:
    """Returns the external table that ``own`` declares, None if it declares none. Appends problems."""
    level = own.below("external")
    if level is None:
        return None
    problems += [*_not_together(name, own), *_wrong(level.model, own)]
    place = own.document.place("external")
    return ExternalTable(**{"place": place, "table": name, **values_of(ExternalTable, [level], problems)})


def _not_together(name: TableName, own: Level) -> Iterator[Problem]:
    for key in own.model.model_fields_set - OF_EXTERNAL - {"external"}:
        word = key.rstrip("_")
        what = f"{name} is an external table, which {word} does not concern"
        yield Problem("LS112", what, own.document.place(word), "external: alone", f"external and {word}")


def _wrong(settings: Any, own: Level) -> Iterator[Problem]:
    place = own.document.place("external")
    if settings.metadata is not None and (settings.project or settings.catalog or settings.table):
        what = "metadata takes the place of project, catalog and table"
        yield Problem("LS105", what, place, "one of the two")
    if settings.project is not None and settings.catalog is not None:
        yield Problem("LS105", "a table is in a project or in a catalog", place, "one of the two")
    if not (settings.metadata or settings.project or settings.catalog or settings.table):
        expected = "project, catalog, table or metadata"
        yield Problem("LS104", "external does not name a table", place, expected)


def unknown_catalogs(tables: Iterable[TableDefinition], target: Target) -> Iterator[Problem]:
    """Yields LS124: external tables in other catalogs that the target does not have."""
    known = [other.name for other in target.others]
    for table in tables:
        name = table.external.catalog if table.external else None
        if name is not None and name not in known:
            yield Problem(
                "LS124",
                f"target {target.name!r} has no other catalog {name!r}",
                table.place,
                f"one of {', '.join(known)}" if known else f"other_catalogs: {{{name}: ...}} in its settings",
                hint=did_you_mean(name, known),
            )
