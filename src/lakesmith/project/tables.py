"""From the settings of one table to its definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project.avro import avro_columns
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
    Nulls,
    OnBadRow,
    OnUnknown,
    PostgresSource,
    PythonQuery,
    Source,
    SqlQuery,
    TableDefinition,
    TableName,
    is_taken,
)
from lakesmith.project.exports import DELETED, EXPORTED_AT, keyed_query
from lakesmith.project.externals import OF_EXTERNAL, external_table
from lakesmith.project.files import ProjectFiles
from lakesmith.project.layout import TableFiles
from lakesmith.project.partitions import PartitionProblem, partition_field
from lakesmith.project.python_query import PythonSettings, python_query
from lakesmith.project.sources import SourceReader
from lakesmith.project.spark_types import TypeProblem, normal_type
from lakesmith.project.variables import Filler
from lakesmith.project.windows import closed_windows, emit_of
from lakesmith.project.written import Found, Level, find, values_of
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.model import Rule

_KEYED_ONLY: Final = ("key", "latest_by", "nulls", "delete_when", "track")
_READ_HERE: Final = frozenset(
    {"sources", "external", "query", "columns", "emit", "lookups", "rules", "on_bad_row", "partition_by"}
    | {*_KEYED_ONLY, "history"}
)
"""Fields whose values depend on more than what is written for them."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A table whose files were read.

    ``defaults`` are the levels above it, nearest first; not ``complete`` when one of them could not be read.
    """

    files: TableFiles
    own: Level
    defaults: tuple[Level, ...]
    complete: bool = True

    @property
    def settings(self) -> Any:
        """What the table's own YAML says."""
        return self.own.model

    @property
    def levels(self) -> tuple[Level, ...]:
        """Where a shared setting is looked for, nearest first."""
        return (self.own, *self.defaults)

    @property
    def place(self) -> Place:
        """Where the table is declared."""
        return Place(self.files.main, 1)


class TableBuilder:
    """Makes the definition of one draft. ``sourced``: all sourced tables of the project, with the full exports that they take."""

    kind: ClassVar[Any] = TableDefinition

    def __init__(
        self,
        draft: Draft,
        files: ProjectFiles,
        filler: Filler,
        sourced: Mapping[TableName, FullExport | None],
    ) -> None:
        self._draft = draft
        self._files = files
        self._filler = filler
        self._sourced = sourced
        self.problems: list[Problem] = []

    def build(self) -> TableDefinition:
        """The definition; not to be used when there are ``problems``."""
        draft = self._draft
        if (external := external_table(draft.files.name, draft.own, self.problems)) is not None:
            return self._external(external)
        self._check_kind()
        columns = self._columns()
        sources, places = self._sources(columns)
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
            **self._versions(),
            rules=self._rules(),
            on_bad_row=self._on_bad_row(sources),
            partition_by=self._partitions(),
            settings_from=(*places, *self._settings_from()),
            **self._plain_values(),
        )
        return table

    def _plain_values(self) -> dict[str, Any]:
        """The fields that follow from what is written for them alone."""
        values = values_of(self.kind, self._draft.levels, self.problems, but=_READ_HERE)
        if "maintenance" in values:
            maintained = (level.below("maintain") for level in self._draft.levels)
            levels = [level for level in maintained if level is not None]
            values["maintenance"] = checked_maintenance(values["maintenance"], levels, self.problems)
        return values

    def _external(self, external: ExternalTable) -> TableDefinition:
        files = self._draft.files
        if queries := [path for path in (files.sql, files.py) if path]:
            what = f"{files.name} is a table of others and has a query"
            self._problem("LS112", what, external.place, expected="one of the two", found=queries[0])
        levels, but = self._draft.levels, frozenset({*settings_of(self.kind)} - OF_EXTERNAL)
        values = values_of(self.kind, levels, self.problems, but=but)
        table: TableDefinition = self.kind(files.name, self._draft.place, external=external, **values)
        return table

    def _sources(self, columns: Sequence[Column]) -> tuple[tuple[Source, ...], list[tuple[str, Place]]]:
        draft, bad = self._draft, self._find("on_bad_row")
        takes_bad = bad is not None and bad.value is OnBadRow.QUARANTINE
        reader = SourceReader(
            draft.files.name,
            draft.own,
            draft.defaults,
            columns,
            takes_bad,
            self._avro_schema(),
            self.problems,
        )
        return reader.sources(), list(reader.places())

    def _read_columns(self, sources: Sequence[Source], columns: Sequence[Column]) -> Iterator[Column]:
        """What the rows of a table in PostgreSQL, and of a topic in Kafka, have besides."""
        of_postgres = READ_COLUMNS if any(isinstance(source, PostgresSource) for source in sources) else ()
        of_kafka = KAFKA_COLUMNS if not all(source.has_files for source in sources) else ()
        declared = {column.name.lower(): column for column in columns}
        for name, kind in (*of_postgres, *of_kafka):
            if (taken := declared.get(name)) is not None:
                origin = "rows of PostgreSQL" if (name, kind) in of_postgres else "records of Kafka"
                what = f"the column {taken.name!r} is what lakesmith adds to {origin}"
                self._problem("LS105", what, taken.place or self._draft.place, hint="leave it out")
            yield Column(name, kind)

    def _lookups(self) -> tuple[TableName, ...]:
        """The tables whose values stay as they were; those that are looked up as they are now are inputs like any others."""
        found = []
        for name, settings in (self._draft.settings.lookups or {}).items():
            if self._is_sourced:
                place = self._draft.own.document.place("lookups", name)
                self._problem("LS112", "lookups are for derived tables", place, expected="a query")
            if settings.unknown is OnUnknown.HEAL:
                self._no_healing(name)
            if settings.as_of is AsOf.ARRIVAL:
                found.append(TableName.parse(name))
        return tuple(found)

    def _no_healing(self, name: str) -> None:
        """The rows that wait are not told from others by what a table has, so none could be found again without reading all."""
        hint = (
            "keep the looked-up key as a column, and let a table that reads this one fill in what is NULL by a join as of now:"
            " docs/lookups.md, Unknown products"
        )
        what = f"rows of {self._draft.files.name} that wait for {name} cannot be healed in their place"
        place = self._draft.own.document.place("lookups", name, "unknown")
        self._problem("LS137", what, place, expected="unknown: keep", found="heal", hint=hint)

    def _find(self, name: str) -> Found | None:
        return find(self._draft.levels, name)

    def _value(self, name: str, default: Any) -> Any:
        setting = self._find(name)
        return default if setting is None else setting.value

    def _problem(self, code: str, what: str, place: Place, **parts: str | None) -> None:
        self.problems.append(Problem(code, what, place, **parts))

    def _settings_from(self) -> Iterator[tuple[str, Place]]:
        left_out = {"source", "external", *self._left_out()}
        for key, (_, declared) in all_settings(self.kind).items():
            levels = self._draft.levels if declared.shared else (self._draft.own,)
            if key not in left_out and (setting := find(levels, key)) is not None:
                yield key, setting.place

    def _left_out(self) -> frozenset[str]:
        """Settings of a whole folder that do not concern this table."""
        if self._is_sourced or self._find("key") is None:
            return frozenset({*_KEYED_ONLY, "history"})
        keeps_versions = self._value("history", History.TYPE1) is History.TYPE2
        return frozenset() if keeps_versions else frozenset({"track"})

    def _check_kind(self) -> None:
        files, own = self._draft.files, self._draft.settings
        ways = {"query": own.query, "from": own.from_, files.sql: files.sql, files.py: files.py}
        queries = [str(name) for name, given in ways.items() if given]
        if own.source is not None and queries:
            what = f"{files.name} is both sourced and derived"
            found = f"source and {', '.join(queries)}"
            self._problem("LS112", what, self._draft.place, expected="source, or a query", found=found)
        elif own.source is None and not queries:
            what = f"{files.name} is neither sourced nor derived"
            expected = f"source:, external: or a query ({files.name.name}.sql beside it, query:, from:)"
            self._problem("LS112", what, self._draft.place, expected=expected)
        elif len(queries) > 1 and not (files.sql and files.py and len(queries) == 2):
            what = f"{files.name} has more than one query"
            self._problem("LS111", what, self._draft.place, expected="one query", found=", ".join(queries))
        self._check_python_settings()

    def _check_python_settings(self) -> None:
        for name in ("function", "inputs", "deterministic"):
            setting = find([self._draft.own], name)
            if setting is not None and self._draft.files.py is None:
                expected = f"{self._draft.files.name.name}.py beside this file"
                self._problem("LS112", f"{name} is for Python queries", setting.place, expected=expected)

    def _query(self) -> SqlQuery | PythonQuery | None:
        query = self._whole_query()
        if isinstance(query, PythonQuery) and self._draft.settings.emit not in (None, "live"):
            place = self._draft.own.document.place("emit")
            self._problem("LS112", "emit is for SQL queries", place, expected="a SELECT")
        return query

    def _whole_query(self) -> SqlQuery | PythonQuery | None:
        files = self._draft.files
        own = self._draft.own
        if self._draft.settings.query is not None:
            return SqlQuery(self._draft.settings.query, own.document.text_place("query"))
        if self._draft.settings.from_ is not None:
            return self._copy(TableName.parse(self._draft.settings.from_), own.document.text_place("from"))
        if files.sql is not None:
            place = Place(files.sql, 1)
            return SqlQuery(self._filler.text(self._files.read(files.sql), place), place)
        return None if files.py is None else self._python(files.py)

    def _copy(self, table: TableName, place: Place) -> SqlQuery:
        """``from:``: all columns, those of a source that evolves included, but not what lakesmith adds to a sourced table.

        A copy is a table of data; when and from which file a row came stays with the table it came to. With a key over full exports, what
        they changed.
        """
        if (exports := self._exports()) is not None:
            return keyed_query(table, self._names("key"), exports, place)
        left_out = f" EXCEPT ({', '.join(ADDED_COLUMNS)})" if table in self._sourced else ""
        # In backticks: layers and tables may be called as words of SQL are.
        return SqlQuery(f"SELECT *{left_out} FROM `{table.layer}`.`{table.name}`", place)

    def _python(self, path: str) -> PythonQuery | None:
        own = self._draft.settings
        inputs = {parameter: TableName.parse(table) for parameter, table in (own.inputs or {}).items()}
        place = self._draft.own.document.place("inputs")
        settings = PythonSettings(
            own.function or self._draft.files.name.name, inputs, own.deterministic, place
        )
        try:
            return python_query(self._files.read(path), path, self._files.root, settings)
        except ProjectError as error:
            self.problems += error.problems
            return None

    def _columns(self) -> tuple[Column, ...]:
        own = self._draft.settings
        if own.avro_schema is not None:
            columns = self._avro_columns(own.avro_schema)
        else:
            columns = tuple(self._column(name, form) for name, form in (own.columns or {}).items())
        self._check_column_names(columns)
        return columns

    def _avro_schema(self) -> str | None:
        path = self._draft.settings.avro_schema
        return self._files.read(path) if path is not None and self._files.exists(path) else None

    def _avro_columns(self, path: str) -> tuple[Column, ...]:
        place = self._draft.own.document.place("avro_schema")
        if self._draft.settings.columns is not None:
            self._problem(
                "LS105", "columns and avro_schema exclude each other", place, expected="one of the two"
            )
        if not self._files.exists(path):
            self._problem("LS113", f"there is no Avro schema {path}", place, expected="a path in the project")
            return ()
        try:
            return avro_columns(self._files.read(path), path)
        except ProjectError as error:
            self.problems += error.problems
            return ()

    def _column(self, name: str, form: Any) -> Column:
        place = self._draft.own.document.place("columns", name)
        if isinstance(form, str):
            return Column(name, self._type(form, place), place=place)
        type_place = self._draft.own.document.place("columns", name, "type")
        given = None if form.type is None else self._type(form.type, type_place)
        if given is None and form.type is None and self._draft.settings.source is not None:
            self._problem(
                "LS104", f"the column {name!r} has no type", place, expected="type: … on a sourced table"
            )
        if form.renamed_from is not None:
            self._check_earlier_name(name, form.renamed_from, place)
        return Column(name, given, form.doc, form.required, place, form.renamed_from)

    def _check_earlier_name(self, name: str, earlier: str, place: Place) -> None:
        others = self._draft.settings.columns or {}
        also = [
            other
            for other, form in others.items()
            if other != name
            and earlier.lower() in (other.lower(), (getattr(form, "renamed_from", None) or "").lower())
        ]
        if also or earlier.lower() == name.lower():
            what = f"the column {name!r} cannot have been {earlier!r}"
            found = f"{earlier!r} is what {also[0]!r} is or was called" if also else "its own name"
            hint = "two columns change names in two runs: give one a third name first" if also else None
            self._problem(
                "LS105", what, place, expected="a name that no column has now", found=found, hint=hint
            )

    def _type(self, text: str, place: Place) -> str | None:
        try:
            return normal_type(text)
        except TypeProblem as error:
            self._problem(
                "LS114", str(error), place, expected="a Spark SQL type", found=text, hint=error.hint
            )
            return None

    def _check_column_names(self, columns: Sequence[Column]) -> None:
        added = ADDED_COLUMNS if self._is_sourced else ()
        seen: dict[str, str] = {}
        for column in columns:
            place = column.place or self._draft.place
            folded = column.name.lower()
            if folded in seen:
                what = f"the columns {seen[folded]!r} and {column.name!r} differ only in case"
                self._problem("LS105", what, place, hint="Spark takes them for one: rename one of them")
            seen.setdefault(folded, column.name)
            if folded in added or is_taken(folded):
                what = f"the column {column.name!r} is lakesmith's or Iceberg's own"
                self._problem("LS105", what, place, hint="choose another name")

    def _names(self, name: str) -> tuple[str, ...]:
        setting = self._find(name)
        if setting is None:
            return ()
        columns: list[str] = setting.value
        if not columns:
            self._problem("LS105", f"{name} is empty", setting.place, expected="at least one column")
        for index, column in enumerate(columns):
            if column.lower() in map(str.lower, columns[:index]):
                self._problem("LS105", f"{name} has {column!r} twice", setting.item_place(index))
        return tuple(columns)

    def _versions(self) -> dict[str, Any]:
        """The settings of keyed tables. Those that were written for a whole folder do not concern the others in it."""
        key = () if self._is_sourced else self._names("key")
        if key:
            if self._exports() is not None:
                ordered = self._ordered_by_exports()
            else:
                ordered = {
                    "latest_by": self._names("latest_by"),
                    "nulls": self._nulls(),
                    "delete_when": self._value("delete_when", None),
                }
            return {"key": key, **ordered, **self._history((*key, *ordered["latest_by"]))}
        for name in (*_KEYED_ONLY, "history"):
            if (setting := find([self._draft.own], name)) is None or setting.value is History.TYPE1:
                continue
            if self._is_sourced or name != "key":
                self._unkeyed(name, setting)
        return {}

    def _exports(self) -> FullExport | None:
        """The full exports that a table with a key is made from."""
        own = self._draft.settings
        if own.from_ is None or self._find("key") is None:
            return None
        return self._sourced.get(TableName.parse(own.from_))

    def _on_bad_row(self, sources: Sequence[Source]) -> OnBadRow:
        """A row that is set aside would be taken for one that is not in its export."""
        setting = self._find("on_bad_row")
        if not any(source.snapshot for source in sources):
            return OnBadRow.QUARANTINE if setting is None else OnBadRow(setting.value)
        if setting is not None and setting.value is not OnBadRow.FAIL:
            what = f"a row in quarantine would count as deleted: the files of {self._draft.files.name} are full exports"
            self._problem("LS105", what, setting.place, expected="on_bad_row: fail", found=str(setting.value))
        if len(sources) > 1:
            what = (
                f"the files of {self._draft.files.name} are full exports, and it has {len(sources)} sources"
            )
            self._problem("LS105", what, self._draft.place, expected="one source, or snapshot: false")
        return OnBadRow.FAIL

    def _ordered_by_exports(self) -> dict[str, Any]:
        for name in ("latest_by", "nulls", "delete_when"):
            if (setting := find([self._draft.own], name)) is not None:
                what = f"{name} of {self._draft.files.name} is not to be set: full exports tell it"
                self._problem("LS112", what, setting.place, hint="leave it out")
        return {"latest_by": (EXPORTED_AT,), "delete_when": DELETED}

    def _nulls(self) -> Nulls:
        setting, history = self._find("nulls"), self._find("history")
        if setting is None or setting.value is not Nulls.NEWEST:
            return Nulls.OLDEST
        if history is not None and history.value is History.TYPE2:
            what = f"nulls: newest of {self._draft.files.name} is not for history: type2, where each version needs its time"
            self._problem("LS121", what, setting.place, expected="nulls: oldest")
        return Nulls.NEWEST

    def _history(self, ordering: Sequence[str]) -> dict[str, Any]:
        """``ordering``: the columns of key and latest_by, which make a version what it is."""
        setting, own_track = self._find("history"), find([self._draft.own], "track")
        table = self._draft.files.name
        if setting is None or setting.value is not History.TYPE2:
            if own_track is not None:
                what = f"track of {table} is for tables that keep versions"
                self._problem("LS121", what, own_track.place, expected="history: type2")
            return {}
        if not ordering[len(self._names("key")) :]:
            what = f"history: type2 of {table} needs latest_by, whose first column tells the times"
            self._problem("LS121", what, setting.place, expected="latest_by: [column, …]")
        return {"history": History.TYPE2, "track": self._tracked(ordering)}

    def _tracked(self, ordering: Sequence[str]) -> tuple[str, ...]:
        track, settled = self._names("track"), {name.lower() for name in ordering}
        for index, column in enumerate(track):
            if column.lower() in settled and (setting := self._find("track")) is not None:
                what = f"track has {column!r}, a column of key or latest_by"
                expected = "columns that tell one version from the next"
                self._problem("LS105", what, setting.item_place(index), expected=expected)
        return track

    def _unkeyed(self, name: str, setting: Found) -> None:
        table = self._draft.files.name
        if self._is_sourced:
            hint = f"put {name} on a table that is derived from it: from: {table}"
            self._problem(
                "LS121",
                f"{name} is not for sourced tables: {table} keeps every row",
                setting.place,
                hint=hint,
            )
        else:
            self._problem(
                "LS121", f"{name} of {table} needs a key", setting.place, expected="key: [column, …]"
            )

    @property
    def _is_sourced(self) -> bool:
        return self._draft.settings.source is not None

    def _rules(self) -> tuple[Rule, ...]:
        setting = self._find("rules")
        if setting is None:
            return ()
        try:
            return parse_rules(setting.value, setting.text_place)
        except ProjectError as error:
            self.problems += error.problems
            return ()

    def _partitions(self) -> tuple[str, ...]:
        setting = self._find("partition_by")
        found = []
        for index, text in enumerate(setting.value if setting else ()):
            try:
                found.append(partition_field(text)[0])
            except PartitionProblem as error:
                place = setting.item_place(index) if setting else self._draft.place
                expected = "a column or years(c), months(c), days(c), hours(c), bucket(n, c), truncate(n, c)"
                self._problem("LS115", str(error), place, expected=expected, hint=error.hint)
        return tuple(found)


def checked_maintenance(found: Maintenance, levels: Sequence[Level], problems: list[Problem]) -> Maintenance:
    """Returns the settings without columns that the strategy does not use: a whole folder may give them.

    Appends LS105 for a strategy that lacks its columns.
    """
    if found.strategy is FileOrder.BINPACK:
        return replace(found, columns=())
    strategy = find(levels, "strategy")
    if strategy is not None and find(levels, "columns") is None:
        what = f"the strategy {found.strategy.value} needs columns"
        problems.append(Problem("LS105", what, strategy.place, "columns: [column, …] beside it"))
    return found
