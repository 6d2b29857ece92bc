"""Decides what a derived table needs. Pure: the same decision for ``plan`` and ``run``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.catalog.progress import AppendRange, Reason, append_only_since, rows_at
from lakesmith.catalog.record import Pin, Record
from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.plan.cost import whole_below_bytes
from lakesmith.plan.facts import Query, TableFacts, remembered
from lakesmith.plan.fingerprint import what_changed
from lakesmith.plan.format_version import format_problem
from lakesmith.plan.input_columns import columns_that_count, how_they_differ
from lakesmith.plan.sourced import other_origin
from lakesmith.plan.steps import Decision, InputRange, Refused, Strategy, TableStep, UpToDate, Waiting
from lakesmith.plan.watermarks import newly_idle
from lakesmith.project.definitions import TableDefinition, TableName

FIRST_TIME: Final = "the table is built for the first time"


def plan_derived(
    table: TableDefinition,
    query: Query,
    facts: TableFacts,
    inputs: Mapping[TableName, TableFacts],
    full: bool = False,
    warm: bool = False,
) -> Decision:
    """Returns the decision for a derived table.

    ``full``: a full refresh was requested. ``warm``: the session has run batches before, and stays.
    """
    problem = (
        other_origin(table, facts) or (None if full else facts.problem) or format_problem(table, facts.state)
    )
    if problem is not None:
        return Refused(table, problem)
    missing = tuple(name for name in query.inputs if _is_unbuilt(inputs[name]))
    if missing:
        return Waiting(table, missing)
    states = {name: state for name in query.inputs if (state := inputs[name].state)}
    record = facts.base.record
    query = remembered(query, record) if record is not None else query
    plan = _Planner(table, query, facts, states, warm)
    why_full = _why_full(query, record, states, full) or tampered(facts)
    if why_full is None and record is not None:
        return plan.incremental(record)
    return plan.full(why_full or "")


def _is_unbuilt(facts: TableFacts) -> bool:
    """Whether nothing was ever published in a table: it does not exist, or a failed batch made it."""
    return facts.state is None or (facts.state.head is None and not facts.state.published)


def _why_full(
    query: Query, record: Record | None, states: Mapping[TableName, TableState], full: bool
) -> str | None:
    """Returns why nothing computed before can be kept; None if it can."""
    if full:
        return "a full refresh was asked for"
    if record is None:
        return FIRST_TIME
    if record.fingerprint != query.fingerprint:
        return what_changed(record.definition, query.definition)
    for name, state in _driving(query, states).items():
        pin = record.inputs.get(str(name))
        if pin is None or pin.uuid != state.uuid:
            return f"{name} was dropped and created again"
    return None


def tampered(facts: TableFacts) -> str | None:
    """Returns what another engine changed in a derived table; its changes are not kept."""
    there = {column.name: column.field_id for column in facts.state.columns} if facts.state else {}
    record = facts.base.record
    for name, number in record.columns.items() if record else ():
        if there.get(name) != number:
            what = "another engine dropped or renamed it, or rolled it back"
            return f"its column {name} is not the one that was written: {what}"
    for snapshot in facts.progress.foreign if facts.progress else ():
        if snapshot.operation != "replace":
            return f"another engine changed its rows (snapshot {snapshot.snapshot_id}, {snapshot.operation})"
    return None


@dataclass(frozen=True, slots=True)
class _Planner:
    """Makes the steps of one table; ``states``: its inputs."""

    table: TableDefinition
    query: Query
    facts: TableFacts
    states: Mapping[TableName, TableState]
    warm: bool

    def incremental(self, record: Record) -> Decision:
        query, driving = self.query, _driving(self.query, self.states)
        why_full = changed_columns(self.table, query, driving, record) or newly_idle(record, query.idle)
        if why_full is not None:
            return self.full(why_full)
        pins = {name: record.inputs[str(name)] for name in driving}
        moved = {name: each for name, each in driving.items() if each.head_id != pins[name].snapshot}
        if not moved:
            return UpToDate(self.table, "its inputs have not changed")
        ranges = {name: _appended(state, pins[name]) for name, state in moved.items()}
        if all(isinstance(item, AppendRange) and not item.appends for item in ranges.values()):
            unchanged = (_range(name, state, pins[name].snapshot, 0) for name, state in driving.items())
            what = "its inputs moved on without a change of rows"
            return self._step((*unchanged, *self._lookups()), Strategy.ADVANCE, what)
        if query.row_wise is False:
            return self._by_key(record, query.why_not)
        (name,) = driving
        appended = ranges[name]
        if isinstance(appended, Reason):
            return self._by_key(record, f"{name}: {appended.text}")
        new = _range(name, driving[name], appended.start, appended.added_records)
        reason = f"{name} has {appended.added_records} new rows and no others changed"
        strategy = Strategy.UPSERT if self.table.key else Strategy.APPEND
        return self._step((new, *self._lookups()), strategy, reason)

    def full(self, reason: str) -> TableStep:
        return self._step(_whole(self.states), Strategy.FULL, reason)

    def _by_key(self, record: Record, why_full: str) -> TableStep:
        """Returns the step that reads what changed; a full one with the reason if that is impossible."""
        query, states = self.query, self.states
        against = "its lookups would change existing rows" if query.lookups else query.not_by_keys
        if against is not None:
            also = "" if against == why_full else f"; not incremental by key: {against}"
            return self.full(f"{why_full}{also}")
        pins = {name: record.inputs[str(name)].snapshot for name in states}
        for name, pin in pins.items():
            if pin is not None and pin not in states[name].snapshots:
                return self.full(f"snapshot {pin} of {name}, up to which it was read, has expired")
        if (small := _small(states.values(), self.warm)) is not None:
            return self.full(f"{why_full}; {small}")
        ranges = tuple(_range(name, state, pins[name], None) for name, state in states.items())
        moved = " and ".join(str(item.table) for item in ranges if item.start != item.end)
        return self._step(ranges, Strategy.KEYS, f"rows of {moved} changed")

    def _lookups(self) -> tuple[InputRange, ...]:
        """The inputs that are joined to the rows of the others as they are now."""
        return _whole({name: self.states[name] for name in self.query.lookups})

    def _step(self, ranges: tuple[InputRange, ...], strategy: Strategy, reason: str) -> TableStep:
        query = self.query
        ranges = tuple(replace(item, lookup=item.table in query.lookups) for item in ranges)
        counted = all(item.rows is not None for item in ranges if not item.lookup)
        one_input = len(query.inputs) - len(query.lookups) == 1
        return TableStep(
            self.table,
            strategy,
            reason,
            self.facts.base,
            query.fingerprint,
            inputs=ranges,
            refused=query.refused,
            row_wise=(counted and one_input and query.row_wise is True) or strategy in _INCREMENTAL,
            definition=query.definition,
            idle=query.idle,
            arrived=query.arrived,
        )


def _driving(query: Query, states: Mapping[TableName, TableState]) -> dict[TableName, TableState]:
    """The inputs whose changes change the table."""
    return {name: state for name, state in states.items() if name not in query.lookups}


def _small(states: Iterable[TableState], warm: bool) -> str | None:
    """Says that the inputs are too small for an incremental refresh; None if they are not, or unknown."""
    sizes = [state.head.known_count("total-files-size") for state in states if state.head]
    held = sum(size or 0 for size in sizes)
    if None in sizes or held >= whole_below_bytes(warm):
        return None
    for_it = " for a session that is warm" if warm else ""
    return f"its inputs are small{for_it} ({held / 1e6:,.1f} MB), so it is refreshed in full"


def _appended(state: TableState, pin: Pin) -> AppendRange | Reason:
    head = state.head_id
    if head is None:
        return Reason("it has been emptied by another tool")
    return append_only_since(state, pin.snapshot, head)


def _range(name: TableName, state: TableState, start: int | None, rows: int | None) -> InputRange:
    """Returns an input up to its head, in its current columns."""
    return InputRange(name, state.uuid, start, state.head_id, rows, state.schema_id)


def _whole(states: Mapping[TableName, TableState]) -> tuple[InputRange, ...]:
    return tuple(
        _range(name, state, None, rows_at(state, state.head) if state.head else 0)
        for name, state in states.items()
    )


def changed_columns(
    table: TableDefinition, query: Query, states: Mapping[TableName, TableState], record: Record
) -> str | None:
    """Names the input whose columns changed in a way that affects rows read before; None if none did.

    Rows are read in the table's current columns, which may be ahead of its head.
    """
    for name, state in states.items():
        pin = record.inputs[str(name)]
        before = _read_in(state, pin)
        had_others = pin.schema is not None or len(state.schemas) > 1 or bool(state.schema_id)
        if before is None and pin.snapshot is not None and had_others:
            return f"which columns {name} had when it was last read is not known any more"
        if names := columns_that_count(table, query, before or state.columns, state.columns):
            why = "its Python may use" if query.named is None else "its query uses"
            what = how_they_differ(names, before or state.columns, state.columns)
            return f"its input {name} has {what}, which {why}"
    return None


def _read_in(state: TableState, pin: Pin) -> tuple[ColumnState, ...] | None:
    """The columns in which an input was read; None if unknown."""
    return state.columns_at(pin.snapshot) if pin.schema is None else state.schemas.get(pin.schema)


_INCREMENTAL = (Strategy.APPEND, Strategy.UPSERT, Strategy.ADVANCE)
