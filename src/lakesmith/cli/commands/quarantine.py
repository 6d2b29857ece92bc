"""``lakesmith quarantine``: its four commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.lakehouse import Lakehouse
from lakesmith.api.quarantine import QuarantineRows, QuarantineSummary, is_derived
from lakesmith.api.words import count, moment
from lakesmith.cli import command as opt
from lakesmith.cli.command import agreed, open_lake, show
from lakesmith.cli.render.run_view import run_shown
from lakesmith.execute.events import Listener, RunResult
from lakesmith.execute.quarantine import BadRow, Summary
from lakesmith.plan.steps import BadRows
from lakesmith.sources.names import escaped

app = opt.command_app()

Batch = Annotated[int | None, typer.Option(help="Only rows that this batch found.")]
Reason = Annotated[str | None, typer.Option(help="Only rows with this text in one of their reasons.")]
File = Annotated[str | None, typer.Option(help="Only rows of this landing file (or the end of its path).")]

_REASONS = 5
"""The most reasons that ``list`` shows of a table; ``--json`` gives all."""

_WIDTH = 200
"""The most characters of a row that ``show`` prints; ``--json`` gives all."""


@app.command("list")
def list_(
    project: opt.ProjectOption = opt.HERE, target: opt.TargetOption = None, json: opt.JsonOption = False
) -> None:
    """Show how many rows of each table are in quarantine, and why."""
    show(open_lake(project, target).quarantine(), json, _summary_lines)


@app.command("show")
def show_(
    table: opt.TableArgument,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    limit: Annotated[int, typer.Option(help="The most rows to show; 0: all.")] = 20,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Show bad rows of a table, with everything that is wrong with each."""
    lake = open_lake(project, target)
    found = lake.quarantine_rows(table, BadRows(batch, reason, file), limit=limit or None)
    show(found, json, _row_lines)


@app.command()
def replay(
    table: opt.TableArgument,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Validate bad rows again by the table's present definition: good ones go into the table, once."""
    chosen = BadRows(batch, reason, file)
    if not json and chosen == BadRows() and is_derived(open_lake(project, target).access, table):
        print(f"{table} is derived: it is recomputed from its inputs, by a full refresh")

    def call(lake: Lakehouse, tell: Listener) -> RunResult:
        return lake.quarantine_replay(table, chosen, wait=wait, on_event=tell)

    raise typer.Exit(run_shown(project, target, json, call)[0])


@app.command()
def drop(
    table: opt.TableArgument,
    batch: Batch = None,
    reason: Reason = None,
    file: File = None,
    yes: opt.YesOption = False,
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Take bad rows out of quarantine for good, on record."""
    chosen = BadRows(batch, reason, file)
    preview = open_lake(project, target).quarantine_drop(table, chosen).preview
    question = f"drop {count(preview.rows, 'bad row')} of {preview.table} ({preview.chosen}) for good?"
    # If there is nothing to drop there is nothing to ask.
    if preview.rows and not agreed(question, yes, json):
        print("nothing was dropped")
        return

    def call(lake: Lakehouse, tell: Listener) -> RunResult:
        return lake.quarantine_drop(table, chosen, wait=wait, on_event=tell).apply()

    raise typer.Exit(run_shown(project, target, json, call)[0])


def _summary_lines(found: QuarantineSummary) -> list[str]:
    """A line for each table, and below it its most frequent reasons."""
    if not found.tables:
        return ["no row is in quarantine"]
    return [line for name, summary in found.tables.items() for line in _table_lines(str(name), summary)]


def _table_lines(name: str, summary: Summary) -> Iterator[str]:
    yield f"{name}: {count(summary.rows, 'bad row')}, found {_when(summary)}"
    width = max((len(f"{number:,}") for _, number in summary.reasons), default=0)
    for reason, number in summary.reasons[:_REASONS]:
        yield f"  {number:>{width},}  {reason}"
    if len(summary.reasons) > _REASONS:
        yield f"  and {count(len(summary.reasons) - _REASONS, 'more reason')}"


def _when(summary: Summary) -> str:
    oldest, newest = moment(summary.oldest_ms or 0), moment(summary.newest_ms or 0)
    return oldest if oldest == newest else f"{oldest} to {newest}"


def _row_lines(found: QuarantineRows) -> list[str]:
    """Each row as text: its origin, everything that is wrong with it, and its content."""
    if not found.rows:
        asked = "" if found.chosen == BadRows() else f" ({found.chosen})"
        return [f"no row of {found.table} is in quarantine{asked}"]
    lines = [line for row, number in found.rows for line in _bad_row_lines(row, number)]
    if found.is_cut:
        lines.append(f"only the first {count(len(found.rows), 'row')} are shown: --limit 0 shows all")
    return lines


def _bad_row_lines(row: BadRow, line: int | None) -> Iterator[str]:
    position = f", line {line}" if line else f", row {row.position}"
    where = f"{row.file}{position if row.position is not None else ''}" if row.file else "a row of the query"
    yield f"{where} (batch {row.batch}, {moment(row.found_ms)})"
    yield from (f"  {reason}" for reason in row.reasons)
    yield f"    {_cut(row.raw if row.raw is not None else row.row or '')}"


def _cut(text: str) -> str:
    # A tab is the delimiter that a reader looks for, and no control character may reach a terminal.
    shown = escaped(text)
    return shown if len(shown) <= _WIDTH else f"{shown[:_WIDTH]}… ({count(len(text), 'character')})"
