"""The engine: does a step on Spark. One session serves the whole graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Event as Flag

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakesmith.catalog.family import sidecar_of
from lakesmith.errors import LakesmithError, QualityError, RunError
from lakesmith.execute.engine import NotIncremental, Outdated, Unanswered
from lakesmith.execute.events import BatchReport, Listener
from lakesmith.execute.faults import note_jvm
from lakesmith.execute.lake import Lake, planned_bytes
from lakesmith.exports.due import ExportStep
from lakesmith.exports.publishing import Written
from lakesmith.exports.traces import TRACES
from lakesmith.plan.cost import DataSize
from lakesmith.plan.settings import renamings, still_ahead
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.sources.names import printable
from lakesmith.spark.batch.context import Batch, Draft, finish
from lakesmith.spark.batch.sidecar import SidecarKind
from lakesmith.spark.export import write_export
from lakesmith.spark.iceberg.ddl import drop_columns, rename_columns
from lakesmith.spark.iceberg.refs import RefChange, change_refs, explaining
from lakesmith.spark.jvm.failures import explain_failure, is_beaten, is_unanswered
from lakesmith.spark.jvm.growing import may_grow
from lakesmith.spark.kinds.change_ledger import advance, change_ledger
from lakesmith.spark.kinds.derive import derive
from lakesmith.spark.kinds.erase import erase, readmit
from lakesmith.spark.kinds.ingest_files import ingest_files
from lakesmith.spark.kinds.replay import drop, replay
from lakesmith.spark.kinds.unreadable_files import landing_file
from lakesmith.spark.read.sessions import ReadingSessions
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.stop import asked_of_jvm
from lakesmith.spark.validation.gates import pass_gates
from lakesmith.spark.validation.rules import failed_filter

BatchWriter = Callable[[Batch, Lake], tuple[str, Draft]]
"""Writes a batch to its branch: the table's UUID and what to record."""

_WRITERS: Mapping[Strategy, BatchWriter] = {
    Strategy.FILES: ingest_files,
    Strategy.LEDGER: change_ledger,
    Strategy.ADVANCE: advance,
    Strategy.APPEND: derive,
    Strategy.UPSERT: derive,
    Strategy.KEYS: derive,
    Strategy.SUMS: derive,
    Strategy.FULL: derive,
    Strategy.REPLAY: replay,
    Strategy.DROP: drop,
    Strategy.ERASE: erase,
    Strategy.READMIT: readmit,
}


@dataclass(frozen=True)
class SparkEngine:
    """Does steps in one Spark session, which it ends unless it ``keeps_session``. ``clones``: sessions for
    reading that outlive it, too; None: its own."""

    session: SessionHandle
    lake: Lake
    keeps_session: bool = False
    clones: ReadingSessions | None = None
    _stop: Flag = field(default_factory=Flag)

    def __post_init__(self) -> None:
        note_jvm(self.session.jvm_pid)

    @cached_property
    def sessions(self) -> ReadingSessions:
        return self.clones or ReadingSessions(self.session.spark)

    def run_step(self, step: TableStep, listener: Listener) -> BatchReport:
        """Does one batch and publishes it. Raises RunError with the root cause of what fails in Spark."""
        with explaining(self.session, self.lake.project.secrets):
            # Sizes are asked of the catalog, so only where they decide something.
            if may_grow(self.session.spark) and DataSize.of(planned_bytes(self.lake, [step])).is_large:
                self.sessions.grow()
            spark = self.sessions.of(step, self.lake.project.root)
            batch = Batch(spark, self.lake.catalog, self.lake.project, step, listener, stop=self._stop)
        try:
            batch.meet_inputs()
            altered = _alter_columns(batch)
            table_uuid, draft = _WRITERS[step.strategy](batch, self.lake)
            draft = replace(draft, warnings=(*altered, *draft.warnings))
            draft = pass_gates(batch, draft)
            report = finish(batch, table_uuid, draft)
            untidy = self._settle(batch, draft)
            batch.pass_point("after-sidecars")
        except (Outdated, NotIncremental):
            raise
        except LakesmithError as error:
            if moved := self._moved(batch):
                raise moved from error
            raise
        except (Py4JError, PySparkException, OSError) as error:
            raise self._moved(batch, error) or self._told(batch, error) from error
        finally:
            batch.end_draft()
        ahead = still_ahead(step.notes, report.warnings)
        return replace(report, warnings=(*ahead, *report.warnings, *untidy))

    def run_export(self, step: ExportStep, folder: str) -> Written:
        """Writes the files of an export. Raises RunError with the root cause of what fails in Spark."""
        with explaining(self.session, self.lake.project.secrets):
            if step.traces is not None:
                # Noted before anything is written: an erasure has to find all that is.
                change = RefChange(step.uuid, None, properties={TRACES: step.traces})
                change_refs(self.session.spark, step.name, change)
            return write_export(self.session.spark, step, folder)

    def _moved(self, batch: Batch, error: Exception | None = None) -> Outdated | None:
        """Returns Outdated if another runner caused a failure: its publish removes the working branch."""
        if self.lake.project.target.is_local or self._stop.is_set():
            return None
        if error is not None and is_beaten(error):
            return Outdated("another writer committed to the table at every try to")
        try:
            batch.require_unmoved()
        except Outdated as moved:
            return moved
        except LakesmithError:
            # The catalog does not answer: what failed first tells more.
            return None
        return None

    def _told(self, batch: Batch, error: Exception) -> LakesmithError:
        failure = explained(self.session, self.lake, batch, error)
        is_shared = not self.lake.project.target.is_local
        return Unanswered(failure.problems[0]) if is_shared and is_unanswered(error) else failure

    def cancel(self) -> None:
        """Ends running jobs as soon as possible; nothing is published any more."""
        self._stop.set()
        self.session.cancel()

    def close(self) -> None:
        """Ends the session and its JVM, unless somebody keeps them."""
        if self.clones is None and (self.keeps_session or self.session.warm):
            asked_of_jvm(self.sessions.close)
        if not self.keeps_session:
            self.session.stop()

    def _settle(self, batch: Batch, draft: Draft) -> tuple[str, ...]:
        """Tidies the sidecars after the publish. Nothing published depends on it: failures are reported."""
        try:
            for kind in SidecarKind:
                if kind.value in draft.sidecars:
                    batch.java.settle_sidecar(sidecar_of(batch.name, kind), batch.branch)
        except Py4JError as error:
            problem = explain_failure(error, Path(self.session.log_path), self.lake.project.secrets)
            return (f"its sidecars were not tidied up, which the next batch does: {problem.what}",)
        return ()


def _alter_columns(batch: Batch) -> list[str]:
    table, drops = batch.step.table, batch.step.drops
    if not drops and not any(column.earlier for column in table.columns):
        # Most tables have none, and each look costs a request of a shared catalog.
        return []
    state = batch.there()
    if state is None or state.uuid != batch.step.base.uuid:
        return []
    if drops or renamings(table, state):
        batch.begin_draft(state)
    renamed = rename_columns(batch.spark, table, state)
    drop_columns(batch.spark, table, drops, batch.java.partition_columns(table.name) if drops else ())
    return [*renamed, *(f"column {name} is not declared any more and was dropped" for name in drops)]


def explained(session: SessionHandle, lake: Lake, batch: Batch, error: BaseException) -> LakesmithError:
    """Returns the failure without the project's secrets, which Spark may quote."""
    secrets, step = lake.project.secrets, batch.step
    if problem := failed_filter(error, batch, secrets):
        return QualityError(problem)
    problem = explain_failure(error, Path(session.log_path), secrets)
    if landed := landing_file(step, lake.project.root, error):
        file = printable(landed[1].path)
        skip = f"replace it by a whole one, or leave it out: lakesmith files {step.name} --skip {file}"
        problem = replace(problem, hint="; ".join(part for part in (skip, problem.hint) if part))
    return RunError(replace(problem, what=f"{step.name}: {problem.what}", place=step.table.place))
