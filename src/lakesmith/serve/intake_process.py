"""The intake process, which ``up`` starts, watches and ends.

``up`` opens the port and passes it on: a port in use is known at once, and connections wait while an intake
is replaced.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lakesmith.errors import EnvironmentProblem, UsageError
from lakesmith.serve.state import IntakeState

_PATIENCE_SECONDS: Final = 15.0
"""Seconds that the intake may take to seal its events."""
_SETTLED_SECONDS: Final = 10.0
"""Seconds; an intake that ended sooner is replaced after a pause, which doubles each time."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_WAITING_CONNECTIONS: Final = 2048


def listen(host: str, port: int, folders: Iterable[Path] = ()) -> list[socket.socket]:
    """Opens the port on each address of ``host``. Raises UsageError LS275 if that is not possible.

    Waits for the intake of a killed ``up``, which keeps the port until its events in ``folders`` are sealed.
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return _listen(host, port)
        except OSError as error:
            is_ours = error.errno == errno.EADDRINUSE and any(map(_is_written, folders))
            if not is_ours or time.monotonic() > end:
                raise _no_port(host, port, error) from None
        time.sleep(0.1)


def _listen(host: str, port: int) -> list[socket.socket]:
    opened: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            opened.append(socket.socket(family, kind, protocol))
            _bind(opened[-1], address)
    except OSError:
        for each in opened:
            each.close()
        raise
    return opened


def _bind(opened: socket.socket, address: tuple[object, ...]) -> None:
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if opened.family is socket.AF_INET6:
        opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    opened.bind(address)
    opened.listen(_WAITING_CONNECTIONS)


def _is_written(folder: Path) -> bool:
    """Returns whether an intake writes to a folder of segments."""
    try:
        lock = os.open(folder / ".lock", os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _no_port(host: str, port: int, error: OSError) -> UsageError:
    is_used = error.errno == errno.EADDRINUSE
    hint = (
        "end the process that listens there, or choose another port" if is_used else "choose another address"
    )
    return UsageError.of(
        "LS275",
        f"events cannot be taken at {host}, port {port}",
        None,
        "an address of this machine, and a port that nobody listens on",
        error.strerror or str(error),
        f"{hint}: lakesmith up --host ... --port ...",
    )


class IntakeProcess:
    """The intake process of a project, which is started again if it ends by itself.

    ``command`` are the arguments of ``lakesmith.serve.server``; ``notice`` receives each change of state and
    its lines, in a thread.
    """

    def __init__(self, command: Sequence[str], notice: Callable[[IntakeState, Sequence[str]], None]) -> None:
        self._command = [sys.executable, "-m", "lakesmith.serve.server", *command]
        self._notice = notice
        self._state = IntakeState()
        self._process: subprocess.Popen[bytes] | None = None
        self._sockets: Sequence[socket.socket] = ()
        self._has_ended = False
        self._lock = threading.Lock()
        self._is_ending = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="up-intake", daemon=True)

    def start(self, sockets: Sequence[socket.socket]) -> None:
        """Starts the process on sockets that listen."""
        self._sockets = sockets
        self._thread.start()

    def end(self) -> None:
        """Ends the process, which seals its events first."""
        with self._lock:
            self._is_ending.set()
        if self._process is not None:
            self._process.terminate()
            self._thread.join(_PATIENCE_SECONDS)
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        for each in self._sockets:
            each.close()

    def _keep(self) -> None:
        pause = 0.0
        while not self._is_ending.wait(pause):
            began = time.monotonic()
            how = self._live()
            if self._is_ending.is_set():
                return
            is_early = time.monotonic() - began < _SETTLED_SECONDS
            pause = min(max(2 * pause, _FIRST_PAUSE), _LONGEST_PAUSE) if is_early else 0.0
            self._has_ended = True
            line = f"the intake ended ({how}); it is started again, and what is sent meanwhile waits"
            self._put(replace(self._state, is_taking=False, troubles={}), line)

    def _live(self) -> str:
        """Runs the process to its end; returns how it ended, in words."""
        try:
            process = self._start()
        except OSError as error:
            return f"it cannot be started: {error}"
        if process is None:
            return ""
        self._follow(process)
        return _how(process.wait())

    def _start(self) -> subprocess.Popen[bytes] | None:
        """Returns None if the process is not wanted any more."""
        files = [each.fileno() for each in self._sockets]
        command = [*self._command, *(f"--fd={file}" for file in files)]
        with self._lock:
            if self._is_ending.is_set():
                return None
            # Ctrl-C is for this process, which ends the intake after its last batch.
            self._process = subprocess.Popen(
                command, start_new_session=True, pass_fds=files, stdout=subprocess.PIPE
            )
            return self._process

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        """Follows the states that the process prints as JSON lines, until it ends."""
        if process.stdout is None:
            return
        with process.stdout as lines:
            for line in lines:
                with suppress(ValueError, TypeError):
                    self._change(IntakeState(**json.loads(line)))

    def _change(self, state: IntakeState) -> None:
        before = self._state
        lines = ["the intake was started again"] if state.is_taking and self._has_ended else []
        self._has_ended = self._has_ended and not state.is_taking
        lines += [
            f"{path} takes no events: {why}"
            for path, why in state.troubles.items()
            if before.troubles.get(path) != why
        ]
        lines += [f"{path} takes events again" for path in before.troubles if path not in state.troubles]
        lines += [state.problem] if state.problem and state.problem != before.problem else []
        self._put(state, *lines)

    def _put(self, state: IntakeState, *lines: str) -> None:
        self._state = state
        # ``up`` ends by itself if nobody reads its output; the intake is kept until then.
        with suppress(OSError):
            self._notice(state, lines)


def _how(code: int) -> str:
    """Returns how a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


def require_server() -> None:
    """Raises EnvironmentProblem LS309 if the server's package is missing."""
    if find_spec("uvicorn") is None:
        raise EnvironmentProblem.of(
            "LS309",
            "the package uvicorn, which takes events over HTTP, is not installed",
            expected="lakesmith with its extra `live`",
            hint="pip install 'lakesmith[live]'",
        )
