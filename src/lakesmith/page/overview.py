"""The facts of the lake's page: its tables, the rows that moved between them, and what is wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from lakesmith.catalog.lock import Holder, noted_holder
from lakesmith.catalog.progress import (
    Reason,
    append_only_since,
    find_progress,
    last_change_ms,
    live_rows,
    published_records,
)
from lakesmith.catalog.record import Pin, Record
from lakesmith.catalog.state import RECORD_TAG, Snapshot, TableState
from lakesmith.errors import LakesmithError
from lakesmith.execute.decide import around
from lakesmith.execute.erase import Receipts
from lakesmith.execute.findings import Finding, Kind, of_problem
from lakesmith.execute.opened import Opened
from lakesmith.execute.refresh import Refresh, refresh_of
from lakesmith.execute.status import InputChange, Standing, TableStatus, statuses
from lakesmith.journal.reading import with_failures
from lakesmith.plan.maintenance import signs
from lakesmith.project.declaring import value_of
from lakesmith.project.definitions import Severity, TableName
from lakesmith.serve.orders import Orders
from lakesmith.serve.state import UpState, is_alive, is_here, read_state

_SPANS: Final = {"hour": 3_600_000, "day": 86_400_000}
PERIODS: Final = ("batch", *_SPANS)
"""Periods of rows on edges: the last batch, and spans in milliseconds."""
_RECORDS: Final = 300
"""The most records of a table that are looked at."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows that a table read from an input. ``is_exact``: False where some cannot be counted by commits."""

    rows: int = 0
    is_exact: bool = True

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.rows + other.rows, self.is_exact and other.is_exact)


Flows = Mapping[str, Mapping[str, Flow]]
"""By period, then by input ("" for a source), the rows read."""


@dataclass(frozen=True, slots=True)
class TableOverview:
    """A table with its status, how it is refreshed, when next, and the rows that it read.

    ``changed_ms``: when its rows changed; ``freshness``: how often they are to change, in words."""

    status: TableStatus
    refresh: Refresh
    inputs: tuple[str, ...]
    source: str = ""
    schedule: str = ""
    next_firing: str = ""
    description: str = ""
    changed_ms: int | None = None
    freshness: str = ""
    flows: Flows = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self.status.name)

    @property
    def waiting(self) -> Mapping[str, str]:
        """What waits in each input, in words."""
        found = {each.table: each for each in self.status.inputs if each.change is not InputChange.NOTHING}
        return {
            str(name): "changed since" if each.new_rows is None else f"{each.new_rows:,} wait"
            for name, each in found.items()
            if each.change is not InputChange.MISSING and self.status.standing is not Standing.UP_TO_DATE
        }


@dataclass(frozen=True, slots=True)
class Overview:
    """The selected tables in dependency order, what is wrong with them, worst first, and who is at work."""

    project: str
    target: str
    tables: tuple[TableOverview, ...]
    findings: tuple[Finding, ...]
    up: UpState | None
    at_work: Holder | None = None
    tags: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The findings and the rows on edges as JSON data; ``status`` has the tables."""
        flows = {each.name: {p: {k: asdict(f) for k, f in by.items()} for p, by in each.flows.items()}
                 for each in self.tables}  # fmt: skip
        findings = [each.to_dict() for each in self.findings]
        return {"project": self.project, "target": self.target, "findings": findings, "flows": flows}


def overview_of(opened: Opened, names: Sequence[TableName]) -> Overview:
    """Returns the overview of the named tables. Reads metadata alone."""
    project, now_ms = opened.project, time.time_ns() // 1_000_000
    up = read_state(project.state_dir)
    with opened.lake.one_look(opened.graph.order):
        found = with_failures(statuses(opened.decider(), names), project.state_dir)
        states = {name: _state(opened, name) for name in opened.graph.order}
        tables = tuple(table_overview(opened, each, up, states[each.name], now_ms) for each in found)
    begun = Receipts(project.state_dir).begun()
    paused = sorted(Orders(project.state_dir).paused() & set(map(str, names)))
    notes = [_note(name, "is paused: lakesmith up leaves it alone") for name in paused]
    findings = tuple(sorted([*findings_of(found, up, begun), *notes], key=_weight))
    holder, tags = noted_holder(project.state_dir), tags_in(states.values())
    return Overview(project.name, project.target.name, tables, findings, up, holder, tags)


def _state(opened: Opened, name: TableName) -> TableState | None:
    """Returns a table; None where it cannot be read, of which its status tells."""
    try:
        return opened.lake.catalog.table(name.layer, name.name)
    except LakesmithError:
        return None


def tags_in(states: Iterable[TableState | None]) -> tuple[str, ...]:
    """Returns the tags that people have set."""
    return tuple(sorted({tag for state in states if state for tag in state.tags if tag != RECORD_TAG}))


def _weight(finding: Finding) -> int:
    return ("error", "warning", "note").index(finding.level)


def table_overview(
    opened: Opened, status: TableStatus, up: UpState | None, state: TableState | None, now_ms: int
) -> TableOverview:
    """Returns a table's overview, by its present definition."""
    node, kept = opened.graph.node(status.name), opened.lake.kept
    table, running = node.definition, up.tables.get(str(status.name)) if up else None
    besides = around(node, opened.lake.project)
    refresh = kept.get(
        ("refresh", status.name),
        (status.record, besides),
        lambda: refresh_of(opened.graph, status.name, status.record, besides),
    )
    kinds = {each.kind for each in table.sources}
    return TableOverview(
        status,
        refresh,
        tuple(map(str, node.inputs)),
        ", ".join(sorted(kinds)),
        str(table.schedule or ""),
        (running.next_firing if running else None) or "",
        table.description or "",
        _changed_ms(opened, status.name, state),
        value_of(table, "freshness") or "",
        flows_of(opened, status.name, state, now_ms),
    )


def _changed_ms(opened: Opened, name: TableName, state: TableState | None) -> int | None:
    if state is None:
        return None
    version = state.metadata_location, state.head_id
    found: int | None = opened.lake.kept.get(("changed", name), version, lambda: last_change_ms(state))
    return found


def flows_of(opened: Opened, name: TableName, state: TableState | None, now_ms: int) -> Flows:
    """Returns the rows by period and input; nothing where the table's progress cannot be read."""
    catalog = opened.lake.catalog
    try:
        progress = find_progress(state) if state else None
        if state is None or progress is None:
            return {}
        inputs = {str(each): catalog.table(each.layer, each.name) for each in opened.graph.node(name).inputs}
        places = [
            progress.snapshot.snapshot_id,
            *(each and each.metadata_location for each in inputs.values()),
        ]
        read = opened.lake.kept.get(
            ("read", name), places, lambda: rows_read(list(_recent(state, progress.snapshot, now_ms)), inputs)
        )
        return rows_by_period(read, now_ms)
    except LakesmithError:
        # The table's own status says why it cannot be read.
        return {}


def _recent(state: TableState, newest: Snapshot, now_ms: int) -> Iterator[tuple[Snapshot, Record]]:
    """Yields the records of the longest period and the one before them, newest first."""
    for number, found in enumerate(published_records(state, newest)):
        yield found
        if number >= _RECORDS or (number and found[0].committed_ms < now_ms - _SPANS["day"]):
            return


def rows_read(
    records: Sequence[tuple[Snapshot, Record]], inputs: Mapping[str, TableState | None]
) -> list[tuple[int, Mapping[str, Flow]]]:
    """Returns when batches were published and what they read, from records and their inputs' commits;
    ``records`` are newest first."""
    befores = [*(record for _, record in records[1:]), None]
    return [
        (snapshot.committed_ms, _read(record, before, inputs))
        for (snapshot, record), before in zip(records, befores, strict=True)
        # Of the oldest record that is looked at, the one before it is not known.
        if before is not None or record.parent is None
    ]


def rows_by_period(read: Sequence[tuple[int, Mapping[str, Flow]]], now_ms: int) -> Flows:
    """Returns what was read in each period; ``read`` is newest first."""
    found: dict[str, dict[str, Flow]] = {"batch": _sum(flows for _, flows in read[:1])}
    for period, span in _SPANS.items():
        found[period] = _sum(flows for ms, flows in read if ms >= now_ms - span)
    return found


def _sum(flows: Iterable[Mapping[str, Flow]]) -> dict[str, Flow]:
    total: dict[str, Flow] = {}
    for each in flows:
        for name, flow in each.items():
            total[name] = total.get(name, Flow()) + flow
    return total


def _read(record: Record, before: Record | None, inputs: Mapping[str, TableState | None]) -> dict[str, Flow]:
    """Returns the rows that one batch read, by input."""
    found = {"": Flow(record.account.read)} if not record.inputs else {}
    for name, pin in record.inputs.items():
        if name in inputs:
            found[name] = _between(inputs[name], before.inputs.get(name) if before else None, pin)
    return found


def _between(state: TableState | None, before: Pin | None, pin: Pin) -> Flow:
    if state is None or state.uuid != pin.uuid or pin.snapshot is None:
        return Flow(0, is_exact=pin.snapshot is None)
    if before is not None and before.uuid == pin.uuid:
        if before.snapshot == pin.snapshot:
            return Flow()
        found = append_only_since(state, before.snapshot, pin.snapshot)
        return Flow(0, is_exact=False) if isinstance(found, Reason) else Flow(found.added_records)
    snapshot = state.snapshots.get(pin.snapshot)
    rows = live_rows(snapshot) if snapshot else None
    return Flow(0, is_exact=False) if rows is None else Flow(rows)


def findings_of(found: Sequence[TableStatus], up: UpState | None, begun: int) -> Iterator[Finding]:
    """Yields what is wrong with these tables and with ``up``. ``begun``: erasures that have not ended."""
    is_up = up is not None and is_alive(up)
    of_up = tuple(_of_up(up, {str(each.name) for each in found}))
    tried = {each.table for each in of_up}
    of_tables = [each for status in found for each in _of_table(status, str(status.name) in tried)]
    yield from (*of_tables, *of_up)
    failing = {each.table for each in (*of_tables, *of_up) if each.level == "error"}
    if begun:
        what = f"{begun:,} erasure(s) were begun and not finished"
        yield Finding(Kind.STATE, what, hint="lakesmith erase")
    lagging = [status for status in found if status.standing is Standing.BEHIND]
    behind = [status for status in lagging if str(status.name) not in failing]
    if behind and not (is_up and up is not None and up.problem is None):
        names = [str(each.name) for each in behind]
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
        text = f"{names[0]} is" if len(names) == 1 else f"{len(names):,} tables are"
        why = behind[0].why if len(names) == 1 else f"{', '.join(names[:3])}{more}"
        yield _warning(None, f"{text} behind: {why}", "lakesmith run")


def _warning(table: str | None, what: str, hint: str) -> Finding:
    return Finding(Kind.STATE, what, table, Severity.WARNING, hint=hint)


def _note(table: str, what: str, hint: str = "") -> Finding:
    return Finding(Kind.STATE, what, table, hint=hint, is_note=True)


def _of_table(status: TableStatus, is_tried: bool) -> Iterator[Finding]:
    """Yields the findings of a table. ``is_tried``: ``up`` says how its batches fail."""
    name = str(status.name)
    if status.problem:
        yield of_problem(Kind.FAILED, name, status.problem, "cannot be refreshed: ")
    if status.standing is Standing.HELD:
        yield _warning(name, f"stays as it is: {status.why}", f"lakesmith release {name}")
    yield from (each for each in status.findings if not (is_tried and each.kind is Kind.FAILED))
    if status.export:
        yield _warning(name, status.export, "lakesmith run")
    yield from (_note(name, fact) for fact in status.facts)
    if status.health and (seen := signs(status.health)):
        yield _note(name, f"has {' and '.join(seen)}", f"lakesmith maintain {name}")


def _of_up(up: UpState | None, names: set[str]) -> Iterator[Finding]:
    if up is None:
        return
    if is_here(up) and not is_alive(up):
        yield Finding(Kind.STATE, "lakesmith up ended without saying so", hint="lakesmith up")
        return
    # Whoever holds the project is named as at work.
    if up.problem and up.problem.get("code") != "LS701":
        yield _problem(None, "lakesmith up refreshes no table", up.problem)
    for name, table in up.tables.items():
        if name in names and table.problem:
            text = "is parked" if table.is_parked else f"failed {times(table.failures)}"
            if table.next_try:
                text += f", next try {table.next_try[:19].replace('T', ' ')} UTC"
            yield _problem(name, text, table.problem)
    for path, trouble in (up.intake.troubles if up.intake else {}).items():
        yield Finding(Kind.STATE, f"{path} accepts no events: {trouble}")


def times(failures: int) -> str:
    """Returns how often something failed, in words."""
    return "once" if failures == 1 else f"{failures:,} times in a row"


def _problem(table: str | None, text: str, problem: Mapping[str, Any]) -> Finding:
    hint, code = str(problem.get("hint") or ""), str(problem.get("code") or "")
    return Finding(Kind.PARKED, f"{text}: {problem.get('what')}", table, code=code, hint=hint)
