"""A project as an object: for notebooks, orchestrators and programs.

    with lakesmith.open("shop") as shop:
        shop.run()
        print(shop.table("gold.sales").pandas())

The command line does the same by the same parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event as Flag
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING

from lakesmith.api.calls import Calls
from lakesmith.api.frames import Rows, Table
from lakesmith.api.opened import Opened, read_project
from lakesmith.api.question import ask
from lakesmith.api.results import RunFailed, RunResult, result_of
from lakesmith.catalog.lock import ProjectLock
from lakesmith.execute.engine import Engine, RunStopped
from lakesmith.execute.events import Event, Listener
from lakesmith.execute.forecast import Forecast, forecast
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Maintained, NotMaintained, Orders, Unknown, verdicts
from lakesmith.execute.run import Run
from lakesmith.execute.status import TableStatus, statuses
from lakesmith.plan.maintenance import Care

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesmith.spark.start.session import SessionHandle
    from lakesmith.spark.upkeep import Upkeep


class Lakehouse:
    """A project on one of its targets. Each call reads the project's files and the lake's state anew.

    Spark is started when it is first needed and kept until ``close``, or the end of the ``with`` block; there is one Spark session
    in a process, and where the caller has one it is handed over as ``spark``. Whatever is wrong is raised as a ``LakesmithError`` with its ``problems``. Ctrl-C, or what else is raised in the thread
    of the caller, ends what is under way: it is raised once that has ended, after ten seconds, or at a second one.
    """

    def __init__(
        self, folder: str | Path, target: str | None = None, spark: SparkSession | None = None
    ) -> None:
        self.folder, self.target = Path(folder).resolve(), target
        self._given = spark
        self._handle: SessionHandle | None = None
        self._reads_topics = False
        self._starting = Lock()
        self._calls = Calls()
        self._opened()

    def __enter__(self) -> Lakehouse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def tables(self, *select: str) -> Mapping[str, tuple[str, ...]]:
        """The selected tables (all, without a pattern), each behind those it reads, with the tables it reads. Starts no Spark."""
        opened = self._opened()
        return {str(name): tuple(map(str, opened.graph.node(name).inputs)) for name in opened.names(select)}

    def plan(self, *select: str) -> tuple[Forecast, ...]:
        """What a run would do with the selected tables (all, without a pattern), and what it costs. Starts no Spark."""
        opened = self._opened()
        decider = opened.decider(warm=self._is_warm)
        return forecast(decider, opened.names(select))

    def status(self, *select: str) -> tuple[TableStatus, ...]:
        """How the selected tables stand. Starts no Spark."""
        opened = self._opened()
        return statuses(opened.decider(), opened.names(select))

    def run(
        self,
        *select: str,
        full_refresh: Sequence[str] = (),
        approve: Sequence[str] = (),
        wait: float = 0.0,
        on_event: Listener | None = None,
    ) -> RunResult:
        """Brings the selected tables up to date, as ``lakesmith run`` does.

        Args:
            select: patterns as the command has them: ``silver.*``, ``+gold.sales``; none: all tables.
            full_refresh: tables to be rebuilt.
            approve: tables that may lose what their change takes away (``LS524``).
            wait: seconds to wait for another run of the project.
            on_event: is called with each event of ``lakesmith.events``, from several threads.

        Raises:
            RunFailed: tables failed; its ``result`` tells of the others, which were published.
            LockedError: another run holds the project.
        """
        opened = self._opened()
        names, decider = opened.to_run(select, full_refresh, self._is_warm, approve)
        events: list[Event] = []

        def tell(event: Event) -> None:
            events.append(event)
            if on_event is not None:
                on_event(event)

        def engine(lock: ProjectLock, little: bool) -> Engine:
            if run.stop.is_set():
                raise RunStopped([])
            return self._engine(opened, lock, tell, little)

        run = Run(decider, names, engine, tell, wait_seconds=wait)
        self._calls.do(run.run, partial(_give_up, run))
        result = result_of(events)
        if result.exit_code:
            raise RunFailed(result)
        return result

    def query(self, sql: str, as_of: str | None = None) -> Rows:
        """The rows of a SELECT over the lake's tables (``bronze.orders``), now or as of a time, a tag or a snapshot's id.

        Raises UsageError LS24x for what is no such query, LS23x for what is no point of the past.
        """
        opened = self._opened()
        question = ask(opened, sql, as_of)
        session = self._calls.do(lambda: self._session(opened, question.little))
        return Rows(session, question, tuple(opened.project.secrets), self._calls)

    def table(self, name: str) -> Table:
        """A table of the project. Raises UsageError LS201 for one that is not declared."""
        return Table(self.query, str(self._opened().one(name)))

    def session(self) -> SparkSession:
        """The Spark session, with the lake as its current catalog. Tables change by ``run`` alone."""
        return self._calls.do(self._spark)

    def keep_up(self, name: str) -> Upkeep:
        """Puts the small files of a table together and lets old snapshots go, as ``lakesmith up`` does from time to time.

        Raises UsageError LS221 for a table of others, LockedError while a run holds the project, RunError where it fails: the table's rows are
        the same in any case.
        """
        from lakesmith.spark.upkeep import keep_up

        opened = self._opened()
        table = opened.one_of_ours(name)
        with Turns(opened.lake, "upkeep", wait_seconds=0.0).take():
            session = self._session(opened, little=False)
            return self._calls.do(lambda: keep_up(session, opened.lake, table))

    def maintain(
        self,
        *select: str,
        orphans: bool = False,
        remove_orphans: bool = False,
        give_way: Callable[[], bool] = lambda: False,
    ) -> tuple[Maintained | NotMaintained, ...]:
        """Looks after the selected tables (all, without a pattern) that need it, as ``lakesmith maintain`` does; gives those that it took.

        Args:
            select: patterns as the command has them: ``silver.*``, ``+gold.sales``.
            orphans: files that no snapshot has are looked for, too.
            remove_orphans: they are removed, too.
            give_way: is asked between two pieces of work; True ends it there, and the next call goes on.

        Runs of other processes come in between. What fails of a table is in its ``problems``. Ctrl-C ends the piece that is under way: what
        was done until then stays, and is right.
        """
        opened = self._opened()
        orders = Orders(orphans, remove_orphans)
        found = verdicts(opened.lake, opened.names(select), orders.looks_for_orphans)
        unknown = [NotMaintained(each.table, (each.problem,)) for each in found if isinstance(each, Unknown)]
        cares = [each for each in found if isinstance(each, Care) and each.todo]
        done: list[Maintained | NotMaintained] = []
        if cares:
            turns = Turns(opened.lake, "maintain", give_way=give_way)
            self._maintain(opened, (turns, orders), cares, done)
        return (*done, *unknown)

    def _maintain(
        self,
        opened: Opened,
        how: tuple[Turns, Orders],
        cares: Sequence[Care],
        done: list[Maintained | NotMaintained],
    ) -> None:
        from lakesmith.spark.maintain import Maintainer, maintain_tables
        from lakesmith.spark.progress import keep_cancelling

        session = self._calls.do(lambda: self._session(opened, little=False))
        turns, orders = how

        def give_up(ended: Flag) -> None:
            turns.stop.set()
            keep_cancelling(session.cancel, ended)

        maintainer = Maintainer(session, opened.lake, turns, orders)
        with suppress(RunStopped):
            self._calls.do(lambda: maintain_tables(maintainer, cares, done.append), give_up)

    def close(self) -> None:
        """Ends Spark, if it was started. The next call that needs it starts it again."""
        self._calls.do_at_once(self._end)

    @property
    def _is_warm(self) -> bool:
        """Whether its Spark is there already: it has worked, and stays for what comes."""
        return self._handle is not None

    def _opened(self) -> Opened:
        return read_project(self.folder, self.target)

    def _end(self) -> None:
        with self._starting:
            if self._handle is not None:
                self._handle.stop()
                self._handle = None

    def _spark(self) -> SparkSession:
        from lakesmith.catalog.protocol import CATALOG_NAME

        spark = self._session(self._opened(), little=False).spark
        spark.sql(f"USE {CATALOG_NAME}")
        return spark

    def _session(self, opened: Opened, little: bool) -> SessionHandle:
        from lakesmith.spark.open import open_session

        with self._starting:
            if self._handle is None:
                self._handle = open_session(opened.project, little, given=self._given)
                self._reads_topics = opened.project.has_topics
            return self._handle

    def _engine(self, opened: Opened, lock: ProjectLock, tell: Listener, little: bool) -> Engine:
        from lakesmith.spark.engine import SparkEngine
        from lakesmith.spark.open import open_engine

        with self._starting:
            if self._handle is not None and opened.project.has_topics and not self._reads_topics:
                # The project got its first topic since: a running JVM gets no jars.
                self._handle.stop()
                self._handle = None
            if self._handle is None:
                self._handle = open_engine(opened.lake, lock, tell, little, given=self._given).session
                self._reads_topics = opened.project.has_topics
            lock.note_jvm(self._handle.jvm_pid)
            return SparkEngine(self._handle, opened.lake, keeps_session=True)


def _give_up(run: Run, ended: Flag) -> None:
    run.stop.set()
    from lakesmith.spark.progress import keep_cancelling

    keep_cancelling(lambda: run.engine.cancel() if run.engine else None, ended)


def lost_spark(lakehouse: Lakehouse) -> bool:
    """Whether its Spark was started and has ended by itself: ``close`` has the next call start another one."""
    handle = lakehouse._handle
    return handle is not None and not handle.is_alive()


def open_lakehouse(
    folder: str | Path = ".", target: str | None = None, spark: SparkSession | None = None
) -> Lakehouse:
    """Opens the project in ``folder`` on a target; None: its default one. Raises ProjectError with every problem found.

    ``spark``: a session that is there already. Work is done in a child of it with settings of its own, and it is never stopped.
    """
    return Lakehouse(folder, target, spark)
