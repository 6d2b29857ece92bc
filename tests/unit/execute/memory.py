"""A lake and an engine in memory: what planning and running are given where no file and no Spark is asked
for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from lakesmith.catalog.progress import find_progress
from lakesmith.catalog.record import Account, Record
from lakesmith.catalog.state import ColumnState, Snapshot, TableState
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import BatchReport, Listener
from lakesmith.graph.graph import Graph, load
from lakesmith.plan.facts import SourceFacts, TableFacts
from lakesmith.plan.steps import FileIntake, Strategy, TableStep
from lakesmith.project.definitions import Project, TableDefinition, TableName
from lakesmith.sources.model import FileIdentity


@dataclass
class MemoryLake:
    """Tables as states, and landing files as names. ``problems`` are what is wrong with a table's sources."""

    project: Project
    tables: dict[TableName, TableState] = field(default_factory=dict)
    landed: dict[TableName, set[str]] = field(default_factory=lambda: defaultdict(set))
    taken: dict[TableName, set[str]] = field(default_factory=lambda: defaultdict(set))
    problems: dict[TableName, Problem] = field(default_factory=dict)

    def one_look(self, tables: object) -> AbstractContextManager[None]:
        """Nothing here moves by itself."""
        return nullcontext()

    @property
    def catalog(self) -> MemoryLake:
        """The lake is its own catalog."""
        return self

    def table(self, namespace: str, name: str) -> TableState | None:
        """As ``catalog.protocol.Catalog.table``."""
        return self.tables.get(TableName(namespace, name))

    def facts(self, name: TableName) -> TableFacts:
        """As ``execute.lake.Lake.facts``."""
        state = self.tables.get(name)
        if state is None:
            return TableFacts()
        try:
            return TableFacts(state, find_progress(state))
        except LakesmithError as error:
            return TableFacts(state, problem=error.problems[0])

    def source_facts(self, table: TableDefinition, _facts: TableFacts) -> SourceFacts:
        """As ``execute.lake.Lake.source_facts``."""
        if table.name in self.problems:
            return SourceFacts(problems=(self.problems[table.name],))
        new = sorted(self.landed[table.name] - self.taken[table.name])
        intake = FileIntake(table.sources[0], tuple(FileIdentity(path, 1, 1) for path in new))
        return SourceFacts((intake,), known=len(self.landed[table.name]))

    def land(self, name: str, *files: str) -> None:
        """Files arrive."""
        self.landed[TableName.parse(name)] |= set(files)

    def commit(self, name: TableName, operation: str, rows: int, record: Record | None = None) -> int:
        """Adds a snapshot to main of a table, which is made if need be; returns its id."""
        state = self.tables.get(name) or _new(name)
        number = len(state.snapshots) + 1
        counts = (
            {"added-data-files": "1", "added-records": str(rows)}
            if rows
            else {"changed-partition-count": "0"}
        )
        summary = {**counts, "total-files-size": "0"}
        summary |= record.to_summary() if record else {}
        snapshot = Snapshot(number, state.refs.get("main"), number, number, operation, "", summary)
        self.tables[name] = replace(
            state, snapshots={**state.snapshots, number: snapshot}, refs={"main": number}
        )
        return number


def _new(name: TableName) -> TableState:
    columns = (ColumnState(1, "id", "int", False),)
    return TableState(str(name), f"uuid of {name}", "", "", 3, columns, {}, {}, frozenset(), (), {})


@dataclass
class MemoryEngine:
    """Does steps in memory. ``before[table]`` are called one after the other, one at each try, and may
    raise.
    """

    lake: MemoryLake
    before: dict[str, list[Callable[[], None]]] = field(default_factory=dict)
    done: list[tuple[str, Strategy]] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)
    closed: int = 0
    _lock: Lock = field(default_factory=Lock)

    def run_step(self, step: TableStep, _listener: Listener) -> BatchReport:
        """As ``execute.engine.Engine.run_step``: one row per file or per changed input."""
        name = str(step.name)
        self.tries[name] += 1
        waiting = self.before.get(name)
        if waiting:
            waiting.pop(0)()
        with self._lock:
            return self._publish(step)

    def _publish(self, step: TableStep) -> BatchReport:
        self.done.append((str(step.name), step.strategy))
        self.lake.taken[step.name] |= {file.path for intake in step.intakes for file in intake.files}
        if step.strategy is not Strategy.ADVANCE:
            operation = "overwrite" if step.strategy in (Strategy.FULL, Strategy.UPSERT) else "append"
            self.lake.commit(step.name, operation, rows=1)
        base = step.base.record
        record = Record(
            attempt=f"{step.name}-{len(self.done)}",
            parent=base.attempt if base else None,
            batch=base.batch + 1 if base else 1,
            kind=step.strategy.value,
            started_ms=0,
            fingerprint=step.fingerprint,
            account=Account(),
            inputs={str(item.table): item.pin for item in step.inputs},
        )
        return BatchReport(record, self.lake.commit(step.name, "append", 0, record))

    def cancel(self) -> None:
        """Nothing runs on."""

    def close(self) -> None:
        """Counts."""
        self.closed += 1


def project_of(root: Path, **tables: str) -> tuple[Project, Graph]:
    """A project of tables by name with two underscores: ``files`` makes it a sourced one, anything else is
    its query.
    """
    root.mkdir(parents=True, exist_ok=True)
    (root / "lakesmith.yaml").write_text("name: shop\n")
    for name, query in tables.items():
        layer, table = name.split("__")
        (root / "tables" / layer).mkdir(parents=True, exist_ok=True)
        (root / "landing" / table).mkdir(parents=True, exist_ok=True)
        source = f"source:\n  files: {{path: landing/{table}/, format: csv}}\ncolumns: {{id: int}}\n"
        text = source if query == "files" else f"query: {query}\n"
        (root / "tables" / layer / f"{table}.yaml").write_text(text)
    return load(root, None, {})
