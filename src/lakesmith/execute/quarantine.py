"""A table's quarantine without a JVM: how much is in it, and the steps that replay or drop bad rows.

The steps are decided as a run decides its own, on fresh state at every try.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lakesmith.catalog.record import Record
from lakesmith.errors import Problem
from lakesmith.execute.decide import Decider
from lakesmith.execute.status import quarantined_rows
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.fingerprint import definition_fingerprint
from lakesmith.plan.planner import cut_problem, tampered
from lakesmith.plan.refusals import still_refused
from lakesmith.plan.steps import BadRows, Decision, InputRange, Refused, Strategy, TableStep, UpToDate
from lakesmith.project.definitions import TableDefinition, TableName


@dataclass
class QuarantineDecider(Decider):
    """Decides on tables' quarantines instead of their rows. ``strategy`` is REPLAY or DROP."""

    strategy: Strategy = Strategy.REPLAY
    bad_rows: BadRows = field(default_factory=BadRows)

    def decide(self, name: TableName) -> Decision:
        """The step that replays or drops the bad rows that are meant."""
        table, facts = self.graph.node(name).definition, self.lake.facts(name)
        if problem := facts.problem or _disturbed(table, facts):
            return Refused(table, problem)
        if quarantined_rows(self.lake, name, facts) == 0:
            return UpToDate(table, "nothing is in its quarantine")
        return plan_quarantine(table, facts, self.strategy, self.bad_rows)


def _disturbed(table: TableDefinition, facts: TableFacts) -> Problem | None:
    """What has to be put right by a run first: a record of this batch would stand on what another engine did, and hide it."""
    if table.query is None:
        return cut_problem(table, facts)
    if (reason := tampered(facts)) is None:
        return None
    return Problem(
        "LS509",
        f"{table.name} is not as its last batch left it",
        place=table.place,
        found=reason,
        hint=f"run it first, which computes it as a whole: lakesmith run {table.name}",
    )


def plan_quarantine(
    table: TableDefinition, facts: TableFacts, strategy: Strategy, bad_rows: BadRows
) -> TableStep:
    """The step on a table that has a record. A replay is by the present definition; a drop leaves what the table is."""
    record = facts.base.record
    assert record is not None
    is_replay = strategy is Strategy.REPLAY
    return TableStep(
        table=table,
        strategy=strategy,
        reason=f"bad rows are judged again: {bad_rows}" if is_replay else f"bad rows are dropped: {bad_rows}",
        base=facts.base,
        fingerprint=definition_fingerprint(table) if is_replay else record.fingerprint,
        inputs=_as_before(record),
        row_wise=True,
        refused=still_refused(record, table.trusts_python),
        bad_rows=bad_rows,
    )


def _as_before(record: Record) -> tuple[InputRange, ...]:
    """The inputs' positions as they are: nothing is read of them."""
    return tuple(
        InputRange(TableName.parse(name), pin.uuid, pin.snapshot, pin.snapshot, 0, pin.schema)
        for name, pin in record.inputs.items()
    )
