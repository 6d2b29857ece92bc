"""``lakesmith files``."""

from __future__ import annotations

import json as data
from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.files import Files, FilesChanged
from lakesmith.api.words import count, moment, size
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.run_view import open_view
from lakesmith.cli.render.text import columns_aligned
from lakesmith.execute.files import FileLine, FileReport, FileState
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.names import printable

app = opt.command_app()

SHOWN = 30
"""How many files of each state are shown without ``--all``."""

_HEADER = ("file", "state", "batch", "taken", "size", "source")


@app.command()
def files(
    table: opt.TableArgument,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="Leave a file out from now on; its rows stay.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", help="Delete a file's rows, and take it again.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every file, not only the newest.")] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Prints the files of a table, or skips and forgets some; exits with 1 when a folder cannot be listed."""
    if not skip and not forget:
        found = open_lake(project, target).files(table)
        show(found, json, lambda found: file_lines(found, every))
        raise typer.Exit(1 if found.report.problems else 0)
    with open_view(json) as view, open_lake(project, target) as lake:
        done = lake.change_files(table, skip=skip or (), forget=forget or (), on_event=view).apply()
    # A line, as the events before it.
    print(data.dumps(done.to_dict()) if json else "\n".join(_changed(done)))


def file_lines(found: Files, every: bool) -> list[str]:
    """The newest ingested files and the first of every other state (all with ``every``), then the totals."""
    report = found.report
    if not report.lines:
        return [f"no file has arrived for {found.table} yet", *report.notes, *_problem_lines(report)]
    shown = report.lines if every else _shown(report)
    lines = columns_aligned([_HEADER, *map(_row, shown)], right=frozenset({2, 4}))
    left_out = len(report.lines) - len(shown)
    more = [f"({count(left_out, 'file')} not shown: --all shows them)"] if left_out else []
    return [*lines, *more, "", _totals(report), *report.notes, *_problem_lines(report)]


def _shown(report: FileReport) -> tuple[FileLine, ...]:
    taken = sorted(report.of(FileState.TAKEN), key=lambda line: (line.at_ms or 0, line.path))
    others = [report.of(state)[:SHOWN] for state in FileState if state is not FileState.TAKEN]
    return (*taken[-SHOWN:], *(line for lines in others for line in lines))


def _row(line: FileLine) -> tuple[str, ...]:
    taken = "-" if line.at_ms is None else moment(line.at_ms)
    batch = "-" if line.batch is None else str(line.batch)
    return (printable(line.path), _state(line), batch, taken, _extent(line), line.source)


def _extent(line: FileLine) -> str:
    if line.stands_for is not None:
        return count(line.stands_for, "segment")
    # Of a topic's partition it is the offsets of the newest batch.
    return line.file.etag if is_slice(line.path) else size(line.file.size)


def _state(line: FileLine) -> str:
    state = line.state.value.replace("_", " ")
    if line.there:
        return state
    return f"{state}, gone from the folder"


def _totals(report: FileReport) -> str:
    counted = [(state, sum(line.count for line in report.of(state))) for state in FileState]
    return ", ".join(f"{number:,} {state.value.replace('_', ' ')}" for state, number in counted if number)


def _problem_lines(report: FileReport) -> list[str]:
    return [line for problem in report.problems for line in problem.lines()]


def _why_not_again(line: FileLine) -> str:
    if line.there:
        return "comes before its source's `since`: it is not taken again"
    if line.is_of_postgres:
        return "is gone from its folder: the next run reads its rows from PostgreSQL again"
    return "is gone from its folder: it cannot be taken again"


def _changed(done: FilesChanged) -> Iterator[str]:
    report, change = done.published.report, done.change
    yield f"published batch {report.record.batch}"
    yield from (f"  {warning}" for warning in report.warnings)
    if change.forget:
        yield f"{count(report.record.account.deleted, 'row')} of forgotten files deleted"
    if any(line.there and not line.outside for line in change.forget):
        yield "the next run takes them again"
    for line in change.forget:
        if line.outside or not line.there:
            yield f"{line.path} {_why_not_again(line)}"
    if any(line.state in (FileState.TAKEN, FileState.CHANGED) for line in change.skip):
        yield "rows that were taken from skipped files stay; --forget deletes a file's rows"
