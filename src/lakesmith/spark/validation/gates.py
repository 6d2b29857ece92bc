"""Table rules, checked on a batch's working branch before it is published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import DataFrame

from lakesmith.catalog.record import Gate
from lakesmith.errors import Problem, QualityError
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import OnFailedRule, TableDefinition
from lakesmith.quality.metrics import metric_name
from lakesmith.quality.model import Check
from lakesmith.quality.numbers import Number
from lakesmith.quality.verdict import Outcome, kept, measured, outcome_of
from lakesmith.quoting import quoted
from lakesmith.spark.batch.context import Batch, Draft, live_rows
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.validation.measure import Measurements, Subject
from lakesmith.spark.validation.references import References

Metrics = Mapping[str, tuple[float, ...]]
"""Metrics by name, newest first."""

CHANGE_NO_ROWS: Final = frozenset(
    {Strategy.LEDGER, Strategy.ADVANCE, Strategy.DROP, Strategy.ERASE, Strategy.READMIT}
)
"""Batches that no rule stops: they keep the metrics of the batch before."""


def pass_gates(batch: Batch, draft: Draft) -> Draft:
    """Returns the draft with what was measured. Raises QualityError LS805 if a rule stops the batch."""
    table, base = batch.step.table, batch.step.base.record
    if not table.gates or batch.step.strategy in CHANGE_NO_ROWS:
        return draft
    batch.say(f"checking {len(table.gates)} table rules" if len(table.gates) > 1 else "checking a table rule")
    state = batch.state()
    head = state.refs[batch.branch]
    frame = as_published(read_version(batch.spark, batch.name, head), draft)
    rows = live_rows(batch, state, head)
    outcomes, metrics = checked(batch, frame, rows, base.metrics if base else {})
    batch.pass_point("after-gates")
    failed = [outcome for outcome in outcomes if not outcome.passed]
    problems = [_problem(table, outcome) for outcome in failed]
    if problems and table.on_failed_rule is OnFailedRule.STOP:
        raise QualityError(problems)
    notes = tuple(f"the rule {each.rule.text} failed: {each.found}" for each in failed)
    gates = {each.rule.text: Gate(_word(each), each.metric, each.expected) for each in outcomes}
    return replace(draft, metrics=metrics, gates=gates, warnings=(*draft.warnings, *notes))


def _word(outcome: Outcome) -> str:
    return "passed" if outcome.passed else "failed"


def as_published(frame: DataFrame, draft: Draft) -> DataFrame:
    """Returns the rows in the columns that the publish leaves."""
    kept_columns = frame.drop(*draft.schema.drop)
    for old, new in draft.schema.rename:
        kept_columns = kept_columns.withColumnRenamed(old, new)
    return kept_columns


def checked(
    batch: Batch, frame: DataFrame, rows: int, earlier: Metrics
) -> tuple[tuple[Outcome, ...], Metrics]:
    """Returns the outcomes of a table's rules on these rows, and its metrics with earlier ones."""
    table, moment = batch.step.table, datetime.now(UTC)
    added = set(map(str.lower, table.added_columns))
    columns = tuple(name for name in frame.columns if name.lower() not in added)
    own = frame.select(*map(quoted, columns)) if table.is_sourced else frame
    view = batch.view("checked")
    subject = Subject(frame, columns, rows, References(batch.project, own, rows, view))
    metric = Measurements(subject, moment.timestamp())
    needed = {rule: measured(rule, moment) for rule in table.gates}
    metric.take((rule, tuple(checks.values())) for rule, checks in needed.items())
    now = {leaf: metric(check) for checks in needed.values() for leaf, check in checks.items()}
    outcomes = tuple(
        outcome_of(rule, now.__getitem__, lambda leaf: earlier.get(metric_name(leaf), ()))
        for rule in table.gates
        if not rule.is_analyzer
    )
    return outcomes, _with_earlier(now, earlier)


def _with_earlier(now: Mapping[Check, Number | None], earlier: Metrics) -> Metrics:
    """Returns the metrics to record: those of now before as many earlier ones as rules may ask for."""
    found: dict[str, tuple[float, ...]] = {}
    for leaf, value in now.items():
        name = metric_name(leaf)
        many = max(kept(leaf), len(found.get(name, ())))
        measured_now = () if value is None else (float(value),)
        found[name] = (*measured_now, *earlier.get(name, ()))[:many]
    return found


def _problem(table: TableDefinition, outcome: Outcome) -> Problem:
    return Problem(
        "LS805",
        f"the rule {outcome.rule.text} stopped the batch of {table.name}; nothing was published",
        outcome.rule.place,
        outcome.expected,
        outcome.found,
        "correct the input or the rule, or publish with a note: on_failed_rule: warn",
        outcome.rule.text,
    )
