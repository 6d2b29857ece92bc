"""The page's process beside ``up``. Whatever happens to it, batches go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Final

from lakesmith.errors import UsageError
from lakesmith.project.definitions import Project
from lakesmith.serve.kept_process import KeptProcess, open_port
from lakesmith.serve.options import PageOptions, UpOptions, page_options

_PATIENCE_SECONDS: Final = 3.0
BEAT_SECONDS: Final = 5.0
"""How often the page says that it answers."""
SILENT_SECONDS: Final = 60.0
"""A page that has said nothing for so long hangs. It includes its start on a busy machine."""


class PageProcess:
    """Serves the page of a project in a process of its own, which is started again if it ends by itself, or
    hangs.

    ``notice`` receives lines, and ``put`` the page's address once it can be read, both in a thread.
    """

    def __init__(
        self, options: UpOptions, page: PageOptions, notice: Callable[[str], None], put: Callable[[str], None]
    ) -> None:
        target = [] if options.target is None else ["--target", options.target]
        changes = ["--may-change"] if options.page.may_change else []
        command = ["lakesmith.cli.main", "ui", "--project", str(options.project), *target, *changes]
        self._process = KeptProcess(
            command, "up-page", self._said, self._on_end, _PATIENCE_SECONDS, SILENT_SECONDS
        )
        self._page, self._shows_link, self._notice, self._put = page, options.page.shows_link, notice, put
        self._has_ended = False

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def start(self) -> None:
        """Opens the port, and starts the process. Raises UsageError LS275 if the port is not free."""
        try:
            sockets = open_port(self._page.host, self._page.port)
        except OSError as error:
            raise no_port(self._page, error) from error
        self._process.start(sockets)

    def end(self) -> None:
        self._process.end()

    def _said(self, line: bytes) -> None:
        with suppress(ValueError, KeyError, TypeError):
            found = json.loads(line)
            self._put(found["url"])
            shown = found["link"] if self._shows_link else f"{found['url']} (lakesmith ui --link signs in)"
            self._notice(
                "the page was started again" if self._has_ended else f"the page of the lake: {shown}"
            )
            self._has_ended = False

    def _on_end(self, how: str) -> None:
        if not self._has_ended:
            self._notice(f"the page ended ({how}); it is started again, and batches go on")
        self._has_ended = True


def page_of(
    options: UpOptions, project: Project, notice: Callable[[str], None], put: Callable[[str], None]
) -> PageProcess | None:
    """Returns the process of the page, started; None if it is not wanted, or cannot be.

    Raises UsageError LS275 (a port that was asked for is not free), LS274, LS284.
    """
    wanted = options.page
    if wanted.serves is None and not (project.ui.with_up and find_spec("starlette") is not None):
        return None
    if wanted.serves is False:
        return None
    page = page_options(project, port=wanted.port)
    process = PageProcess(options, page, notice, put)
    try:
        process.start()
    except UsageError as error:
        if wanted.port is not None:
            raise
        notice(f"{error.problems[0].what} ({error.problems[0].found}): lakesmith up --ui-port PORT serves it")
        return None
    return process


def no_port(page: PageOptions, error: OSError) -> UsageError:
    return UsageError.of(
        "LS275",
        f"the page cannot be served at {page.host}, port {page.port}",
        expected="an address of this machine, and a port that nobody listens on",
        found=error.strerror or str(error),
        hint="lakesmith ui --port PORT; or the page is running already: lakesmith ui --link",
    )
