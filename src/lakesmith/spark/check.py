"""Checks the rules of tables apart from loading, and keeps the results in the table ``lakesmith.checks``.

The results of a check are one append. With them come those of the gates of batches that were published since:
they are in the records, and ``check`` holds the attempt of such a batch, so that each is there once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import functions as F

from lakesmith.catalog.family import PROJECT
from lakesmith.catalog.progress import record_of
from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError
from lakesmith.execute.lake import Lake
from lakesmith.plan.steps import Base, TableStep
from lakesmith.project.definitions import Column, TableName
from lakesmith.project.layout import RESERVED_LAYER
from lakesmith.quality.results import SUMMARY_KEY, RuleResult, TableResult
from lakesmith.spark.batch.context import Batch, live_rows
from lakesmith.spark.engine import explained
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.iceberg.ddl import create_table
from lakesmith.spark.iceberg.procedures import expire_all_but, rewrite_data_files
from lakesmith.spark.iceberg.snapshots import read_version
from lakesmith.spark.jvm.failures import FAILURES, is_loss
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.validation.gates import CHANGE_NO_ROWS, Metrics, checked
from lakesmith.spark.validation.rules import add_reasons, rule_reasons

CHECKS: Final = TableName(RESERVED_LAYER, "checks")
_COLUMNS: Final = (
    Column("check", "string", "the check; of a batch: its attempt"),
    Column("at", "timestamp", "when it began"),
    Column("source", "string", "check, or batch: the rules that gate a batch"),
    Column("table", "string", "the table"),
    Column("batch", "bigint", "the table's batch"),
    Column("rule", "string", "the rule as it is declared"),
    Column("outcome", "string", "passed or failed"),
    Column("metric", "double", "what was measured; of a row rule the rows that break it"),
    Column("threshold", "string", "what was expected; NULL for batches of older versions"),
)
MOST_FILES: Final = 100
"""Files of the table of results, one a check, above which they are rewritten as one."""
KEPT_SNAPSHOTS: Final = 10

Watcher = Callable[[TableName, int, int], None]
"""Called with the table being checked: the number-th of total."""


def check_steps(
    session: SessionHandle, lake: Lake, steps: Sequence[TableStep], watcher: Watcher
) -> tuple[TableResult, ...]:
    """Checks the tables of steps as they are published. Writes nothing."""
    session.enter()
    found = []
    for number, step in enumerate(steps, 1):
        watcher(step.name, number, len(steps))
        found.append(_checked(session, lake, step))
    return tuple(found)


def _checked(session: SessionHandle, lake: Lake, step: TableStep) -> TableResult:
    batch, record = (
        Batch(session.spark, lake.catalog, lake.project, step, lambda _event: None),
        step.base.record,
    )
    name, snapshot, number = str(step.name), step.base.snapshot, record.batch if record else None
    try:
        batch.meet_inputs()
        return TableResult(name, tuple(_results(batch)), snapshot, number)
    except LakesmithError as error:
        found = error
    except FAILURES as error:
        found = explained(session, lake, batch, error)
    if is_loss(found.problems):
        # None of the tables can be checked in this JVM any more.
        raise found
    return TableResult(name, (), snapshot, number, problems=found.problems)


def _results(batch: Batch) -> Iterator[RuleResult]:
    table, base = batch.step.table, batch.step.base
    frame = read_version(batch.spark, batch.name, base.snapshot)
    row_rules = [rule for rule in table.rules if rule.predicate]
    if row_rules:
        add_reasons(batch, frame, rule_reasons(row_rules))
        counts = [F.count_if(~F.expr(rule.predicate)).alias(f"r{at}") for at, rule in enumerate(row_rules)]
        row = frame.agg(*counts).collect()[0]
        for rule, broken in zip(row_rules, row, strict=True):
            found = "1 row breaks it" if broken == 1 else f"{broken:,} rows break it"
            yield RuleResult(rule.text, "row", broken == 0, float(broken), found, "no row", str(rule.place))
    if table.gates:
        state = batch.state()
        rows = live_rows(batch, state, base.snapshot)
        outcomes, _ = checked(batch, frame, rows, _before(state, base))
        for each in outcomes:
            place, text = str(each.rule.place), each.rule.text
            yield RuleResult(text, "table", each.passed, each.metric, each.found, each.expected, place)


def _before(state: TableState, base: Base) -> Metrics:
    """Returns the metrics of the batches before the one whose rows are checked."""
    if base.record is None:
        return {}
    records = (record_of(state, snapshot) for snapshot in state.ancestors(base.snapshot))
    made = next((each for each in records if each is not None and each.kind not in CHANGE_NO_ROWS), None)
    is_measured = made is not None and bool(made.gates)
    return {name: found[1:] if is_measured else found for name, found in base.record.metrics.items()}


@dataclass(frozen=True)
class Keeping:
    """One check whose results are kept: its ``check`` id, and when it began."""

    session: SessionHandle
    lake: Lake
    check: str
    moment: datetime

    def keep(self, results: Sequence[TableResult]) -> None:
        """Appends the results of the check, and of batches since the last one, by one commit."""
        spark = self.session.spark
        create_table(spark, CHECKS, _COLUMNS, {PROJECT: self.lake.project.name})
        there = spark.table(physical(CHECKS)).where("source = 'batch'").select("check").distinct().collect()
        known = {row["check"] for row in there}
        rows = [row for result in results for row in self._of_batches(result.table, known)]
        rows += [self._row(result, each) for result in results for each in result.results]
        if not rows:
            return
        self._compact()
        summary = {each.table: [len(each.results), len(each.failed) + len(each.problems)] for each in results}
        frame = spark.createDataFrame(rows, ", ".join(f"`{each.name}` {each.type}" for each in _COLUMNS))
        writer = frame.coalesce(1).writeTo(physical(CHECKS))
        writer.option(f"snapshot-property.{SUMMARY_KEY}", json.dumps(summary)).append()

    def _compact(self) -> None:
        """Puts the files of many checks together: nothing else maintains the table."""
        state = self.lake.catalog.table(CHECKS.layer, CHECKS.name)
        if state is not None and state.head and state.head.count("total-data-files") > MOST_FILES:
            rewrite_data_files(self.session.spark, CHECKS, {"rewrite-all": "true"})
            expire_all_but(self.session.spark, CHECKS, KEPT_SNAPSHOTS)

    def _row(self, result: TableResult, each: RuleResult) -> tuple[Any, ...]:
        outcome = "passed" if each.passed else "failed"
        of = (self.check, self.moment, "check", result.table, result.batch)
        return (*of, each.rule, outcome, each.metric, each.expected)

    def _of_batches(self, table: str, known: set[str]) -> Iterator[tuple[Any, ...]]:
        name = TableName.parse(table)
        state = self.lake.catalog.table(name.layer, name.name)
        for snapshot in state.ancestors(state.head_id) if state else ():
            record = record_of(state, snapshot) if state else None
            if record is None or record.attempt in known:
                continue
            known.add(record.attempt)
            at = datetime.fromtimestamp(record.started_ms / 1000, UTC)
            for rule, gate in record.gates.items():
                yield (record.attempt, at, "batch", table, record.batch, rule, *gate)
