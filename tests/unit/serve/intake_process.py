"""A real intake, in a process of its own, and what it has on the disk."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forked import INTAKE, Forked
from lakesmith.serve.intake_process import listen

SALES = (
    "source:\n  http: {path: /sales}\n"
    "columns: {price: 'decimal(10,2)', sale_time: timestamp, product_id: {type: bigint, required: true}}\n"
)


def until(is_so: Callable[[], object]) -> None:
    """Waits until it is so, for a minute at most."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


@dataclass
class Server:
    """The intake of the project in ``root``."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    process: Forked | None = None
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        (opened,) = listen("127.0.0.1", self.port)
        self.port = opened.getsockname()[1]
        environment = {**os.environ, **self.environment}
        words = [str(self.root), *self.options]
        self.process = Forked(INTAKE, words, environment=environment, sockets=[opened], outputs=0)
        opened.close()
        if not self.options:
            self.wait()

    def wait(self) -> None:
        end = time.monotonic() + 30
        while True:
            assert self.process is not None
            assert self.process.poll() is None, "the intake ended"
            assert time.monotonic() < end, "the intake is not ready"
            try:
                urllib.request.urlopen(f"{self.url}/ready", timeout=1).close()
                return
            except (OSError, urllib.error.URLError):
                time.sleep(0.05)

    def stop(self) -> None:
        """Ends it; all that it has acknowledged is sealed then."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(20)
            self.process = None

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stored(self, table: str = "bronze.sales") -> list[Any]:
        """The events in the segments, read by nothing of lakesmith."""
        folder = self.root / f".lakesmith/intake/{table}/http"
        files = sorted(folder.glob("*.jsonl"))
        return [json.loads(line) for path in files for line in path.read_text().split("\n") if line]


Serving = Callable[..., Server]
