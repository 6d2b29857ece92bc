"""The settings that can be written in a project's files, as pydantic models.

These models are the one source of what is allowed: validation, the JSON Schemas for editors and the reference pages are made
from them, so that each ``description`` is user documentation.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from lakesmith.project.definitions import (
    AsOf,
    FileOrder,
    History,
    Nulls,
    OnBadFile,
    OnBadRow,
    OnChangedFile,
    OnErase,
    OnInexact,
    OnNewColumn,
    OnTypeChange,
    OnUnknown,
)
from lakesmith.project.formats import FileFormat

NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
"""What layers, tables, sources, targets and projects may be called: it is right in every catalog lakesmith works with."""

VARIABLE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
PATH_PATTERN = r"^(/[A-Za-z0-9_.-]+)+$"
COLUMN_PATTERN = r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[A-Za-z_]\w*$"
REFERENCE_PATTERN = r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$"

Scalar = str | bool | int | float
Loose = Field(strict=False)
ColumnName = Annotated[str, Field(min_length=1)]


def _kind_of_column(value: Any) -> str:
    return "long form" if isinstance(value, (dict, BaseModel)) else "short form"


def _kind_of_source(value: Any) -> str:
    if isinstance(value, BaseModel):
        return "one source" if isinstance(value, SourceSettings) else "named sources"
    if not isinstance(value, dict) or not value:
        return "one source"
    named = any(
        isinstance(item, dict) and {"files", "http", "postgres", "kafka"} & item.keys()
        for item in value.values()
    )
    return "named sources" if named else "one source"


class Settings(BaseModel):
    """What all models share: unknown keys are refused, and no value is turned into another type in silence."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FileOptions(Settings):
    """How files are read. All of it can be set in `_defaults.yaml`, too."""

    format: Annotated[FileFormat | None, Loose] = Field(
        None,
        description="Format of the files. `tsv` is `csv` with a tab as its delimiter; `json` is one JSON object a line, or objects over several lines, glued together or in an array. "
        "Files that end in `.gz` are unpacked. If left out: what the ending of `pattern` or `path` says.",
    )
    header: bool | None = Field(
        None,
        description="CSV and TSV: whether the first line of each file names the columns. Columns are then matched by "
        "name, never by position; without it they are taken by position, and `columns` is needed. Default: true.",
    )
    delimiter: str | None = Field(
        None,
        description="CSV: what stands between two values. Default: a comma, and a tab for `tsv`.",
        min_length=1,
    )
    quote: str | None = Field(
        None,
        description='CSV and TSV: the character around values that contain the delimiter. Default: `"`. '
        "An empty text: there are no quotes.",
        max_length=1,
    )
    escape: str | None = Field(
        None,
        description='CSV and TSV: the character that makes a quote inside quotes part of the value. Default: `"` '
        "(quotes are doubled).",
        max_length=1,
    )
    encoding: str | None = Field(
        None, description="CSV, TSV and JSON: the encoding of the text. Default: `UTF-8`."
    )
    null_value: str | None = Field(
        None, description="CSV and TSV: the text that stands for NULL besides the empty one, such as `\\N`."
    )
    multiline: bool | None = Field(
        None,
        description="CSV and TSV: whether values in quotes may contain line breaks. Default: false. JSON: true reads all files as a "
        "stream of values. Default: the beginning of each file decides.",
    )
    skip_lines: int | None = Field(
        None,
        description="CSV and TSV: how many lines at the beginning of each file are left out, such as a title or `sep=;`. The header is "
        "the next line that is not blank. Default: 0.",
        ge=0,
        le=1000,
    )
    skip_last: int | None = Field(
        None,
        description="CSV and TSV: how many rows at the end of each file are left out, such as totals. Default: 0.",
        ge=0,
        le=1000,
    )
    comment: str | None = Field(
        None,
        description="CSV and TSV: the character with which lines begin that are no rows, such as `#`. Default: none.",
        min_length=1,
        max_length=1,
    )
    decimal: Literal[".", ","] | None = Field(
        None,
        description="CSV and TSV: what stands before the fraction of a number. With `,` a point or a space may stand between groups of three digits: "
        "`1.234,50`. Default: `.`, and no groups.",
    )
    timestamp_format: str | None = Field(
        None, description="CSV, TSV and JSON: Spark's pattern for timestamps, such as `dd.MM.yyyy HH:mm`."
    )
    date_format: str | None = Field(
        None, description="CSV, TSV and JSON: Spark's pattern for dates, such as `dd.MM.yyyy`."
    )
    time_zone: str | None = Field(
        None,
        description="The time zone of times without one in columns of type `timestamp`, such as `Europe/Paris`. Local times that it never had, or had twice, are "
        "inexact. Default: `UTC`.",
    )
    min_age: str | None = Field(
        None,
        description="How old a file must be before it is taken, such as `5 minutes`: for files that are still being "
        "written. Default: none, a file is taken as soon as it is seen.",
    )
    on_new_column: Annotated[OnNewColumn | None, Loose] = Field(
        None,
        description="What happens when a file has a column the table does not have: `evolve` adds it to the table, "
        "`ignore` leaves it out and says so, `fail` stops the run. Default: `fail` when the table declares its "
        "columns, `evolve` when they are inferred.",
    )
    on_changed_file: Annotated[OnChangedFile | None, Loose] = Field(
        None,
        description="What happens when a file that was taken has been changed since: `fail` stops the run, `ignore` keeps "
        "the rows that were taken, `replace` takes the new content in place of the old. Default: `fail`.",
    )
    on_bad_file: Annotated[OnBadFile | None, Loose] = Field(
        None,
        description="What happens when a file cannot be read as a whole (a cut `.gz`, a broken Parquet file, no right to read "
        "it): `fail` stops the table's run, `skip` takes the other files, says so in every run, and tries the file again once "
        "it has changed. Default: `fail`.",
    )
    on_erase: Annotated[OnErase | None, Loose] = Field(
        None,
        description="What becomes of files that hold rows of people whom `lakesmith erase` erases: `rewrite` takes their "
        "records out (CSV, TSV and JSON whose records are lines); `remove` deletes the files, whose other rows are in the table; `keep` "
        "leaves them, and the receipt says so. Default: none, so that `erase` asks for a choice.",
    )
    on_inexact: Annotated[OnInexact | None, Loose] = Field(
        None,
        description="What happens to a value of more digits than its column's type holds, such as `1.239` in a "
        "`decimal(10,2)`: `quarantine` sets its row aside, `round` takes it as Spark casts it, and counts it. "
        "Default: `quarantine`.",
    )
    on_type_change: Annotated[OnTypeChange | None, Loose] = Field(
        None,
        description="What happens when values are not of a column's type: `widen` widens a type that was inferred, where "
        "Iceberg can (int to bigint, float to double, more digits of a decimal), and sets other rows aside; `fail` stops "
        "the batch; `quarantine` sets the rows aside. Declared types are never widened. Default: `quarantine` when the "
        "table declares its columns, `widen` when they are inferred.",
    )


class ExportSettings(Settings):
    """Where a full export says of what time it is: see [full exports](../full-exports.md)."""

    column: ColumnName | None = Field(
        None, description="A column of the files that tells it, the same in all rows of an export."
    )
    path: str | None = Field(
        None,
        description="A regular expression with one group, which tells it in the file's path, such as `_(\\d{8})\\.csv$`.",
        min_length=1,
    )
    format: str | None = Field(
        None,
        description="With `path`: Spark's pattern of the group, such as `yyyyMMdd`. Default: ISO 8601.",
        min_length=1,
    )
    max_deletes: str = Field(
        "50%",
        description="The part of the keys that a batch may delete; above it the table waits for `lakesmith run --approve TABLE` (LS524). "
        "Default: `50%`.",
        pattern=r"^(100|\d{1,2}) ?%$",
    )


class FilesSettings(FileOptions):
    """Files in a folder; each file is taken exactly once."""

    path: str = Field(
        description="The folder, relative to the project's folder; an absolute path or a URI such as `s3://bucket/orders/` "
        "is possible. Folders below it are searched as well.",
        min_length=1,
    )
    pattern: str | None = Field(
        None,
        description="Which file names are meant, such as `*.csv`. Default: all. Names that begin with `.` or `_` or end in "
        "`.tmp` are never taken.",
        min_length=1,
    )
    since: str | None = Field(
        None,
        description="Where the names below `path` begin that count, such as `dt=2026-11-01`: files whose names, with the folders in them, come before it "
        "in the order of their characters are never looked at, and no folder or page of S3 with such files alone is listed. `lakesmith files` tells "
        "of those that are there. Default: all count.",
        min_length=1,
    )
    snapshot: bool | ExportSettings | None = Field(
        None,
        description="Whether each file is the whole table (a full export). A table with a `key` and `from:` this one then deletes the keys that "
        "an export does not have any more: see [full exports](../full-exports.md). `true`: exports count in the order in which they arrive; or what "
        "tells their time. Default: false.",
    )


class HttpSettings(Settings):
    """Events that are posted over HTTP to `lakesmith up`; each is taken exactly once."""

    path: str = Field(
        description="The path of the URL, such as `/sales`. A request has one JSON event, an array of them, or one a line.",
        pattern=PATH_PATTERN,
    )
    tokens: list[str] | None = Field(
        None,
        description="Names of environment variables. A request has to bring the value of one of them as its bearer token; several "
        "are allowed, so that one can take the place of another. Default: no token is needed.",
        min_length=1,
    )
    event_id: list[str] | None = Field(
        None,
        description="Columns that tell an event from all others; no event may come without them. One whose values came within the last day is a duplicate: it "
        "is counted and not taken again. Default: events are told apart by the `Idempotency-Key` of their request alone.",
        min_length=1,
    )
    max_rate: int | None = Field(
        None,
        description="Events a second that are taken; what comes above it is answered 429. Default: as many as can be written.",
        ge=1,
    )
    max_waiting: str | None = Field(
        None,
        description="How many bytes of events may wait for a run, such as `500 MB`; what comes above it is answered 503. Default: `1 GiB`.",
    )
    max_request: str | None = Field(
        None,
        description="The largest body of a request, from `1 KB` to `16 MiB`; a larger one is answered 413. Default: `1 MiB`.",
    )


class PostgresSettings(Settings):
    """A table in PostgreSQL, of which each change is a row: see [lookups](../lookups.md)."""

    connection: str = Field(
        description="The name of the environment variable with the connection: a URL such as "
        "`postgresql://user:password@host/db`. Its value is never shown.",
        pattern=VARIABLE_PATTERN,
    )
    table: str = Field(
        description="The table or view there, such as `public.products`.", pattern=r"^[^.]+(\.[^.]+)?$"
    )
    key: list[ColumnName] = Field(description="The columns that tell its rows apart.", min_length=1)
    refresh: str = Field(
        "1 minute",
        description="How old what was read may be before a run reads it again, such as `10 seconds`. Default: `1 minute`.",
    )
    growing: str | None = Field(
        None,
        description="A column whose value grows with each change of a row, such as `updated_at`: only new values are read. Rows that "
        "are deleted there are then not noticed. Default: the whole table is read and compared.",
        min_length=1,
    )
    overlap: int | float | str | None = Field(
        None,
        description="With `growing`: how far below its greatest value is read again, for changes that were committed late: an interval such "
        "as `10 minutes`, or a number. Default: `10 minutes` for times, 1000 for numbers.",
    )


class KafkaSettings(Settings):
    """A topic in Kafka, of which each record is a row: see [Kafka](../kafka.md)."""

    connection: str = Field(
        description="The name of the environment variable that says how the brokers are reached: `host:9092,host2:9092`, or properties, "
        "one `name=value` a line or a JSON object, such as `bootstrap.servers`, `security.protocol` and `sasl.password`. Its value is "
        "never shown.",
        pattern=VARIABLE_PATTERN,
    )
    topic: str = Field(description="The topic's name.", pattern=r"^[A-Za-z0-9._-]{1,249}$")
    values: Literal["json", "avro"] = Field(
        "json",
        description="What a record's value is: a `json` object, or a record in `avro` of the table's `avro_schema`. Default: `json`.",
    )
    schema_ids: list[int] | None = Field(
        None,
        description="Values begin with the number that a schema registry gave to their schema (a zero byte and four more), and these are the "
        "numbers that are taken: with `avro`, those of the table's `avro_schema`. Values of another number are bad rows. Default: values in Avro are "
        "bare; of JSON, such a number is left out, whatever it is.",
        min_length=1,
    )
    keys: Literal["text", "json"] = Field(
        "text",
        description="What a record's key is. All keys are in `_key` as text; of a tombstone, the fields of a `json` object are put into the table's columns. "
        "Default: `text`.",
    )
    start: Literal["earliest", "latest"] = Field(
        "earliest",
        description="Where the first batch begins: at the `earliest` record that is there, or after the `latest`. Default: `earliest`.",
    )
    on_gone: Literal["fail", "skip"] = Field(
        "fail",
        description="What to do when records that were not taken yet are gone from the topic: stop, or go on with what is there, and say what is missing. "
        "Default: `fail`.",
    )
    on_recreated: Literal["fail", "restart"] = Field(
        "fail",
        description="What to do when the topic was deleted and made again: stop, or take the new one from its beginning, besides the rows that "
        "are there. Default: `fail`.",
    )
    on_new_column: Annotated[OnNewColumn, Loose] = Field(
        OnNewColumn.FAIL,
        description="What to do with fields that are no columns: stop, leave them out, or add columns for them. Default: `fail`.",
    )


class SourceSettings(Settings):
    """Where rows enter the lake: files, events, or a table in PostgreSQL."""

    files: FilesSettings | None = Field(None, description="Files in a folder.")
    http: HttpSettings | None = Field(None, description="Events that are posted over HTTP.")
    postgres: PostgresSettings | None = Field(None, description="A table in PostgreSQL.")
    kafka: KafkaSettings | None = Field(None, description="A topic in Kafka.")


class SourceDefaults(Settings):
    """Options for every source of the tables below."""

    files: FileOptions | None = Field(
        None, description="Options for every `files` source of the tables below."
    )


class ColumnSettings(Settings):
    """A column in its long form."""

    type: str | None = Field(
        None,
        description="The column's Spark SQL type, such as `bigint`, `decimal(10,2)` or `array<string>`. A derived table may "
        "leave it to the query.",
    )
    doc: str | None = Field(None, description="What the column means; written into the Iceberg table.")
    required: bool = Field(
        False, description="Whether a row without a value here is a bad row (see `on_bad_row`)."
    )
    renamed_from: str | None = Field(
        None,
        description="What the column was called before. The table's column is renamed with its next batch, in metadata alone, and keeps its values and its past. "
        "Files may go on calling it by either name.",
        min_length=1,
    )


class ScheduleSettings(Settings):
    """When `lakesmith up` brings a table up to date: by a cron expression, or again and again."""

    cron: str | None = Field(
        None,
        description="Five fields, minute, hour, day of the month, month, day of the week: `0 6 * * *` is each morning at six.",
    )
    time_zone: str | None = Field(
        None,
        description="With `cron`: the time zone it is meant in, such as `Europe/Amsterdam`. Where the clock is put forward, what falls "
        "into the gap is done right after it; where it is put back, once. Default: `UTC`.",
    )
    every: str | None = Field(
        None, description="In place of `cron`: how long after the last time, such as `30s` or `5 minutes`."
    )


SourceName = Annotated[str, Field(pattern=NAME_PATTERN)]
VariableName = Annotated[str, Field(pattern=VARIABLE_PATTERN)]
TableReference = Annotated[str, Field(pattern=REFERENCE_PATTERN)]
ColumnForm = Annotated[
    Annotated[str, Tag("short form")] | Annotated[ColumnSettings, Tag("long form")],
    Discriminator(_kind_of_column),
]
ScheduleForm = Annotated[
    Annotated[str, Tag("short form")] | Annotated[ScheduleSettings, Tag("long form")],
    Discriminator(_kind_of_column),
]
EmitForm = Annotated[
    Annotated[Literal["live"], Tag("short form")] | Annotated["EmitSettings", Tag("long form")],
    Discriminator(_kind_of_column),
]
ColumnOfTable = Annotated[str, Field(pattern=COLUMN_PATTERN)]
WatermarkForm = Annotated[
    Annotated[ColumnOfTable, Tag("one")]
    | Annotated[list[ColumnOfTable], Field(min_length=1), Tag("several")],
    Discriminator(lambda value: "several" if isinstance(value, list) else "one"),
]
SourceForm = Annotated[
    Annotated[SourceSettings, Tag("one source")]
    | Annotated[dict[SourceName, SourceSettings], Tag("named sources")],
    Discriminator(_kind_of_source),
]


class OrphanSettings(Settings):
    """What `lakesmith maintain` does with files in a table's folder that no snapshot has: what writers left behind that were killed."""

    older_than: str | None = Field(
        None,
        description="How old such a file is at least, such as `7 days`; a day at the least, for files of writers that are under way. Default: "
        "`3 days`.",
    )
    remove: bool | None = Field(
        None,
        description="Whether they are removed each time. Default: false, `lakesmith maintain --orphans` lists them and `--remove-orphans` removes them.",
    )


class MaintainSettings(Settings):
    """How `lakesmith maintain` looks after a table: see [maintenance](../maintenance.md). Each setting is taken from the nearest file that has it."""

    target_file_size: str | None = Field(
        None,
        description="The size that small data files are put together to, such as `256 MB`. Files below half of it are small. Default: `128 MiB`.",
    )
    strategy: Annotated[FileOrder | None, Loose] = Field(
        None,
        description="How rows lie in the files that are put together: `binpack` leaves their order, `sort` sorts them by `columns`, `z-order` by all of "
        "`columns` alike. Default: `binpack`.",
    )
    columns: list[ColumnName] | None = Field(
        None,
        description="With `sort` and `z-order`: the columns, of which filters then skip files.",
        min_length=1,
    )
    older_than: str | None = Field(
        None,
        description="How long every point of the past can be travelled to, such as `30 days`, an hour at the least; older ones leave. Default: the past is never cut off, and "
        "thinned out instead: see [what stays](../maintenance.md#the-past).",
    )
    retain_last: int | None = Field(
        None,
        description="How many of the newest points of the past stay, however old they are. Default: 1 with `older_than`, else 100.",
        ge=1,
    )
    orphans: OrphanSettings | None = Field(None, description="Files that no snapshot has.")
    schedule: ScheduleForm | None = Field(
        None,
        description="When `lakesmith up` maintains the table, in the forms of a table's `schedule`: `0 3 * * *`, `{every: 6 hours}`. Default: not as a "
        "whole; tables that get many batches are looked after in slices.",
    )


class SharedSettings(Settings):
    """Settings that a table can have and that `_defaults.yaml` can give to all tables below it.

    Nothing (`key:` without a value) takes back what a `_defaults.yaml` further up says.
    """

    key: list[str] | None = Field(
        None,
        description="The columns that identify a row: the table has one row for each key. Rows without a key are bad rows.",
    )
    latest_by: list[str] | None = Field(
        None,
        description="With `key`: the columns that order the versions of a key. The newest version wins, whenever it "
        "arrives; ties are settled by the order of arrival.",
    )
    nulls: Annotated[Nulls | None, Loose] = Field(
        None,
        description="With `latest_by`: what NULL in its columns counts as. `oldest` (the default): older than any value; a version that deletes "
        "must have none, or is a bad row. `newest`: newer than any value, for deletes too; not with `history: type2`.",
    )
    delete_when: str | None = Field(
        None,
        description="With `key`: a Spark SQL condition over the query's columns. A version for which it holds deletes its "
        "key, such as `op = 'D'`.",
        min_length=1,
    )
    rules: str | None = Field(
        None,
        description="Quality rules in DQDL, `Rules = [ ... ]`: see [all of them](rules.md). Rows that break one are bad rows. Versions that "
        "delete are never judged.",
    )
    on_bad_row: Annotated[OnBadRow | None, Loose] = Field(
        None,
        description="What a row that breaks a rule, has no key or cannot be parsed does: `quarantine` puts it aside with its "
        "reasons, `fail` stops the batch. Default: `quarantine`. Events over HTTP that do not fit the columns are refused before, unless "
        "`quarantine` is written; an event that was acknowledged stops no batch.",
    )
    partition_by: list[str] | None = Field(
        None,
        description="Iceberg partition fields: columns, or `years(c)`, `months(c)`, `days(c)`, `hours(c)`, `bucket(n, c)`, "
        "`truncate(n, c)`.",
    )
    format_version: Literal[2, 3] | None = Field(
        None,
        description="Version of Iceberg's table format: 3, or 2 for engines that do not read 3, which is [slower](../guide.md#format-version-2) where "
        "rows change. A table can be taken from 2 to 3; to go back it is dropped and built anew. Default: 3.",
    )
    history: Annotated[History | None, Loose] = Field(
        None,
        description="With `key`: which versions of a key are kept. `type1` (the default): the newest. `type2`: each that "
        "differs from the one before it, as a row with `valid_from`, `valid_to` and `is_current`; it needs `latest_by`, whose "
        "first column tells the times.",
    )
    track: list[str] | None = Field(
        None,
        description="With `history: type2`: the columns in which a version has to differ from the one before it to be a row of "
        "its own. Default: all but those of `key` and `latest_by`.",
    )
    schedule: ScheduleForm | None = Field(
        None,
        description="When `lakesmith up` brings the table up to date: a cron expression such as `0 */6 * * *` (UTC), "
        "`{cron: 0 6 * * *, time_zone: Europe/Amsterdam}`, `{every: 30s}`, or `on arrival`. It is left alone in between; tables that "
        "derive from it follow, if they have none of their own. `lakesmith run` knows no schedules. Default: `on arrival`, as soon as "
        "there is something new.",
    )
    maintain: MaintainSettings | None = Field(
        None,
        description="How `lakesmith maintain` looks after the table: sizes of files, the past, orphan files.",
    )
    owner: str | None = Field(None, description="Who answers for the table; written into the Iceberg table.")
    tags: list[str] | None = Field(
        None, description="Words to find the table by; written into the Iceberg table."
    )


class DefaultsFile(SharedSettings):
    """`_defaults.yaml`, and `defaults:` of `lakesmith.yaml`: settings of all tables below, the nearest wins."""

    source: SourceDefaults | None = Field(None, description="Options for the sources of the tables below.")


class LookupSettings(Settings):
    """How a table is looked up."""

    as_of: Annotated[AsOf, Loose] = Field(
        description="`arrival`: rows keep the values that the looked-up table had when they arrived. `now`: a change there "
        "changes the rows that it touches, as with any other input."
    )
    unknown: Annotated[OnUnknown, Loose] = Field(
        OnUnknown.KEEP,
        description="With `arrival`, what becomes of a row that finds nothing: `keep` leaves the lookup's columns NULL for ever, and counts it. "
        "`heal` is refused: a table of its own does that, see [unknown products](../lookups.md#unknown-products). Default: `keep`.",
    )


class EmitSettings(Settings):
    """Which rows of the query the table has: those of closed windows. Without it a window is there, and grows, from its first row on."""

    closed: ColumnName = Field(
        description="A column of the query with the end of the window. Its row is there once the watermark has passed that."
    )
    watermark: WatermarkForm = Field(
        description="Whose greatest value is the watermark: a column of an input, such as `silver.sales.sale_time`. Several, in a list: the "
        "least of them counts.",
    )
    delay: str = Field(
        "0 seconds",
        description="How long rows may be late: the watermark is so far behind the greatest value, such as `2 minutes`. What comes later still "
        "corrects its window.",
    )
    idle_after: str | None = Field(
        None,
        description="Once nothing came to a watermark's input for so long, such as `5 minutes`, it holds no window open until something comes. "
        "Default: it holds them for ever.",
    )
    max_ahead: str = Field(
        "5 minutes",
        description="How far the time of a row may be ahead of its arrival, such as `1 hour`. Rows that are further ahead, such as those of a broken clock, "
        "move no watermark.",
    )


class ExternalSettings(Settings):
    """An Iceberg table of another project or tool, as an input: see [tables of others](../external.md). It is never written."""

    project: str | None = Field(
        None,
        description="The folder of the lakesmith project that it belongs to, relative to this one's. Default: it is in the catalog of this "
        "project's target.",
        min_length=1,
    )
    catalog: str | None = Field(
        None,
        description="The catalog that it is in, by its name in `other_catalogs` of the target. Default: that of the target itself.",
        min_length=1,
    )
    table: TableReference | None = Field(
        None, description="What it is called there, such as `bronze.sales`. Default: as the file is."
    )
    metadata: str | None = Field(
        None,
        description="In place of `project`, `catalog` and `table`: the path of an Iceberg metadata file, `*.metadata.json`, relative to the project's "
        "folder.",
        min_length=1,
    )
    from_: str | int | None = Field(
        None,
        alias="from",
        description="The id of a snapshot, or a moment such as `2026-01-31T12:30:00Z`: only rows that came after it count. The table must "
        "only have gained rows since. Default: all rows count.",
    )


class TableFile(SharedSettings):
    """A table: `tables/LAYER/NAME.yaml`. It is sourced (`source`), derived (a query, `from`), or of others (`external`)."""

    description: str | None = Field(None, description="What the table holds; written into the Iceberg table.")
    source: SourceForm | None = Field(
        None,
        description="Where rows enter the lake: `{files: {...}}`, or several sources by name, "
        "`{web: {files: {...}}, shop: {files: {...}}}`, each with its own progress.",
    )
    external: ExternalSettings | None = Field(
        None,
        description="An Iceberg table of another project or tool, which this one reads: see [tables of others](../external.md).",
    )
    query: str | None = Field(
        None,
        description="One SELECT. It can stand in a file of its own beside this one: `NAME.sql`, or `NAME.py` with a function "
        "that takes and returns DataFrames.",
    )
    from_: TableReference | None = Field(
        None,
        alias="from",
        description="The table this one is a plain copy of, such as `bronze.orders`: all of its columns but those "
        "lakesmith adds to sourced tables.",
    )
    columns: dict[ColumnName, ColumnForm] | None = Field(
        None,
        description="The columns by name: a type, or `{type, doc, required}`. A sourced table without them has the columns of "
        "its first files; a derived table has those of its query.",
        min_length=1,
    )
    avro_schema: str | None = Field(
        None,
        description="In place of `columns`: an Avro schema file, relative to the project's folder. It is the reader's schema, for files of every format: "
        "`aliases` name columns as `renamed_from` does, a field's `default` is what rows have whose file or JSON record lacks the field, and an enum's "
        "`default` stands for symbols that it does not have.",
        min_length=1,
    )
    function: str | None = Field(
        None, description="The function of `NAME.py` that makes the table. Default: the one called NAME."
    )
    inputs: dict[str, TableReference] | None = Field(
        None,
        description="The table for each parameter of the function, such as `{orders: bronze.orders}`. A parameter that is "
        "not here names its table itself, with two underscores: `bronze__orders`.",
    )
    emit: EmitForm | None = Field(
        None,
        description="Which windows are there: see [events](../live.md#windows). Default: `live`, each from its first row on.",
    )
    lookups: dict[TableReference, LookupSettings] | None = Field(
        None,
        description="Inputs that are looked up for the rows of another one, such as `{silver.products: {as_of: arrival}}`: each is joined "
        "by all columns of its key, with JOIN or LEFT JOIN.",
        min_length=1,
    )
    deterministic: bool = Field(
        False,
        description="Your word that the function gives the same rows for the same inputs, whenever it runs.",
    )


class CatalogSettings(BaseModel):
    """An Iceberg catalog. Besides `type`, properties are passed on to it as they are."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, Scalar]

    type: Literal["local", "glue", "s3tables", "rest", "jdbc"] = Field(description="The type of catalog.")


class NamespaceSettings(Settings):
    """What the tables are called in the catalog. SQL and commands use the project's own names all the same."""

    prefix: str | None = Field(
        None,
        description="What each namespace begins with: `shop_` makes `shop_bronze.orders`.",
        pattern=NAME_PATTERN,
    )
    layers: dict[str, Annotated[str, Field(pattern=NAME_PATTERN)]] = Field(
        default_factory=dict, description="Layers that are other namespaces there: `{bronze: raw}`."
    )
    single: str | None = Field(
        None,
        description="One namespace for all layers, in which a table is called `layer__name`. Not beside `prefix` and `layers`.",
        pattern=NAME_PATTERN,
    )


class TargetSettings(Settings):
    """Where a project runs."""

    catalog: CatalogSettings | None = Field(
        None,
        description="The catalog. Without it: the embedded one, in `.lakesmith/` of the project's folder.",
    )
    spark: dict[str, Scalar] = Field(default_factory=dict, description="Spark settings, by their full names.")
    vars: dict[VariableName, Scalar] = Field(
        default_factory=dict,
        description="Values for `${vars.NAME}` on this target, in place of the project's: where files land, for one.",
    )
    namespaces: NamespaceSettings | None = Field(
        None, description="What the tables are called in the catalog. Default: as in the project."
    )
    other_catalogs: dict[Annotated[str, Field(pattern=NAME_PATTERN)], CatalogSettings] = Field(
        default_factory=dict,
        description="Catalogs of others, by the names by which `external: {catalog: NAME}` means them, with settings as `catalog` has them: "
        "see [tables of others](../external.md).",
    )


class EngineSettings(Settings):
    """What is done with Spark between commands."""

    keep_warm: str = Field(
        "10 minutes",
        description="How long a command in a terminal leaves Spark running for the next one, which then starts at once; `0 seconds`: not "
        "at all. Without a terminal, and where `CI` is set, none is left. `lakesmith stop` ends it.",
    )


class ProjectFile(Settings):
    """`lakesmith.yaml`: the project's name, where it runs, and what its tables share."""

    name: str = Field(
        description="The project's name. Tables remember which project they belong to.", pattern=NAME_PATTERN
    )
    default_target: str | None = Field(
        None, description="The target used when none is named. Default: the only target, or `local`."
    )
    targets: dict[SourceName, TargetSettings | None] = Field(
        default_factory=dict,
        description="Where the project runs, by name. `local: {}` is the embedded default. `${ENV_VAR}` is filled in here, "
        "and only here.",
    )
    vars: dict[VariableName, Scalar] = Field(
        default_factory=dict, description="Values for `${vars.NAME}` in table files, SQL and `targets`."
    )
    engine: EngineSettings | None = Field(None, description="What is done with Spark between commands.")
    defaults: DefaultsFile | None = Field(None, description="Settings of all tables, see `_defaults.yaml`.")
