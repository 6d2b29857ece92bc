"""Processes that stay: each line on their standard input is one run, answered by a line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import common
from tree import Cost, watched

WARM = (sys.executable, str(Path(__file__).with_name("warm.py")))
"""Lakesmith in a process that stays."""


@contextmanager
def warm_process(
    project: Path, command: Sequence[str] = WARM
) -> Iterator[Callable[[], tuple[Cost, dict[str, Any]]]]:
    """A process that stays. Each call is one run, with its cost and what it did."""
    with (project / "warm.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=project, env=common.environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip
    assert process.stdin and process.stdout
    stdin, stdout = process.stdin, process.stdout

    def run() -> tuple[Cost, dict[str, Any]]:
        with watched(process.pid) as watch:
            watch.look()
            before, begin = watch.cpu, time.perf_counter()
            print("run", file=stdin, flush=True)
            answer = stdout.readline()
            seconds = time.perf_counter() - begin
        if not answer:
            raise common.BenchmarkError((project / "warm.log").read_text(errors="replace")[-3000:])
        return Cost(seconds, watch.cpu - before, watch.peak), json.loads(answer)

    try:
        yield run
    finally:
        stdin.close()
        process.wait(60)
