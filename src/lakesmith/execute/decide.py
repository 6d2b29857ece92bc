"""From the graph and the lake to decisions, for ``plan``, ``status``, ``explain`` and ``run``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from lakesmith.errors import EnvironmentProblem, LakesmithError, LockedError, Problem
from lakesmith.execute.engine import NeverIncremental, NotIncremental
from lakesmith.execute.lake import Lake
from lakesmith.execute.modules import project_modules
from lakesmith.execute.unforeseen import unforeseen_of
from lakesmith.graph.graph import Graph, Node, ties_note
from lakesmith.plan.external_inputs import from_begin, of_others, stays_held
from lakesmith.plan.facts import Query, TableFacts, with_refusals
from lakesmith.plan.fingerprint import NOTHING, Around, definition_fingerprint, definition_parts
from lakesmith.plan.losses import with_approval
from lakesmith.plan.planner import plan_derived
from lakesmith.plan.settings import with_structure
from lakesmith.plan.sourced import plan_sourced, without_bad_files
from lakesmith.plan.steps import Decision, Refused, Strategy, TableStep, Waiting
from lakesmith.plan.watermarks import arrivals_of, idle_inputs
from lakesmith.project.definitions import ExternalTable, Project, PythonQuery, TableDefinition, TableName
from lakesmith.sources.bad_files import BadFile, BadFiles
from lakesmith.sources.names import printable
from lakesmith.sql.log_functions import deciding, used
from lakesmith.sql.model import ShapeKind


@dataclass
class Decider:
    """Decides tables one by one, on state read at that time. ``full``: tables to refresh in full;
    ``approved``: tables that may lose something; ``refused``: strategies found impossible in this run;
    ``bad``: unreadable files to skip; ``unread``: tables whose source does not answer; ``warm``: the session
    has worked and stays."""

    graph: Graph
    lake: Lake
    full: frozenset[TableName] = frozenset()
    approved: frozenset[TableName] = frozenset()
    refused: dict[TableName, dict[Strategy, NotIncremental]] = field(default_factory=dict)
    bad: dict[TableName, tuple[BadFile, ...]] = field(default_factory=dict)
    unread: dict[TableName, Problem] = field(default_factory=dict)
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    warm: bool = False

    @property
    def is_asked(self) -> bool:
        """Whether decisions follow from more than the definitions and the lake."""
        return bool(self.full or self.approved or self.refused or self.bad or self.unread or self.warm)

    def decide(self, name: TableName) -> Decision:
        node, facts = self.graph.node(name), self.lake.facts(name)
        if node.definition.external is not None:
            return of_others(node.definition, facts)
        if (held := stays_held(node.definition, facts, name in self.full)) is not None:
            return held
        decision = with_structure(self._decide(node, facts), facts)
        if isinstance(decision, TableStep) and (ties := ties_note(self.graph, node)) is not None:
            decision = replace(decision, notes=(*decision.notes, ties))
        given = self._given(node) if isinstance(decision, TableStep) else None
        return with_approval(decision, facts, given, self.graph.readers(name), name in self.approved)

    def _given(self, node: Node) -> tuple[str, ...] | None:
        """Returns the columns of a table's query if its text and its inputs tell them."""
        if node.analysis is None:
            return None
        states = {name: self.lake.facts(name).state for name in node.inputs}
        there = {
            str(name): [column.name for column in state.columns] for name, state in states.items() if state
        }
        found = node.analysis.columns_given(there)
        return None if found is None else (*found, *node.definition.added_columns)

    def _decide(self, node: Node, facts: TableFacts) -> Decision:
        table, full = node.definition, node.definition.name in self.full
        if table.is_sourced and (unread := self.unread.get(table.name)) is not None:
            return Refused(table, unread)
        if table.is_sourced:
            sources = without_bad_files(self.lake.source_facts(table, facts), self.bad.get(table.name, ()))
            return plan_sourced(table, definition_fingerprint(table), facts, sources)
        query = self.query(node)
        inputs: dict[TableName, TableFacts] = {
            upstream: self.lake.facts(upstream) for upstream in query.inputs
        }
        others = self._external(query.inputs)
        if (
            problem := next((inputs[each].problem for each in others if inputs[each].problem), None)
        ) is not None:
            return Refused(table, problem)
        idle, arrived = idle_inputs(table, inputs, self.now_ms()), arrivals_of(table, inputs)
        query = replace(query, idle=idle, arrived=arrived)
        return from_begin(plan_derived(table, query, facts, inputs, full, self.warm), others, inputs)

    def _external(self, names: Iterable[TableName]) -> dict[TableName, ExternalTable]:
        found = ((name, self.graph.node(name).definition.external) for name in names)
        return {name: external for name, external in found if external is not None}

    def decide_all(self, names: Iterable[TableName]) -> tuple[Decision, ...]:
        """Returns the whole plan. A table waits for inputs that have work: its own step depends on them."""
        names = tuple(names)
        with self.one_look(names):
            return self._decide_each(names)

    def one_look(self, names: Sequence[TableName]) -> AbstractContextManager[None]:
        """Within it the tables and their inputs are as they were when it began. See ``Catalog.one_look``."""
        inputs = (upstream for name in names for upstream in self.graph.node(name).inputs)
        return self.lake.one_look((*names, *inputs))

    def _decide_each(self, names: Iterable[TableName]) -> tuple[Decision, ...]:
        decisions: dict[TableName, Decision] = {}
        for name in names:
            busy = tuple(
                upstream
                for upstream in self.graph.node(name).inputs
                if isinstance(decisions.get(upstream), TableStep | Waiting)
            )
            definition = self.graph.node(name).definition
            decisions[name] = self._waiting(definition, busy) if busy else self.decide_or_refuse(name)
        return tuple(decisions.values())

    def _waiting(self, definition: TableDefinition, upstream: tuple[TableName, ...]) -> Decision:
        """Returns a waiting decision, or a refusal if the table cannot be read."""
        try:
            self.lake.facts(definition.name)
        except (LockedError, EnvironmentProblem):
            raise
        except LakesmithError as error:
            return Refused(definition, error.problems[0])
        return Waiting(definition, upstream)

    def decide_or_refuse(self, name: TableName) -> Decision:
        """One of many: what is wrong with it does not keep the others from being planned."""
        definition = self.graph.node(name).definition
        try:
            return self.decide(name)
        except (LockedError, EnvironmentProblem):
            # That is of the lake or the machine, not of the table.
            raise
        except LakesmithError as error:
            return Refused(definition, error.problems[0])
        except Exception as error:  # noqa: BLE001 - nor does what nobody foresaw
            return Refused(definition, unforeseen_of(error, definition, self.lake.project))

    def query(self, node: Node) -> Query:
        """What planning has to know of the table's query, and of what it refused in this run."""
        query = query_of(node, around(node, self.lake.project))
        refused = self.refused.get(node.definition.name, {})
        lasting = {key.value: why.reason for key, why in refused.items() if isinstance(why, NeverIncremental)}
        query = with_refusals(query, {key: why.reason for key, why in refused.items()})
        return replace(query, refused={**query.refused, **lasting})

    def rows_in_full(self, decisions: Iterable[Decision]) -> int:
        """Returns how many rows of inputs may be read in full by the queries that are due."""
        due = [each for each in decisions if isinstance(each, TableStep | Waiting)]
        nodes = [self.graph.node(each.name) for each in due if self._may_be_in_full(each)]
        states = [self.lake.facts(name).state for node in nodes for name in node.inputs]
        return sum(state.head.count("total-records") for state in states if state and state.head)

    def _may_be_in_full(self, decision: TableStep | Waiting) -> bool:
        if isinstance(decision, TableStep) and decision.strategy is not Strategy.FULL:
            return decision.strategy.is_by_keys
        node = self.graph.node(decision.name)
        return node.definition.query is not None and self.query(node).row_wise is False

    def refuse(self, step: TableStep, refused: NotIncremental) -> None:
        """Excludes the step's strategy when its table is decided again; keys and sums together."""
        strategy = Strategy.KEYS if step.strategy.is_by_keys else step.strategy
        self.refused.setdefault(step.name, {})[strategy] = refused

    def leave_out(self, step: TableStep, found: BadFiles) -> str | None:
        """Excludes unreadable files from the next decision if their source allows it; says so."""
        known = self.bad.get(step.name, ())
        new = tuple(bad for bad in found.files if bad.may_be_skipped and bad not in known)
        if not new:
            return None
        self.bad[step.name] = (*known, *new)
        more = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
        return f"{printable(new[0].file.path)} cannot be read{more}"


def around(node: Node, project: Project) -> Around:
    """What decides the rows of a derived table besides its files."""
    query = node.definition.query
    modules = project_modules(query, project.root) if isinstance(query, PythonQuery) else {}
    begins = {
        str(table.name): table.external.begin
        for table in project.tables
        if table.external and table.external.begin and table.name in node.inputs
    }
    return Around(modules, dict(project.target.spark), begins, deciding(used(query), os.environ))


UNDECLARED: Final = "its Python may use a clock, chance or files: it does not declare deterministic: true"
_BY_WATERMARK: Final = "emit: closed publishes windows by a watermark, which any new row can move"


def query_of(node: Node, besides: Around = NOTHING) -> Query:
    """What planning has to know of a table's query, from its text and what decides its rows ``besides``."""
    table = node.definition
    query = replace(_shaped(node, besides), trusted=table.trusts_python)
    if besides.begins:
        query = _from_a_snapshot_on(table, query, next(iter(besides.begins)))
    return replace(query, definition=definition_parts(table, besides))


def _from_a_snapshot_on(table: TableDefinition, query: Query, name: str) -> Query:
    """Returns the query without strategies that would read rows from before the starting snapshot."""
    against = f"{name} is read from a snapshot on"
    query = replace(query, not_by_keys=against)
    return (
        replace(query, row_wise=False, why_not=f"it keeps versions, and {against}")
        if table.keeps_versions
        else query
    )


def _shaped(node: Node, besides: Around) -> Query:
    fingerprint = definition_fingerprint(node.definition, besides)
    if node.analysis is None:
        unknown = None if node.definition.trusts_python else UNDECLARED
        why_not = "it reads several tables" if len(node.inputs) != 1 else unknown
        return Query(node.inputs, False if why_not else None, fingerprint, why_not or "", not_by_keys=unknown)
    shape, against, named = node.analysis.shape, node.analysis.not_by_keys, node.analysis.named
    if node.definition.emit is not None:
        return Query(
            node.inputs,
            False,
            fingerprint,
            _BY_WATERMARK,
            computed=named,
            named=named,
            not_by_keys=_BY_WATERMARK,
        )
    if shape.kind is ShapeKind.ROW_WISE:
        computed = node.analysis.computed
        return Query(node.inputs, True, fingerprint, computed=computed, named=named, not_by_keys=against)
    if node.definition.lookups and node.analysis.driven is not None:
        lookups = node.definition.lookups
        return Query(node.inputs, True, fingerprint, computed=named, named=named, lookups=lookups)
    reason = shape.reason or "it is a UNION ALL"
    return Query(node.inputs, False, fingerprint, reason, computed=named, named=named, not_by_keys=against)
