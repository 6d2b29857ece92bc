"""The web page: the server's time for a view of 200 tables, how soon a commit is shown, and what 50 open
pages cost ``lakesmith up``.

    python benchmarks/page.py --tables 200
    python benchmarks/page.py --pages 50 --rate 200 --seconds 120

The second takes turns in one run of ``up``: windows with all pages open, which follow the stream and ask for
the lake whenever it changes as browsers do, and windows without any. What counts is the ratio of the medians
of the time from the till to silver.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from contextlib import suppress
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path

from live import FILES, LAKESMITH, _wait_for, catalog, percentile, published

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from lakesmith.page.guard import token_in
from made_lake import MadeLake
from page_server import Served, served
from server_process import free_port

_WINDOW = 20.0
_SETTLING = 4.0
"""Seconds of a window that do not count: what was made before it may still be on its way."""


def views(tables: int) -> None:
    """Prints the milliseconds of views, and until a commit is shown."""
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        lake = MadeLake(Path(folder), tables)
        lake.publish()
        with served(Path(folder)) as page:
            print(f"{tables} tables: ms (of the processor) of the first view, the next, after a commit")
            for path in ("/", "/?whole=1", "/?show=gold.*", "/t/silver.part_0", "/activity"):
                first, again = _timed(page, path), [_timed(page, path) for _ in range(20)]
                after = []
                for _ in range(5):
                    lake.publish("bronze.source_0", rows=1)
                    after.append(_timed(page, path))
                print(f"  {path:18} {_median([first])}  {_median(again)}  {_median(after)}")
            shown = [_shown(page, lake) for _ in range(5)]
            print(f"  a commit is shown after {max(shown) * 1000:.0f} ms at most")


def _timed(page: Served, path: str) -> tuple[float, float]:
    """Returns the milliseconds of a view, and those of the processor, the client's included."""
    began, used = time.perf_counter(), time.process_time()
    assert page.get(path).status == 200
    return (time.perf_counter() - began) * 1000, (time.process_time() - used) * 1000


def _median(found: list[tuple[float, float]]) -> str:
    whole, used = (statistics.median(each) for each in zip(*found, strict=True))
    return f"{whole:6.1f} ({used:5.1f})"


def _shown(page: Served, lake: MadeLake) -> float:
    """Seconds from a commit until a page that follows the stream shows it."""
    headers = {"Authorization": f"Bearer {page.token}"}
    connection = HTTPConnection("127.0.0.1", page.ui.port, timeout=20)
    connection.request("GET", "/live", headers=headers)
    stream = connection.getresponse()
    before = _rows(page)
    lake.publish("bronze.source_0", rows=7)
    began = time.perf_counter()
    while _rows(page) == before:
        while not stream.readline().startswith(b"data: "):
            pass
    connection.close()
    return time.perf_counter() - began


def _rows(page: Served) -> str:
    found = re.search(r"bronze\.source_0, [a-z ]+, ([\d,]+) rows", page.get("/?show=bronze.source_0").text)
    return found.group(1) if found else ""


class Crowd:
    """Open pages, in a thread of their own: each follows the stream, and asks for the lake if it changes."""

    def __init__(self, port: int, token: str, pages: int) -> None:
        self._port, self._pages, self.asked = port, pages, 0
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._tasks: list[asyncio.Task[None]] = []

    def open(self) -> None:
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()

    def close(self) -> None:
        for each in self._tasks:
            self._loop.call_soon_threadsafe(each.cancel)
        self._tasks = []

    async def _open(self) -> None:
        self._tasks = [asyncio.create_task(self._follow()) for _ in range(self._pages)]

    async def _follow(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET /live HTTP/1.1\r\n{self._head}\r\n".encode())
        with suppress(OSError):
            try:
                while line := await reader.readline():
                    if line.startswith(b"event: state"):
                        await self._ask()
            finally:
                writer.close()

    async def _ask(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(f"GET / HTTP/1.1\r\n{self._head}Connection: close\r\n\r\n".encode())
        await reader.read()
        writer.close()
        self.asked += 1


def beside(pages: int, rate: float, seconds: float) -> None:
    """Prints the time from the till to silver with and without open pages."""
    with tempfile.TemporaryDirectory(prefix="page-") as folder:
        root, port, ui_port = Path(folder) / "live", free_port(), free_port()
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        command = [*LAKESMITH, "up", "--port", str(port), "--ui-port", str(ui_port)]
        with (root / "up.log").open("wb") as log:
            up = subprocess.Popen(command, cwd=root, stdout=log, stderr=log)
        send = [*LAKESMITH, "send", "--url", f"http://127.0.0.1:{port}", "--rate", str(rate), "--seconds"]
        try:
            _wait_for(port)
            subprocess.run([*send, "25"], cwd=root, check=True, capture_output=True)
            crowd = Crowd(ui_port, token_in(root / ".lakesmith"), pages)
            till = subprocess.Popen([*send, str(seconds)], cwd=root, stdout=subprocess.DEVNULL)
            windows = []
            for number in range(int(seconds / _WINDOW)):
                is_open = number % 2 == 1
                (crowd.open if is_open else crowd.close)()
                windows.append((datetime.now(UTC).timestamp(), is_open))
                time.sleep(_WINDOW)
            crowd.close()
            till.wait(60)
            time.sleep(5)
        finally:
            up.send_signal(signal.SIGTERM)
            up.wait(60)
        _compare(root, windows, pages, crowd.asked)


def _compare(root: Path, windows: list[tuple[float, bool]], pages: int, asked: int) -> None:
    numbers = {snapshot: record["batch"] for snapshot, _, record in published(root, "bronze.sales_raw")}
    read = [(numbers[record["inputs"]["bronze.sales_raw"]["snapshot"]], at)
            for _, at, record in published(root, "silver.sales")]  # fmt: skip
    upto, times = [number for number, _ in read], [at for _, at in read]
    rows = catalog(root).load_table("silver.sales").scan(selected_fields=("sale_time", "batch")).to_arrow()
    waited: dict[bool, list[float]] = {True: [], False: []}
    for made, batch in zip(rows["sale_time"].to_pylist(), rows["batch"].to_pylist(), strict=True):
        for begin, is_open in windows:
            if begin + _SETTLING <= made.timestamp() < begin + _WINDOW:
                waited[is_open].append((times[bisect_left(upto, batch)] - made).total_seconds())
    for is_open, found in sorted(waited.items()):
        what = f"{pages} pages" if is_open else "no page"
        parts = ", ".join(f"p{part * 100:.0f} {percentile(found, part):.2f} s" for part in (0.5, 0.9, 0.99))
        print(f"{what}: {len(found):,} events, {parts}")
    ratio = statistics.median(waited[True]) / statistics.median(waited[False])
    print(f"ratio of the medians: {ratio:.2f}; the pages asked {asked:,} times for the lake")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=0)
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=160)
    options = parser.parse_args()
    if options.tables or not options.pages:
        views(options.tables or 200)
    if options.pages:
        beside(options.pages, options.rate, options.seconds)


if __name__ == "__main__":
    main()
