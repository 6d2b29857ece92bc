"""The lake as it was at a tag or a time: which tables there were, with what rows, and which were behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.progress import Reason, append_only_since, find_progress, live_rows
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import MAIN, RECORD_TAG, TableState
from lakesmith.errors import LakesmithError, UsageError, count
from lakesmith.execute.findings import of_quarantine, of_rules
from lakesmith.execute.opened import Opened
from lakesmith.execute.status import QUARANTINE_PIN, Standing, TableStatus
from lakesmith.page.overview import Overview, findings_of, table_overview, tags_in
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class _Then:
    """A table as if main were at the snapshot of that time; None: there was no such table."""

    state: TableState | None
    record: Record | None = None


def past_overview(opened: Opened, names: Sequence[TableName], as_of: str) -> Overview:
    """Returns the overview of the tables at a point in time, by their present definitions.

    Raises UsageError LS230, LS231 if it is none of any table.
    """
    now, project = datetime.now(UTC), opened.project
    with opened.lake.one_look(opened.graph.order):
        then = {name: _then(opened, name, as_of, now) for name in opened.graph.order}
        if not any(isinstance(each, _Then) for each in then.values()):
            raise next(
                (each for each in then.values() if isinstance(each, UsageError)),
                UsageError.of("LS231", f"no table was there as of {as_of!r}"),
            )
        known = {name: each if isinstance(each, _Then) else _Then(None) for name, each in then.items()}
        found: dict[TableName, TableStatus] = {}
        for name in opened.graph.order:
            found[name] = _status(opened, name, known, found)
        at_ms = max(each.state.head.committed_ms for each in known.values() if each.state and each.state.head)
        tables = tuple(table_overview(opened, found[name], None, known[name].state, at_ms) for name in names)
    there = [found[name] for name in names if found[name].rows is not None]
    findings = [replace(each, hint="") for each in findings_of(there, None, 0)]
    tags = tags_in(each.state for each in known.values())
    return Overview(project.name, project.target.name, tables, tuple(findings), None, None, tags)


def _then(opened: Opened, name: TableName, as_of: str, now: datetime) -> _Then | LakesmithError | None:
    try:
        state = opened.lake.catalog.table(name.layer, name.name)
        if state is None or state.head_id is None:
            return None
        refs = {ref: at for ref, at in state.refs.items() if ref != RECORD_TAG}
        past = replace(state, refs={**refs, MAIN: resolve_as_of(state, as_of, now)})
        progress = find_progress(past)
        return _Then(past, progress.record if progress else None)
    except LakesmithError as error:
        return error


def _status(
    opened: Opened, name: TableName, known: Mapping[TableName, _Then], above: Mapping[TableName, TableStatus]
) -> TableStatus:
    state, record = known[name].state, known[name].record
    if state is None or state.head is None:
        return TableStatus(name, Standing.BEHIND, "it was not there")
    changed = [
        text for text in (_changed(each, record, known) for each in opened.graph.node(name).inputs) if text
    ]
    changed += [
        f"{each} was behind"
        for each in opened.graph.node(name).inputs
        if above[each].standing is Standing.BEHIND and known[each].state is not None
    ]
    quarantined = _quarantined(opened, name, record)
    bad = [of_quarantine(str(name), quarantined)] if quarantined else []
    return TableStatus(
        name,
        Standing.BEHIND if changed else Standing.UP_TO_DATE,
        "; ".join(changed) or "its inputs had not changed",
        record,
        state.head.committed_ms,
        live_rows(state.head),
        quarantined,
        findings=(*of_rules(str(name), record), *bad),
    )


def _changed(name: TableName, record: Record | None, known: Mapping[TableName, _Then]) -> str:
    """Returns what of an input a table had not read then, in words."""
    state, pin = known[name].state, record.inputs.get(str(name)) if record else None
    if state is None or state.head_id is None or record is None:
        return ""
    if pin is None or pin.uuid != state.uuid:
        return f"{name} was not read"
    if pin.snapshot == state.head_id:
        return ""
    found = append_only_since(state, pin.snapshot, state.head_id)
    if isinstance(found, Reason):
        return f"{name} had changed"
    return f"{count(found.added_records, 'new row')} in {name}" if found.added_records else ""


def _quarantined(opened: Opened, name: TableName, record: Record | None) -> int | None:
    pin = record.sidecars.get(QUARANTINE_PIN) if record else None
    if pin is None or pin.snapshot is None:
        return 0
    sidecar = sidecar_of(name, QUARANTINE_PIN)
    state = opened.lake.catalog.table(sidecar.layer, sidecar.name)
    snapshot = state.snapshots.get(pin.snapshot) if state and state.uuid == pin.uuid else None
    return live_rows(snapshot) if snapshot else None
