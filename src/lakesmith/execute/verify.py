"""What proves law 1 of a table: its inputs as consumed, and the outcome of the comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lakesmith.catalog.progress import Reason
from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.decide import Decider
from lakesmith.plan.external_inputs import begun
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.fingerprint import what_changed
from lakesmith.plan.planner import changed_columns
from lakesmith.plan.snapshot_ranges import snapshot_ranges_of
from lakesmith.plan.steps import InputRange, Strategy, TableStep
from lakesmith.project.definitions import TableName
from lakesmith.project.windows import Marks, with_windows


class Verdict(StrEnum):
    """What is known of a table once it was looked at."""

    SAME = "same"
    DIFFERS = "differs"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that is there another number of times than its definition gives it; ``row`` is its JSON."""

    row: str
    expected: int
    found: int


@dataclass(frozen=True, slots=True)
class Verification:
    """A table compared with its definition over its inputs. ``missing`` and ``unexpected`` count rows;
    ``why`` it was skipped; ``problems``: what failed."""

    name: TableName
    verdict: Verdict
    rows: int = 0
    missing: int = 0
    unexpected: int = 0
    examples: tuple[RowDifference, ...] = field(default=())
    why: str | None = None
    problems: tuple[Problem, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class VerifyStarted:
    """A table begins to be computed again: the ``number``-th of ``total``."""

    table: TableName
    number: int
    total: int


Watcher = Callable[[VerifyStarted], None]
"""Called with what is being verified."""


def skipped(name: TableName, why: str) -> Verification:
    """A table that cannot be verified, and why."""
    return Verification(name, Verdict.SKIPPED, why=why)


def failed(name: TableName, error: LakesmithError) -> Verification:
    """A table that could not be computed, and what failed."""
    return Verification(name, Verdict.FAILED, why="it could not be computed", problems=error.problems)


def verification_of(decider: Decider, name: TableName) -> TableStep | Verification:
    """Returns the step that computes a derived table from its consumed snapshots, or why it is impossible."""
    node, facts = decider.graph.node(name), decider.lake.facts(name)
    record, table = facts.base.record, node.definition
    if table.external is not None:
        return skipped(name, "it is a table of others")
    if table.is_sourced:
        of_topic = table.has_topics
        what = "records of a topic" if of_topic else "files"
        return skipped(name, f"its rows come from {what}, which are taken once")
    if record is None:
        return skipped(
            name, "it has not been built yet" if facts.state is None else "it has no progress record"
        )
    query = decider.query(node)
    if record.fingerprint != query.fingerprint:
        changed = what_changed(record.definition, query.definition)
        return skipped(name, f"{changed} since its last batch: run it first")
    inputs = {upstream: decider.lake.facts(upstream) for upstream in query.inputs}
    states: dict[TableName, TableState] = {}
    ranges: list[InputRange] = []
    for upstream in query.inputs:
        pin, state = record.inputs.get(str(upstream)), inputs[upstream].state
        if state is None or pin is None or pin.uuid != state.uuid:
            return skipped(name, f"{upstream} was dropped or created again since: run it first")
        if pin.snapshot is not None and pin.snapshot not in state.snapshots:
            return skipped(
                name, f"snapshot {pin.snapshot} of {upstream}, which it was computed from, has expired"
            )
        states[upstream] = state
        ranges.append(InputRange(upstream, state.uuid, None, pin.snapshot, lookup=upstream in query.lookups))
    if (why := changed_columns(table, query, states, record)) is not None:
        return skipped(name, f"{why}: run it first")
    idle = frozenset(map(TableName.parse, record.idle))
    table = with_windows(table, Marks(idle, record.arrived, record.closed, record.closed_later))
    step = TableStep(table, Strategy.FULL, "to be verified", facts.base, query.fingerprint, tuple(ranges))
    found = _as_looked_up(step, facts, states) if query.lookups else step
    return _from_begin(found, inputs) if isinstance(found, TableStep) else found


def _from_begin(step: TableStep, inputs: Mapping[TableName, TableFacts]) -> TableStep | Verification:
    """The step with external tables read from where they begin."""
    lines: list[tuple[InputRange, ...]] = []
    for line in (step.inputs, *step.snapshot_ranges):
        found = [begun(item, inputs[item.table]) for item in line]
        for each, item in zip(found, line, strict=True):
            if isinstance(each, Reason):
                return skipped(step.name, f"{item.table}: {each.text}")
        lines.append(tuple(each for each in found if isinstance(each, InputRange)))
    return replace(step, inputs=lines[0], snapshot_ranges=tuple(lines[1:]))


def _as_looked_up(
    step: TableStep, facts: TableFacts, states: Mapping[TableName, TableState]
) -> TableStep | Verification:
    """The step by snapshot ranges, each with the lookups that its batches had."""
    (driving,) = step.driving
    if facts.state is None or facts.progress is None:
        return skipped(step.name, "it has no progress record")
    found = snapshot_ranges_of(step.table, driving.table, facts.state, facts.progress.snapshot)
    if isinstance(found, Reason):
        return skipped(step.name, found.text)
    for item in (item for ranges in found for item in ranges):
        if item.end is not None and item.end not in states[item.table].snapshots:
            return skipped(
                step.name, f"snapshot {item.end} of {item.table}, with which rows were computed, has expired"
            )
    return replace(step, snapshot_ranges=found)


def as_dict(found: Verification) -> Mapping[str, object]:
    return {
        "table": str(found.name),
        "verdict": found.verdict.value,
        "rows": found.rows,
        "missing": found.missing,
        "unexpected": found.unexpected,
        "examples": [
            {"row": each.row, "expected": each.expected, "found": each.found} for each in found.examples
        ],
        "why": found.why,
        "problems": [problem.as_dict() for problem in found.problems],
    }
