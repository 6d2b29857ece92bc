"""The four types of sources: files, events over HTTP, tables in PostgreSQL and topics in Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from lakesmith import limits
from lakesmith.errors import Place
from lakesmith.project.declaring import (
    PATH_PATTERN,
    VARIABLE_PATTERN,
    Choice,
    ColumnNames,
    Name,
    WrongValue,
    duration,
    given,
    mapping,
    setting,
    settings_of,
    size,
)
from lakesmith.project.file_options import (
    CsvOptions,
    FullExport,
    ObjectStore,
    OnBadFile,
    OnChangedFile,
    OnErase,
    OnInexact,
    OnMovedFile,
    OnNewColumn,
    OnTypeChange,
    export_of,
    is_object,
)
from lakesmith.project.formats import FileFormat

KAFKA_PATH: Final = "kafka:"
"""The beginning of the path of a topic's slices, which stand for files."""

USUAL_MAX_WAITING: Final = 1024**3
USUAL_MAX_REQUEST: Final = 1024**2
"""Default sizes in bytes, of events that wait for a run and of one request."""

_LARGEST_REQUEST: Final = 16 * 1024**2
"""All of a request is kept in memory, and so are requests that wait for the disk."""


def _folder(path: str) -> str:
    if set("*?") & set(path):
        hint = "put what the names of the files have in common under pattern:"
        raise WrongValue("{} has a wild card", "a folder", hint=hint)
    return path


def _file_name(pattern: str) -> str:
    if "/" in pattern:
        hint = "put the folder under path:; the folders below it are searched as well"
        raise WrongValue("{} has a folder", "a file name", hint=hint)
    return pattern


def _first_name(name: str) -> str:
    if name.startswith("/") or set("*?") & set(name):
        hint = "write how the first names that count begin, without `path` before them"
        raise WrongValue("{} is not a name below path", "a name below path, such as dt=2026-11-01", hint=hint)
    return name


def _numbers(given: list[int]) -> tuple[int, ...]:
    if any(not 0 <= number < 2**31 for number in given):
        raise WrongValue("{} has a number that no schema has", "whole numbers from 0")
    return tuple(given)


@dataclass(frozen=True, slots=True)
class Source:
    """Files in a folder; each file is ingested exactly once.

    The base of the four types of sources, which answer the questions that differ between them. ``path`` is as
    written: relative to the project's folder, absolute, or a URI. ``store``: access to objects in S3.
    """

    name: str
    path: str = setting(read=_folder, min_length=1)
    """The folder, relative to the project's folder; an absolute path or a URI such as `s3://bucket/orders/`
    is possible. Folders below it are searched as well."""
    format: FileFormat = setting(shared=True)
    """Format of the files. `tsv` is `csv` with a tab as its delimiter; `json` is one JSON object a line, or
    objects over several lines, concatenated or in an array; `cloudfront`, `alb`, `s3_access` and
    `combined` are [logs](../logs.md). Files that end in `.gz` are decompressed. Default: by the ending of
    `pattern` or `path`."""
    place: Place = given()
    pattern: str = setting("*", read=_file_name, min_length=1)
    """The file names to ingest, such as `*.csv`. Default: all. Names that begin with `.` or `_` or end in
    `.tmp` are always ignored."""
    csv: CsvOptions = CsvOptions()
    min_age_seconds: float = setting(0.0, key="min_age", form=str, shared=True, read=duration())
    """How old a file must be before it is ingested, such as `5 minutes`: for files that are still being
    written. Default: a file is ingested as soon as it is seen."""
    on_new_column: OnNewColumn = setting(OnNewColumn.FAIL, shared=True)
    """What happens when a file has a column that the table lacks: `evolve` adds it to the table, `ignore`
    leaves it out with a notice, `fail` stops the run. Default: `fail` when the table declares its columns,
    `evolve` when they are inferred and for logs."""
    on_changed_file: OnChangedFile = setting(OnChangedFile.FAIL, shared=True)
    """What happens when a file has changed after it was ingested: `fail` stops the run, `ignore` keeps the
    earlier rows, `replace` ingests the new content in place of the old. Default: `fail`."""
    on_moved_file: OnMovedFile | None = setting(None, shared=True)
    """What happens when a file that was ingested has another path now, because it was moved or has a second
    name (a hard link): `same` does not ingest it again, `new` ingests it as another file. Default: it is
    ingested, and the run names both paths (LS413)."""
    on_bad_file: OnBadFile = setting(OnBadFile.FAIL, shared=True)
    """What happens when a file cannot be read (a cut `.gz`, a broken Parquet file, no permission): `fail`
    stops the table's run, `skip` ingests the other files, says so in every run, and tries the file again
    once it has changed. Default: `fail`."""
    on_erase: OnErase | None = setting(None, shared=True)
    """What happens to files with rows of people whom `lakesmith erase` erases: `rewrite` removes their
    records (CSV, TSV and JSON whose records are lines); `remove` deletes the files, whose other rows are
    in the table; `keep` leaves them, and the receipt says so. Default: none, so that `erase` asks for a
    choice."""
    on_inexact: OnInexact = setting(OnInexact.QUARANTINE, shared=True)
    """What happens to a value of more digits than its column's type holds, such as `1.239` in a
    `decimal(10,2)`: `quarantine` sets its row aside, `round` casts it as Spark does, and counts it.
    Default: `quarantine`."""
    on_type_change: OnTypeChange = setting(OnTypeChange.QUARANTINE, shared=True)
    """What happens when values are not of a column's type: `widen` widens an inferred type, where Iceberg can
    (int to bigint, float to double, more digits of a decimal), and sets other rows aside; `fail` stops the
    batch; `quarantine` sets the rows aside. Declared types are never widened. Default: `quarantine` when
    the table declares its columns, `widen` when they are inferred."""
    store: ObjectStore | None = None
    since: str | None = setting(None, read=_first_name, min_length=1)
    """The beginning of the first name below `path` to ingest, such as `dt=2026-11-01`. Earlier names, folders
    included, in the order of their characters, are ignored, and no folder or page of S3 with such files
    alone is listed. `lakesmith files` reports such files. Default: all names."""
    snapshot: FullExport | None = setting(None, form=bool | FullExport, read=export_of)
    """Whether each file is the whole table (a full export). A table with a `key` and `from:` this one then
    deletes the keys that an export lacks: see [full exports](../full-exports.md). `true`: exports count in
    the order of arrival; or settings that give their time. Default: false."""

    parts: ClassVar[tuple[type, ...]] = (CsvOptions,)
    kind: ClassVar[str] = "files"
    """What messages call it."""
    has_files: ClassVar[bool] = True
    """Whether its rows come in files, and not in slices of a topic."""
    is_written_here: ClassVar[bool] = False
    """Whether lakesmith itself writes the files."""
    has_foreign_files: ClassVar[bool] = False
    """Whether other programs write the files."""
    has_events: ClassVar[bool] = False
    """Whether its records were accepted one by one, so that none of them may stop a batch."""
    fills_absent: ClassVar[bool] = True
    """Whether a field that a record lacks has its column's default."""
    bytes_per_unit: ClassVar[int] = 1
    """About how many bytes one unit of its files' sizes has."""

    @property
    def is_in_store(self) -> bool:
        """Whether the files are objects in S3."""
        return is_object(self.path)

    @property
    def is_growing(self) -> bool:
        """Whether only the rows with new values in a growing column are read."""
        return False

    @property
    def origin(self) -> str:
        """The origin of the rows, for messages."""
        since = f" since {self.since}" if self.since else ""
        return f"{self.path}{'' if self.path.endswith('/') else '/'}{self.pattern}{since}"

    @property
    def record_format(self) -> str:
        """The format of the records, for messages."""
        return self.format.value


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """Files in a folder or below a prefix of S3."""

    has_foreign_files: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSource(Source):
    """Events that are posted over HTTP to `lakesmith up`; each is ingested exactly once.

    ``url_path``: the path to post to. ``tokens``: environment variables with the accepted bearer tokens;
    empty: no token is needed. ``takes_bad``: invalid events are accepted and go to quarantine, else their
    request is refused. ``event_id``: the columns that identify an event; empty: no column does. ``max_rate``
    is in events a second (None: no limit), sizes are in bytes.
    """

    url_path: str = setting(key="path", pattern=PATH_PATTERN)
    """The path of the URL, such as `/sales`. A request has one JSON event, an array of them, or one a
    line."""
    tokens: tuple[str, ...] = setting((), min_length=1)
    """Names of environment variables. A request must have the value of one of them as its bearer token;
    several are allowed, so that one can replace another. Default: no token is needed."""
    event_id: tuple[str, ...] = setting((), min_length=1)
    """Columns that identify an event; every event must have them. An event with the values of one of the last
    day is a duplicate: it is counted and left out. Default: only the `Idempotency-Key` of a request
    identifies its events."""
    max_rate: int | None = setting(None, ge=1)
    """The most events a second; more are answered 429. Default: as many as can be written."""
    max_waiting: int = setting(USUAL_MAX_WAITING, form=str, read=size(1))
    """The most bytes of events that may wait for a run, such as `500 MB`; more are answered 503. Default: `1
    GiB`."""
    max_request: int = setting(
        USUAL_MAX_REQUEST, form=str, read=size(1000, _LARGEST_REQUEST, within="from 1 KB to 16 MiB")
    )
    """The largest body of a request, from `1 KB` to `16 MiB`; a larger one is answered 413. Default: `1
    MiB`."""

    takes_bad: bool = False

    inherits_settings: ClassVar[bool] = False
    kind: ClassVar[str] = "events"
    is_written_here: ClassVar[bool] = True
    has_events: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSource(Source):
    """A table in PostgreSQL, of which each change is a row: see [lookups](../lookups.md).

    ``connection``: the environment variable with its URL. ``key``: the columns that identify a row. It is
    read again after ``refresh_seconds``: the whole table, so that deleted rows are noticed; or, with
    ``growing``, the rows whose value in that column is at most ``overlap`` (an interval in PostgreSQL's
    syntax, or a number) below the greatest. ``binary``: the columns of bytes. ``text_keys``: those
    of the key that the lake compares as texts.
    """

    connection: str = setting(pattern=VARIABLE_PATTERN)
    """The name of the environment variable with the connection: a URL such as
    `postgresql://user:password@host/db`. Its value is never shown."""
    table: str = setting(pattern=r"^[^.]+(\.[^.]+)?$")
    """The table or view there, such as `public.products`."""
    key: tuple[str, ...] = setting(form=ColumnNames, min_length=1)
    """The columns that identify a row."""
    refresh_seconds: float = setting(key="refresh", usual="1 minute", form=str, read=duration())
    """How old the last reading may be before a run reads again, such as `10 seconds`. Default: `1 minute`."""
    growing: str | None = setting(None, min_length=1)
    """A column whose value grows with each change of a row, such as `updated_at`: only new values are read.
    Rows that are deleted there are then not noticed. Default: the whole table is read and compared."""
    overlap: str | None = setting(None, form=int | float | str, read=str)
    """With `growing`: how far below its greatest value rows are read again, for changes that were committed
    late: an interval such as `10 minutes`, or a number. Default: `10 minutes` for times, 1000 for numbers."""

    columns: tuple[str, ...] = given()
    binary: tuple[str, ...] = ()
    text_keys: tuple[str, ...] = ()

    inherits_settings: ClassVar[bool] = False
    kind: ClassVar[str] = "table"
    is_written_here: ClassVar[bool] = True
    fills_absent: ClassVar[bool] = False

    @property
    def is_growing(self) -> bool:
        return self.growing is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource(Source):
    """A topic in Kafka, of which each record is a row: see [Kafka](../kafka.md).

    ``connection``: the environment variable with the address of its brokers. ``avro_schema``: the schema of
    its values, as JSON; None: they are JSON objects. ``schema_ids``: the registry's numbers of their schema,
    one of which precedes each value; empty: values in Avro have none, those of JSON may have any.
    ``json_keys``: a tombstone's columns are those of its key. ``from_end``: the first batch leaves out the
    existing records. ``skips_gone`` and ``restarts``: whether a run goes on if records are gone, or if the
    topic was deleted and created again.
    """

    connection: str = setting(pattern=VARIABLE_PATTERN)
    """The name of the environment variable with the address of the brokers: `host:9092,host2:9092`, or
    properties, one `name=value` a line or a JSON object, such as `bootstrap.servers`, `security.protocol`
    and `sasl.password`. Its value is never shown."""
    topic: str = setting(pattern=r"^[A-Za-z0-9._-]{1,249}$")
    """The topic's name."""
    values: Literal["json", "avro"] = setting(usual="json")
    """What a record's value is: a `json` object, or a record in `avro` of the table's `avro_schema`. Default:
    `json`."""
    schema_ids: tuple[int, ...] = setting((), read=_numbers, min_length=1)
    """Values begin with the number that a schema registry gave to their schema (a zero byte and four more),
    and only these numbers are accepted: with `avro`, those of the table's `avro_schema`. Values of another
    number are bad rows. Default: values in Avro have no number; that of a JSON value is ignored."""
    json_keys: bool = setting(key="keys", usual="text", form=Literal["text", "json"], read="json".__eq__)
    """What a record's key is. All keys are in `_key` as text; the fields of a tombstone's `json` key are also
    in the table's columns. Default: `text`."""
    from_end: bool = setting(
        key="start", usual="earliest", form=Literal["earliest", "latest"], read="latest".__eq__
    )
    """Where the first batch begins: at the `earliest` existing record, or after the `latest`. Default:
    `earliest`."""
    skips_gone: bool = setting(key="on_gone", usual="fail", form=Literal["fail", "skip"], read="skip".__eq__)
    """What to do when records are gone from the topic before they were ingested: `fail`, or `skip` them, go
    on with the existing records, and report the missing ones. Default: `fail`."""
    restarts: bool = setting(
        key="on_recreated", usual="fail", form=Literal["fail", "restart"], read="restart".__eq__
    )
    """What to do when the topic was deleted and created again: `fail`, or `restart` with the new one from its
    beginning, in addition to the existing rows. Default: `fail`."""
    on_new_column: OnNewColumn = setting(usual=OnNewColumn.FAIL)
    """What to do with fields that are not columns: `fail`, `ignore` them, or `evolve` the table with columns
    for them. Default: `fail`."""

    avro_schema: str | None = None

    inherits_settings: ClassVar[bool] = False
    kind: ClassVar[str] = "topic"
    has_files: ClassVar[bool] = False
    fills_absent: ClassVar[bool] = False
    bytes_per_unit: ClassVar[int] = limits.RECORD_BYTES

    @property
    def origin(self) -> str:
        return f"topic {self.topic}"

    @property
    def record_format(self) -> str:
        return "avro" if self.avro_schema else "json"


@dataclass(frozen=True, slots=True)
class SourceForm:
    """Where rows enter the lake: files, events, or a table in PostgreSQL."""

    files: Source | None = setting(None)
    """Files in a folder."""
    http: HttpSource | None = setting(None)
    """Events that are posted over HTTP."""
    postgres: PostgresSource | None = setting(None)
    """A table in PostgreSQL."""
    kafka: KafkaSource | None = setting(None)
    """A topic in Kafka."""


def _form_of_source(value: Any) -> str:
    named = isinstance(value, Mapping) and any(
        isinstance(item, Mapping) and settings_of(SourceForm).keys() & item.keys() for item in value.values()
    )
    return "named sources" if named else "one source"


SOURCE_FORMS: Final = Choice(
    {"one source": SourceForm, "named sources": mapping(Name, SourceForm)}, _form_of_source
)
"""``source:`` of a table: one source, or several by their names."""
