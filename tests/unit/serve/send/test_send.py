"""``lakesmith send`` against a real intake: what it says was acknowledged is what is on the intake's disk."""

import json
import threading
import time
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from intake_process import SALES, Server, Serving

from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app
from lakesmith.serve.send.check import Counted, awaited, settled

pytestmark = pytest.mark.processes

Send = Callable[..., tuple[int, Any]]


@pytest.fixture
def send(capsys: pytest.CaptureFixture[str]) -> Send:
    """Calls ``send`` in this process; its exit code and what it says."""

    def call(root: Path, url: str, *words: object) -> tuple[int, Any]:
        arguments = ["send", "--project", str(root), "--url", url, "--json", *map(str, words)]
        capsys.readouterr()
        code = guarded(lambda: app(arguments, prog_name="lakesmith", standalone_mode=False), arguments)
        return code, json.loads(capsys.readouterr().out)

    return call


def fast(server: Server, send: Send, *words: object) -> tuple[int, Any]:
    return send(server.root, server.url, "--rate", 100_000, *words)


def test_what_is_acknowledged_is_stored(serving: Serving, send: Send) -> None:
    server = serving()
    code, said = fast(server, send, "--count", 505, "--late", 0.2, "--seed", 3)
    server.stop()
    assert code == 0
    assert (said["sent"], said["acknowledged"], said["seed"], said["refused"]) == (505, 505, 3, {})
    assert 0 < said["latency_ms"]["median"] <= said["latency_ms"]["p99"]
    assert len(server.stored()) == 505


def test_a_request_that_is_sent_again_is_stored_once(serving: Serving, send: Send) -> None:
    server = serving()
    code, said = fast(server, send, "--count", 300, "--duplicate", 1)
    server.stop()
    assert (code, said["acknowledged"], said["duplicates"], said["taken_twice"]) == (0, 300, 300, 0)
    assert len(server.stored()) == 300


def test_what_is_bad_is_refused_and_counted(serving: Serving, send: Send) -> None:
    server = serving()
    code, said = fast(server, send, "--count", 600, "--bad", 0.3, "--seed", 1)
    server.stop()
    assert code == 0
    assert set(said["refused"]) == {"400"}
    assert 60 < said["refused"]["400"] == 600 - said["acknowledged"]
    assert len(server.stored()) == said["acknowledged"]


def test_what_is_bad_is_no_row_where_it_goes_to_quarantine(serving: Serving, send: Send) -> None:
    server = serving(sales=SALES + "on_bad_row: quarantine\n")
    code, said = fast(server, send, "--count", 600, "--bad", 0.3)
    server.stop()
    assert (code, said["acknowledged"]) == (0, 600)
    fitting = [
        e for e in server.stored() if isinstance(e["product_id"], int) and not isinstance(e["price"], str)
        and e["sale_time"].startswith("20")
    ]  # fmt: skip
    assert len(fitting) == said["acknowledged_good"] < 600


def test_the_rate_is_kept(serving: Serving, send: Send) -> None:
    server = serving()
    code, said = send(server.root, server.url, "--rate", 50, "--seconds", 1, "--batch", 5)
    assert (code, said["sent"]) == (0, 50)
    assert said["seconds"] >= 0.9, "the last request is due then"


def test_an_intake_that_is_killed_and_comes_again_has_all_once(serving: Serving, send: Send) -> None:
    server = serving()
    done: list[tuple[int, Any]] = []
    sender = threading.Thread(
        target=lambda: done.append(
            send(server.root, server.url, "--rate", 500, "--count", 1000, "--duplicate", 0.2)
        )
    )
    sender.start()
    time.sleep(0.5)
    server.kill()
    server.start()
    sender.join()
    server.stop()
    ((code, said),) = done
    assert (code, said["acknowledged"], said["unanswered"], said["taken_twice"]) == (0, 1000, 0, 0)
    assert said["retries"] > 0
    assert len(server.stored()) == 1000


def test_an_event_comes_once_by_its_id_whoever_sends_it_and_whoever_is_killed(
    serving: Serving, send: Send
) -> None:
    declared = SALES.replace("/sales", "/sales, event_id: [receipt]").replace(
        "{price", "{receipt: string, price"
    )
    server = serving(sales=declared)
    code, said = fast(server, send, "--count", 200, "--duplicate", 0.5)
    assert (code, said["acknowledged_good"]) == (0, 200)
    event = b'{"receipt": "a", "product_id": 1}'
    assert [posted(server, event), posted(server, event)] == [(1, 0), (0, 1)]
    server.kill()
    server.start()
    assert posted(server, event + b'{"receipt": "b", "product_id": 1}') == (1, 1)
    server.stop()
    receipts = [each["receipt"] for each in server.stored()]
    assert len(receipts) == len(set(receipts)) == 202


def posted(server: Server, body: bytes) -> tuple[int, int]:
    """How many events are new, and how many are duplicates."""
    with urllib.request.urlopen(f"{server.url}/sales", body, timeout=10) as answer:
        said = json.load(answer)
    return said["events"], said["duplicates"]


def test_limits_hold_and_are_waited_for(serving: Serving, send: Send) -> None:
    """It is told to wait by both limits; what waits for a run is taken away meanwhile."""
    server = serving(sales=SALES.replace("/sales", "/sales, max_rate: 200, max_waiting: 10 KB"))
    ended = threading.Event()

    def take_away() -> None:
        while not ended.wait(1.5):
            for path in server.root.glob(".lakesmith/intake/bronze.sales/http/*.jsonl"):
                gone.extend(path.read_text().splitlines())
                path.unlink()

    gone: list[str] = []
    taker = threading.Thread(target=take_away)
    taker.start()
    code, said = fast(server, send, "--count", 600)
    ended.set()
    taker.join()
    server.stop()
    assert (code, said["acknowledged"], said["refused"]) == (0, 600, {})
    assert said["retries"] > 0
    assert said["events_per_second"] < 1000
    assert len(gone) + len(server.stored()) == 600


def test_a_token_is_brought(serving: Serving, send: Send, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serving({"OLD": "a", "NEW": "b"}, sales=SALES.replace("/sales", "/sales, tokens: [OLD, NEW]"))
    code, said = fast(server, send, "--count", 10)
    assert (code, said["problems"][0]["code"]) == (2, "LS271")
    monkeypatch.setenv("NEW", "b")
    assert fast(server, send, "--count", 10)[0] == 0
    monkeypatch.setenv("NEW", "wrong")
    code, said = fast(server, send, "--count", 10_000)
    assert (code, said["problem"]["code"], said["acknowledged"]) == (1, "LS311", 0)
    assert said["sent"] < 10_000, "it has stopped"


def test_nobody_there(serving: Serving, send: Send) -> None:
    server = serving()
    server.stop()
    code, said = fast(server, send, "--count", 100, "--patience", 0.3)
    assert (code, said["problem"]["code"], said["acknowledged"]) == (1, "LS310", 0)
    assert said["unanswered"] == said["sent"] > 0


def test_which_source(serving: Serving, send: Send) -> None:
    server = serving(sales=SALES, clicks=SALES.replace("/sales", "/clicks"))
    for words, code in (((), 2), (("silver.x",), 2), (("bronze.clicks",), 0), (("/clicks",), 0)):
        assert fast(server, send, "--count", 10, *words)[0] == code, words
    server.stop()
    assert (len(server.stored("bronze.clicks")), server.stored("bronze.sales")) == (20, [])
    code, said = send(server.root, "127.0.0.1:1", "/clicks")
    assert (code, said["problems"][0]["code"]) == (2, "LS273")


class _Busy(BaseHTTPRequestHandler):
    """Takes each request at its third try, and notes when and with which key they came."""

    came: list[tuple[str, float]]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        self.came.append((key, time.monotonic()))
        tries = sum(each == key for each, _ in self.came)
        status = {1: 503, 2: 429}.get(tries, 202)
        body = b'{"events": 1, "duplicate": false}'
        self.send_response(status)
        if status != 202:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Says nothing."""


def test_it_waits_as_long_as_it_is_told(serving: Serving, send: Send) -> None:
    root = serving().root
    _Busy.came = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        code, said = send(root, f"http://127.0.0.1:{server.server_port}", "--count", 1, "--batch", 1)
        server.shutdown()
    assert (code, said["acknowledged"], said["retries"]) == (0, 1, 2)
    keys, times = zip(*_Busy.came, strict=True)
    assert len(set(keys)) == 1
    assert times[2] - times[0] >= 2


@pytest.mark.parametrize(
    ("rows", "right"), [([10, 10, 14, 15], True), ([10, 14], False), ([10, 16], False), ([15], True)]
)
def test_rows_are_held_against_what_was_acknowledged(rows: list[int], right: bool) -> None:
    left = list(rows)

    def count() -> Counted:
        return Counted(left.pop(0) if len(left) > 1 else left[0], 0, True)

    found = awaited(count, Counted(10, 0, True), expected=5, uncertain=0, patience=2)
    assert (found.is_right, found.rose) == (right, rows[-1] - 10)


def test_events_of_before_are_waited_for() -> None:
    counts = [Counted(1, 0, False), Counted(2, 0, True)]
    assert settled(lambda: counts.pop(0), 5).rows == 2


def test_check_says_what_is_missing(serving: Serving, send: Send) -> None:
    """Nothing brings the table up to date here: the events wait, and are not in it."""
    server = serving()
    code, said = fast(server, send, "--count", 20, "--check", "--patience", 1)
    assert (code, said["check"]["right"]) == (1, False)
    assert (said["check"]["expected"], said["check"]["found"]) == (20, 0)
    code, said = fast(server, send, "--count", 20, "--check", "--patience", 1)
    assert (code, said["problems"][0]["code"]) == (1, "LS521")
