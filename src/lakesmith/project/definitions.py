"""What a project declares, as frozen data: the words every other package speaks.

Nothing here reads a file or knows a default that depends on one: ``loader`` builds these from a folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, TypeVar

from lakesmith import limits
from lakesmith.errors import Place
from lakesmith.project.formats import FileFormat
from lakesmith.quality.model import Rule
from lakesmith.quoting import quoted

STATE_DIR: Final = ".lakesmith"
OBJECT_SCHEME: Final = "s3://"
"""How the path of a source begins whose files are objects in S3."""
"""The folder inside a project for what is its own on this machine."""

USUAL_MAX_WAITING: Final = 1024**3
USUAL_MAX_REQUEST: Final = 1024**2
"""Bytes of events that may wait for a run, and of one request, where a source says nothing of it."""

ADDED_COLUMNS: Final = ("_source_file", "_source_position", "_source_modified_at", "_ingested_at", "_batch")
"""The columns lakesmith adds to the rows of a sourced table."""

_TAKEN_COLUMNS: Final = frozenset(
    {
        "_file",
        "_pos",
        "_deleted",
        "_partition",
        "_spec_id",
        "_row_id",
        "_last_updated_sequence_number",
        "_reasons",
        "_raw",
        "_raw_columns",
        "_raw_types",
    }
)
"""Iceberg's metadata columns (its spec: reserved field ids), which it refuses in a table; and what a batch adds to its rows
to judge them by."""

VALID_FROM: Final = "valid_from"
VALID_TO: Final = "valid_to"
IS_CURRENT: Final = "is_current"

VALIDITY_COLUMNS: Final = (VALID_FROM, VALID_TO, IS_CURRENT)
"""The columns a table that keeps versions has besides those of its query: from when, until when, and whether still."""

_OWN_PREFIX: Final = "_lakesmith_"


def is_taken(column: str) -> bool:
    """Whether no table can have a column of this name, in any case: Iceberg or lakesmith itself uses it."""
    folded = column.lower()
    return folded in _TAKEN_COLUMNS or folded.startswith(_OWN_PREFIX)


class OnNewColumn(StrEnum):
    """What to do with a column that a file has and the table does not."""

    EVOLVE = "evolve"
    IGNORE = "ignore"
    FAIL = "fail"


class OnChangedFile(StrEnum):
    """What to do with a file that was taken and has been changed since."""

    FAIL = "fail"
    IGNORE = "ignore"
    REPLACE = "replace"


class OnBadFile(StrEnum):
    """What to do with a file that cannot be read as a whole."""

    FAIL = "fail"
    SKIP = "skip"


class OnErase(StrEnum):
    """What becomes of landing files that hold rows of people who are erased."""

    KEEP = "keep"
    REMOVE = "remove"
    REWRITE = "rewrite"


class OnInexact(StrEnum):
    """What to do with a value of more digits than its column's type holds."""

    QUARANTINE = "quarantine"
    ROUND = "round"


class OnTypeChange(StrEnum):
    """What to do with a value that is not of its column's type."""

    WIDEN = "widen"
    FAIL = "fail"
    QUARANTINE = "quarantine"


class OnBadRow(StrEnum):
    """What a row that breaks a rule or does not parse does to its batch."""

    QUARANTINE = "quarantine"
    FAIL = "fail"


class History(StrEnum):
    """How many versions of a key a table keeps."""

    TYPE1 = "type1"
    TYPE2 = "type2"


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table's logical name: ``layer.name``, e.g. ``bronze.orders``."""

    layer: str
    name: str

    def __str__(self) -> str:
        return f"{self.layer}.{self.name}"

    @classmethod
    def parse(cls, text: str) -> TableName:
        """``layer.name`` -> TableName. Raises ValueError when there are not exactly two parts."""
        layer, dot, name = text.partition(".")
        if not dot or not layer or not name or "." in name:
            raise ValueError(f"not a table name of the form layer.name: {text!r}")
        return cls(layer, name)


@dataclass(frozen=True, slots=True)
class Column:
    """A declared column. ``type`` is a Spark SQL type in lower case, None where the query gives it. ``renamed_from``: its earlier name.

    Of an Avro schema come ``aliases``, more such names, ``default``, SQL of what rows have whose file or record has no such field, and
    ``symbols`` of an enum that has a default, which is the first of them and stands for all texts that are none.
    """

    name: str
    type: str | None
    doc: str | None = None
    required: bool = False
    place: Place | None = None
    renamed_from: str | None = None
    aliases: tuple[str, ...] = ()
    default: str | None = None
    symbols: tuple[str, ...] = ()

    @property
    def earlier(self) -> tuple[str, ...]:
        """The names that it had, or may have in files."""
        return (*((self.renamed_from,) if self.renamed_from else ()), *self.aliases)


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How CSV and TSV are written. ``null_value`` is the text that stands for null besides the empty one.

    ``skip_lines`` at the beginning of each file and ``skip_last`` records at its end are none, and neither are lines that begin with
    ``comment`` (empty: all are).

    ``time_zone`` is that of local times, in files of any format (None: UTC). ``decimal`` is what stands before the fraction of a number; a comma: points
    and spaces may group its digits by thousands.
    """

    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    encoding: str = "UTF-8"
    null_value: str | None = None
    multiline: bool = False
    skip_lines: int = 0
    skip_last: int = 0
    comment: str = ""
    timestamp_format: str | None = None
    date_format: str | None = None
    time_zone: str | None = None
    decimal: str = "."


KAFKA_PATH: Final = "kafka:"
"""How the names of a topic's slices begin, where a file's path would stand."""

TOMBSTONE: Final = "_tombstone"
KAFKA_COLUMNS: Final = (
    ("_key", "string"),
    ("_headers", "array<struct<name:string,value:string>>"),
    (TOMBSTONE, "boolean"),
)
"""What a table that takes a topic has besides its declared columns: the record's key and headers, and whether it has no value."""

READ_COLUMNS: Final = (("_change", "string"), ("_read_at", "timestamp"), ("_row_key", "string"))
"""What a table that is read from PostgreSQL has besides its declared columns: ``insert``, ``update`` or ``delete``, when that was seen,
and the key as JSON."""


def is_object(path: str) -> bool:
    """Whether a path is that of an object in S3, or of several."""
    return path.startswith(OBJECT_SCHEME)


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """How objects in S3 are reached. What is None is what the environment says (``AWS_REGION``, a profile, a role).

    ``endpoint``: the address of a server that is not Amazon's. ``key_id``, ``secret``, ``token``: credentials.
    """

    endpoint: str | None = None
    region: str | None = None
    key_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class FullExport:
    """Files each of which is the whole table. Their time is in ``column``, or in the path: the group of the regular expression ``path``, of
    Spark's pattern ``format`` (None: ISO 8601); with neither it is that of their arrival.

    ``max_deletes``: the part of the keys (1: all) that may be deleted by one batch without approval.
    """

    column: str | None = None
    path: str | None = None
    format: str | None = None
    max_deletes: float = 0.5

    def __str__(self) -> str:
        by = (
            f"by {self.column}" if self.column else f"by the path: {self.path}" if self.path else "by arrival"
        )
        return f"{by}, at most {self.max_deletes:.0%} deleted"

    @property
    def is_dated(self) -> bool:
        """Whether exports say what time they are of."""
        return self.column is not None or self.path is not None


@dataclass(frozen=True, slots=True)
class Source:
    """A source of a table: one of the four types below, which answer the questions that differ from one to the next.

    ``path`` is as written: relative to the project's folder, absolute, or a URI.
    ``min_age_seconds``: a file whose modification time is younger is left for a later run (0: none is).
    ``pattern`` is matched against the file's name (fnmatch); folders below ``path`` are searched too.
    ``store``: how objects are reached, where ``path`` is in S3. ``since``: the first name below ``path`` that counts, in the order of
    characters. ``snapshot``: each file is the whole table.
    """

    name: str
    path: str
    format: FileFormat
    place: Place
    pattern: str = "*"
    csv: CsvOptions = CsvOptions()
    min_age_seconds: float = 0.0
    on_new_column: OnNewColumn = OnNewColumn.FAIL
    on_changed_file: OnChangedFile = OnChangedFile.FAIL
    on_bad_file: OnBadFile = OnBadFile.FAIL
    on_inexact: OnInexact = OnInexact.QUARANTINE
    on_type_change: OnTypeChange = OnTypeChange.QUARANTINE
    on_erase: OnErase | None = None
    store: ObjectStore | None = None
    since: str | None = None
    snapshot: FullExport | None = None

    kind: ClassVar[str] = "files"
    """What a person calls it."""
    has_files: ClassVar[bool] = True
    """Whether its rows come in files, and not in slices of a topic."""
    is_written_here: ClassVar[bool] = False
    """Whether lakesmith itself writes the files."""
    has_foreign_files: ClassVar[bool] = False
    """Whether the files are written by other programs, as they like."""
    has_events: ClassVar[bool] = False
    """Whether its records were acknowledged one by one, so that none of them may stop a batch."""
    fills_absent: ClassVar[bool] = True
    """Whether a field that a record lacks has its column's default."""
    bytes_per_unit: ClassVar[int] = 1
    """Bytes, about, of each unit in which sizes of its files are given."""

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
        """Where the rows come from, for people."""
        since = f" since {self.since}" if self.since else ""
        return f"{self.path}{'' if self.path.endswith('/') else '/'}{self.pattern}{since}"

    @property
    def record_format(self) -> str:
        """How records are written, for people."""
        return self.format.value


@dataclass(frozen=True, slots=True)
class FileSource(Source):
    """Files in a folder or below a prefix of S3."""

    has_foreign_files: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSource(Source):
    """Events posted over HTTP to ``lakesmith up``, which writes them to files in ``path``.

    ``url_path``: the path they are posted to. ``tokens``: environment variables with the accepted bearer tokens; empty: none is needed.
    ``takes_bad``: invalid events are accepted and go to quarantine, else their request is refused. ``event_id``: the columns that
    identify an event; empty: nothing does. ``max_rate`` is in events a second (None: no limit), the sizes are in bytes.
    """

    url_path: str
    tokens: tuple[str, ...] = ()
    takes_bad: bool = False
    event_id: tuple[str, ...] = ()
    max_rate: int | None = None
    max_waiting: int = USUAL_MAX_WAITING
    max_request: int = USUAL_MAX_REQUEST

    kind: ClassVar[str] = "events"
    is_written_here: ClassVar[bool] = True
    has_events: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSource(Source):
    """A table in PostgreSQL, whose changes a run writes to files in ``path``.

    ``connection``: the environment variable with its URL. ``key``: the columns that identify a row. It is read again when
    ``refresh_seconds`` have passed: the whole table, so that deleted rows are noticed; or, with ``growing``, the rows whose value in
    that column is at most ``overlap`` (an interval in PostgreSQL's words, or a number) below the greatest. ``binary``: the columns of bytes.
    """

    connection: str
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    refresh_seconds: float = 60.0
    growing: str | None = None
    overlap: str | None = None
    binary: tuple[str, ...] = ()

    kind: ClassVar[str] = "table"
    is_written_here: ClassVar[bool] = True
    fills_absent: ClassVar[bool] = False

    @property
    def is_growing(self) -> bool:
        return self.growing is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource(Source):
    """A topic in Kafka; slices of its partitions stand for files.

    ``connection``: the environment variable that says how its brokers are reached. ``avro_schema``: the schema of its values, as JSON;
    None: they are JSON objects. ``schema_ids``: the registry's numbers of their schema, one of which stands before each value;
    empty: values in Avro have none, those of JSON may have any. ``json_keys``: a tombstone's columns are those of its key.
    ``from_end``: the first batch leaves out the records that are there. ``skips_gone`` and ``restarts``: whether a run goes on when
    records are gone, or when the topic was deleted and created again.
    """

    connection: str
    topic: str
    avro_schema: str | None = None
    schema_ids: tuple[int, ...] = ()
    json_keys: bool = False
    from_end: bool = False
    skips_gone: bool = False
    restarts: bool = False

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


S = TypeVar("S", bound=Source)


@dataclass(frozen=True, slots=True)
class ExternalTable:
    """An Iceberg table of others, which is read and never written: ``table`` of the project in the folder ``project``, of the target's
    other catalog ``catalog``, or of this project's own catalog; or the one whose metadata file is ``metadata``.

    ``begin``: a snapshot's id or a moment; what was there then does not count. None: all rows count.
    """

    place: Place
    table: TableName
    project: str | None = None
    metadata: str | None = None
    begin: str | None = None
    catalog: str | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """When ``lakesmith up`` brings a table up to date: at the times of a ``cron`` expression, meant in ``time_zone``, or
    ``every`` so many seconds. One of the two is set.
    """

    cron: str | None = None
    time_zone: str = "UTC"
    every: float | None = None

    def __str__(self) -> str:
        if self.cron is None:
            return f"every {self.every:g} s"
        return f"{self.cron} {self.time_zone}"


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """One SELECT. ``place`` is where ``text`` starts, so that a line of it can be named."""

    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class PythonQuery:
    """A function of the project that takes and returns DataFrames.

    ``inputs`` pairs each parameter of the function with the table passed in its place, in the function's order.
    ``source`` is the file's text (it takes part in the fingerprint); ``deterministic`` is the author's word.
    """

    file: Path
    function: str
    source: str
    place: Place
    arguments: tuple[tuple[str, TableName], ...] = ()
    deterministic: bool = False


@dataclass(frozen=True, slots=True)
class Watermark:
    """The greatest value of a column of an input, less a delay."""

    table: TableName
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True)
class Emit:
    """Which rows of ``query`` a table has: those whose window, which ends at ``closed``, all of the ``watermarks`` have passed.

    ``idle_after_seconds``: of an input to which nothing came for so long, the watermark does not count; None: all count always.
    ``max_ahead_seconds``: rows whose time is further ahead of their arrival move no watermark.
    """

    query: SqlQuery
    closed: str
    watermarks: tuple[Watermark, ...]
    delay_seconds: float = 0.0
    idle_after_seconds: float | None = None
    max_ahead_seconds: float = 300.0

    def __str__(self) -> str:
        return f"{self.closed} by {', '.join(map(str, self.watermarks))}"


class FileOrder(StrEnum):
    """How rows lie in the files that are put together."""

    BINPACK = "binpack"
    SORT = "sort"
    Z_ORDER = "z-order"


@dataclass(frozen=True, slots=True)
class Maintenance:
    """How ``lakesmith maintain`` looks after a table.

    ``target_file_size`` is in bytes, the ages are in seconds. ``columns`` are those of ``sort`` and ``z-order``. ``older_than``: points of the past
    that are younger all stay; None: the past is thinned out, and never cut off. ``retain_last``: so many of the newest points stay in any
    case; None: ``limits.NEWEST_POINTS_KEPT``, and with ``older_than`` one. ``schedule``: when ``lakesmith up`` does it; None: by slices alone.
    """

    target_file_size: int = 128 * 1024 * 1024
    strategy: FileOrder = FileOrder.BINPACK
    columns: tuple[str, ...] = ()
    older_than: float | None = None
    retain_last: int | None = None
    orphans_older_than: float = 3 * 86400.0
    remove_orphans: bool = False
    schedule: Schedule | None = None


class AsOf(StrEnum):
    """Which values of a looked-up table the rows of a derived table have."""

    ARRIVAL = "arrival"
    NOW = "now"


class OnUnknown(StrEnum):
    """What becomes of a row that finds nothing in a lookup as of arrival."""

    KEEP = "keep"
    HEAL = "heal"


FORMAT_VERSION_DEFAULT: Final = 3
"""Of Iceberg tables: it gives rows ids, and one deletion vector to each data file."""


class Nulls(StrEnum):
    """What NULL in ``latest_by`` counts as."""

    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """One table as declared. Sourced (``sources``), derived (``query``) or of others (``external``): just one of them.

    ``latest_by`` orders the versions of a ``key``: the greatest wins. ``delete_when`` is a Spark SQL condition over the
    query's columns. With ``history`` of type 2 each version is kept that differs from the one before it in the columns
    ``track``; empty: in any column but those of ``key`` and ``latest_by``. ``lookups``: the inputs whose values
    stay as they were when a row of the other input arrived. ``emit`` is in ``query`` already. ``schedule`` is None for a table that ``lakesmith up``
    brings up to date as soon as something arrived; it and ``maintenance`` are no part of what its rows are. ``exports``: the full exports of which ``query`` makes its versions. ``settings_from`` says for each setting where it was written (``explain`` shows it).
    """

    name: TableName
    place: Place
    sources: tuple[Source, ...] = ()
    query: SqlQuery | PythonQuery | None = None
    external: ExternalTable | None = None
    columns: tuple[Column, ...] = ()
    key: tuple[str, ...] = ()
    latest_by: tuple[str, ...] = ()
    nulls: Nulls = Nulls.OLDEST
    delete_when: str | None = None
    rules: tuple[Rule, ...] = ()
    on_bad_row: OnBadRow = OnBadRow.QUARANTINE
    partition_by: tuple[str, ...] = ()
    format_version: int = FORMAT_VERSION_DEFAULT
    history: History = History.TYPE1
    track: tuple[str, ...] = ()
    lookups: tuple[TableName, ...] = ()
    exports: FullExport | None = None
    emit: Emit | None = None
    description: str | None = None
    owner: str | None = None
    tags: tuple[str, ...] = ()
    schedule: Schedule | None = None
    maintenance: Maintenance = Maintenance()
    settings_from: tuple[tuple[str, Place], ...] = ()

    @property
    def trusts_python(self) -> bool:
        """Whether the author says that the Python functions in the query are deterministic."""
        return isinstance(self.query, PythonQuery) and self.query.deterministic

    @property
    def checks(self) -> tuple[Rule, ...]:
        """What every good row of the table meets: its rules, and that its required columns are not null."""
        required = (_required(column, self.place) for column in self.columns if column.required)
        every = (*self.rules, *required)
        return tuple(map(_or_tombstone, every)) if self.has_topics else every

    @property
    def keeps_versions(self) -> bool:
        """True when it has a row for each version of a key, with ``VALIDITY_COLUMNS``."""
        return self.history is History.TYPE2

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns it has besides those of its source or query."""
        if self.is_sourced:
            return ADDED_COLUMNS
        return VALIDITY_COLUMNS if self.keeps_versions else ()

    @property
    def is_sourced(self) -> bool:
        """True when rows enter the lake here."""
        return bool(self.sources)

    @property
    def has_topics(self) -> bool:
        """Whether a source is a topic in Kafka, whose slices stand for files."""
        return any(not source.has_files for source in self.sources)

    def sources_of(self, kind: type[S]) -> tuple[S, ...]:
        """The sources of one of the four types."""
        return tuple(source for source in self.sources if isinstance(source, kind))


def _required(column: Column, place: Place) -> Rule:
    text = f"column {column.name} is required"
    return Rule(text, column.place or place, (column.name,), (), f"{quoted(column.name)} IS NOT NULL")


def _or_tombstone(rule: Rule) -> Rule:
    """A record that says that its key is deleted has no values to be judged."""
    return replace(rule, predicate=f"(coalesce({TOMBSTONE}, false) OR ({rule.predicate}))")


@dataclass(frozen=True, slots=True)
class Naming:
    """What the tables of a project are called in a target's catalog: as in the project, unless the target says otherwise.

    ``layers``: layers that are other namespaces there. ``prefix``: what every namespace begins with. ``single``: the one namespace that has
    all tables, which are called ``layer__name`` in it.
    """

    prefix: str = ""
    layers: tuple[tuple[str, str], ...] = ()
    single: str | None = None

    def namespace(self, layer: str) -> str:
        """The namespace of a layer's tables."""
        return self.single or self.prefix + dict(self.layers).get(layer, layer)

    def physical(self, name: TableName) -> tuple[str, str]:
        """The namespace and the name of a table.

        >>> Naming("shop_").physical(TableName("bronze", "orders"))
        ('shop_bronze', 'orders')
        >>> Naming(single="shop").physical(TableName("bronze", "orders"))
        ('shop', 'bronze__orders')
        """
        table = f"{name.layer}__{name.name}" if self.single else name.name
        return self.namespace(name.layer), table

    def logical(self, layer: str, physical: str) -> str | None:
        """The name of a table of a layer, by its name in the layer's namespace; None for one that is of another layer."""
        if not self.single:
            return physical
        begin = f"{layer}__"
        return physical.removeprefix(begin) if physical.startswith(begin) else None


AS_IN_PROJECT: Final = Naming()
"""The names that tables have without a word from the target."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a project runs. ``type`` is ``local`` or a catalog type; the mappings are as written, env filled in.

    ``others``: catalogs of others, from which tables are read.
    """

    name: str
    type: str
    catalog: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    spark: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    place: Place | None = None
    naming: Naming = AS_IN_PROJECT
    others: tuple[Target, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether the lake is in the project's own folder."""
        return self.type == "local"

    @property
    def store(self) -> ObjectStore:
        """How objects in S3 are reached: as the catalog's own settings say it of the tables' files."""
        given = dict(self.catalog)
        region = (
            given.get("client.region") or given.get("s3.region") or _region_of(given.get("warehouse", ""))
        )
        credentials = (
            given.get(f"s3.{name}") for name in ("access-key-id", "secret-access-key", "session-token")
        )
        return ObjectStore(given.get("s3.endpoint"), region, *credentials)


def _region_of(warehouse: str) -> str | None:
    """The region in the ARN of a table bucket; None for what is none."""
    parts = warehouse.split(":")
    return parts[3] if warehouse.startswith("arn:") and len(parts) > 3 else None


@dataclass(frozen=True, slots=True)
class Project:
    """A whole project. ``tables`` are sorted by name; ``secrets`` are values that must never be shown.

    ``keep_warm_seconds``: how long a command in a terminal leaves Spark for the next one.
    """

    root: Path
    name: str
    target: Target
    tables: tuple[TableDefinition, ...]
    variables: tuple[tuple[str, str], ...] = ()
    keep_warm_seconds: float = 600.0
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def state_dir(self) -> Path:
        """Where this project keeps what is its own on this machine: ``.lakesmith/``."""
        return self.root / STATE_DIR

    @property
    def drafts_db(self) -> Path:
        """The catalog of drafts: of tables as batches under way will leave them."""
        return self.state_dir / "drafts.db"

    @property
    def has_topics(self) -> bool:
        """Whether a table takes a topic in Kafka: Spark needs more jars then."""
        return any(table.has_topics for table in self.tables)

    @property
    def has_objects(self) -> bool:
        """Whether a table takes files in S3."""
        return any(source.is_in_store for table in self.tables for source in table.sources)

    def table(self, name: TableName) -> TableDefinition:
        """The definition of ``name``. Raises KeyError when the project has no such table."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(str(name))
