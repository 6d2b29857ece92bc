"""Landing files: which ones were ingested, when and by which batch; and skipping or forgetting some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.results import Change
from lakesmith.api.running import event_to_dict
from lakesmith.api.words import iso
from lakesmith.catalog.home import project_lock
from lakesmith.catalog.lock import ProjectLock
from lakesmith.errors import RunError, UsageError
from lakesmith.execute.engine import Engine, Outdated
from lakesmith.execute.events import BatchReport, Listener, TablePublished, TableStarted
from lakesmith.execute.files import FileLine, FileReport, file_report, find_files, ledger_step
from lakesmith.execute.lake import table_bytes
from lakesmith.execute.opened import Opened
from lakesmith.execute.publish import publish_ledger
from lakesmith.execute.run import LazyEngine
from lakesmith.plan.cost import DataSize
from lakesmith.plan.fingerprint import definition_fingerprint
from lakesmith.plan.steps import TableStep
from lakesmith.plan.watermarks import ahead_in_words
from lakesmith.project.definitions import TableDefinition, TableName
from lakesmith.sources.kafka.slices import is_slice

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a sourced table."""

    table: TableName
    report: FileReport

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": str(self.table),
            "files": [_line_as_dict(line) for line in self.report.lines],
            "notes": list(self.report.notes),
            "problems": [problem.as_dict() for problem in self.report.problems],
        }


@dataclass(frozen=True, slots=True)
class FileChange:
    """The files that would be skipped, and those that would be forgotten: their rows are deleted."""

    table: TableName
    skip: tuple[FileLine, ...]
    forget: tuple[FileLine, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": str(self.table),
            "skip": [line.path for line in self.skip],
            "forget": [line.path for line in self.forget],
        }


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """The batch that entered files in the ledger, and the files as they were before."""

    published: TablePublished
    change: FileChange

    def to_dict(self) -> dict[str, Any]:
        return event_to_dict(self.published)


def files(access: Access, table: str) -> Files:
    opened = access.opened()
    definition = _sourced(opened, opened.one(table))
    return Files(definition.name, _report(opened, definition))


def change_files(
    access: Access, table: str, skip: Sequence[str], forget: Sequence[str], on_event: Listener
) -> Change[FileChange, FilesChanged]:
    opened = access.opened()
    definition = _sourced(opened, opened.one(table))
    name, wanted = definition.name, (tuple(skip), tuple(forget))
    report = _report(opened, definition)
    _step(opened, definition, report, wanted)  # A wrong call is refused before Spark is started for it.
    chosen = [find_files(report, texts, opened.project.root, Path.cwd()) for texts in wanted]
    locks: list[ProjectLock] = []

    def locked() -> ProjectLock:
        locks[:] = [project_lock(opened.project, "files")]
        return locks[0]

    def make(preview: FileChange) -> FilesChanged:
        def engine() -> Engine:
            size = DataSize.of(table_bytes(opened.lake, (name,)))
            return access.engine(opened, locks[0], on_event, size)

        published = access.do(lambda: _published(opened, definition, wanted, (LazyEngine(engine), on_event)))
        return FilesChanged(published, preview)

    # The batch is planned again until it is published on the head that it was planned for.
    change = Change(FileChange(name, *chosen), {}, locked, dict, make)
    names = (
        f"--{option} {text}"
        for option, texts in zip(("skip", "forget"), wanted, strict=True)
        for text in texts
    )
    return access.noted(change, opened.project, "files", " ".join(("files", str(name), *names)), [name])


def _sourced(opened: Opened, name: TableName) -> TableDefinition:
    definition = opened.graph.node(name).definition
    if definition.is_sourced:
        return definition
    sourced = [str(up) for up in opened.graph.upstream(name) if opened.graph.node(up).definition.is_sourced]
    raise UsageError.of(
        "LS215",
        f"{name} takes no files",
        definition.place,
        "a table with a source",
        "a table of others" if definition.external else "a derived table",
        f"its rows come from files of {', '.join(sourced)}" if sourced else None,
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


def _step(
    opened: Opened,
    definition: TableDefinition,
    report: FileReport,
    wanted: tuple[Sequence[str], Sequence[str]],
) -> TableStep:
    def chosen(texts: Sequence[str]) -> tuple[FileLine, ...]:
        return find_files(report, texts, opened.project.root, Path.cwd())

    facts = opened.lake.facts(definition.name)
    fingerprint = definition_fingerprint(definition)
    return ledger_step(definition, fingerprint, facts, *map(chosen, wanted))


def _published(
    opened: Opened,
    definition: TableDefinition,
    wanted: tuple[Sequence[str], Sequence[str]],
    how: tuple[LazyEngine, Listener],
) -> TablePublished:
    engine, listener = how
    try:
        for _ in range(_TRIES):
            step = _step(opened, definition, _report(opened, definition), wanted)
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
        from lakesmith.spark.jvm.failures import explain_failure

        problem = explain_failure(error, None, opened.project.secrets)
        raise RunError(replace(problem, what=f"{step.name}: {problem.what}")) from error


def _never_still(name: TableName) -> RunError:
    what = f"{name} was changed by another writer in each of {_TRIES} tries"
    return RunError.of("LS612", what, hint="stop the other writer and try again")
