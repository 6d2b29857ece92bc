"""The page beside ``up``: killed, stopped and flooded, it disturbs no batch; it shows what ``up`` does."""

import json
import os
import signal
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_up import Kept, wait_until

from lakesmith.journal.reading import Reader
from lakesmith.page.guard import token_in
from server_process import free_port

pytestmark = pytest.mark.release


class WithPage(Kept):
    """A project under ``up`` with its page."""

    def __init__(self, root: Path) -> None:
        self.ui_port = free_port()
        super().__init__(root, "--ui-port", str(self.ui_port))

    def page(self) -> int:
        return self._child("-f", "lakesmith.cli.main ui")

    def shown(self, path: str = "/") -> str:
        headers = {"Authorization": f"Bearer {token_in(self.root / '.lakesmith')}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.ui_port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return str(answer.read().decode())
        except OSError:
            return ""


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[WithPage]:
    with WithPage(tmp_path / "shop") as kept:
        yield kept


def test_a_page_that_is_killed_stopped_or_flooded_disturbs_no_batch(kept: WithPage) -> None:
    kept.up()
    kept.sell(1)
    wait_until(kept.is_complete, "a sale reaches gold", kept)
    wait_until(lambda: "silver.sales" in kept.shown(), "the page shows the lake", kept)

    first = kept.page()
    os.kill(first, signal.SIGKILL)
    kept.sell(2)
    wait_until(kept.is_complete, "a sale reaches gold while the page is started again", kept)
    wait_until(lambda: "silver.sales" in kept.shown(), "the page is there again", kept)
    assert kept.page() != first and "the page ended (SIGKILL)" in kept.log()

    os.kill(kept.page(), signal.SIGSTOP)
    sockets = [socket.create_connection(("127.0.0.1", kept.ui_port)) for _ in range(300)]
    for each in sockets:
        each.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    kept.sell(3)
    wait_until(kept.is_complete, "a sale reaches gold while the page is stopped and flooded", kept)
    os.kill(kept.page(), signal.SIGCONT)
    kept.sell(4)
    wait_until(kept.is_complete, "a sale reaches gold while the page answers the flood", kept)
    for each in sockets:
        each.close()

    actions = [each for each in Reader(kept.root / ".lakesmith").look().actions() if each.kind == "run"]
    runs = [each for each in actions if "gold.by_minute" in each.tables]
    assert len(runs) >= 4 and all(each.outcome == "done" for each in runs), "each run of up is in the journal"
    assert sum(each.tables["silver.sales"].counts.get("inserted", 0) for each in runs) == 4
    assert json.loads((kept.root / ".lakesmith/up.json").read_text())["page"].endswith(f":{kept.ui_port}")
    said = kept.shown("/activity")
    assert "gold.by_minute" in said and "1 inserted" in said and "Events are taken at" in said

    page = kept.page()
    os.kill(page, signal.SIGSTOP)
    assert kept.end() == 0
    assert not Path(f"/proc/{page}").exists()
    token, state = token_in(kept.root / ".lakesmith"), kept.root / ".lakesmith"
    files = [path for path in state.rglob("*") if path.is_file() and path.name != "ui.token"]
    assert token not in kept.log() and not [each for each in files if token.encode() in each.read_bytes()]
    up = next(each for each in Reader(state).look().actions() if each.kind == "up")
    assert up.outcome == "done" and any("POST http" in text for _, text in up.said)
