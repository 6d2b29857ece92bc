"""``lakesmith files``: which landing files were taken, when and by which batch; and leaving out or forgetting some."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith import limits
from lakesmith.api.running import event_to_dict as event_as_dict
from lakesmith.api.words import count, iso, moment, size
from lakesmith.catalog.home import project_lock
from lakesmith.catalog.lock import ProjectLock
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TableArgument, TargetOption, command_app
from lakesmith.cli.render.run_view import open_view
from lakesmith.cli.render.text import columns_aligned
from lakesmith.errors import Problem, RunError, UsageError
from lakesmith.execute.engine import Engine, Outdated
from lakesmith.execute.events import BatchReport, Listener, TablePublished, TableStarted
from lakesmith.execute.files import FileLine, FileReport, FileState, file_report, find_files, ledger_step
from lakesmith.execute.lake import table_bytes
from lakesmith.execute.opened import Opened
from lakesmith.execute.publish import publish_ledger
from lakesmith.execute.run import LazyEngine
from lakesmith.plan.fingerprint import definition_fingerprint
from lakesmith.plan.steps import TableStep
from lakesmith.plan.watermarks import ahead_in_words
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.names import printable
from lakesmith.spark.jvm.failures import explain_failure

app = command_app()


SHOWN = 30
"""How many files of each state are shown without ``--all``."""

_TRIES = 5
_HEADER = ("file", "state", "batch", "taken", "size", "source")


@dataclass(frozen=True, slots=True)
class FilesOptions:
    """What the caller of ``files`` asked for."""

    skip: tuple[str, ...] = ()
    forget: tuple[str, ...] = ()
    every: bool = False


@app.command()
def files(
    table: TableArgument,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="Leave a file out from now on; its rows stay.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", help="Delete a file's rows, and take it again.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every file, not only the newest.")] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``files_command`` takes them."""
    options = FilesOptions(tuple(skip or ()), tuple(forget or ()), every)
    raise typer.Exit(files_command(project, target, table, options, json))


def files_command(root: Path, target: str | None, table: str, options: FilesOptions, as_json: bool) -> int:
    """Prints the files of ``table``, or enters some in its ledger; 0, or 1 when a folder cannot be listed.

    Raises UsageError LS201, LS205, LS210 to LS215, and what reading the ledger or publishing raises.
    """
    opened = open_project(root, target)
    definition = _sourced(opened, opened.one(table))
    if options.skip or options.forget:
        return _change(opened, definition, options, as_json)
    report = _report(opened, definition)
    if as_json:
        print(json.dumps(report_as_dict(definition.name, report), indent=2))
    else:
        print("\n".join(report_lines(definition.name, report, options.every)))
    return 1 if report.problems else 0


def _sourced(opened: Opened, name: TableName) -> TableDefinition:
    definition = opened.graph.node(name).definition
    if definition.is_sourced:
        return definition
    sourced = [str(up) for up in opened.graph.upstream(name) if opened.graph.node(up).definition.is_sourced]
    raise UsageError(
        Problem(
            "LS215",
            f"{name} takes no files",
            definition.place,
            "a table with a source",
            "a table of others" if definition.external else "a derived table",
            f"its rows come from files of {', '.join(sourced)}" if sourced else None,
        )
    )


def _report(opened: Opened, definition: TableDefinition) -> FileReport:
    found = file_report(opened.lake, definition, opened.lake.facts(definition.name))
    return replace(found, notes=(*found.notes, *_ahead(opened, definition.name)))


def _ahead(opened: Opened, name: TableName) -> Iterator[str]:
    """What tables of closed windows that are made from it say of times ahead of their arrival."""
    for reader in opened.graph.downstream(name):
        if opened.graph.node(reader).definition.emit is not None:
            record = opened.lake.facts(reader).base.record
            yield from (f"{reader}: {said}" for said in ahead_in_words(record.ahead if record else {}))


def report_lines(name: TableName, report: FileReport, every: bool) -> list[str]:
    """The newest taken files and the first of every other state (all with ``every``), then the totals."""
    if not report.lines:
        return [f"no file has arrived for {name} yet", *report.notes, *_problem_lines(report)]
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


def report_as_dict(name: TableName, report: FileReport) -> dict[str, Any]:
    """The files as JSON data, all of them."""
    return {
        "table": str(name),
        "files": [_line_as_dict(line) for line in report.lines],
        "notes": list(report.notes),
        "problems": [problem.as_dict() for problem in report.problems],
    }


def _line_as_dict(line: FileLine) -> dict[str, Any]:
    return {
        "path": line.path,
        "state": line.state.value,
        "there": line.there,
        "source": line.source,
        "batch": line.batch,
        "at": None if line.at_ms is None else iso(line.at_ms),
        **_extent_as_dict(line),
    }


def _extent_as_dict(line: FileLine) -> dict[str, Any]:
    if line.stands_for is not None:
        return {"segments": line.stands_for, "newest": line.file.etag}
    if is_slice(line.path):
        return {"size": line.file.size, "modified_at": None, "offsets": line.file.etag}
    return {"size": line.file.size, "modified_at": iso(line.file.modified_ns // 1_000_000)}


def _change(opened: Opened, definition: TableDefinition, options: FilesOptions, as_json: bool) -> int:
    """Enters the files in the ledger as one batch, and says what that means."""
    report = _report(opened, definition)
    _step(opened, definition, report, options)  # A wrong call is told before Spark is started for it.
    with open_view(as_json) as view, project_lock(opened.project, "files") as lock:
        published = _published(opened, definition, options, (lock, view))
    if as_json:
        print(json.dumps({**event_as_dict(published), "event": "table_published"}))
    else:
        print("\n".join(_said(published.report, report, options, opened)))
    return 0


def _step(
    opened: Opened, definition: TableDefinition, report: FileReport, options: FilesOptions
) -> TableStep:
    def chosen(texts: Sequence[str]) -> tuple[FileLine, ...]:
        return find_files(report, texts, opened.project.root, Path.cwd())

    facts = opened.lake.facts(definition.name)
    fingerprint = definition_fingerprint(definition)
    return ledger_step(definition, fingerprint, facts, chosen(options.skip), chosen(options.forget))


def _published(
    opened: Opened,
    definition: TableDefinition,
    options: FilesOptions,
    under: tuple[ProjectLock, Listener],
) -> TablePublished:
    lock, listener = under
    engine = LazyEngine(lambda: _engine(opened, definition, lock, listener))
    try:
        for _ in range(_TRIES):
            step = _step(opened, definition, _report(opened, definition), options)
            listener(TableStarted(step))
            try:
                report = _without_spark(opened, step) or engine().run_step(step, listener)
                return TablePublished(definition.name, step, report, 0.0)
            except Outdated:
                continue
        raise _never_still(definition.name)
    finally:
        engine.close()


def _without_spark(opened: Opened, step: TableStep) -> BatchReport | None:
    try:
        return publish_ledger(opened.lake, step)
    except OSError as error:
        problem = explain_failure(error, None, opened.project.secrets)
        raise RunError(replace(problem, what=f"{step.name}: {problem.what}")) from error


def _engine(opened: Opened, definition: TableDefinition, lock: ProjectLock, listener: Listener) -> Engine:
    from lakesmith.spark import open as spark_open

    little = table_bytes(opened.lake, (definition.name,)) <= limits.LITTLE_DATA_BYTES
    return spark_open.open_engine(opened.lake, lock, listener, little)


def _never_still(name: TableName) -> RunError:
    what = f"{name} was changed by another writer in each of {_TRIES} tries"
    return RunError(Problem("LS612", what, hint="stop the other writer and try again"))


def _why_not_again(line: FileLine) -> str:
    if line.there:
        return "comes before its source's `since`: it is not taken again"
    return "is gone from its folder: it cannot be taken again"


def _said(report: BatchReport, before: FileReport, options: FilesOptions, opened: Opened) -> list[str]:
    lines = [f"published batch {report.record.batch}", *(f"  {warning}" for warning in report.warnings)]
    forgotten = find_files(before, options.forget, opened.project.root, Path.cwd())
    skipped = find_files(before, options.skip, opened.project.root, Path.cwd())
    if forgotten:
        lines.append(f"{count(report.record.account.deleted, 'row')} of forgotten files deleted")
    if any(line.there and not line.outside for line in forgotten):
        lines.append("the next run takes them again")
    lines += [f"{line.path} {_why_not_again(line)}" for line in forgotten if line.outside or not line.there]
    if any(line.state in (FileState.TAKEN, FileState.CHANGED) for line in skipped):
        lines.append("rows that were taken from skipped files stay; --forget deletes a file's rows")
    return lines
