"""A page in a thread of the test, and requests to it as any client may send them."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from jinja2 import Environment

from compiled import Compiled
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.page import app
from lakesmith.page.server import Ui

PICTURES = Path(__file__).resolve().parents[1] / "build/pictures"
Open = Callable[..., Any]
"""Opens a page in a browser: of a ``Served``, at a path."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str
    body: bytes = b""


@dataclass(frozen=True)
class Served:
    """The page of a project."""

    ui: Ui

    @property
    def token(self) -> str:
        return self.ui.link.rpartition("=")[2]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ui.port}"

    def ask(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        body: str | None = None,
    ) -> Answer:
        """Sends a request with nothing but these headers."""
        connection = HTTPConnection("127.0.0.1", self.ui.port, timeout=120)
        try:
            connection.request(method, path, body, dict(headers or {}))
            found = connection.getresponse()
            given = {name.lower(): value for name, value in found.getheaders()}
            body = found.read()
            return Answer(found.status, given, body.decode("utf-8", "replace"), body)
        finally:
            connection.close()

    def get(self, path: str) -> Answer:
        """Asks as somebody who has the token."""
        return self.ask(path, {"Authorization": f"Bearer {self.token}"})

    def post(self, path: str, **fields: str) -> Answer:
        """Posts a form as somebody who has the token."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.ask(path, {"Authorization": f"Bearer {self.token}", **form}, "POST", urlencode(fields))


@contextmanager
def served(root: Path, may_change: bool = False) -> Iterator[Served]:
    """Serves a project's page at a free port."""
    ui = Lakehouse(root).ui(port=0)
    ui.may_change = may_change
    thread = threading.Thread(target=ui.keep, daemon=True)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(app, "Environment", partial(Environment, bytecode_cache=Compiled()))
            thread.start()
            assert ui.is_ready.wait(20)
        yield Served(ui)
    finally:
        ui.stop()
        thread.join(20)
    assert not thread.is_alive()
