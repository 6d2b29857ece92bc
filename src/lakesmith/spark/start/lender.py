"""Lends the JVM of a service to commands beside it, several at a time.

A command asks over a Unix socket that only this user can open, as it asks a keeper, and works in a session
of its own in the same JVM. It holds the connection until it is done and says ``done`` at the end. If a
connection ends without that, the command has died. If it only read, its jobs are cancelled, for a while: a
query that is being planned begins its jobs later. Otherwise what it had begun might still be published, so
the JVM is killed, and the service starts another one.

Spark cannot end a task in the middle of a row (a regular expression that backtracks for hours), and such a
task keeps its core. If tasks of cancelled jobs keep all cores, no batch would ever begin: the JVM is killed.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakesmith.plan.cost import DataSize
from lakesmith.spark.start.keeper import differing, kill, listening, peer_of, read_line
from lakesmith.spark.start.launch import answers

if TYPE_CHECKING:
    from lakesmith.spark.start.attempts import SessionHandle

_PATIENCE_SECONDS: Final = 5.0
_POLL_SECONDS: Final = 0.05
_END_SECONDS: Final = 1.0
_CANCEL_SECONDS: Final = 0.5
_CANCELS: Final = 120
"""How often the jobs of a command that died are cancelled. Planning ends before that."""
_LISTEN_SECONDS: Final = 20.0
"""How often the JVM is asked whether it answers."""
_LOOKS: Final = 10
"""How often one looks for tasks that go on after the command that wanted them, at least."""
_STUCK_LOOKS: Final = 20
"""How often in a row they keep all cores before the JVM is killed: ten seconds."""


@dataclass
class Lender:
    """Lends what ``session`` returns; it returns None while there is no JVM. A context manager.

    A JVM that does not answer for ``silence`` seconds, though its process is there, is killed: nothing that
    is done in it ends any more. ``is_starting``: whether there will be one shortly, which a command should
    wait for. ``patience``: seconds that its end waits for commands that still use the JVM. ``notice``
    receives lines for a person.
    """

    path: Path
    session: Callable[[], SessionHandle | None]
    is_starting: Callable[[], bool]
    notice: Callable[[str], None]
    patience: float = 10.0
    silence: float = 180.0
    _borrowers: set[int] = field(default_factory=set)
    _server: socket.socket | None = None
    _is_over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Lender:
        with suppress(OSError):
            # Without it, commands start a JVM of their own.
            self._server = listening(self.path)
            threading.Thread(target=self._serve, args=(self._server,), name="lender", daemon=True).start()
        threading.Thread(target=self._listen, name="lender-listens", daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        if self._server is None:
            return
        self.path.unlink(missing_ok=True)
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        if self._borrowers:
            who = ", ".join(map(str, sorted(self._borrowers)))
            self.notice(f"waiting up to {self.patience:g} s for processes that use this engine: {who}")
        until = time.monotonic() + self.patience
        while self._borrowers and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)

    def _listen(self) -> None:
        """Kills a JVM that does not answer any more."""
        while not self._is_over.wait(min(_LISTEN_SECONDS, self.silence)):
            handle = self.session()
            if handle is None or handle.lent is None or answers(handle.lent.gateway, self.silence):
                continue
            if handle.is_alive() and not self._is_over.is_set():
                self.notice(f"Spark has not answered for {self.silence:.0f} s: the engine is replaced")
                kill(handle.jvm_pid)

    def _serve(self, server: socket.socket) -> None:
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._lend, args=(connection,), name="lent", daemon=True).start()

    def _lend(self, connection: socket.socket) -> None:
        connection.settimeout(_PATIENCE_SECONDS)
        with connection, suppress(OSError, ValueError, KeyError):
            pid, uid = peer_of(connection)
            request = json.loads(read_line(connection))
            handle = self.session() if uid in (None, os.getuid()) else None
            answer = {"starting": True} if handle is None and self.is_starting() else _answer(handle, request)
            if handle is None or "port" not in answer:
                connection.sendall(json.dumps(answer).encode() + b"\n")
                return
            self._borrowers.add(pid)
            died = False
            try:
                connection.sendall(json.dumps(answer).encode() + b"\n")
                connection.settimeout(None)
                died = self._await(connection, handle, request, pid)
            finally:
                self._borrowers.discard(pid)
                if request["reads"]:
                    self._clear(handle, request["tag"] if died else None)

    def _await(
        self, connection: socket.socket, handle: SessionHandle, request: dict[str, Any], pid: int
    ) -> bool:
        """Waits for the end of a command. Returns whether it died, and only read."""
        is_done = False
        with suppress(OSError):
            is_done = read_line(connection) == b"done"
        if is_done or _has_ended(handle):
            return False
        if request["reads"]:
            return True
        self.notice(f"process {pid} died while it used this engine, which ends with what it had begun")
        kill(handle.jvm_pid)
        return False

    def _clear(self, handle: SessionHandle, tag: str | None) -> None:
        """Cancels the jobs of a command that died (``tag``), and waits till no task goes on without a job."""
        looks = stuck = left = 0
        with suppress(Exception):
            while handle.is_alive() and (left or looks < (_CANCELS if tag else _LOOKS)):
                if tag and looks < _CANCELS:
                    handle.spark.sparkContext.cancelJobsWithTag(tag)
                left = _tasks_left(handle)
                stuck = stuck + 1 if left >= handle.spark.sparkContext.defaultParallelism else 0
                if stuck > _STUCK_LOOKS:
                    self.notice(
                        "a cancelled query cannot be ended and keeps all cores: the engine is replaced"
                    )
                    kill(handle.jvm_pid)
                    return
                looks += 1
                time.sleep(_CANCEL_SECONDS)


def _has_ended(handle: SessionHandle) -> bool:
    """Returns whether the JVM has ended: commands notice it before its process has."""
    until = time.monotonic() + _END_SECONDS
    while handle.is_alive():
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _tasks_left(handle: SessionHandle) -> int:
    """Returns how many tasks run that no stage wants."""
    context = handle.spark.sparkContext
    stages = context.statusTracker()
    infos = map(stages.getStageInfo, stages.getActiveStageIds())
    wanted = sum(each.numActiveTasks for each in infos if each is not None)
    executors: Any = context._jsc.sc().statusTracker().getExecutorInfos()
    return int(sum(each.numRunningTasks() for each in executors)) - wanted


def _answer(handle: SessionHandle | None, request: dict[str, Any]) -> dict[str, Any]:
    if handle is None or handle.lent is None:
        return {"none": True}
    differs = differing(request["want"], dict(handle.lent.parts))
    if not handle.lent.size.is_large and handle.lent.size not in DataSize(request["size"]).served_by:
        differs.append("size")
    if differs:
        return {"differs": differs}
    gateway = handle.lent.gateway
    return {"port": gateway.port, "secret": gateway.secret, "jvm_pid": gateway.jvm_pid}
