"""The page's server, of ``lakesmith ui`` and beside ``lakesmith up``. It starts no JVM."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lakesmith.errors import EnvironmentProblem
from lakesmith.page.guard import Guard, token_in
from lakesmith.serve.kept_process import open_port
from lakesmith.serve.options import PageOptions
from lakesmith.serve.page_process import BEAT_SECONDS, no_port
from lakesmith.serve.state import is_alive, read_state

if TYPE_CHECKING:
    from lakesmith.page.app import Lake, Words
    from lakesmith.project.definitions import Project

_MOST_CONNECTIONS: Final = 500
"""Requests and streams at once; more are refused."""
_NICE: Final = 10
"""How much less the page's process is worth beside ``up`` than batches."""


class Ui:
    """The page of a project.

    ``keep`` serves it until ``stop`` is called, from another thread or a signal handler. Port 0: any.
    ``may_change``: whether it may change the lake, which it does beside ``up`` alone.
    """

    def __init__(
        self,
        lake: Lake,
        state_dir: Path,
        options: PageOptions,
        words: Words,
        project: Callable[[], Project | None],
        may_change: bool = False,
    ) -> None:
        self._lake, self._state_dir, self._options = lake, state_dir, options
        self._words, self._project = words, project
        self.may_change = may_change
        """Whether the page offers actions. It is read when the page begins."""
        self._ended = threading.Event()
        self._parent: int | None = None
        self.is_ready = threading.Event()
        """Set once the page can be read."""

    @property
    def port(self) -> int:
        """The port, known once it is open."""
        return self._options.port

    @property
    def url(self) -> str:
        """The page's address: that of ``up``, if it serves the page."""
        up = None if self.is_ready.is_set() else read_state(self._state_dir)
        return up.page if up is not None and up.page and is_alive(up) else self._options.url

    @property
    def link(self) -> str:
        """The address that signs a browser in. Whoever has it can read the lake."""
        return f"{self.url}/?token={token_in(self._state_dir)}"

    def keep(self, ready: Callable[[Ui], None] = lambda _: None, files: Sequence[int] = ()) -> None:
        """Serves until ``stop``; ``ready`` is called once the port is open.

        ``files``: the numbers of sockets that listen, opened by ``up``, at whose end this ends, too. Raises
        UsageError LS275 (the port is not free), EnvironmentProblem LS309 (a package is missing).
        """
        require_page()
        if files:
            self._parent = os.getppid()
            os.nice(_NICE)
        opened = [socket.socket(fileno=each) for each in files] or self._listening()
        try:
            self._options = replace(self._options, port=opened[0].getsockname()[1])
            asyncio.run(self._serve(opened, lambda: ready(self)))
        finally:
            for each in opened:
                each.close()

    def stop(self) -> None:
        """Ends ``keep``."""
        self._ended.set()

    def _listening(self) -> list[socket.socket]:
        try:
            return open_port(self._options.host, self._options.port)
        except OSError as error:
            raise no_port(self._options, error) from error

    async def _serve(self, opened: list[socket.socket], ready: Callable[[], None]) -> None:
        import uvicorn

        from lakesmith.page.app import Pages, name_of
        from lakesmith.page.live import Watch

        watch = Watch(self._lake.folder, self._lake.access)
        pages = Pages(self._lake, watch, self._words, self._project, self._ended.is_set, self.may_change)
        names, tls = frozenset(self._options.names), self._options.tls
        config = uvicorn.Config(
            Guard(
                pages.app(),
                token_in(self._state_dir),
                self.port,
                names,
                tls is not None,
                lambda: name_of(self._project()),
            ),
            # By the program's own way, without secrets.
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
            # Whoever forwards a port may not tell where a request came from.
            proxy_headers=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=_MOST_CONNECTIONS,
            ssl_certfile=tls[0] if tls else None,
            ssl_keyfile=tls[1] if tls else None,
        )
        server = uvicorn.Server(config)
        # Signals are the caller's: a stream must see that the page ends.
        task = asyncio.create_task(server._serve(opened))
        beat = asyncio.create_task(_beat()) if self._parent is not None else None
        while not self._ended.is_set() and not task.done():
            if server.started and not self.is_ready.is_set():
                self.is_ready.set()
                ready()
            if self._parent is not None and os.getppid() != self._parent:
                self._ended.set()
            await asyncio.sleep(0.1)
        server.should_exit = True
        if beat is not None:
            beat.cancel()
        await asyncio.to_thread(pages.query.engine.close)
        with suppress(asyncio.CancelledError):
            await task


async def _beat() -> None:
    """Tells ``up`` again and again that requests are answered: this loop runs, and a thread is free."""
    from starlette.concurrency import run_in_threadpool

    while True:
        await run_in_threadpool(lambda: None)
        with suppress(OSError):
            print(flush=True)
        await asyncio.sleep(BEAT_SECONDS)


def require_page() -> None:
    """Raises EnvironmentProblem LS309 if a package is missing."""
    missing = [each for each in ("starlette", "uvicorn", "httptools") if find_spec(each) is None]
    if missing:
        raise EnvironmentProblem.of(
            "LS309",
            f"the package {missing[0]}, which serves the page, is not installed",
            expected="lakesmith with its extra `ui`",
            hint="pip install 'lakesmith[ui]'",
        )
