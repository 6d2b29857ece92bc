"""Skipping and forgetting files: a batch of its own that reads no file, planned like any other. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from lakesmith.errors import Problem, StateError, UsageError
from lakesmith.execute.file_report import FileLine, FileState
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.planner import cut_problem
from lakesmith.plan.steps import FileIntake, Strategy, TableStep
from lakesmith.project.definitions import FileSource, Source, TableDefinition
from lakesmith.sources.kafka.slices import is_slice


def ledger_step(
    table: TableDefinition,
    fingerprint: str,
    facts: TableFacts,
    skip: Sequence[FileLine],
    forget: Sequence[FileLine],
) -> TableStep:
    """The step that enters files in the ledger as skipped or forgotten, and deletes the rows of the forgotten ones.

    Raises UsageError LS212 (a file in both lists), LS213 (forgetting what was never taken or skipped), LS214 (a table
    that is not built yet and declares no columns to build it with), and StateError with the table's own problem.
    """
    if problem := facts.problem or cut_problem(table, facts):
        raise StateError(problem)
    _check(table, facts, skip, forget)
    intakes = tuple(_intake(source, skip, forget) for source in _sources(table, (*skip, *forget)))
    return TableStep(
        table=table,
        strategy=Strategy.LEDGER,
        reason="as asked",
        base=facts.base,
        # The definition that made the rows there are: this batch makes none.
        fingerprint=facts.base.record.fingerprint if facts.base.record else fingerprint,
        intakes=tuple(intake for intake in intakes if intake.skip or intake.forget),
        row_wise=True,
    )


def _intake(source: Source, skip: Sequence[FileLine], forget: Sequence[FileLine]) -> FileIntake:
    return FileIntake(
        source,
        skip=tuple(line.file for line in skip if line.source == source.name),
        forget=tuple(line.file for line in forget if line.source == source.name),
    )


def _sources(table: TableDefinition, lines: Sequence[FileLine]) -> tuple[Source, ...]:
    """The table's sources; a file of a source that was renamed since is entered under its old name."""
    known = {source.name: source for source in table.sources}
    first = table.sources[0]
    old = {line.source for line in lines} - known.keys()
    renamed = (FileSource(name, first.path, first.format, first.place, first.pattern) for name in sorted(old))
    return (*table.sources, *renamed)


def _check(
    table: TableDefinition, facts: TableFacts, skip: Sequence[FileLine], forget: Sequence[FileLine]
) -> None:
    for line in (*skip, *forget):
        if is_slice(line.path):
            raise UsageError(_of_a_topic(line))
        if line.stands_for is not None:
            raise UsageError(_of_many(line))
    both = {line.path for line in skip} & {line.path for line in forget}
    if both:
        what = f"{min(both)} can be skipped or forgotten, not both"
        raise UsageError(Problem("LS212", what, None, "one of the two"))
    for line in forget:
        if line.batch is None or line.state is FileState.FORGOTTEN:
            raise UsageError(_nothing_to_forget(line))
    if facts.state is None and not table.columns:
        raise UsageError(_no_table_yet(table))


def _nothing_to_forget(line: FileLine) -> Problem:
    return Problem(
        "LS213",
        f"{line.path} was never taken, so there is nothing to forget",
        None,
        "a file that was taken or skipped",
        line.state.value,
        "it is taken by the next run" if line.there else None,
    )


def _of_a_topic(line: FileLine) -> Problem:
    return Problem(
        "LS216",
        f"{line.path} is a partition of a topic, of which nothing can be skipped or forgotten",
        None,
        "a landing file",
        hint="bad records go to quarantine with `on_bad_row: quarantine`; what was taken may not be in the topic any more",
    )


def _of_many(line: FileLine) -> Problem:
    return Problem(
        "LS217",
        f"{line.path} stands for {line.stands_for:,} segments, which were taken long ago",
        None,
        "one segment, by its own name",
        hint="the rows say it: _source_file",
    )


def _no_table_yet(table: TableDefinition) -> Problem:
    return Problem(
        "LS214",
        f"{table.name} has not taken any file yet, and its columns are to be inferred from its files",
        table.place,
        "a table that was built, or declared columns",
        hint="declare columns:, or move the file out of the folder until the first run is through",
    )
