"""Real processes without the start of a Python each: forks of one that has imported what they call.

A fork has its own memory, signals, environment and folder, and is killed as any process is. Where the start
or the import is the point, a test starts Python.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing import connection, get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

COMMAND: Final = "lakesmith.cli.main"
INTAKE: Final = "lakesmith.serve.server"
_COMMANDS: Final = ("lakesmith.cli.commands.up", "lakesmith.cli.commands.status")
_IMPORTED: Final = ("pytest", COMMAND, INTAKE, *_COMMANDS, "lakesmith.execute.run", "lakesmith.page.app")
_CONTEXT = get_context("forkserver")


class Forked:
    """A process that calls ``main`` of a module with words, as ``python -m`` does. It is used as Popen is.

    Args:
        sockets: it has each of them as one more option ``--fd``.
        outputs: 2: what it says, on its output and of errors, can be read here; 1: on its output alone.
    """

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        folder: Path | None = None,
        environment: Mapping[str, str] = os.environ,
        sockets: Sequence[socket.socket] = (),
        outputs: int = 2,
    ) -> None:
        _CONTEXT.set_forkserver_preload([*_IMPORTED])
        pipes = [_CONTEXT.Pipe(duplex=False) for _ in range(outputs)]
        written = [each for _, each in pipes]
        arguments = (module, list(words), folder or Path.cwd(), dict(environment), list(sockets), written)
        self._process = _CONTEXT.Process(target=_call, args=arguments, daemon=True)
        self._lock = threading.Lock()
        self._process.start()
        for each in written:
            each.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.stdout, self.stderr = [*(_file(read) for read, _ in pipes), None, None][:2]

    @classmethod
    def popen(cls, command: Sequence[str], *, pass_fds: Sequence[int], **named: Any) -> "Forked":
        """Stands for ``subprocess.Popen`` where ``up`` starts a process beside it."""
        sockets = [socket.socket(fileno=os.dup(each)) for each in pass_fds]
        words = [each for each in command[3:] if not each.startswith("--fd=")]
        found = cls(command[2], words, environment=named["env"], sockets=sockets, outputs=1)
        for each in sockets:
            each.close()
        return found

    @property
    def returncode(self) -> int | None:
        with self._lock:
            return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        connection.wait([self._process.sentinel], timeout)
        code = self.returncode
        assert code is not None, "it has not ended"
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it says until its end, little enough for a pipe."""
        self.wait(timeout)
        output, errors = (each.read().decode() for each in (self.stdout, self.stderr) if each is not None)
        return output, errors

    def send_signal(self, number: signal.Signals) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork_beside_up(patch: pytest.MonkeyPatch) -> None:
    """Has ``up`` fork the processes that it keeps beside it."""
    forking = SimpleNamespace(Popen=Forked.popen, PIPE=subprocess.PIPE)
    patch.setattr("lakesmith.serve.kept_process.subprocess", forking)


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Calls the command line in a folder."""
    process = Forked(COMMAND, words, folder)
    said = process.communicate(60)
    return subprocess.CompletedProcess(words, process.wait(), *said)


def _file(read: connection.Connection) -> Any:
    file = os.fdopen(os.dup(read.fileno()), "rb")
    read.close()
    return file


def _call(
    module: str,
    words: list[str],
    folder: Path,
    environment: dict[str, str],
    sockets: list[socket.socket],
    outputs: list[connection.Connection],
) -> None:
    """What the fork does."""
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    for each, file in zip(outputs, (1, 2), strict=False):
        os.dup2(each.fileno(), file)
        each.close()
    sys.argv = [module, *words, *(f"--fd={each.detach()}" for each in sockets)]
    sys.exit(import_module(module).main())
