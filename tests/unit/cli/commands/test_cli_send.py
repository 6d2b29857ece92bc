"""What ``send --check`` counts in a lake of real metadata, and how its results read."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lake import IcebergLake
from shop import Cli

from lakesmith.cli.commands.send import found_lines, report_lines
from lakesmith.graph.graph import load
from lakesmith.serve.routes import EventSource, event_sources
from lakesmith.serve.send.check import Counted, Found, count_now
from lakesmith.serve.send.report import SendReport


def lake_of_events(root: Path) -> tuple[IcebergLake, EventSource]:
    lake = IcebergLake(root)
    (root / "tables/bronze/orders.yaml").write_text(
        "source: {http: {path: /orders}}\ncolumns: {id: bigint}\n"
    )
    return lake, event_sources(load(root)[0])[0]


def test_rows_are_counted_in_the_metadata(tmp_path: Path) -> None:
    lake, source = lake_of_events(tmp_path)
    assert count_now(tmp_path, None, source) == Counted(0, 0, True)
    lake.batch("bronze.orders", 1)
    lake.batch("bronze.orders", 2)
    assert count_now(tmp_path, None, source) == Counted(2, 0, True)
    lake.batch("bronze.orders", 3, quarantine=lake.write("lakesmith.bronze__orders__quarantine"))
    assert count_now(tmp_path, None, source) == Counted(3, 1, True)


def test_events_that_wait_are_seen(tmp_path: Path) -> None:
    lake, source = lake_of_events(tmp_path)
    lake.batch("bronze.orders", 1)
    source.folder.mkdir(parents=True)
    for name in (".20261123-a.journal", "20261123-a.jsonl"):
        (source.folder / name).write_text('{"id": 1}\n')
        assert not count_now(tmp_path, None, source).is_settled
        (source.folder / name).unlink()
        assert count_now(tmp_path, None, source).is_settled


def test_what_is_acknowledged_is_waited_for(tmp_path: Path, cli: Cli) -> None:
    """An intake, and the runs behind it, that bring one row a request."""
    lake, _ = lake_of_events(tmp_path)
    lake.batch("bronze.orders", 1)

    class _Intake(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        batches = 1

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            type(self).batches += 1
            threading.Timer(0.3, lake.batch, ("bronze.orders", self.batches)).start()
            body = b'{"events": 1, "duplicate": false}'
            self.send_response(202)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), _Intake) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = ("--url", f"http://127.0.0.1:{server.server_port}", "--batch", 1, "--rate", 1)
        said = cli("send", "--project", tmp_path, *words, "--count", 2, "--check", "--json")
        server.shutdown()
    assert said.code == 0, said.out + said.err
    check = said.data["check"]
    assert (check["expected"], check["found"], check["right"]) == (2, 2, True)


def report(**more: int) -> SendReport:
    counts = dict.fromkeys(("duplicates", "twice", "refused_good", "unanswered", "retries"), 0) | more
    return SendReport(
        sent=1500,
        acknowledged=1000,
        good=990,
        refused={400: 500},
        seconds=2.0,
        latencies=(0.001, 0.002),
        **counts,
    )


def test_how_it_reads() -> None:
    assert list(report_lines(report(duplicates=20, retries=1))) == [
        "sent          1,500 events in 2.0 s", "acknowledged  1,000 (500.0 a second), after 1 retry",
        "duplicates    20 sent again and not taken again", "refused       500 with status 400",
        "latency       median 2.0 ms, p99 2.0 ms",
    ]  # fmt: skip
    wrong = report(twice=3, refused_good=10, unanswered=5)
    assert not wrong.is_right
    assert [line for line in report_lines(wrong) if line.startswith(("wrong", "unanswered"))] == [
        "unanswered    5: nobody knows whether they were taken",
        "wrong: 3 events taken twice",
        "wrong: 10 events refused that fit the columns",
    ]
    ways = [
        (990, "right: all 990 acknowledged events that fit are in the table, once"),
        (995, "right: all 990 acknowledged events that fit are in the table, once"),
        (980, "wrong: 10 of 990 acknowledged events are not in the table"),
        (996, "wrong: 1 row too many; if nobody else sends, events were taken twice"),
    ]
    for rose, last in ways:
        lines = list(found_lines(Found(990, 5, rose, 10, 1.5)))
        assert lines == [f"in the table  {rose} more rows after 1.5 s, and 10 more in quarantine", last]
