"""Runs a project again and again in one process, as ``up`` does: a line on standard input is one run.

Each answer is a line of JSON: Py4J calls, Spark jobs, bytes the JVM read, and its resident megabytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayClient

import lakesmith

_calls = [0]
_send = GatewayClient.send_command


def _counted(self: Any, *words: Any, **options: Any) -> Any:
    _calls[0] += 1
    return _send(self, *words, **options)


def _jvm() -> dict[str, float]:
    """What the JVM has done until now; nothing before it runs."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    if context is None:
        return {"jobs": 0, "read": 0, "megabytes": 0}
    pid = context._gateway.proc.pid
    io = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    jobs = int(context._jsc.sc().dagScheduler().numTotalJobs())
    return {"jobs": jobs, "read": int(io["rchar"]), "megabytes": pages * 4096 / 2**20}


def main() -> None:
    """Runs, answers, and ends with its input."""
    GatewayClient.send_command = _counted
    with lakesmith.open(Path.cwd()) as lake:
        for _ in sys.stdin:
            before, calls = _jvm(), _calls[0]
            result = lake.run()
            now, made = _jvm(), _calls[0] - calls
            done = {name: now[name] - before[name] for name in ("jobs", "read")}
            tables = len(result.published)
            print(
                json.dumps({**done, "py4j": made, "megabytes": now["megabytes"], "tables": tables}),
                flush=True,
            )


if __name__ == "__main__":
    main()
