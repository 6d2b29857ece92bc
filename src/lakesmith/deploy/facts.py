"""What the templates are made of: a project's declarations, as facts about resources on AWS."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from lakesmith.deploy.cron import expressions
from lakesmith.deploy.names import (
    BUCKET_LENGTH,
    ROLE_LENGTH,
    base_of,
    bucket_and_prefix,
    covering,
    dashed,
    lake_formation_value,
    shortened,
)
from lakesmith.graph.graph import Graph
from lakesmith.project.definitions import (
    Deployment,
    KafkaSource,
    PostgresSource,
    Project,
    Schedule,
    TableDefinition,
)
from lakesmith.project.file_options import OBJECT_SCHEME
from lakesmith.project.layout import RESERVED_LAYER

MOST_SELECTED: Final = 8000
"""So many characters a selection may have as an argument of a job."""
POLL: Final = "poll"
MAINTAIN: Final = "maintain"
"""Besides a schedule's text, why the gate is called: sources are to be asked, tables may need maintenance."""
PII: Final = "pii"
"""The tag of tables that hold personal data."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket. ``key``: its name in Terraform. ``prefixes``: where landing files arrive in it."""

    key: str
    name: str
    is_owned: bool
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Database:
    """A namespace of tables in the catalog. ``key``: its name in Terraform."""

    key: str
    name: str
    layer: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A database's tags in Lake Formation. ``owner``: that of all its tables, if it is one."""

    database: Database
    is_pii: bool
    owner: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table. ``rules``: its rules as DQDL, empty without any."""

    key: str
    name: str
    layer: str
    database: str
    table: str
    rules: tuple[str, ...]
    columns: tuple[str, ...]
    owner: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What one job refreshes. ``select``: its selection of tables; None: that of the gate."""

    key: str
    title: str
    select: str | None


@dataclass(frozen=True, slots=True)
class Firing:
    """A schedule in EventBridge. ``why``: what the gate receives; ``title``: for people."""

    key: str
    expression: str
    time_zone: str
    why: str
    title: str
    schedule: Schedule


@dataclass(frozen=True)
class Stack:
    """All of a target's deployment. ``deploy``: its settings."""

    project: Project
    graph: Graph
    deploy: Deployment

    @property
    def name(self) -> str:
        """The project's name."""
        return self.project.name

    @property
    def target(self) -> str:
        """The target's name."""
        return self.project.target.name

    @property
    def base(self) -> str:
        """What the names of resources begin with."""
        return base_of(self.name, self.target)

    @property
    def place(self) -> str:
        """The end of the names of buckets, which are unique in all of AWS."""
        return f"{self.deploy.account}-{self.deploy.region}"

    @property
    def partition(self) -> str:
        """The partition of AWS that the region is in."""
        region = self.deploy.region
        return "aws-cn" if region.startswith("cn-") else "aws-us-gov" if "-gov-" in region else "aws"

    def named(self, what: str) -> str:
        """Returns the name of a resource."""
        return shortened(f"{self.base}-{what}", ROLE_LENGTH)

    @staticmethod
    def short(name: str) -> str:
        """Returns a whole name within AWS's limit."""
        return shortened(name, ROLE_LENGTH)

    def bucket_named(self, what: str) -> str:
        """Returns the name of a bucket that is not declared by a path."""
        return shortened(f"{self.base}-{what}-{self.place}", BUCKET_LENGTH)

    def arn(self, service: str, resource: str, *, is_global: bool = False) -> str:
        """Returns the ARN of a resource of this account."""
        region = "" if is_global else self.deploy.region
        return f"arn:{self.partition}:{service}:{region}:{self.deploy.account}:{resource}"

    @property
    def table_bucket(self) -> str | None:
        """The name of the table bucket; None if the tables are in a bucket of their own."""
        arn = dict(self.project.target.catalog).get("warehouse", "")
        return arn.rpartition("/")[2] if self.project.target.type == "s3tables" else None

    @property
    def warehouse(self) -> tuple[str, str]:
        """The bucket and the prefix of the tables' files; empty texts for a table bucket."""
        if self.table_bucket is not None:
            return "", ""
        return bucket_and_prefix(dict(self.project.target.catalog).get("warehouse", ""))

    @property
    def own_tables(self) -> tuple[TableDefinition, ...]:
        """The tables that runs write."""
        return tuple(table for table in self.project.tables if table.external is None)

    @property
    def landing(self) -> tuple[tuple[str, str], ...]:
        """The buckets and prefixes of landing files in S3, sorted."""
        places = (
            bucket_and_prefix(source.path)
            for table in self.own_tables
            for source in table.sources
            if source.is_in_store
        )
        return tuple(sorted(set(places)))

    @property
    def exports(self) -> tuple[tuple[str, str], ...]:
        """The buckets and prefixes in S3 of exports and of the state of alerts, sorted."""
        given = [table.export.to or "" for table in self.own_tables if table.export]
        given += [self.project.alerts.state or ""] if self.project.alerts else []
        return tuple(sorted({bucket_and_prefix(each) for each in given if each.startswith(OBJECT_SCHEME)}))

    @cached_property
    def buckets(self) -> tuple[Bucket, ...]:
        """The buckets that runs use, the lake first. Buckets of others are not made, only used."""
        lake, _ = self.warehouse
        every = [lake, *(name for name, _ in (*self.landing, *self.exports))]
        names = dict.fromkeys(filter(None, every))
        keys: dict[str, str] = {}
        for name in names:
            key = "lake" if name == lake else self._key_of(name)
            keys[name] = key if key not in keys.values() else _key(name)
        return tuple(
            Bucket(
                keys[name],
                name,
                name not in self.deploy.existing_buckets,
                covering(prefix for bucket, prefix in self.landing if bucket == name),
                covering(prefix for bucket, prefix in self.exports if bucket == name),
            )
            for name in names
        )

    def _key_of(self, bucket: str) -> str:
        """Returns a bucket's name in Terraform. It follows from the bucket's name alone.

        With numbers, one more bucket would give another its place, and Terraform would replace both.
        """
        name = bucket.removeprefix(f"{dashed(self.name)}-")
        for end in (f"-{self.place}", f"-{self.deploy.account}", f"-{self.deploy.region}"):
            name = name.removesuffix(end)
        key = name.replace("-", "_").replace(".", "_")
        return key if key[:1].isalpha() and key not in ("lake", "work") else f"bucket_{key}"

    @property
    def owned(self) -> tuple[Bucket, ...]:
        """The buckets that Terraform makes, with the one for what runs leave behind."""
        work = Bucket("work", self.bucket_named("work"), True)
        return (*(bucket for bucket in self.buckets if bucket.is_owned), work)

    @property
    def copied(self) -> tuple[Bucket, ...]:
        """The buckets that are copied to the second region."""
        return tuple(bucket for bucket in self.buckets if bucket.is_owned)

    def replica_of(self, bucket: Bucket) -> str:
        """Returns the name of the copy of a bucket."""
        return shortened(f"{bucket.name}-replica", BUCKET_LENGTH)

    @property
    def sending(self) -> tuple[Bucket, ...]:
        """The buckets with landing files, which tell EventBridge of new objects."""
        return tuple(bucket for bucket in self.buckets if bucket.reads)

    @property
    def databases(self) -> tuple[Database, ...]:
        """The namespaces of the tables, and that of lakesmith's own."""
        naming = self.project.target.naming
        layers = [*dict.fromkeys(table.name.layer for table in self.own_tables), RESERVED_LAYER]
        found = {naming.namespace(layer): layer for layer in reversed(layers)}
        return tuple(Database(name.replace("-", "_"), name, layer) for name, layer in sorted(found.items()))

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that runs write, by name."""
        return tuple(map(self._table, self.own_tables))

    def _table(self, table: TableDefinition) -> Table:
        database, physical = self.project.target.naming.physical(table.name)
        return Table(
            f"{table.name.layer}__{table.name.name}",
            str(table.name),
            table.name.layer,
            database,
            physical,
            tuple(rule.text for rule in table.rules),
            tuple(column.name for column in table.columns),
            table.owner,
            table.tags,
        )

    @cached_property
    def grants(self) -> tuple[Grant, ...]:
        """The tags of each database in Lake Formation."""
        return tuple(map(self._grant, self.databases))

    def _grant(self, database: Database) -> Grant:
        tables = [table for table in self.own_tables if table.name.layer == database.layer]
        # Ledgers and quarantine hold what was wrong with rows, and so values of people.
        is_pii = database.layer == RESERVED_LAYER or any(PII in table.tags for table in tables)
        owners = {table.owner and lake_formation_value(table.owner) for table in tables}
        return Grant(database, is_pii, owners.pop() if len(owners) == 1 else None)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The jobs of a run, in their order."""
        if self.deploy.unit == "project":
            return (Unit("project", "all tables", None),)
        return tuple(Unit(layer, f"layer {layer}", f"{layer}.*") for layer in self.layers)

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers, by the last of the graph's levels in which they have a table."""
        order = [name.layer for name in reversed(self.graph.order) if self._is_own(name)]
        return tuple(reversed(dict.fromkeys(order)))

    def _is_own(self, name: object) -> bool:
        return any(table.name == name for table in self.own_tables)

    @property
    def firings(self) -> tuple[Firing, ...]:
        """One schedule in EventBridge for each that is declared, or more if one expression cannot say it."""
        return tuple(self._firings())

    def _firings(self) -> Iterator[Firing]:
        schedules: dict[Schedule, list[str]] = {}
        for table in self.own_tables:
            if table.schedule is not None:
                schedules.setdefault(table.schedule, []).append(str(table.name))
        for schedule, tables in sorted(schedules.items(), key=lambda each: str(each[0])):
            yield from _firings_of(schedule, str(schedule), _and_more(tables))
        if self.deploy.maintain is not None:
            yield from _firings_of(self.deploy.maintain, MAINTAIN, "maintenance of the tables that need it")
        if any(map(is_polled, self.own_tables)):
            yield from _firings_of(Schedule(every=self.deploy.poll), POLL, "sources that are asked")


def is_polled(table: TableDefinition) -> bool:
    """Returns whether a table without a schedule has a source that announces nothing."""
    asked = bool(table.sources_of(PostgresSource)) or bool(table.sources_of(KafkaSource))
    return table.schedule is None and asked


def _firings_of(schedule: Schedule, why: str, title: str) -> Iterator[Firing]:
    for number, expression in enumerate(expressions(schedule), 1):
        key = _key(f"{why} {number}")
        zone = schedule.time_zone if schedule.cron else "UTC"
        yield Firing(f"at_{key}", expression, zone, why, title, schedule)


def _key(text: str) -> str:
    """Returns a name for Terraform. A hash keeps apart what differs in its punctuation, as 6 and */6 do."""
    words = "_".join("".join(each if each.isalnum() else " " for each in text.lower()).split())
    return f"{words}_{hashlib.sha256(text.encode()).hexdigest()[:4]}"


def _and_more(names: Iterable[str], most: int = 3) -> str:
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
