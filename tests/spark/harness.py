"""Whole projects in tests: folders of the test's, run in-process on the shared JVM, with a lake each.

    project = Harness(tmp_path / "shop", session, {"tables/bronze/orders.yaml": "..."})
    project.land("landing/orders/1.csv", "id,city\\n1,Oslo\\n")
    assert project.run().code == 0
    assert project.rows("bronze.orders", "id", "city") == [(1, "Oslo")]

Each harness has a Spark session of its own in the shared JVM (a session has its own catalogs), whose catalog
``lake`` lies in the project's ``.lakesmith``, where a real run has it. Whatever the commands read without a
JVM is therefore there too.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
from prefixes import PREFIXES, key_of
from pyspark.sql import DataFrame, SparkSession

from lakesmith import limits
from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.progress import live_rows
from lakesmith.catalog.record import Account, Record
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.errors import Problem
from lakesmith.execute.decide import Decider
from lakesmith.execute.events import Event, TableFailed, TablePublished
from lakesmith.execute.files import file_report, ledger_step
from lakesmith.execute.lake import Lake
from lakesmith.execute.run import Run
from lakesmith.execute.verify import Verdict, Verification, verification_of
from lakesmith.graph.graph import Graph, load, select
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import ADDED_COLUMNS, Project, TableName
from lakesmith.spark.batch.sidecar import SidecarKind
from lakesmith.spark.engine import SparkEngine
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.read.sessions import ReadingSessions
from lakesmith.spark.start.session import SessionHandle, local_catalog_conf
from lakesmith.spark.start.settings import drafts_conf
from lakesmith.spark.verify import verify_steps

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Spark then interprets expressions instead of compiling them: a third less time on a few rows."""


def refresh_by_keys(patch: pytest.MonkeyPatch) -> None:
    """Has small tables refreshed by keys as large ones are, however much of them changes."""
    patch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 0)
    patch.setattr(limits, "COMPUTED_WHOLE_ABOVE_CHANGED_PART", float("inf"))


def fail() -> None:
    """Fails, as a fault that a test arranges."""
    raise OSError("arranged by a test")


PROJECT_FILE = "name: {name}\ntargets: {{local: {{}}}}\n"


class Said(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class RunResult:
    """How a run ended: its exit code and everything it told."""

    code: int
    events: tuple[Event, ...]

    @property
    def published(self) -> dict[str, Record]:
        """The records of the tables that were published, by their names, in that order."""
        return {str(e.table): e.report.record for e in self.events if isinstance(e, TablePublished)}

    @property
    def problems(self) -> list[Problem]:
        return [problem for e in self.events if isinstance(e, TableFailed) for problem in e.problems]

    def of(self, table: str) -> list[Event]:
        return [event for event in self.events if str(_table_of(event)) == table]


def _table_of(event: Event) -> object:
    step = getattr(event, "step", None)
    return step.name if step is not None else getattr(event, "table", None)


@dataclass
class Harness:
    """A project in ``root``. ``files`` are written at once, dedented; ``lakesmith.yaml`` is made if missing.

    ``compiled``: its session compiles queries, as users' do. What each kind of table gives is tested so, and
    by all tests that start processes of their own. ``approves``: whatever its runs would lose may go.
    """

    root: Path
    session: SessionHandle
    files: Mapping[str, str] = field(default_factory=dict)
    target: str | None = None
    compiled: bool = False
    approves: bool = False
    clones: ReadingSessions | None = None
    """Sessions for reading that outlive a run, as those of a process that stays."""

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.write({"lakesmith.yaml": PROJECT_FILE.format(name=self.root.name), **self.files})
        state_dir = self.root / ".lakesmith"
        spark = self.session.spark.newSession()
        interpreted = {} if self.compiled else INTERPRETED
        catalog = {**local_catalog_conf(state_dir / "catalog.db", state_dir / "warehouse"), **drafts_conf()}
        for key, value in {**catalog, **interpreted}.items():
            spark.conf.set(key, value)
        Lake.open(self.load()[0]).catalog.prepare()  # type: ignore[attr-defined]
        self.handle = replace(self.session, spark=spark, stop=lambda: None)

    @property
    def spark(self) -> SparkSession:
        """The session whose catalog ``lake`` is this project's."""
        return self.handle.spark

    # Files

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text).removeprefix("\n"))

    def define(self, queries: Mapping[str, str]) -> None:
        """Writes the SQL files of tables, given by their names."""
        self.write({f"tables/{table.replace('.', '/')}.sql": query for table, query in queries.items()})

    def land(self, name: str, content: str | bytes, modified_ns: int | None = None) -> Path:
        """Writes a landing file as it is. ``modified_ns``: its time of change, in ns since the epoch."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if modified_ns is not None:
            os.utime(path, ns=(modified_ns, modified_ns))
        return path

    def land_rows(self, table: str, number: int, *rows: str) -> None:
        """Writes ``landing/TABLE/NUMBER.csv``: lines of the columns that the bronze table declares."""
        columns = self.load()[0].table(TableName("bronze", table)).columns
        header = ",".join(column.name for column in columns)
        self.land(f"landing/{table}/{number}.csv", "\n".join([header, *rows, ""]))

    # Runs

    def load(self) -> tuple[Project, Graph]:
        return load(self.root, self.target, {})

    def lake(self) -> Lake:
        return Lake.open(self.load()[0])

    def run(
        self, *patterns: str, full: Iterable[str] = (), parallel: int = 2, approve: Iterable[str] = ()
    ) -> RunResult:
        """Does what ``run PATTERNS --full-refresh FULL --approve APPROVE`` does, on the shared JVM; or puts
        back what the same run of another case left."""
        project, graph = self.load()
        full, approve = tuple(full), tuple(approve)
        key = None if self.clones else key_of(self, project, patterns, full, parallel, approve)
        if key is not None and (found := PREFIXES.find(key, self)) is not None:
            return found
        lake = Lake.open(project)
        approve = map(str, graph.order) if self.approves else approve
        rebuilt, approved = (frozenset(map(TableName.parse, names)) for names in (full, approve))
        decider = Decider(graph, lake, rebuilt, approved)
        names = tuple(select(graph, patterns)) if patterns else graph.order
        events: list[Event] = []
        engine = SparkEngine(self.handle, lake, clones=self.clones)
        run = Run(decider, names, lambda _lock, _size: engine, events.append)
        run.parallel = parallel
        result = RunResult(run.run(), tuple(events))
        if key is not None:
            PREFIXES.keep(key, self, result)
        return result

    def must_run(self, *patterns: str, full: Iterable[str] = (), approve: Iterable[str] = ()) -> RunResult:
        """``run``, and it has to end well."""
        result = self.run(*patterns, full=full, approve=approve)
        assert result.code == 0, "\n".join(line for problem in result.problems for line in problem.lines())
        return result

    def take(self, name: str, content: str | bytes, *patterns: str, full: Iterable[str] = ()) -> RunResult:
        """Lands a file and runs, which has to end well."""
        self.land(name, content)
        return self.must_run(*patterns, full=full)

    def redefine(
        self, files: Mapping[str, str], *patterns: str, full: Iterable[str] = (), approve: Iterable[str] = ()
    ) -> RunResult:
        """Writes files of the project and runs, which has to end well."""
        self.write(files)
        return self.must_run(*patterns, full=full, approve=approve)

    def take_rows(self, table: str, number: int, *rows: str, run: Iterable[str] = ()) -> RunResult:
        """Lands rows and runs, which has to end well."""
        self.land_rows(table, number, *rows)
        return self.must_run(*run)

    def forget(self, table: str, *paths: str) -> Account:
        """What ``lakesmith files TABLE --forget PATHS`` does."""
        lake, graph = self.lake(), self.load()[1]
        definition = graph.node(TableName.parse(table)).definition
        facts = lake.facts(definition.name)
        lines = [line for line in file_report(lake, definition, facts).lines if line.path in paths]
        step = ledger_step(definition, "", facts, (), lines)
        return SparkEngine(self.handle, lake).run_step(step, lambda _event: None).record.account

    # What is there

    def state(self, table: str) -> TableState:
        name = TableName.parse(table)
        state = self.lake().catalog.table(name.layer, name.name)
        assert state is not None, f"there is no table {table}"
        return state

    def head(self, table: str) -> Snapshot:
        """The snapshot at the head of the table's main branch."""
        head = self.state(table).head
        assert head is not None, f"{table} has no snapshot"
        return head

    def record(self, table: str) -> Record:
        record = self.lake().facts(TableName.parse(table)).base.record
        assert record is not None, f"{table} was never published"
        return record

    def count(self, table: str) -> int:
        """The table's live rows, by the snapshot's summary."""
        head = self.state(table).head
        return (live_rows(head) or 0) if head else 0

    def frame(self, table: str, as_of: int | None = None) -> DataFrame:
        """The table as Spark reads it, at main's head or at a snapshot."""
        version = f" VERSION AS OF {as_of}" if as_of is not None else ""
        return self.spark.sql(f"SELECT * FROM {physical(TableName.parse(table))}{version}")

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """The table's rows, sorted; all columns but those that lakesmith adds, unless some are named."""
        frame = self.frame(table)
        names = columns or tuple(name for name in frame.columns if name not in ADDED_COLUMNS)
        return in_order(tuple(row) for row in frame.select(*names).collect())

    def quarantine(self, table: str) -> list[dict[str, Any]]:
        """The rows in quarantine as the published record pins them, by file and position."""
        pin = self.record(table).sidecars.get(SidecarKind.QUARANTINE.value)
        if pin is None or pin.snapshot is None:
            return []
        frame = self.frame(
            str(sidecar_of(TableName.parse(table), SidecarKind.QUARANTINE)), as_of=pin.snapshot
        )
        rows = [row.asDict(recursive=True) for row in frame.collect()]
        return sorted(
            rows, key=lambda row: _orderable((row["source_file"], row["source_position"], row["row"]))
        )

    def verify(self, *tables: str) -> dict[str, Verification]:
        """Does what ``lakesmith verify TABLES`` does, on the shared JVM."""
        lake = self.lake()
        planned = [verification_of(Decider(self.load()[1], lake), TableName.parse(table)) for table in tables]
        done = verify_steps(self.handle, lake, [each for each in planned if isinstance(each, TableStep)])
        return {str(each.name): done[each.name] if isinstance(each, TableStep) else each for each in planned}

    def must_verify(self, *tables: str) -> None:
        """Verifies tables: each has to be what its definition gives over the inputs it has read."""
        found = self.verify(*tables)
        assert {each.verdict for each in found.values()} == {Verdict.SAME}, found

    def differing(self, queries: Mapping[str, str]) -> list[str]:
        """Returns the tables that do not hold what Spark makes of their queries over all of the inputs."""
        return [table for table, query in queries.items() if not self._is_computed(table, query)]

    def _is_computed(self, table: str, query: str) -> bool:
        computed = self.spark.sql(re.sub(r"(?<!lake\.)\b(bronze|silver|gold)\.", r"lake.\1.", query))
        return _texts(computed) == _texts(self.spark.table(f"lake.{table}"))

    def copy(self, root: Path, only: Callable[[str], bool] = lambda _name: True) -> Harness:
        """A second project with the same files (``only`` chooses by name) and a lake that is empty."""
        files = [path for path in sorted(self.root.rglob("*")) if path.is_file()]
        names = [str(path.relative_to(self.root)) for path in files]
        kept = [name for name in names if not name.startswith(".lakesmith/") and only(name)]
        other = Harness(
            root,
            self.session,
            {"lakesmith.yaml": (self.root / "lakesmith.yaml").read_text()},
            compiled=self.compiled,
        )
        for name in kept:
            content = self.root / name
            other.land(name, content.read_bytes(), content.stat().st_mtime_ns)
        return other


MakeShop = Callable[..., Harness]
"""Type of the fixture ``make_shop``: called with files and options of a ``Harness``, it makes one."""


def _texts(frame: DataFrame) -> Counter[tuple[str, ...]]:
    """Rows as the bytes of Spark's texts: they tell signs of zeros, invalid UTF-8, and dates before year 1.

    Columns are in the order of their names.
    """
    names = sorted(frame.columns, key=str.lower)
    texts = (f"hex(CAST(`{name.replace('`', '``')}` AS string))" for name in names)
    return Counter(tuple(row) for row in frame.selectExpr(*texts).collect())


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows sorted by their values, None first; what has no order (maps) by its text."""
    return sorted(rows, key=_orderable)


def _orderable(row: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [_place(value) for value in row]


def _place(value: Any) -> tuple[Any, ...]:
    if value is None:
        return (0,)
    if isinstance(value, bool | int | float):
        return (1, str(float(value)) == "nan", value)
    return (2, type(value).__name__, value if isinstance(value, str | bytes) else repr(value))
