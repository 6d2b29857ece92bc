"""Access to one project, its lake and its Spark session, shared by the calls of a ``Lakehouse``."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event as Flag
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from lakesmith.api.results import Change, P, R
from lakesmith.api.words import duration
from lakesmith.cache import Look
from lakesmith.catalog.lock import ProjectLock
from lakesmith.errors import LakesmithError, Problem, ProjectError
from lakesmith.execute.engine import Engine
from lakesmith.execute.events import Listener
from lakesmith.execute.opened import KeptProject, Opened, read_project
from lakesmith.execute.unforeseen import DEBUG, unforeseen
from lakesmith.journal.acting import Action, acting
from lakesmith.journal.lines import AUDIT, Journal
from lakesmith.library_logs import hide
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import STATE_DIR, Project
from lakesmith.project.files import scratch_folder
from lakesmith.redaction import redacted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesmith.spark.read.sessions import ReadingSessions
    from lakesmith.spark.start.resident import KeepWarm
    from lakesmith.spark.start.session import SessionHandle


T = TypeVar("T")
GiveUp = Callable[[threading.Event], None]
"""Ends a call early; it may try until the call has ended."""

WARM_SECONDS: Final = 600.0
"""Seconds that a command in a terminal leaves Spark running, unless the project declares otherwise."""
PATIENCE_SECONDS = 10.0
"""Seconds that an interrupt waits for the work it ends; then the work ends in the background."""


def finish(_ended: threading.Event) -> None:
    """Lets a short call finish."""


class Calls:
    """Makes calls for any number of threads."""

    def __init__(self, patience: float | None = PATIENCE_SECONDS) -> None:
        self._patience = patience
        # Per thread: a callback of a call that is being ended must not wait for it.
        self._interrupted = threading.local()

    def do(self, call: Callable[[], T], give_up: GiveUp = finish) -> T:
        """Makes a call once an interrupted one of this thread has ended; an interrupt calls ``give_up``."""
        ending: threading.Thread | None = getattr(self._interrupted, "ending", None)
        if ending is not None:
            ending.join()
        return self.do_at_once(call, give_up)

    def do_at_once(self, call: Callable[[], T], give_up: GiveUp = finish) -> T:
        """The same, beside a call that is still ending."""
        answer: Future[T] = Future()
        ended = threading.Event()
        worker = threading.Thread(target=_answer, args=(answer, call, ended), name="lakesmith")
        try:
            worker.start()
            return answer.result()
        except BaseException:
            if not answer.done():
                self._end(give_up, ended)
            raise

    def _end(self, give_up: GiveUp, ended: threading.Event) -> None:
        before: threading.Thread | None = getattr(self._interrupted, "ending", None)

        def end() -> None:
            give_up(ended)
            ended.wait()
            if before is not None:
                before.join()

        # A daemon: Python waits for the call itself at its exit, and lets go of what tries to end it.
        self._interrupted.ending = threading.Thread(target=end, name="lakesmith-end", daemon=True)
        self._interrupted.ending.start()
        self._interrupted.ending.join(self._patience)


def _answer(answer: Future[Any], call: Callable[[], Any], ended: threading.Event) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the answer
        answer.set_exception(error)
    finally:
        ended.set()


def ignore(_told: object) -> None:
    """Drops a notice or an event."""


def _no_display(_text: str) -> AbstractContextManager[object]:
    return nullcontext()


@dataclass(frozen=True)
class Host:
    """What the calling program shows and keeps while a call works; by default nothing.

    Attributes:
        notice: receives lines for a person: which process a call waits for, that Spark stays warm.
        busy: shows a text as long as its context is open: ``starting Spark``.
        progress: receives the work of Spark in words, every half second of a run.
        reuses: whether a JVM that an earlier process left warm serves.
        keeps_warm: whether the JVM is left warm for the next process: ``if declared``: only if the project
            declares for how long.
        patience: seconds that an interrupt waits for the work it ends; None: until it has ended.
        service: the service that calls, for the journal: runs without work are not written then.
        place: where a person asked for what is done, for the journal.
        keeps_project: whether the project is read again only once its files have changed.
    """

    notice: Callable[[str], None] = ignore
    busy: Callable[[str], AbstractContextManager[object]] = _no_display
    progress: Callable[[str], None] | None = None
    reuses: bool = False
    keeps_warm: bool | Literal["if declared"] = False
    patience: float | None = PATIENCE_SECONDS
    service: str = ""
    place: str = ""
    keeps_project: bool = False


class Access:
    """A project's folder and target, and the Spark session that is started when a call first needs one."""

    def __init__(
        self,
        folder: str | Path,
        target: str | None,
        given: SparkSession | None = None,
        host: Host | None = None,
    ) -> None:
        self.folder, self.target, self.host = Path(folder).resolve(), target, host or Host()
        self.is_named = Path(folder) != Path()
        """Whether the caller named a folder: the current one need not be a project."""
        self.project: Project | None = None
        """The project as it was last read, for its secrets and logs; a kept one, too, that is broken."""
        self._kept = KeptProject(self.folder, target) if self.host.keeps_project else None
        self._look = Look()
        self.given = given
        self._action: Action | None = None
        self._handle: SessionHandle | None = None
        self._clones: ReadingSessions | None = None
        self._reads_topics = self._only_reads = False
        self.size = DataSize.LARGE
        """What the session is set up for, or the last one was."""
        self._starting = Lock()
        self._calls = Calls(self.host.patience)

    @property
    def is_warm(self) -> bool:
        """Whether a session for little data was started already, here or by a command that left it warm."""
        if self._handle is not None:
            return self.size is DataSize.LITTLE
        if (keep := self._keep(self.opened())) is None:
            return False
        from lakesmith.spark.start.resident import size_of_kept

        return size_of_kept(keep.path) is DataSize.LITTLE

    @property
    def stays(self) -> bool:
        """Whether the session does more work after a call: of this process, or of the next command."""
        keep = self._keep(self.opened())
        return keep is None or keep.seconds > 0

    @property
    def handle(self) -> SessionHandle | None:
        """The session, if it was started."""
        return self._handle

    @property
    def lost_spark(self) -> bool:
        """Whether the session has ended by itself; the next call starts another."""
        return self._handle is not None and not self._handle.is_alive()

    @property
    def is_starting(self) -> bool:
        """Whether a session is being started now."""
        return self._starting.locked()

    def opened(self) -> Opened:
        """Reads the project and the lake again. Raises ProjectError with every problem found."""
        return self._look.get("opened", self._opened)

    def _opened(self) -> Opened:
        opened = read_project(self.folder, self.target) if self._kept is None else self._read(self._kept)
        self.project = opened.project
        hide(self.project.secrets)
        return opened

    def _read(self, kept: KeptProject) -> Opened:
        try:
            return kept.opened() if self._look.known is None else kept.opened_or_before()
        except ProjectError:
            self.project = kept.broken
            raise

    def one_look(self) -> AbstractContextManager[object]:
        """Makes ``opened`` answer, in this thread, with what it returns first. A kept project that was broken
        since it was read is as it was before."""
        return self._look.one()

    def do(self, call: Callable[[], T], give_up: GiveUp = finish) -> T:
        """Makes a call that an interrupt of the caller does not cut in two (see ``calls``). Raises RunError
        LS60x in place of what Spark fails with, whatever that is if its JVM has died."""
        return self._calls.do(lambda: self._explained(call), give_up)

    def _explained(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except LakesmithError:
            raise
        except Exception as error:
            if (session := self._handle) is None:
                raise
            from lakesmith.spark.jvm.failures import explain_in_session

            secrets = self.project.secrets if self.project else ()
            found = explain_in_session(error, session.log_path, session.is_alive, secrets)
            if found is None:
                raise
            raise found from error

    def do_in_spark(self, session: SessionHandle, call: Callable[[], T]) -> T:
        """Makes a call that uses Spark: an interrupt cancels its jobs."""

        def cancel(ended: Flag) -> None:
            from lakesmith.spark.open import keep_cancelling

            keep_cancelling(session.cancel, ended)

        return self.do(call, cancel)

    def in_session(self, opened: Opened, size: DataSize, work: Callable[[SessionHandle], T]) -> T:
        """Does ``work`` in the session, started if need be: an interrupt cancels its jobs."""
        session = self.do(lambda: self.session(opened, size))
        return self.do_in_spark(session, lambda: work(session))

    def alone(self, opened: Opened, command: str, wait: float = 0.0) -> AbstractContextManager[ProjectLock]:
        """Locks the lake. Raises LockedError LS701, LS703 if another holds it after ``wait`` seconds."""
        from lakesmith.execute.locking import Claim

        def waits_for(holder: str) -> None:
            self.host.notice(f"waiting: the project is in use by {holder}")

        return Claim(opened.lake, command, wait, waits_for).both()

    def noting(
        self, project: Project, kind: str, text: str, tables: Sequence[object] = (), lasting: bool = False
    ) -> AbstractContextManager[Action]:
        """Writes to the project's journal what the body does. ``lasting``: it is kept for ever."""
        service = self.host.service
        text += f" ({self.host.place})" if self.host.place else ""
        journal = Journal(project.state_dir, project.secrets)
        self._action = Action(journal, kind, service or text, tables, lasting, lazy=bool(service))
        if not self._action.begin() and lasting:
            self.host.notice(f"{text}: who did it cannot be written to {project.state_dir / AUDIT}")
        return acting(self._action)

    def noted(
        self, change: Change[P, R], project: Project, kind: str, text: str, tables: Sequence[object]
    ) -> Change[P, R]:
        """Returns the change, which is written to the journal when it is made, and kept there for ever."""

        def make(preview: Any) -> R:
            with self.noting(project, kind, text, tables, lasting=True):
                return change._make(preview)

        return replace(change, _make=make)

    def session(
        self, opened: Opened, size: DataSize, stays: bool = True, reads: bool = False
    ) -> SessionHandle:
        """The Spark session, started for ``size`` if need be. ``stays``: whether it may be left warm for the
        next process; ``reads``: the caller only reads."""
        from lakesmith.spark.jvm.growing import grow
        from lakesmith.spark.open import open_session
        from lakesmith.spark.start.resident import STARTS_ITS_OWN

        with self._starting:
            self._require_writer(reads)
            self._require_living()
            if self._handle is None:
                self.size = size
                keep = self._keep(opened, reads) if stays else None
                with self.host.busy("starting Spark"):
                    self._handle = open_session(opened.project, size, keep, self.given)
                for note in (each for each in self._handle.notes if STARTS_ITS_OWN in each):
                    self.host.notice(note)
                self._reads_topics = opened.project.has_topics
                self._follow()
            elif size is not DataSize.LITTLE:
                grow(self._handle.spark)
            return self._handle

    def engine(self, opened: Opened, lock: ProjectLock, tell: Listener, size: DataSize) -> Engine:
        """An engine in the Spark session, which the lock's holder is said to use."""
        from lakesmith.spark.engine import SparkEngine
        from lakesmith.spark.open import open_engine
        from lakesmith.spark.read.sessions import ReadingSessions

        with self._starting:
            self._require_writer(reads=False)
            self._require_living()
            if self._handle is not None and opened.project.has_topics and not self._reads_topics:
                # The project got its first topic since: a running JVM gets no jars.
                self._end_session()
            if self._handle is None:
                self.size = size
                engine = open_engine(opened.lake, lock, tell, size, self._keep(opened), self.given)
                self._handle = engine.session
                self._reads_topics = opened.project.has_topics
                self._follow()
            lock.note_jvm(self._handle.jvm_pid)
            if self._clones is None:
                self._clones = ReadingSessions(self._handle.spark)
            return SparkEngine(self._handle, opened.lake, True, self._clones)

    def stop_warm(self, opened: Opened) -> None:
        """Ends the session, and one that an earlier process left warm."""
        from lakesmith.spark.start.resident import socket_of, stop

        self.close()
        stop(socket_of(opened.project.root, opened.project.target.name))

    def close(self) -> None:
        """Ends the session, or leaves it warm for the next process where the host wants that."""
        self._calls.do_at_once(self._end)

    def _end(self) -> None:
        with self._starting:
            self._end_session()

    def _end_session(self) -> None:
        clones, self._clones = self._clones, None
        if self._handle is not None:
            if clones is not None and (self._handle.leave is not None or self._handle.warm):
                # The JVM may outlive the session.
                from lakesmith.spark.start.stop import asked_of_jvm

                asked_of_jvm(clones.close)
            self._handle.stop()
            self._handle = None

    def _require_living(self) -> None:
        """Ends a session whose JVM has died. One that was given is its owner's."""
        if self.lost_spark and self.given is None:
            self._end_session()

    def _require_writer(self, reads: bool) -> None:
        """Ends a session in the JVM of ``up`` that was asked for to read, if now something is written."""
        if self._handle is not None and self._handle.warm and self._only_reads and not reads:
            self._end_session()
        self._only_reads = reads if self._handle is None else self._only_reads

    def _follow(self) -> None:
        is_shown = self.host.progress is not None or self.host.service or self.host.reuses
        if self._handle is not None and is_shown:
            from lakesmith.spark.open import follow

            follow(self._handle.spark, self._on_progress)

    def _on_progress(self, text: str) -> None:
        if self._action is not None:
            self._action.progress(text)
        if self.host.progress is not None:
            self.host.progress(text)

    def _keep(self, opened: Opened, reads: bool = False) -> KeepWarm | None:
        """Where a warm session of the project is, and how long this process leaves one."""
        if self.given is not None or not self.host.reuses:
            return None
        from lakesmith.spark.start.resident import KeepWarm, socket_of

        project = opened.project
        seconds = self._warm_seconds(project.keep_warm_seconds)
        left = f"Spark stays warm for {duration(seconds)}; lakesmith stop ends it"
        place = (project.root, project.target.name)
        paths = socket_of(*place), socket_of(*place, kind="up")
        return KeepWarm(paths[0], seconds, lambda: self.host.notice(left), reads, paths[1])

    def _warm_seconds(self, declared: float | None) -> float:
        if not self.host.keeps_warm:
            return 0.0
        usual = WARM_SECONDS if self.host.keeps_warm is True else 0.0
        return usual if declared is None else declared


def unforeseen_in(access: Access | None, error: Exception) -> Problem:
    """LS900 for an error that nobody foresaw; its stack trace goes to the project's logs, if there is one."""
    project = access.project if access else None
    secrets = project.secrets if project else ()
    if os.environ.get(DEBUG) == "1":
        print(redacted("".join(traceback.format_exception(error)), secrets), file=sys.stderr)
    root = project.root if project else Path()
    in_project = project is not None or Path(STATE_DIR).is_dir()
    return unforeseen(error, scratch_folder(root) / "logs" if in_project else None, secrets)
