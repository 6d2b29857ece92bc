"""One story: its batches run in a lake of its own, and what is expected is compared with what is there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lakesmith.errors import Place, count
from lakesmith.execute.decide import Decider
from lakesmith.execute.events import Event, TableCurrent, TableFailed, TableHeld, TablePublished
from lakesmith.execute.lake import Lake
from lakesmith.execute.quarantine import read_bad_rows
from lakesmith.execute.run import Run
from lakesmith.execute.verify import Verdict, verification_of
from lakesmith.graph.check_sql import analyse_queries
from lakesmith.graph.graph import Graph, build_graph
from lakesmith.plan.steps import BadRows, TableStep
from lakesmith.project.definitions import ADDED_COLUMNS, Project, TableName
from lakesmith.sql.analysis import analyse
from lakesmith.stories.comparing import differences, lines_of
from lakesmith.stories.coverage import Met
from lakesmith.stories.expecting import wrong_bad_rows, wrong_numbers
from lakesmith.stories.loading import at_time
from lakesmith.stories.model import REBUILD, REPEAT, Batch, Expectation, Story
from lakesmith.stories.staging import Arrivals, staged
from lakesmith.stories.writing import FoundRows, found_rows

if TYPE_CHECKING:
    import pyarrow

    from lakesmith.spark.start.session import SessionHandle

Unmet = tuple[str, Place, Sequence[str]]
"""What is not as expected, where that is written, and lines that say how."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What is not as a story says. ``batch`` counts from 1; 0: after the last one. ``lines`` say what."""

    batch: int
    table: str
    what: str
    place: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoryResult:
    """How a story ended: it passed if nothing failed. ``found``: the rows in place of expected ones."""

    file: str
    title: str
    place: str
    seconds: float
    failures: tuple[Failure, ...] = ()
    found: tuple[FoundRows, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures


@dataclass(frozen=True)
class Scene:
    """Where a story runs: the folder of the project, the project as the story sees it, a folder for its lake,
    and the parent of its Spark session. ``met`` collects what it comes by."""

    real: Path
    base: tuple[Project, Graph]
    root: Path
    session: SessionHandle
    met: Met


@dataclass
class StoryRun:
    """A run of one story, in a folder that is not there yet."""

    story: Story
    scene: Scene
    failures: list[Failure] = field(default_factory=list)
    found: list[FoundRows] = field(default_factory=list)

    def __post_init__(self) -> None:
        from lakesmith.spark.start.session import local_catalog_conf
        from lakesmith.spark.start.settings import drafts_conf

        root, story = self.scene.root, self.story
        root.mkdir(parents=True)
        project, graph = self.scene.base
        self.project = staged(story, project, graph, root)
        kinds = {table.name: table.sources for table in project.tables}
        self.arrivals = Arrivals(self.project, kinds, self.scene.real, story.now)
        if story.now is not None:
            self.project = at_time(self.project, story.now)
        self.graph = build_graph(self.project, analyse_queries(self.project, analyse).analyses)
        Lake.open(self.project).catalog.prepare()  # type: ignore[attr-defined]
        spark, state = self.scene.session.spark.newSession(), self.project.state_dir
        conf = {**local_catalog_conf(state / "catalog.db", state / "warehouse"), **drafts_conf()}
        for key, value in conf.items():
            spark.conf.set(key, value)
        self.handle = replace(self.scene.session, spark=spark, stop=lambda: None)

    def result(self) -> StoryResult:
        """Runs the batches one after the other, up to the first that is not as expected."""
        started, story = time.monotonic(), self.story
        for number, batch in enumerate(story.batches, 1):
            self.arrivals.arrive(batch, number)
            self._check(number, batch, self._run())
            if self.failures:
                break
        else:
            self._close()
        seconds = time.monotonic() - started
        found = tuple(self.failures), tuple(self.found)
        return StoryResult(story.file, story.title, str(story.place), seconds, *found)

    def _run(self) -> list[Event]:
        from lakesmith.spark.engine import SparkEngine

        lake, events = Lake.open(self.project), list[Event]()
        decider = Decider(self.graph, lake, warm=True)

        def engine(_lock: object, _size: object) -> SparkEngine:
            return SparkEngine(self.handle, lake)

        Run(decider, self.graph.order, engine, events.append, stays=True).run()
        for event in events:
            if isinstance(event, TablePublished):
                self._meet(lake, event)
        return events

    def _meet(self, lake: Lake, event: TablePublished) -> None:
        """Notes what a batch comes by, for the coverage."""
        name, record, met = event.table, event.report.record, self.scene.met
        met.strategies.setdefault(name, []).append(record.kind)
        met.columns[name] = tuple(record.columns or ())
        if record.account.quarantined:
            bad = read_bad_rows(lake, name, lake.facts(name), BadRows())
            met.reasons.setdefault(name, set()).update(reason for row in bad for reason in row.reasons)

    def _check(self, number: int, batch: Batch, events: Sequence[Event]) -> None:
        failed = {each.table: each for each in events if isinstance(each, TableFailed)}
        errors = {each.table: each for each in batch.expected if each.error is not None}
        for table, event in failed.items():
            if table not in errors:
                lines = [line for problem in event.problems for line in problem.lines()]
                self._fail(number, table, ("the batch failed", self.story.place, lines))
        for table, each in errors.items():
            codes = [problem.code for problem in failed[table].problems] if table in failed else []
            if each.error not in codes:
                said = [", ".join(codes) or "it did not fail"]
                self._fail(number, table, (f"expected to fail with {each.error}", each.place, said))
        for each in batch.expected:
            if each.table not in failed and each.error is None:
                for unmet in self._unmet(each, events):
                    self._fail(number, each.table, unmet)

    def _unmet(self, each: Expectation, events: Sequence[Event]) -> Iterator[Unmet]:
        lake, name = Lake.open(self.project), each.table
        facts = lake.facts(name)
        if facts.state is None:
            yield "the table was not built", each.place, list(_reasons(name, events))
            return
        records = {event.table: event.report.record for event in events if isinstance(event, TablePublished)}
        for what, how in wrong_numbers(each, records.get(name)):
            yield what, each.place, [how]
        if each.rows is not None or each.count is not None:
            yield from self._unmet_rows(each)
        if each.quarantine is not None:
            lines = list(wrong_bad_rows(each.quarantine, read_bad_rows(lake, name, facts, BadRows())))
            if lines:
                yield "rows in quarantine", each.place, lines

    def _unmet_rows(self, each: Expectation) -> Iterator[Unmet]:
        there = self._rows(each.table)
        if each.count is not None and each.count != there.num_rows:
            yield "number of rows", each.place, [f"{there.num_rows:,}, expected {each.count:,}"]
        if each.rows is not None:
            wrong = differences(each.rows, there, self.graph.node(each.table).definition.key)
            if wrong:
                self.found.append(found_rows(each.rows, there))
                yield "rows", each.rows.place, list(lines_of(wrong))

    def _rows(self, name: TableName) -> pyarrow.Table:
        from lakesmith.spark.iceberg.commits import physical

        return self.handle.spark.table(physical(name)).drop(*ADDED_COLUMNS).toArrow()

    def _close(self) -> None:
        """Checks that a run with nothing new publishes nothing, and that a rebuild gives the same rows."""
        if REPEAT not in self.story.without:
            for event in self._run():
                if isinstance(event, TablePublished):
                    how = [f"it was refreshed again: {event.report.record.kind}"]
                    self._fail(0, event.table, ("a run with nothing new", self.story.place, how))
        if REBUILD not in self.story.without:
            self._rebuild()

    def _rebuild(self) -> None:
        from lakesmith.spark.verify import verify_steps

        lake = Lake.open(self.project)
        planned = [verification_of(Decider(self.graph, lake), name) for name in self.graph.order]
        steps = [each for each in planned if isinstance(each, TableStep)]
        for name, found in verify_steps(self.handle, lake, steps).items():
            if found.verdict not in (Verdict.SAME, Verdict.SKIPPED):
                differ = f"{count(found.missing, 'row')} missing, {found.unexpected:,} unexpected"
                lines = [differ, *(line for problem in found.problems for line in problem.lines())]
                self._fail(0, name, ("a rebuild gives other rows", self.story.place, lines))

    def _fail(self, batch: int, table: TableName, unmet: Unmet) -> None:
        what, place, lines = unmet
        self.failures.append(Failure(batch, str(table), what, str(place), tuple(lines)))


def _reasons(name: TableName, events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, TableHeld) and event.table == name:
            yield f"{event.because[0]} failed"
        elif isinstance(event, TableCurrent) and event.table == name:
            yield event.reason
