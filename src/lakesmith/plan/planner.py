"""Decides what each table needs. Pure: definitions and facts in, decisions out, the same for ``plan`` and ``run``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from lakesmith.catalog.progress import AppendRange, Reason, append_only_since, cut_batch, rows_at
from lakesmith.catalog.record import Pin, Record
from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.errors import Problem
from lakesmith.plan.cost import whole_below_bytes
from lakesmith.plan.declared_types import type_problem
from lakesmith.plan.facts import SourceFacts, TableFacts
from lakesmith.plan.fingerprint import what_changed
from lakesmith.plan.format_version import format_problem
from lakesmith.plan.input_columns import columns_that_count, how_they_differ
from lakesmith.plan.query import Query
from lakesmith.plan.refusals import remembered
from lakesmith.plan.steps import Decision, InputRange, Refused, Strategy, TableStep, UpToDate, Waiting
from lakesmith.plan.watermarks import newly_idle
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.sources.names import printable

FIRST_TIME: Final = "the table is built for the first time"


def plan_sourced(
    table: TableDefinition, fingerprint: str, facts: TableFacts, sources: SourceFacts
) -> Decision:
    """The decision for a table whose rows come from files."""
    problem = (
        facts.problem
        or _other_origin(table, facts)
        or cut_problem(table, facts)
        or type_problem(table, facts.state)
        or format_problem(table, facts.state)
        or next(iter(sources.problems), None)
    )
    if problem is not None:
        return Refused(table, problem)
    files = sum(len(intake.files) for intake in sources.intakes)
    if not files and any(intake.unread for intake in sources.intakes):
        return _none_readable(table, fingerprint, facts, sources)
    if not files and facts.base.record is not None:
        return UpToDate(table, _no_files(sources), sources.notes)
    if not files and not any(source.has_files for source in table.sources):
        return UpToDate(table, "no record has arrived yet", sources.notes)
    if not files:
        waiting = f" ({sources.waiting} too young)" if sources.waiting else ""
        return UpToDate(table, f"no file has arrived yet{waiting}", sources.notes)
    return TableStep(
        table=table,
        strategy=Strategy.FILES,
        reason=" and ".join(_what_is_new(sources)),
        base=facts.base,
        fingerprint=fingerprint,
        intakes=sources.intakes,
        notes=sources.notes,
        row_wise=True,
    )


def _what_is_new(sources: SourceFacts) -> Iterator[str]:
    files = sum(len(intake.files) for intake in sources.intakes if intake.source.has_files)
    if files:
        yield f"{files} new file{'s' if files > 1 else ''}"
    for intake in sources.intakes:
        if intake.files and not intake.source.has_files:
            records = sum(file.size for file in intake.files)
            yield f"{records:,} new record{'' if records == 1 else 's'} of {intake.source.origin}"


def _none_readable(
    table: TableDefinition, fingerprint: str, facts: TableFacts, sources: SourceFacts
) -> Decision:
    """The step that only keeps on record that the new files cannot be read; refused where there is no table to keep it with."""
    bad = [unread for intake in sources.intakes for unread in intake.unread]
    if facts.state is None and not table.columns:
        what = (
            f"none of the files of {table.name} can be read: {printable(bad[0].file.path)}: {bad[0].reason}"
        )
        hint = "bring a whole file, or declare columns: they are inferred from the first files"
        return Refused(
            table, Problem("LS429", what, table.place, "a file to infer the columns from", hint=hint)
        )
    return TableStep(
        table=table,
        strategy=Strategy.LEDGER,
        reason="no new file can be read",
        base=facts.base,
        fingerprint=facts.base.record.fingerprint if facts.base.record else fingerprint,
        intakes=sources.intakes,
        notes=sources.notes,
        row_wise=True,
    )


def _other_origin(table: TableDefinition, facts: TableFacts) -> Problem | None:
    """What to say of a table whose rows came from files and that is derived now, or the other way round: neither can go on from
    the other, and rows that came from files are nowhere else."""
    record = facts.base.record
    if record is None or table.is_sourced != _is_derived(record):
        return None
    was, now = ("tables", "files") if table.is_sourced else ("files", "tables")
    return Problem(
        "LS510",
        f"the rows of {table.name} came from {was}, and now it is to take them from {now}",
        place=table.place,
        expected=f"a table that takes its rows from {was}",
        found=f"one that takes them from {now}",
        hint=f"give the new one another name, or the old one (lakesmith rename), or give the old one up: lakesmith drop {table.name}",
    )


def _is_derived(record: Record) -> bool:
    return bool(record.inputs) or record.kind == Strategy.FULL.value


def cut_problem(table: TableDefinition, facts: TableFacts) -> Problem | None:
    """What to say when main stands in the middle of a batch: its rows are there, and that its files were taken is not."""
    cut = cut_batch(facts.state, facts.progress) if facts.state and facts.progress else None
    if cut is None:
        return None
    return Problem(
        "LS505",
        f"{table.name} was set back into the middle of a batch by another tool",
        place=table.place,
        expected="main at a snapshot that a batch was published with",
        found=f"snapshot {cut.snapshot_id}, which has rows of a batch and not yet its record",
        hint=f"roll it back to a snapshot that 'lakesmith history {table.name}' names, and run again",
    )


def _no_files(sources: SourceFacts) -> str:
    waiting = f", {sources.waiting} too young to be taken" if sources.waiting else ""
    if not sources.known and not all(intake.source.has_files for intake in sources.intakes):
        return f"all records were taken already{waiting}"
    return f"{_no_new_files(sources.known - sources.skipped, sources.skipped)}{waiting}"


def _no_new_files(taken: int, skipped: int) -> str:
    """What became of the files that are there, of which none is to be taken now."""
    if taken and skipped:
        return f"{_counted(taken)} taken already, {skipped} skipped"
    if not taken and not skipped:
        return "no file is there"
    files = "the only file was" if taken + skipped == 1 else f"all {taken + skipped} files were"
    return f"{files} skipped" if skipped else f"{files} taken already"


def _counted(files: int) -> str:
    return "1 file was" if files == 1 else f"{files} files were"


def plan_derived(
    table: TableDefinition,
    query: Query,
    facts: TableFacts,
    inputs: Mapping[TableName, TableFacts],
    full: bool = False,
    warm: bool = False,
) -> Decision:
    """The decision for a table that is derived from others, given those as they are now.

    ``full``: a full refresh was asked for. ``warm``: the session that is to do it has done others before, and stays.
    """
    problem = (
        _other_origin(table, facts) or (None if full else facts.problem) or format_problem(table, facts.state)
    )
    if problem is not None:
        return Refused(table, problem)
    missing = tuple(name for name in query.inputs if _is_unbuilt(inputs[name]))
    if missing:
        return Waiting(table, missing)
    states = {name: state for name in query.inputs if (state := inputs[name].state)}
    record = facts.base.record
    query = remembered(query, record) if record is not None else query
    why_full = _why_full(query, record, states, full) or tampered(facts)
    if why_full is None and record is not None:
        return _incremental(table, query, facts, states, record, warm)
    return _step(table, query, facts, _whole(states), Strategy.FULL, why_full or "")


def _is_unbuilt(facts: TableFacts) -> bool:
    """Whether nothing was ever published in a table: it is not there, or what a batch that failed has made."""
    return facts.state is None or (facts.state.head is None and not facts.state.published)


def _why_full(
    query: Query, record: Record | None, states: Mapping[TableName, TableState], full: bool
) -> str | None:
    """Why nothing that was computed before can be kept; None when it can."""
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
    """A derived table is its definition's alone: what another engine changed in it is not kept."""
    there = {column.name: column.field_id for column in facts.state.columns} if facts.state else {}
    record = facts.base.record
    for name, number in record.columns.items() if record else ():
        if there.get(name) != number:
            return f"its column {name} is not the one that was written: another engine dropped or renamed it, or rolled it back"
    for snapshot in facts.progress.foreign if facts.progress else ():
        if snapshot.operation != "replace":
            return f"another engine changed its rows (snapshot {snapshot.snapshot_id}, {snapshot.operation})"
    return None


def _incremental(
    table: TableDefinition,
    query: Query,
    facts: TableFacts,
    states: Mapping[TableName, TableState],
    record: Record,
    warm: bool,
) -> Decision:
    driving = _driving(query, states)
    if counting := changed_columns(table, query, driving, record):
        return _step(table, query, facts, _whole(states), Strategy.FULL, counting)
    moved = {
        name: state for name, state in driving.items() if _head(state) != record.inputs[str(name)].snapshot
    }
    if (quiet := newly_idle(record, query.idle)) is not None:
        return _step(table, query, facts, _whole(states), Strategy.FULL, quiet)
    if not moved:
        return UpToDate(table, "its inputs have not changed")
    ranges = {name: _appended(state, record.inputs[str(name)]) for name, state in moved.items()}
    if all(isinstance(item, AppendRange) and not item.appends for item in ranges.values()):
        unchanged = tuple(
            _range(name, state, record.inputs[str(name)].snapshot, 0) for name, state in driving.items()
        )
        unchanged += _whole(_looked_up(query, states))
        return _step(
            table, query, facts, unchanged, Strategy.ADVANCE, "its inputs moved on without a change of rows"
        )
    if query.row_wise is False:
        return _by_keys_or_full(table, query, facts, states, query.why_not, warm)
    (name,) = driving
    appended = ranges[name]
    if isinstance(appended, Reason):
        return _by_keys_or_full(table, query, facts, states, f"{name}: {appended.text}", warm)
    strategy = Strategy.UPSERT if table.key else Strategy.APPEND
    new = _range(name, states[name], appended.start, appended.added_records)
    reason = f"{name} has {appended.added_records} new rows and no others changed"
    return _step(table, query, facts, (new, *_whole(_looked_up(query, states))), strategy, reason)


def _looked_up(query: Query, states: Mapping[TableName, TableState]) -> dict[TableName, TableState]:
    """The inputs that are joined to the rows of the others as they are now."""
    return {name: states[name] for name in query.lookups}


def _driving(query: Query, states: Mapping[TableName, TableState]) -> dict[TableName, TableState]:
    """The inputs whose changes change the table."""
    return {name: state for name, state in states.items() if name not in query.lookups}


def _by_keys_or_full(
    table: TableDefinition,
    query: Query,
    facts: TableFacts,
    states: Mapping[TableName, TableState],
    why_full: str,
    warm: bool,
) -> TableStep:
    """The step that looks at what changed; a full one, with the reason, where that cannot be."""
    record = facts.base.record
    against = "its lookups would change the rows that are there" if query.lookups else query.not_by_keys
    if record is None or against is not None:
        reason = why_full if against == why_full else f"{why_full}; not by keys: {against}"
        return _step(table, query, facts, _whole(states), Strategy.FULL, reason)
    pins = {name: record.inputs[str(name)].snapshot for name in states}
    for name, pin in pins.items():
        if pin is not None and pin not in states[name].snapshots:
            gone = f"snapshot {pin} of {name}, up to which it was read, has expired"
            return _step(table, query, facts, _whole(states), Strategy.FULL, gone)
    ranges = tuple(_range(name, state, pins[name], None) for name, state in states.items())
    moved = [item.table for item in ranges if item.start != item.end]
    if (small := _small(states.values(), warm)) is not None:
        return _step(table, query, facts, _whole(states), Strategy.FULL, f"{why_full}; {small}")
    reason = f"rows of {' and '.join(map(str, moved))} changed"
    return _step(table, query, facts, ranges, Strategy.KEYS, reason)


def _small(states: Iterable[TableState], warm: bool) -> str | None:
    """That the inputs are too small for a strategy to be worth it; None: they are not, or it is not known."""
    sizes = [state.head.known_count("total-files-size") for state in states if state.head]
    held = sum(size or 0 for size in sizes)
    if None in sizes or held >= whole_below_bytes(warm):
        return None
    for_it = " for a session that is warm" if warm else ""
    return f"its inputs are small{for_it} ({held / 1e6:,.1f} MB), so it is computed as a whole"


def _appended(state: TableState, pin: Pin) -> AppendRange | Reason:
    head = _head(state)
    if head is None:
        return Reason("it has been emptied by another tool")
    return append_only_since(state, pin.snapshot, head)


def _range(name: TableName, state: TableState, start: int | None, rows: int | None) -> InputRange:
    """An input up to where it is now, in the columns it has now."""
    return InputRange(name, state.uuid, start, _head(state), rows, state.schema_id)


def _whole(states: Mapping[TableName, TableState]) -> tuple[InputRange, ...]:
    return tuple(
        _range(name, state, None, rows_at(state, state.head) if state.head else 0)
        for name, state in states.items()
    )


def _head(state: TableState) -> int | None:
    return state.head.snapshot_id if state.head else None


def changed_columns(
    table: TableDefinition, query: Query, states: Mapping[TableName, TableState], record: Record
) -> str | None:
    """Which input has columns now that make a difference to the rows that were read of it before; None when none has.

    Rows are read in the columns that the table has then, which may be ahead of its head.
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
    """The columns in which an input was read; None where that is not known."""
    return state.columns_at(pin.snapshot) if pin.schema is None else state.schemas.get(pin.schema)


def _step(
    table: TableDefinition,
    query: Query,
    facts: TableFacts,
    ranges: tuple[InputRange, ...],
    strategy: Strategy,
    reason: str,
) -> TableStep:
    ranges = tuple(replace(item, lookup=item.table in query.lookups) for item in ranges)
    counted = all(item.rows is not None for item in ranges if not item.lookup)
    one_input = len(query.inputs) - len(query.lookups) == 1
    return TableStep(
        table=table,
        strategy=strategy,
        reason=reason,
        base=facts.base,
        fingerprint=query.fingerprint,
        inputs=ranges,
        refused=query.refused,
        row_wise=(counted and one_input and query.row_wise is True) or strategy in _INCREMENTAL,
        definition=query.definition,
        idle=query.idle,
        arrived=query.arrived,
    )


_INCREMENTAL = (Strategy.APPEND, Strategy.UPSERT, Strategy.ADVANCE)
