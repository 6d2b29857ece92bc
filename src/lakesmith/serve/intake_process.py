"""The intake process, which ``up`` starts, watches and ends."""

from __future__ import annotations

import errno
import json
import signal
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lakesmith.errors import EnvironmentProblem, UsageError
from lakesmith.serve.intake.segments import JOURNALS
from lakesmith.serve.kept_process import KeptProcess, open_port
from lakesmith.serve.state import IntakeState
from lakesmith.whole_file import is_locked

_PATIENCE_SECONDS: Final = 15.0
"""Seconds that the intake may take to seal its events."""
_SEALING_SECONDS: Final = 0.25
"""Seconds that a run waits for segments of what is written; what comes later is for the next run."""


def listen(host: str, port: int, folders: Iterable[Path] = ()) -> list[socket.socket]:
    """Opens the port on each address of ``host``. Raises UsageError LS275 if that is not possible.

    Waits for the intake of a killed ``up``, which keeps the port until its events in ``folders`` are sealed.
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return open_port(host, port)
        except OSError as error:
            is_ours = error.errno == errno.EADDRINUSE and any(is_locked(each / ".lock") for each in folders)
            if not is_ours or time.monotonic() > end:
                raise _no_port(host, port, error) from None
        time.sleep(0.1)


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
        command = ["lakesmith.serve.server", *command]
        self._process = KeptProcess(command, "up-intake", self._follow, self._on_end, _PATIENCE_SECONDS)
        self._notice = notice
        self._state = IntakeState()
        self._has_ended = False

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def start(self, sockets: Sequence[socket.socket]) -> None:
        self._process.start(sockets)

    def seal(self, folders: Iterable[Path]) -> None:
        """Has the process make segments of the journals in ``folders``, and waits for them a moment."""
        journals = [path for folder in folders for path in folder.glob(JOURNALS)]
        # Before it takes events it would not know the signal.
        if not self._state.is_taking or not journals:
            return
        self._process.tell(signal.SIGUSR1)
        end = time.monotonic() + _SEALING_SECONDS
        while any(path.exists() for path in journals) and time.monotonic() < end:
            time.sleep(_SEALING_SECONDS / 50)

    def end(self) -> None:
        """Ends the process, which seals its events first."""
        self._process.end()

    def _on_end(self, how: str) -> None:
        self._has_ended = True
        line = f"the intake ended ({how}); it is started again, and what is sent meanwhile waits"
        self._put(replace(self._state, is_taking=False, troubles={}), line)

    def _follow(self, line: bytes) -> None:
        """Follows the states that the process prints as JSON lines."""
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
        self._notice(state, lines)


def require_server() -> None:
    """Raises EnvironmentProblem LS309 if the server's package is missing."""
    if find_spec("uvicorn") is None:
        raise EnvironmentProblem.of(
            "LS309",
            "the package uvicorn, which takes events over HTTP, is not installed",
            expected="lakesmith with its extra `live`",
            hint="pip install 'lakesmith[live]'",
        )
