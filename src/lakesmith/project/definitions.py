"""What a project declares, as frozen data. Other packages import these definitions from here.

Nothing here reads a file: ``loader`` makes the definitions of a folder. A field that users can set is
declared with ``setting``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeVar

from lakesmith.errors import Place
from lakesmith.project.alerting import *
from lakesmith.project.declaring import (
    NAME_PATTERN,
    ColumnName,
    HostName,
    Name,
    Rows,
    TableReference,
    duration,
    mapping,
    setting,
    short_or_long,
)
from lakesmith.project.deployment import Deployment as Deployment
from lakesmith.project.deployment import GitHub as GitHub
from lakesmith.project.exporting import *
from lakesmith.project.file_options import *
from lakesmith.project.schedules import SCHEDULE_FORMS, schedule_of
from lakesmith.project.schedules import Schedule as Schedule
from lakesmith.project.source_kinds import *
from lakesmith.project.table_parts import *
from lakesmith.quality.model import Rule
from lakesmith.quoting import quoted

STATE_DIR: Final = ".lakesmith"
"""The folder inside a project for its own files on this machine."""

FORMAT_VERSION_DEFAULT: Final = 3
"""Of Iceberg tables: it gives rows ids, and one deletion vector to each data file."""


class Nulls(StrEnum):
    """The order of NULL in ``latest_by``."""

    OLDEST = "oldest"
    NEWEST = "newest"


S = TypeVar("S", bound=Source)


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table: `tables/LAYER/NAME.yaml`. It is sourced (`source`), derived (a query, `from`), or external
    (`external`).

    ``emit`` is part of ``query`` already. If ``schedule`` is None, the table is refreshed as soon as
    something arrived. ``exports``: the full exports from which ``query`` computes versions.
    ``settings_from``: for each setting, the place where it is written.
    """

    name: TableName
    place: Place
    sources: tuple[Source, ...] = setting((), key="source", form=SOURCE_FORMS)
    """Where rows enter the lake: `{files: {...}}`, or several sources by name, `{web: {files: {...}}, shop:
    {files: {...}}}`, each with its own progress."""
    query: SqlQuery | PythonQuery | None = setting(None, form=str, rows=Rows("its query", "own", always=True))
    """One SELECT. It can be in a file of its own beside this one: `NAME.sql`, or `NAME.py` with a function
    that takes and returns DataFrames."""
    external: ExternalTable | None = setting(None)
    """An Iceberg table of another project or tool, which this one reads: see [external
    tables](../external.md)."""
    columns: tuple[Column, ...] = setting(
        (),
        form=mapping(ColumnName, short_or_long(str, Column)),
        rows=Rows("its columns", "own", always=True),
        min_length=1,
    )
    """The columns by name: a type, or `{type, doc, required}`. A sourced table without them has the columns
    of its first files; a derived table has those of its query."""
    key: tuple[str, ...] = setting((), shared=True, rows=Rows("its key", always=True))
    """The columns that identify a row: the table has one row for each key. Rows without a key are bad
    rows."""
    latest_by: tuple[str, ...] = setting((), shared=True, rows=Rows("its latest_by", always=True))
    """With `key`: the columns that order the versions of a key. The newest version wins, whenever it arrives;
    ties are settled by the order of arrival."""
    nulls: Nulls = setting(Nulls.OLDEST, shared=True, rows=Rows("its nulls"))
    """With `latest_by`: what NULL in its columns counts as. `oldest` (the default): older than any value; a
    version that deletes must have none, or is a bad row. `newest`: newer than any value, for deletes too;
    not with `history: type2`."""
    delete_when: str | None = setting(
        None, shared=True, rows=Rows("its delete_when", "sql", always=True), min_length=1
    )
    """With `key`: a Spark SQL condition over the query's columns. A version for which it holds deletes its
    key, such as `op = 'D'`."""
    rules: tuple[Rule, ...] = setting((), form=str, shared=True, rows=Rows("its rules", "own", always=True))
    """[Quality rules](../quality.md) in DQDL, `Rules = [ ... ]`: see [all of them](rules.md). Rows that break
    a row rule are bad rows. Versions that delete are never checked. A table rule is checked before a batch
    is published."""
    on_bad_row: OnBadRow = setting(OnBadRow.QUARANTINE, shared=True)
    """What a row that breaks a rule, has no key or cannot be parsed does: `quarantine` puts it aside with its
    reasons, `fail` stops the batch. Default: `quarantine`. Events over HTTP that do not fit the columns
    are refused at once, unless `quarantine` is written; an accepted event stops no batch."""
    on_failed_rule: OnFailedRule = setting(OnFailedRule.STOP, shared=True)
    """What a batch does if a table rule fails: `stop` publishes nothing, so readers keep the last good state;
    `warn` publishes with a note. Default: `stop`."""
    partition_by: tuple[str, ...] = setting((), shared=True)
    """Iceberg partition fields: columns, or `years(c)`, `months(c)`, `days(c)`, `hours(c)`, `bucket(n, c)`,
    `truncate(n, c)`."""
    format_version: int = setting(FORMAT_VERSION_DEFAULT, form=Literal[2, 3], shared=True)
    """Version of Iceberg's table format: 3, or 2 for engines that do not read 3, which is
    [slower](../guide.md#format-version-2) where rows change. A table can be changed from 2 to 3. For 2
    again, it must be dropped and built from scratch. Default: 3."""
    history: History = setting(History.TYPE1, shared=True, rows=Rows("its history", always=True))
    """With `key`: which versions of a key are kept. `type1` (the default): the newest. `type2`: each that
    differs from the one before it, as a row with `valid_from`, `valid_to` and `is_current`; it needs
    `latest_by`, whose first column is the time of a version."""
    track: tuple[str, ...] = setting((), shared=True, rows=Rows("its tracked columns", "names"))
    """With `history: type2`: the columns in which a version must differ from the one before it to be a row of
    its own. Default: all but those of `key` and `latest_by`."""
    lookups: tuple[TableName, ...] = setting(
        (), form=dict[TableReference, Lookup], rows=Rows("its lookups", "names"), min_length=1
    )
    """Inputs that are looked up for the rows of another one, such as `{silver.products: {as_of: arrival}}`:
    each is joined by all columns of its key, with JOIN or LEFT JOIN."""
    exports: FullExport | None = None
    emit: Emit | None = setting(None, form=short_or_long(Literal["live"], Emit))
    """Which windows the table has: see [events](../live.md#windows). Default: `live`, each from its first row
    on."""
    description: str | None = setting(None)
    """What the table holds; written into the Iceberg table."""
    owner: str | None = setting(None, shared=True)
    """Who is responsible for the table; written into the Iceberg table."""
    tags: tuple[str, ...] = setting((), shared=True)
    """Words for finding the table; written into the Iceberg table."""
    schedule: Schedule | None = setting(None, form=SCHEDULE_FORMS, shared=True, read=schedule_of)
    """When `lakesmith up` refreshes the table: a cron expression such as `0 */6 * * *` (UTC), `{cron: 0 6 * *
    *, time_zone: Europe/Amsterdam}`, `{every: 30s}`, or `on arrival`. Tables that derive from it follow,
    if they have no schedule of their own. `lakesmith run` ignores schedules. Default: `on arrival`, as
    soon as there is something new."""
    export: Export | None = setting(None, shared=True)
    """Files that are written after each refresh, as Parquet, CSV or JSON: see [exports](../exports.md)."""
    freshness_seconds: float | None = setting(
        None, key="freshness", form=str, shared=True, read=duration(60.0, "a minute or more, such as 6 hours")
    )
    """How often the table's rows are to change, such as `6 hours`: if they do not for longer, `status` says
    so, and an [alert](../alerts.md) is sent. Default: no such limit."""
    quarantine_limit: int | None = setting(None, shared=True, ge=0)
    """How many rows may be in quarantine before an [alert](../alerts.md) is sent. Default: no limit."""
    maintenance: Maintenance = setting(Maintenance(), key="maintain", shared=True)
    """How `lakesmith maintain` maintains the table: sizes of files, the past, orphan files."""
    copied: str | None = setting(None, key="from", form=TableReference)
    """The table this one is a plain copy of, such as `bronze.orders`: all of its columns but those lakesmith
    adds to sourced tables."""
    avro_schema: str | None = setting(None, min_length=1)
    """In place of `columns`: an Avro schema file, relative to the project's folder. It is the reader's
    schema, for files of every format. `aliases` name columns as `renamed_from` does. A field's `default`
    is the value where a file or JSON record lacks the field, and an enum's `default` replaces unknown
    symbols."""
    settings_from: tuple[tuple[str, Place], ...] = ()

    parts: ClassVar[tuple[type, ...]] = (PythonQuery,)

    @property
    def trusts_python(self) -> bool:
        """Whether the author declares the Python functions in the query deterministic."""
        return isinstance(self.query, PythonQuery) and self.query.deterministic

    @property
    def checks(self) -> tuple[Rule, ...]:
        """The rules of every valid row: the table's own, and that its required columns are not null."""
        required = (_required(column, self.place) for column in self.columns if column.required)
        every = (*(rule for rule in self.rules if rule.predicate), *required)
        return tuple(map(_or_tombstone, every)) if self.has_topics else every

    @property
    def gates(self) -> tuple[Rule, ...]:
        """The rules of the whole table, which it must keep to be published, and its analyzers."""
        return tuple(rule for rule in self.rules if not rule.predicate)

    @property
    def gate_in_words(self) -> str:
        """What checking the table rules reads; empty without any."""
        from lakesmith.quality.metrics import gate_in_words

        return gate_in_words(self.gates, [column.name for column in self.columns]) if self.gates else ""

    @property
    def keeps_versions(self) -> bool:
        """Whether it has a row for each version of a key, with ``VALIDITY_COLUMNS``."""
        return self.history is History.TYPE2

    @property
    def added_columns(self) -> tuple[str, ...]:
        """The columns in addition to those of its source or query."""
        if self.is_sourced:
            return tuple(ADDED_COLUMNS)
        return VALIDITY_COLUMNS if self.keeps_versions else ()

    @property
    def is_sourced(self) -> bool:
        """Whether rows enter the lake in this table."""
        return bool(self.sources)

    @property
    def has_topics(self) -> bool:
        return any(not source.has_files for source in self.sources)

    def sources_of(self, kind: type[S]) -> tuple[S, ...]:
        """Returns the sources of one of the four types."""
        return tuple(source for source in self.sources if isinstance(source, kind))


def _required(column: Column, place: Place) -> Rule:
    text = f"column {column.name} is required"
    return Rule(text, column.place or place, (column.name,), (), f"{quoted(column.name)} IS NOT NULL")


def _or_tombstone(rule: Rule) -> Rule:
    """A tombstone has no values, so no rule applies to it."""
    return replace(rule, predicate=f"(coalesce({TOMBSTONE}, false) OR ({rule.predicate}))")


def _pairs(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(given.items()))


@dataclass(frozen=True, slots=True)
class Naming:
    """What the tables are called in the catalog. SQL and commands use the project's own names all the same.

    ``layers``: the namespaces of layers whose names differ. With ``single``, tables are called
    ``layer__name``.
    """

    prefix: str = setting("", pattern=NAME_PATTERN)
    """What each namespace begins with: `shop_` makes `shop_bronze.orders`."""
    layers: tuple[tuple[str, str], ...] = setting((), form=dict[str, Name], usual={}, read=_pairs)
    """Layers that are other namespaces there: `{bronze: raw}`."""
    single: str | None = setting(None, pattern=NAME_PATTERN)
    """One namespace for all layers, in which a table is called `layer__name`. Not beside `prefix` and
    `layers`."""

    def namespace(self, layer: str) -> str:
        """Returns the namespace of a layer's tables."""
        return self.single or self.prefix + dict(self.layers).get(layer, layer)

    def physical(self, name: TableName) -> tuple[str, str]:
        """Returns the namespace and the name of a table.

        >>> Naming("shop_").physical(TableName("bronze", "orders"))
        ('shop_bronze', 'orders')
        >>> Naming(single="shop").physical(TableName("bronze", "orders"))
        ('shop', 'bronze__orders')
        """
        table = f"{name.layer}__{name.name}" if self.single else name.name
        return self.namespace(name.layer), table

    def logical(self, layer: str, physical: str) -> str | None:
        """Returns the table's name in its layer, by its name in the namespace; None for a table of another
        layer."""
        if not self.single:
            return physical
        begin = f"{layer}__"
        return physical.removeprefix(begin) if physical.startswith(begin) else None


AS_IN_PROJECT: Final = Naming()
"""The names that tables have without a word from the target."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a project runs.

    ``type`` is ``local`` or a catalog type. The mappings are as written, with environment variables filled
    in. ``others``: other catalogs, from which external tables are read. ``deploy``: what `lakesmith deploy`
    writes for it. ``recover_from``: the target whose copy it is.
    """

    name: str
    type: str
    catalog: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    spark: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    place: Place | None = None
    naming: Naming = AS_IN_PROJECT
    others: tuple[Target, ...] = ()
    deploy: Deployment | None = None
    recover_from: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether the lake is in the project's folder."""
        return self.type == "local"

    @property
    def store(self) -> ObjectStore:
        """The store of objects in S3, as the catalog's own settings declare it for the tables' files."""
        given = dict(self.catalog)
        region = (
            given.get("client.region") or given.get("s3.region") or _region_of(given.get("warehouse", ""))
        )
        credentials = (
            given.get(f"s3.{name}") for name in ("access-key-id", "secret-access-key", "session-token")
        )
        return ObjectStore(given.get("s3.endpoint"), region, *credentials)


def _region_of(warehouse: str) -> str | None:
    """The region in the ARN of a table bucket; None for any other text."""
    parts = warehouse.split(":")
    return parts[3] if warehouse.startswith("arn:") and len(parts) > 3 else None


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate and its key, for HTTPS."""

    certificate: str = setting(min_length=1)
    """The file of the certificate, in PEM. Paths begin at the project's folder."""
    key: str = setting(min_length=1)
    """The file of its key, in PEM."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """The web page of `lakesmith up` and `lakesmith ui`: see [the page](../page.md)."""

    with_up: bool = setting(True)
    """Whether `lakesmith up` serves the page, if the extra `ui` is installed."""
    port: int = setting(8090, ge=1, le=65535)
    """Its port."""
    host: str = setting("127.0.0.1", min_length=1)
    """The address that it listens on. Another one than this machine's own needs `tls`."""
    allow_hosts: tuple[str, ...] = setting((), form=list[HostName], min_length=1)
    """The names under which browsers may ask for it, besides this machine's own: `[lake.example.com]`. Needs
    `tls`."""
    tls: Tls | None = setting(None)
    """The certificate with which it is served over HTTPS."""
    query_seconds: float = setting(60.0, gt=0)
    """How long a query on the page may run, in seconds; then it is cancelled."""


@dataclass(frozen=True, slots=True)
class Project:
    """A whole project. ``tables`` are sorted by name; ``secrets`` are values that must never be shown.

    ``keep_warm_seconds``: how long a command leaves Spark running for the next one; None: not declared.
    ``checks``: when ``lakesmith up`` checks all rules. ``ui``: how the web page is served.
    """

    root: Path
    name: str
    target: Target
    tables: tuple[TableDefinition, ...]
    variables: tuple[tuple[str, str], ...] = ()
    keep_warm_seconds: float | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    alerts: Alerts | None = None
    checks: Schedule | None = None
    ui: WebPage = field(default_factory=WebPage)

    @property
    def state_dir(self) -> Path:
        """The project's folder for its own files on this machine, ``.lakesmith/``."""
        return self.root / STATE_DIR

    @property
    def has_topics(self) -> bool:
        """Whether a table reads a topic in Kafka, for which Spark needs more jars."""
        return any(table.has_topics for table in self.tables)

    @property
    def has_objects(self) -> bool:
        """Whether a table reads or exports files in S3."""
        exported = (table.export.to or "" for table in self.tables if table.export)
        return any(place.startswith(OBJECT_SCHEME) for place in exported) or any(
            source.is_in_store for table in self.tables for source in table.sources
        )

    def table(self, name: TableName) -> TableDefinition:
        """Returns the definition of ``name``. Raises KeyError if the project has no such table."""
        for table in self.tables:
            if table.name == name:
                return table
        raise KeyError(str(name))
