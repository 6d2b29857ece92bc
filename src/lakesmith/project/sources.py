"""Reading of the sources of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lakesmith.errors import Place, Problem
from lakesmith.project.declaring import all_settings
from lakesmith.project.definitions import (
    KAFKA_PATH,
    Column,
    CsvOptions,
    FileSource,
    HttpSource,
    KafkaSource,
    OnNewColumn,
    OnTypeChange,
    PostgresSource,
    Source,
    TableName,
)
from lakesmith.project.formats import FORMATS, OF_SOME_FORMATS, FileFormat, format_by_ending
from lakesmith.project.keyed import wrong_export
from lakesmith.project.spark_types import parse_type
from lakesmith.project.written import Level, find, values_of
from lakesmith.project.yaml_reader import YamlPath

INTAKE_FOLDER: Final = ".lakesmith/intake"
"""The project's folder for the files of sources that lakesmith writes, with a folder for each source."""

_KINDS: Final[dict[str, type]] = {
    "files": Source,
    "http": HttpSource,
    "postgres": PostgresSource,
    "kafka": KafkaSource,
}
_HAS_NO_COLUMNS: Final = {"http": "events", "postgres": "rows of PostgreSQL", "kafka": "records of Kafka"}


@dataclass(frozen=True, slots=True)
class SourceReader:
    """Reader of the sources of one table. ``takes_bad``: see HttpSource; ``avro_schema``: its text.

    ``problems`` collects LS104 (no format, no kind, no columns) and LS105 (a wrong value).
    """

    table: TableName
    own: Level
    defaults: Sequence[Level]
    columns: Sequence[Column] = ()
    takes_bad: bool = False
    avro_schema: str | None = None
    problems: list[Problem] = field(default_factory=list)

    def sources(self) -> tuple[Source, ...]:
        """Returns the sources in the order in which they are written, those of files first."""
        found = [source for each in _declared(self.own) if (source := self._source(*each)) is not None]
        ordered = sorted(found, key=lambda source: not source.has_foreign_files)
        self.problems.extend(_same_files([each for each in ordered if each.has_foreign_files]))
        return tuple(ordered)

    def places(self) -> Iterator[tuple[str, Place]]:
        """Yields where each option of each source is written: ``source.files.min_age`` and the line."""
        for name, model, path in _declared(self.own):
            for kind in _kinds_of(model):
                level = Level(self.own.document, getattr(model, kind), (*path, kind))
                for key, (_, declared) in all_settings(_KINDS[kind]).items():
                    levels = self._levels(level) if declared.shared else [level]
                    if (setting := find(levels, key)) is not None:
                        yield f"source.{name or kind}.{key}", setting.place

    def _source(self, name: str | None, model: Any, path: YamlPath) -> Source | None:
        kinds, place = _kinds_of(model), self.own.document.place(*path)
        if len(kinds) != 1:
            expected = " or ".join(f"{kind}: …" for kind in _KINDS)
            self.problems.append(
                Problem("LS104", "a source is of one kind", place, expected, " and ".join(kinds) or "none")
            )
            return None
        kind, own = kinds[0], self.own.model
        if kind != "files" and own.columns is None and own.avro_schema is None:
            what = f"{_HAS_NO_COLUMNS[kind]} need declared columns"
            self.problems.append(Problem("LS104", what, place, "columns: the names and types"))
            return None
        level = Level(self.own.document, getattr(model, kind), (*path, kind))
        made: Source | None = getattr(self, f"_{kind}")(name or kind, level, place)
        return made

    def _files(self, name: str, level: Level, place: Place) -> FileSource | None:
        levels = self._levels(level)
        guessed = format_by_ending(level.model.pattern or "") or format_by_ending(level.model.path)
        values = values_of(Source, levels, self.problems)
        kind = values.setdefault("format", guessed)
        if kind is None:
            expected = f"format: one of {', '.join(FileFormat)}"
            self.problems.append(
                Problem("LS104", "the format of the files is unknown", level.place, expected)
            )
            return None
        self._check_options(levels, kind)
        self.problems.extend(
            wrong_export(values.get("snapshot"), level.document.place(*level.path, "snapshot"))
        )
        usual = {"delimiter": FORMATS[kind].delimiter, "comment": FORMATS[kind].comment}
        options = {**usual, **values_of(CsvOptions, levels, self.problems)}
        if FORMATS[kind].is_log:
            values = {"on_new_column": OnNewColumn.EVOLVE, **values}
        if not self.columns:
            # Inferred columns follow the files, unless the source says otherwise.
            values = {"on_new_column": OnNewColumn.EVOLVE, "on_type_change": OnTypeChange.WIDEN, **values}
        given = {"path": level.model.path, **values}
        return FileSource(name=name, place=level.place, csv=CsvOptions(**options), **given)

    def _check_options(self, levels: Sequence[Level], kind: FileFormat) -> None:
        for key in (it for it in OF_SOME_FORMATS if it not in FORMATS[kind].options):
            if (setting := find(levels[:1], key)) is not None:
                what = f"{key} has no meaning for {kind.value} files"
                self.problems.append(Problem("LS105", what, setting.place, hint=f"remove {key}"))
        header = find(levels, "header")
        if header and not header.value and not self.columns and "header" in FORMATS[kind].options:
            what, expected = (
                "files without a header need declared columns",
                "columns: the names and types, in the files' order",
            )
            self.problems.append(Problem("LS104", what, header.place, expected))

    def _http(self, name: str, level: Level, place: Place) -> HttpSource:
        names = [column.name for column in self.columns]
        for index, column in enumerate(level.model.event_id or ()):
            if names and column not in names:
                where = level.document.place(*level.path, "event_id", index)
                what = f"event_id has {column}, which is not a column"
                self.problems.append(Problem("LS105", what, where, f"one of {', '.join(names)}"))
        for declared in self.columns:
            if parse_type(declared.type or "string").has_odd_keys:
                what = f"{declared.name} has a map whose keys are not texts; JSON has no such maps"
                self.problems.append(
                    Problem("LS105", what, declared.place or level.place, "map<string,...>", declared.type)
                )
        values = values_of(HttpSource, [level], self.problems)
        given = {"url_path": level.model.path, **values}
        return HttpSource(**self._landing(name, place), takes_bad=self.takes_bad, **given)

    def _postgres(self, name: str, level: Level, _: Place) -> PostgresSource:
        columns, settings = tuple(self.own.model.columns or ()), level.model
        used = [*settings.key, *([settings.growing] if settings.growing else [])]
        for missing in [column for column in used if column not in columns]:
            what = f"{missing!r} is not a column of {self.table}"
            self.problems.append(Problem("LS105", what, level.place, f"one of {', '.join(columns)}"))
        if settings.overlap is not None and settings.growing is None:
            self.problems.append(Problem("LS105", "overlap needs growing", level.place, "growing: a column"))
        given = self.own.model.columns or {}
        binary = tuple(column for column, form in given.items() if _is_binary(form))
        keys = (column for column in self.columns if column.name in settings.key)
        values = values_of(PostgresSource, [level], self.problems)
        return PostgresSource(
            **self._landing(name, level.place),
            columns=columns,
            binary=binary,
            text_keys=tuple(column.name for column in keys if _is_text(column)),
            **values,
        )

    def _kafka(self, name: str, level: Level, _: Place) -> KafkaSource:
        is_avro = level.model.values == "avro"
        if is_avro and self.avro_schema is None:
            what = "values in Avro need the schema with which they are written"
            self.problems.append(Problem("LS105", what, level.place, "avro_schema: a file of the table"))
        return KafkaSource(
            name=name,
            path=f"{KAFKA_PATH}{level.model.topic}",
            format=FileFormat.JSON,
            place=level.place,
            avro_schema=self.avro_schema if is_avro else None,
            **values_of(KafkaSource, [level], self.problems),
        )

    def _landing(self, name: str, place: Place) -> dict[str, Any]:
        """The fields of sources whose files lakesmith writes."""
        path = f"{INTAKE_FOLDER}/{self.table}/{name}"
        return {"name": name, "path": path, "format": FileFormat.JSON, "place": place, "pattern": "*.jsonl"}

    def _levels(self, level: Level) -> list[Level]:
        """The levels in which the options of a source are looked up, nearest first."""
        above = (each.below("source", "files") for each in self.defaults)
        return [level, *(each for each in above if each is not None)]


def _declared(own: Level) -> Iterator[tuple[str | None, Any, YamlPath]]:
    """The sources with their names (None for a single one) and paths in the document."""
    source = own.model.source
    if isinstance(source, dict):
        yield from ((name, each, (*own.path, "source", name)) for name, each in source.items())
    elif source is not None:
        yield None, source, (*own.path, "source")


def _kinds_of(model: Any) -> list[str]:
    return [kind for kind in _KINDS if getattr(model, kind) is not None]


def _same_files(sources: Sequence[Source]) -> Iterator[Problem]:
    first: dict[tuple[str, str], Source] = {}
    for source in sources:
        other = first.setdefault((source.path.rstrip("/"), source.pattern), source)
        if other is not source:
            what = f"the sources {other.name} and {source.name} have the same files"
            hint = "each row would be ingested twice: remove one of them"
            yield Problem("LS105", what, source.place, hint=hint)


def _is_text(column: Column) -> bool:
    """Whether equal texts are equal values: JSON in a string, and what has parts of that kind."""
    kind = parse_type(column.type or "string")
    return bool(kind.outer) or kind.text == "string"


def _is_binary(form: Any) -> bool:
    kind = form if isinstance(form, str) else form.type
    return (kind or "").strip().lower() == "binary"
