"""A test's server as a process: it logs to its folder, tells its port there, and ends with its parent."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

PATIENCE = 60.0
"""Seconds that a server may take to answer, on a machine that is busy with other things."""

T = TypeVar("T")


class ServerProcess:
    """One process. Its input is a pipe that nobody writes to: it ends when the one who started it is gone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._before = 0

    @property
    def pid(self) -> int | None:
        """Its number, or None when it does not run."""
        return None if self._process is None else self._process.pid

    def start(self, command: Sequence[str | Path], environ: Mapping[str, str]) -> None:
        """Starts it; it need not answer yet."""
        assert self._process is None, "it runs already"
        self._before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(map(str, command)),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=dict(environ),
            )

    def wait_for(self, answer: Callable[[], T | None], seconds: float = PATIENCE) -> T:
        """Waits until ``answer`` is not None; fails with the end of the log if that takes too long."""
        assert self._process is not None, "it was not started"
        until = time.monotonic() + seconds
        while (found := answer()) is None:
            if self._process.poll() is not None or time.monotonic() > until:
                raise AssertionError(f"it does not answer:\n{self.said()[-4000:]}")
            time.sleep(0.02)
        return found

    def said(self) -> str:
        return self.log.read_bytes()[self._before :].decode(errors="replace")

    def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(PATIENCE)
        assert process.stdin is not None
        process.stdin.close()


class Startable(Protocol):
    def start(self) -> None: ...
    def end(self) -> None: ...


Server = TypeVar("Server", bound=Startable)


@contextmanager
def started(make: Callable[[Path], Server]) -> Iterator[Server]:
    """A server, made in a temporary folder, that lives until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="server-", ignore_cleanup_errors=True) as folder:
        server = make(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.end()


def free_port() -> int:
    """A port of loopback that nobody listens on, for a server that must be told one."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
