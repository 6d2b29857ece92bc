"""The ``source:`` of a table and the defaults above it, as FileSource definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel

from lakesmith.errors import Place, Problem
from lakesmith.project.date_patterns import wrong_pattern
from lakesmith.project.definitions import (
    Column,
    CsvOptions,
    FileSource,
    HttpSource,
    OnBadFile,
    OnChangedFile,
    OnInexact,
    OnNewColumn,
    OnTypeChange,
    PostgresSource,
    Source,
    TableName,
)
from lakesmith.project.durations import seconds
from lakesmith.project.encodings import usual_name
from lakesmith.project.endpoint import endpoint_settings
from lakesmith.project.exports import export_of, wrong_settings
from lakesmith.project.formats import FORMATS, OF_SOME_FORMATS, FileFormat, format_by_ending
from lakesmith.project.kafka import kafka_source
from lakesmith.project.models import (
    ColumnSettings,
    DefaultsFile,
    FileOptions,
    FilesSettings,
    PostgresSettings,
    SourceSettings,
    TableFile,
)
from lakesmith.project.schedules import ScheduleProblem, zone_key
from lakesmith.project.settings import Level, Setting, find
from lakesmith.project.yaml_reader import YamlPath

INTAKE_FOLDER: Final = ".lakesmith/intake"
"""Where events wait to be taken, in the project's folder; below it a folder for each source."""

_KINDS: Final = ("files", "http", "postgres", "kafka")
_HAS_NO_COLUMNS: Final = {"http": "events", "postgres": "rows of PostgreSQL", "kafka": "records of Kafka"}

_OPTIONS: Final = tuple(name for name in FileOptions.model_fields if name not in {"path", "pattern", "since"})


@dataclass(frozen=True, slots=True)
class Besides:
    """What a table says that its sources have to know. ``takes_bad``: see HttpSource; ``avro_schema``: its text, None without one."""

    takes_bad: bool = False
    avro_schema: str | None = None


def file_sources(
    own: Level[TableFile], defaults: Sequence[Level[DefaultsFile]], declared: bool, problems: list[Problem]
) -> tuple[FileSource, ...]:
    """The sources of a table, in the order they are written; a single one is called ``files``.

    ``declared``: the table declares its columns. Appends problems LS104 (no format) and LS105 (a wrong value).
    """
    above = [found for level in defaults if (found := level.below("source", "files")) is not None]
    sources = (_source(name, [level, *above], declared, problems) for name, level in _levels(own))
    right = tuple(source for source in sources if source is not None)
    problems += _same_files(right)
    return right


def source_settings(
    own: Level[TableFile], defaults: Sequence[Level[DefaultsFile]]
) -> Iterator[tuple[str, Place]]:
    """Where each option of each source was written: ``source.files.min_age`` and the line."""
    above = [found for level in defaults if (found := level.below("source", "files")) is not None]
    for name, level in _levels(own):
        for option in ("path", "pattern", "since", "snapshot", *_OPTIONS):
            levels = [level, *above] if option in _OPTIONS else [level]
            if (setting := find(levels, option)) is not None:
                yield f"source.{name}.{option}", setting.place


def _levels(own: Level[TableFile]) -> Iterator[tuple[str, Level[FilesSettings]]]:
    for name, source, path in _declared_sources(own):
        if source.files is not None:
            yield name or "files", Level(own.document, source.files, (*path, "files"))


def _declared_sources(own: Level[TableFile]) -> Iterator[tuple[str | None, SourceSettings, YamlPath]]:
    """The sources with their names, None for a single one, and where they stand."""
    source = own.model.source
    if isinstance(source, SourceSettings):
        yield None, source, (*own.path, "source")
    elif source is not None:
        yield from ((name, each, (*own.path, "source", name)) for name, each in source.items())


def other_sources(
    own: Level[TableFile],
    table: TableName,
    columns: Sequence[Column],
    besides: Besides,
    problems: list[Problem],
) -> tuple[Source, ...]:
    """The sources of a table that are no folders of the user's: of events, of what changed in PostgreSQL, of records of Kafka.

    ``besides``: what else the table says. Appends problems LS104 for a source of no kind or of several, and for columns that are not declared, and
    LS105 for values that cannot be.
    """
    found: list[Source] = []
    for name, source, path in _declared_sources(own):
        place = own.document.place(*path)
        kinds = [kind for kind in _KINDS if getattr(source, kind) is not None]
        if len(kinds) != 1:
            what = "a source is of one kind"
            expected = " or ".join(f"{kind}: …" for kind in _KINDS)
            problems.append(Problem("LS104", what, place, expected, " and ".join(kinds) or "none"))
        elif source.files is None and own.model.columns is None and own.model.avro_schema is None:
            what = f"{_HAS_NO_COLUMNS[kinds[0]]} need declared columns"
            problems.append(Problem("LS104", what, place, "columns: the names and types"))
        elif source.http is not None:
            level = Level(own.document, source.http, (*path, "http"))
            given = endpoint_settings(level, columns, problems)
            found.append(
                HttpSource(**_landing(name or "http", table, place), takes_bad=besides.takes_bad, **given)
            )
        elif source.postgres is not None:
            read = Level(own.document, source.postgres, (*path, "postgres"))
            found.append(_postgres_source(name or "postgres", read, own, table, problems))
        elif source.kafka is not None:
            taken = Level(own.document, source.kafka, (*path, "kafka"))
            found.append(kafka_source(name or "kafka", taken, besides.avro_schema, problems))
    return tuple(found)


def _postgres_source(
    name: str,
    level: Level[PostgresSettings],
    own: Level[TableFile],
    table: TableName,
    problems: list[Problem],
) -> PostgresSource:
    settings, refresh = level.model, find([level], "refresh")
    columns = tuple(own.model.columns or ())
    place = level.document.place(*level.path)
    used = [*settings.key, *([settings.growing] if settings.growing else [])]
    for missing in [column for column in used if column not in columns]:
        what = f"{missing!r} is none of the columns of {table}"
        problems.append(Problem("LS105", what, place, f"one of {', '.join(columns)}"))
    if settings.overlap is not None and settings.growing is None:
        problems.append(Problem("LS105", "overlap needs growing", place, "growing: a column"))
    return PostgresSource(
        **_landing(name, table, place),
        connection=settings.connection,
        table=settings.table,
        columns=columns,
        key=tuple(settings.key),
        refresh_seconds=_seconds(refresh, problems, "refresh") if refresh else 60.0,
        growing=settings.growing,
        overlap=None if settings.overlap is None else str(settings.overlap),
        binary=tuple(name for name, column in (own.model.columns or {}).items() if _is_binary(column)),
    )


def _is_binary(column: str | ColumnSettings) -> bool:
    kind = column if isinstance(column, str) else column.type
    return (kind or "").strip().lower() == "binary"


def _landing(name: str, table: TableName, place: Place) -> dict[str, Any]:
    """What sources have in common whose files lakesmith writes."""
    path = f"{INTAKE_FOLDER}/{table}/{name}"
    return {"name": name, "path": path, "format": FileFormat.JSON, "place": place, "pattern": "*.jsonl"}


def _source(
    name: str, levels: Sequence[Level[BaseModel]], declared: bool, problems: list[Problem]
) -> FileSource | None:
    own: Any = levels[0].model
    place = levels[0].document.place(*levels[0].path)
    file_format = _format(levels, place, problems)
    age = find(levels, "min_age")
    if file_format is None:
        return None
    _check_paths(levels[0], problems)
    _check_since(levels[0], problems)
    _check_options(levels[0], file_format, problems)
    _check_header(levels, file_format, declared, problems)
    _check_patterns(levels, problems)
    problems += wrong_settings(own.snapshot, levels[0].document.place(*levels[0].path, "snapshot"))
    _check_zone(levels, problems)
    return FileSource(
        name=name,
        path=own.path,
        format=file_format,
        place=place,
        pattern=own.pattern or "*",
        since=own.since,
        snapshot=export_of(own.snapshot),
        csv=_csv(levels, file_format),
        min_age_seconds=_seconds(age, problems) if age else 0.0,
        on_new_column=_value(levels, "on_new_column", OnNewColumn.FAIL if declared else OnNewColumn.EVOLVE),
        on_changed_file=_value(levels, "on_changed_file", OnChangedFile.FAIL),
        on_bad_file=_value(levels, "on_bad_file", OnBadFile.FAIL),
        on_erase=_value(levels, "on_erase", None),
        on_inexact=_value(levels, "on_inexact", OnInexact.QUARANTINE),
        on_type_change=_value(
            levels, "on_type_change", OnTypeChange.QUARANTINE if declared else OnTypeChange.WIDEN
        ),
    )


def _same_files(sources: Sequence[FileSource]) -> Iterator[Problem]:
    first: dict[tuple[str, str], FileSource] = {}
    for source in sources:
        other = first.setdefault((source.path.rstrip("/"), source.pattern), source)
        if other is not source:
            what = f"the sources {other.name} and {source.name} have the same files"
            yield Problem(
                "LS105", what, source.place, hint="each row would be taken twice: remove one of them"
            )


def _check_paths(own: Level[BaseModel], problems: list[Problem]) -> None:
    path, pattern = find([own], "path"), find([own], "pattern")
    if path is not None and set("*?") & set(path.value):
        hint = "put what the names of the files have in common under pattern:"
        problems.append(
            Problem("LS105", "path has a wild card", path.place, "a folder", repr(path.value), hint)
        )
    if pattern is not None and "/" in pattern.value:
        hint = "put the folder under path:; the folders below it are searched as well"
        problems.append(
            Problem("LS105", "pattern has a folder", pattern.place, "a file name", repr(pattern.value), hint)
        )


def _check_since(own: Level[BaseModel], problems: list[Problem]) -> None:
    since = find([own], "since")
    if since is not None and (since.value.startswith("/") or set("*?") & set(since.value)):
        hint = "write how the first names that count begin, without `path` before them"
        expected = "a name below path, such as dt=2026-11-01"
        problems.append(
            Problem("LS105", "since is no name below path", since.place, expected, repr(since.value), hint)
        )


def _format(levels: Sequence[Level[BaseModel]], place: Place, problems: list[Problem]) -> FileFormat | None:
    own: Any = levels[0].model
    guessed = format_by_ending(own.pattern or "") or format_by_ending(own.path or "")
    found: FileFormat | None = _value(levels, "format", guessed)
    if found is None:
        known = ", ".join(FileFormat)
        problems.append(
            Problem("LS104", "the format of the files is not said", place, f"format: one of {known}")
        )
    return found


def _check_options(own: Level[BaseModel], file_format: FileFormat, problems: list[Problem]) -> None:
    for name in (it for it in OF_SOME_FORMATS if it not in FORMATS[file_format].options):
        if (setting := find([own], name)) is not None:
            what = f"{name} has no meaning for {file_format.value} files"
            problems.append(Problem("LS105", what, setting.place, hint=f"remove {name}"))


def _check_header(
    levels: Sequence[Level[BaseModel]], file_format: FileFormat, declared: bool, problems: list[Problem]
) -> None:
    setting = find(levels, "header")
    if setting is None or setting.value or declared or "header" not in FORMATS[file_format].options:
        return
    what = "files without a header need declared columns"
    problems.append(
        Problem("LS104", what, setting.place, "columns: the names and types, in the files' order")
    )


def _check_patterns(levels: Sequence[Level[BaseModel]], problems: list[Problem]) -> None:
    for name in ("date_format", "timestamp_format"):
        setting = find(levels, name)
        if setting is None or (fault := wrong_pattern(setting.value)) is None:
            continue
        expected = "a pattern as Spark has them, such as dd.MM.yyyy HH:mm:ss"
        found = f"{setting.value!r}, in which {fault}"
        problems.append(Problem("LS105", f"{name} is not right", setting.place, expected, found))


def _check_zone(levels: Sequence[Level[BaseModel]], problems: list[Problem]) -> None:
    if (setting := find(levels, "time_zone")) is None:
        return
    try:
        zone_key(setting.value)
    except ScheduleProblem as error:
        problems.append(Problem("LS105", str(error), setting.place, error.expected, error.found, error.hint))


def _csv(levels: Sequence[Level[BaseModel]], file_format: FileFormat) -> CsvOptions:
    given = {name: setting.value for name in OF_SOME_FORMATS if (setting := find(levels, name)) is not None}
    given.setdefault("delimiter", FORMATS[file_format].delimiter)
    if "encoding" in given:
        given["encoding"] = usual_name(given["encoding"])
    if given["delimiter"] == "\\t":
        given["delimiter"] = "\t"
    return CsvOptions(**given)


def _seconds(setting: Setting, problems: list[Problem], name: str = "min_age") -> float:
    try:
        return seconds(setting.value)
    except ValueError:
        expected = "a number and a unit: 30 seconds, 5 minutes, 2 hours, 1 day"
        problems.append(
            Problem("LS105", f"{name} is no duration", setting.place, expected, repr(setting.value))
        )
        return 0.0


def _value(levels: Sequence[Level[BaseModel]], name: str, default: Any) -> Any:
    setting = find(levels, name)
    return default if setting is None else setting.value
