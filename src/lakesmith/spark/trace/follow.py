"""Follows an event through the tables below a source.

The engine itself does the work, on a copy of the tables' metadata whose new files go to a temporary folder.
So what is found is what a run would do, by every strategy, and nothing is written to the lake. Tables that
are behind are refreshed in the copy first, so that only the event's changes remain.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from pyspark.sql import DataFrame

from lakesmith.errors import Problem
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import NotIncremental
from lakesmith.execute.events import Event, TableCurrent, TableFailed, TableHeld, TablePublished
from lakesmith.execute.opened import Opened
from lakesmith.execute.quarantine import BadRow, read_bad_rows
from lakesmith.execute.run import Walk
from lakesmith.execute.status import quarantined_rows
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.steps import BadRows, Strategy
from lakesmith.project.definitions import (
    ADDED_COLUMNS,
    IS_CURRENT,
    VALIDITY_COLUMNS,
    Source,
    TableDefinition,
    TableName,
)
from lakesmith.quoting import quoted
from lakesmith.sources.event_file import write_event
from lakesmith.spark.ask import frame_result
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.catalyst.key_columns import key_columns
from lakesmith.spark.diff import BEFORE, DELETED, Span, difference
from lakesmith.spark.engine import SparkEngine
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.open import keep_cancelling
from lakesmith.spark.query.table_query import query_rows
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.session_folder import new_session_folder
from lakesmith.spark.trace.copy import EventText, copied, session_of
from lakesmith.spark.trace.stops import Bad, Change, Row, Stop, paired, why_of
from lakesmith.spark.validation.key_versions import same_key

MOST_ROWS: Final = 50
"""Rows of each kind that a stop shows."""
_MOST_CHANGED: Final = 400
_MOST_BAD: Final = 10_000
_BY_ROW: Final = (Strategy.FILES, Strategy.APPEND, Strategy.UPSERT)
Plain = Callable[[Any], Any]


def follow(
    session: SessionHandle,
    opened: Opened,
    event: EventText,
    plain: Plain,
    limit: float,
    tell: Callable[[Event], None] = lambda _: None,
) -> tuple[Stop, ...]:
    """Follows an event; the stops are the table and all below it, in dependency order.

    ``plain``: makes JSON data of a value. ``limit``: seconds; tables that are not reached then are said to
    be. Raises UsageError LS279.
    """
    names = (event.table, *opened.graph.downstream(event.table))
    # As a session's folder it is removed after a kill, too, and `erase` knows that somebody works in it.
    folder = new_session_folder(str(session.log_path.absolute()))
    try:
        copy = copied(opened, event, folder.path.resolve(), names)
        with session_of(session, copy.project) as own:
            return _Following(own, copy, names, plain, tell).run(event, limit)
    finally:
        folder.remove()


@dataclass
class _Following:
    session: SessionHandle
    opened: Opened
    names: Sequence[TableName]
    plain: Plain
    tell: Callable[[Event], None]
    before: dict[TableName, TableFacts] = field(default_factory=dict)
    behind: dict[TableName, tuple[Problem, ...]] = field(default_factory=dict)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self, event: EventText, limit: float) -> tuple[Stop, ...]:
        engine = SparkEngine(self.session, self.opened.lake, keeps_session=True)
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(engine, limit, ended), daemon=True)
        watch.start()
        try:
            caught_up = self._walk(engine, self.names[1:])
            self.before = {name: self.opened.lake.facts(name) for name in self.names}
            self.behind = {e.table: e.problems for e in caught_up if isinstance(e, TableFailed)}
            write_event(self._source(event), self.opened.project.root, event.text)
            found = self._walk(engine, [name for name in self.names if name not in self.behind])
            self.session.enter()
            return tuple(self._stop(name, found, limit) for name in self.names)
        finally:
            ended.set()
            watch.join()
            engine.close()

    def _watch(self, engine: SparkEngine, limit: float, ended: threading.Event) -> None:
        if not ended.wait(limit):
            self._is_over.set()
            keep_cancelling(engine.cancel, ended)

    def _walk(self, engine: SparkEngine, names: Sequence[TableName]) -> list[Event]:
        events: list[Event] = []

        def listen(event: Event) -> None:
            events.append(event)
            self.tell(event)

        decider = Decider(self.opened.graph, self.opened.lake, warm=True)
        Walk(decider, names, lambda: engine, listen, stop=self._is_over, exports=False).run()
        return events

    def _source(self, event: EventText) -> Source:
        sources = self.opened.graph.node(event.table).definition.sources
        return next(source for source in sources if source.name == event.source)

    def _stop(self, name: TableName, events: Sequence[Event], limit: float) -> Stop:
        table = str(name)
        if name in self.behind:
            why = "it cannot be refreshed, also without the event"
            return Stop(table, {"failed": 1}, why, problems=self.behind[name])
        ends = (TablePublished, TableCurrent, TableFailed, TableHeld)
        match next((e for e in events if isinstance(e, ends) and e.table == name), None):
            case TablePublished() as done:
                return self._published(done)
            case TableCurrent(_, reason, notes):
                return Stop(table, {"unchanged": 1}, f"{reason}", notes=notes)
            case TableFailed(_, problems, code) if not self._is_over.is_set():
                outcome = "stopped" if code == 3 else "failed"
                why = "a rule stops the batch" if code == 3 else "its batch fails: nothing is published"
                return Stop(table, {outcome: 1}, why, problems=problems)
            case TableHeld(_, because):
                others = ", ".join(map(str, because))
                return Stop(table, {"not reached": 1}, f"{others} is not published")
        return Stop(table, {"not reached": 1}, f"{limit:g} seconds were not enough")

    def _published(self, done: TablePublished) -> Stop:
        step, record = done.step, done.report.record
        account, before = record.account, self.before[done.table]
        definition = step.table
        batch = Batch(self.session.spark, self.opened.lake.catalog, self.opened.project, step, self.tell)
        changes, more = self._changes(batch, before.base.snapshot, done.report.snapshot)
        outcomes = Counter(each.kind for each in changes)
        is_by_row = step.strategy in _BY_ROW
        arrived = self._arrived(batch) if is_by_row and definition.query is not None else None
        bad, count = self._bad(done, before)
        named = {"superseded": account.superseded, "filtered": account.filtered}
        named |= {"unchanged": account.unchanged + account.absent_deletes}
        outcomes.update({name: rows for name, rows in named.items() if rows and is_by_row})
        outcomes.update({"quarantined": count} if count else {})
        current = (
            self._current(batch, arrived, done.report.snapshot)
            if account.superseded and arrived is not None
            else ()
        )
        return Stop(
            table=str(done.table),
            outcomes=dict(outcomes) or {"unchanged": 1},
            why=why_of(definition, outcomes, is_by_row),
            strategy=record.kind,
            arrived=self._rows(arrived) if arrived is not None else (),
            changes=changes[:MOST_ROWS],
            current=current,
            bad=bad,
            more=more + max(0, len(changes) - MOST_ROWS),
            notes=done.report.warnings,
        )

    def _changes(self, batch: Batch, start: int | None, end: int) -> tuple[tuple[Change, ...], int]:
        """Returns the changed rows, and how many more there are."""
        table, secrets = batch.step.table, self.opened.project.secrets
        if start is None:
            rows = self._rows(read_version(batch.spark, batch.name, end), _MOST_CHANGED)
            state = batch.catalog.table(batch.name.layer, batch.name.name)
            live = state.head.count("total-records") if state and state.head else len(rows)
            return tuple(Change(None, row) for row in self._own(table, rows)), max(0, live - len(rows))
        declared = (*table.key, VALIDITY_COLUMNS[0]) if table.keeps_versions else table.key
        with difference(self.session, Span(batch.name, start, end, tuple(declared)), secrets) as found:
            counts = found.counts
            rows = self._rows(found.rows, _MOST_CHANGED)
        total = counts.inserted + counts.deleted + 2 * counts.updated
        gone = [self._values(row) for row in rows if next(iter(row.values())) in (DELETED, BEFORE)]
        new = [self._values(row) for row in rows if next(iter(row.values())) not in (DELETED, BEFORE)]
        keys = declared or self._group_columns(batch)
        return tuple(paired(self._own(table, gone), self._own(table, new), keys)), total - len(rows)

    def _values(self, row: Row) -> Row:
        """Returns a row of a difference without its first column."""
        return dict(islice(row.items(), 1, None))

    def _own(self, table: TableDefinition, rows: Sequence[Row]) -> list[Row]:
        added = ADDED_COLUMNS if table.is_sourced else ()
        return [{name: value for name, value in row.items() if name not in added} for row in rows]

    def _group_columns(self, batch: Batch) -> tuple[str, ...]:
        """Returns the columns by which a change reaches rows of the result; none if Spark's plan has none."""
        if batch.step.table.query is None:
            return ()
        with suppress(NotIncremental):
            rows = query_rows(batch, with_arrival=False)
            keys = rows.keys or key_columns(rows.frame, rows.occurrences, batch.step.table.trusts_python)
            return tuple(rows.frame.columns[place] for place in keys.positions)
        return ()

    def _arrived(self, batch: Batch) -> DataFrame | None:
        with suppress(NotIncremental):
            rows = query_rows(batch, with_arrival=False)
            return rows.frame.select(*map(quoted, rows.columns))
        return None

    def _current(self, batch: Batch, arrived: DataFrame, end: int) -> tuple[Row, ...]:
        table = batch.step.table
        rows = read_version(batch.spark, batch.name, end)
        if table.keeps_versions:
            rows = rows.where(IS_CURRENT)
        same = same_key("t", "k", table)
        return self._rows(rows.alias("t").join(arrived.alias("k"), same, "left_semi"))

    def _bad(self, done: TablePublished, before: TableFacts) -> tuple[tuple[Bad, ...], int]:
        """Returns new rows in quarantine, and how many there are."""
        lake, name = self.opened.lake, done.table
        after = lake.facts(name)
        if done.step.strategy in _BY_ROW:
            chosen = BadRows(batch=done.report.record.batch)
            found = (
                read_bad_rows(lake, name, after, chosen, MOST_ROWS)
                if done.report.record.account.quarantined
                else ()
            )
            return tuple(map(_bad_row, found)), done.report.record.account.quarantined
        now, then = (quarantined_rows(lake, name, facts) or 0 for facts in (after, before))
        if now <= then or now > _MOST_BAD:
            return (), max(0, now - then)
        old, new = (
            Counter(map(_bad_row, read_bad_rows(lake, name, facts, BadRows()))) for facts in (before, after)
        )
        return tuple(islice((new - old).elements(), MOST_ROWS)), now - then

    def _rows(self, frame: DataFrame, limit: int = MOST_ROWS) -> tuple[Row, ...]:
        with frame_result(self.session, frame, limit, self.opened.project.secrets) as found:
            return tuple(dict(zip(found.columns, map(self.plain, row), strict=True)) for row in found.rows)


def _bad_row(row: BadRow) -> Bad:
    return Bad(row.reasons, row.raw if row.raw is not None else row.row or "")
