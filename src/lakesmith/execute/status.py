"""Which tables are current, which are behind and why, and how far their inputs are. No JVM."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.progress import Reason, append_only_since, live_rows, record_of, rows_at
from lakesmith.catalog.record import Pin, Record
from lakesmith.catalog.state import BRANCH_PREFIX, TableState
from lakesmith.errors import LakesmithError, Problem, count
from lakesmith.execute.decide import Decider, around
from lakesmith.execute.findings import Finding, Kind, of_check, of_rules, of_state
from lakesmith.execute.forecast import not_read
from lakesmith.execute.lake import Lake
from lakesmith.exports.publishing import exports_behind
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.maintenance import Health, health_of
from lakesmith.plan.steps import Decision, Refused, TableStep, UpToDate
from lakesmith.plan.watermarks import ahead_in_words
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.project.layout import RESERVED_LAYER
from lakesmith.quality.results import SUMMARY_KEY

QUARANTINE_PIN = "quarantine"
"""The name under which a table's record pins its quarantine."""


class Standing(StrEnum):
    """A table's state compared with its inputs."""

    UP_TO_DATE = "up_to_date"
    HELD = "held"
    """It is to stay where it is until it is released, whatever its inputs have."""
    BEHIND = "behind"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TableStatus:
    """The status of a table: ``why`` it is behind or not, ``files_waiting``, the positions of ``inputs``,
    the last ``record`` and ``published_ms``, counts of ``rows`` and ``quarantined`` (None: unknown),
    ``facts`` worth knowing, ``not_read`` (what only a run finds out), ``health`` by the summaries, why its
    ``export`` is behind (empty: it is not), and ``findings``: what its rows and rules have wrong."""

    name: TableName
    standing: Standing
    why: str
    record: Record | None = None
    published_ms: int | None = None
    rows: int | None = None
    quarantined: int | None = 0
    files_waiting: int = 0
    inputs: tuple[InputPosition, ...] = ()
    facts: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()
    problem: Problem | None = None
    health: Health | None = None
    export: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Its findings and facts as sentences. Bad rows within the limit have a number of their own alone."""
        found = (each.what for each in self.findings if each.kind is not Kind.QUARANTINE or each.is_alert)
        return (*found, *self.facts)


def statuses(decider: Decider, names: Iterable[TableName]) -> tuple[TableStatus, ...]:
    """Returns the statuses in the graph's order. A table is behind if one of its inputs is."""
    wanted = set(names)
    needed = wanted.union(*(decider.graph.upstream(name) for name in wanted))
    found: dict[TableName, TableStatus] = {}
    with decider.lake.one_look(needed):
        for name in decider.graph.order:
            if name in needed:
                found[name] = _status(decider, name, found)
        behind = exports_behind(decider.lake.project, decider.lake.catalog, wanted)
    failed = _failed_rules(decider, wanted)
    return tuple(
        replace(status, export=behind.get(name, ""), findings=(*status.findings, *failed.get(str(name), ())))
        for name, status in found.items()
        if name in wanted
    )


def _failed_rules(decider: Decider, names: Iterable[TableName]) -> dict[str, tuple[Finding, ...]]:
    """Returns findings of tables of which rules failed in the last ``lakesmith check``."""
    if not any(decider.graph.node(name).definition.rules for name in names):
        return {}
    state = decider.lake.catalog.table(RESERVED_LAYER, "checks")
    if state is None or state.head is None:
        return {}
    checked = json.loads(state.head.summary.get(SUMMARY_KEY, "{}"))
    return {table: (of_check(table, rules, failed),) for table, (rules, failed) in checked.items() if failed}


def _status(decider: Decider, name: TableName, known: Mapping[TableName, TableStatus]) -> TableStatus:
    try:
        seen = _seen(decider, name, known)
        return decider.lake.kept.get(("status", name), seen, lambda: _read_status(decider, name, known))
    except LakesmithError as error:
        problem = error.problems[0]
        return TableStatus(name, Standing.REFUSED, problem.what, quarantined=None, problem=problem)


def _seen(decider: Decider, name: TableName, known: Mapping[TableName, TableStatus]) -> object:
    """Returns all that the status of a derived table follows from; None if a clock or a source is part of it.
    Files of metadata never change, so their places stand for them."""
    node, lake = decider.graph.node(name), decider.lake
    table = node.definition
    if table.is_sourced or table.emit is not None or table.freshness_seconds is not None or decider.is_asked:
        return None
    if any(_is_overwritten(decider.graph.node(each).definition) for each in (name, *node.inputs)):
        return None
    try:
        read = [_place(lake.facts(each)) for each in (name, *node.inputs)]
    except LakesmithError:
        return None
    quarantine = quarantine_state(lake, name) if lake.facts(name).base.pin(QUARANTINE_PIN) else None
    standings = [known[each].standing for each in node.inputs]
    return around(node, lake.project), read, quarantine and quarantine.metadata_location, standings


def _is_overwritten(table: TableDefinition) -> bool:
    """Returns whether a table is a file of others, which they may replace."""
    return table.external is not None and table.external.metadata is not None


def _place(facts: TableFacts) -> object:
    return facts.state and facts.state.metadata_location, facts.problem, facts.begin


def _read_status(decider: Decider, name: TableName, known: Mapping[TableName, TableStatus]) -> TableStatus:
    lake, facts = decider.lake, decider.lake.facts(name)
    decision = decider.decide_or_refuse(name)
    inputs = input_positions(lake, facts, decider.graph.node(name).inputs)
    late = tuple(
        up
        for up in decider.graph.node(name).inputs
        if known[up].standing not in (Standing.UP_TO_DATE, Standing.HELD)
    )
    standing, why = _standing(decision, inputs, late)
    progress, unknown = facts.progress, not_read(lake.project, decision)
    record, quarantined = progress.record if progress else None, quarantined_rows(lake, name, facts)
    now_ms = time.time_ns() // 1_000_000
    return TableStatus(
        name=name,
        standing=standing,
        why=why,
        record=record,
        published_ms=progress.snapshot.committed_ms if progress else None,
        rows=_rows(facts.state),
        quarantined=quarantined,
        files_waiting=decision.file_count if isinstance(decision, TableStep) else 0,
        inputs=inputs,
        facts=(*_decision_notes(decision), *facts_notes(facts), *unknown),
        not_read=unknown,
        problem=decision.problem if isinstance(decision, Refused) else None,
        health=_health(decider, name, facts.state),
        findings=(*of_rules(str(name), record), *of_state(decision.table, facts.state, quarantined, now_ms)),
    )


def _health(decider: Decider, name: TableName, state: TableState | None) -> Health | None:
    is_others = decider.graph.node(name).definition.external is not None
    return None if state is None or is_others else health_of(state)


def _standing(
    decision: Decision, inputs: tuple[InputPosition, ...], late: tuple[TableName, ...]
) -> tuple[Standing, str]:
    match decision:
        case Refused(_, problem):
            return Standing.REFUSED, problem.what
        case UpToDate(_, reason, held=True):
            return Standing.HELD, reason
        case UpToDate(_, reason, _) if not late:
            return Standing.UP_TO_DATE, reason
        case TableStep() if not decision.inputs:
            return Standing.BEHIND, f"{decision.reason} waiting"
    reasons = [_reason(position) for position in inputs if position.change is not InputChange.NOTHING]
    if isinstance(decision, TableStep) and (not reasons or _is_edited(decision)):
        reasons = [decision.reason, *reasons]
    late_reasons = [f"{name} is behind" for name in late if not any(str(name) in text for text in reasons)]
    return Standing.BEHIND, "; ".join([*reasons, *late_reasons])


def _is_edited(step: TableStep) -> bool:
    """Returns whether the definition changed since the last batch, which is said first."""
    record = step.base.record
    return record is not None and record.fingerprint != step.fingerprint


def _reason(position: InputPosition) -> str:
    if position.change is InputChange.APPENDED:
        return f"{position.text} in {position.table}"
    return f"{position.table}: {position.text}"


def _rows(state: TableState | None) -> int | None:
    if state is None or state.head is None:
        return None if state is None else 0
    return rows_at(state, state.head)


def quarantine_state(lake: Lake, name: TableName) -> TableState | None:
    """The table beside a table that holds its bad rows; None when there never was one."""
    sidecar = sidecar_of(name, QUARANTINE_PIN)
    return lake.catalog.table(sidecar.layer, sidecar.name)


def quarantined_rows(lake: Lake, name: TableName, facts: TableFacts) -> int | None:
    """The rows in the table's quarantine as its record pins it; None when that version cannot be found."""
    pin = facts.base.pin(QUARANTINE_PIN)
    if pin is None or pin.snapshot is None:
        return 0
    state = quarantine_state(lake, name)
    snapshot = state.snapshots.get(pin.snapshot) if state and state.uuid == pin.uuid else None
    return live_rows(snapshot) if snapshot else None


def _decision_notes(decision: Decision) -> tuple[str, ...]:
    return decision.notes if isinstance(decision, TableStep | UpToDate) else ()


def facts_notes(facts: TableFacts) -> Iterator[str]:
    """Returns notes on changes by others, on rows that move no watermark, and on unfinished batches."""
    for snapshot in facts.progress.foreign if facts.progress else ():
        if snapshot.operation != "replace":
            yield f"another tool changed its rows: snapshot {snapshot.snapshot_id} ({snapshot.operation})"
    yield from ahead_in_words(facts.base.record.ahead) if facts.base.record else ()
    left = [ref for ref in facts.state.refs if ref.startswith(BRANCH_PREFIX)] if facts.state else []
    if left:
        yield (
            f"{len(left)} unpublished batch{'es' if len(left) > 1 else ''} under way or left behind by "
            "a run that"
            " failed: nothing of it counts, and the next run tidies up"
        )


class InputChange(StrEnum):
    """What happened in an input since the table read it."""

    NOTHING = "nothing"
    APPENDED = "appended"
    CHANGED = "changed"
    NEVER_READ = "never_read"
    REPLACED = "replaced"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class InputPosition:
    """An input: the snapshot it was read at (``recorded``), main's ``head``, and the batches that published
    them. ``new_rows``: added rows (``APPENDED``), all rows (``NEVER_READ``), else None. ``text`` in words."""

    table: TableName
    change: InputChange
    text: str
    recorded: int | None = None
    recorded_batch: int | None = None
    head: int | None = None
    head_batch: int | None = None
    new_rows: int | None = None


def input_positions(lake: Lake, facts: TableFacts, inputs: Iterable[TableName]) -> tuple[InputPosition, ...]:
    """The positions of a table whose facts are ``facts`` in its ``inputs``, in their order."""
    pins = facts.base.record.inputs if facts.base.record else {}
    return tuple(
        position_in(name, lake.catalog.table(name.layer, name.name), pins.get(str(name))) for name in inputs
    )


def position_in(name: TableName, state: TableState | None, pin: Pin | None) -> InputPosition:
    """Returns the position in the input ``name``: ``state`` now, ``pin`` when read; None: never."""
    if state is None:
        return InputPosition(name, InputChange.MISSING, "has not been built yet")
    head = state.head_id
    if pin is None or pin.uuid != state.uuid:
        return _not_read(name, state, head, replaced=pin is not None)
    change, new_rows, text = _change(state, pin.snapshot, head)
    return InputPosition(
        name,
        change,
        text,
        pin.snapshot,
        _batch_at(state, pin.snapshot),
        head,
        _batch_at(state, head),
        new_rows,
    )


def _not_read(name: TableName, state: TableState, head: int | None, replaced: bool) -> InputPosition:
    rows = rows_at(state, state.head) if state.head else 0
    shown = "" if rows is None else f", {rows:,} rows"
    change = InputChange.REPLACED if replaced else InputChange.NEVER_READ
    text = f"was dropped and created again{shown}" if replaced else f"not read yet{shown}"
    return InputPosition(
        name, change, text, head=head, head_batch=_batch_at(state, head), new_rows=None if replaced else rows
    )


def _change(state: TableState, recorded: int | None, head: int | None) -> tuple[InputChange, int | None, str]:
    if head == recorded:
        return InputChange.NOTHING, 0, "nothing new"
    if head is None:
        return InputChange.CHANGED, None, "it has been emptied by another tool"
    found = append_only_since(state, recorded, head)
    if isinstance(found, Reason):
        return InputChange.CHANGED, None, found.text
    rows = found.added_records
    if not found.appends:
        return InputChange.NOTHING, 0, "no row changed (compaction or an empty batch)"
    return InputChange.APPENDED, rows, count(rows, "new row")


def _batch_at(state: TableState, snapshot_id: int | None) -> int | None:
    with suppress(LakesmithError):
        # A record that cannot be read is reported where its own table is looked at.
        for snapshot in state.ancestors(snapshot_id):
            if (record := record_of(state, snapshot)) is not None:
                return record.batch
    return None
