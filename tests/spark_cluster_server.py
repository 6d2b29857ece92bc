"""A standalone Spark cluster for tests: a master and workers of one core each, on loopback.

The executors are started by the workers in folders of their own, and share nothing with the driver but the
network.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from lakesmith.spark.start.find_java import JavaRuntime, find_java
from lakesmith.spark.start.jars import spark_home
from lakesmith.spark.start.launch import SPARK_OPTIONS
from server_process import ServerProcess, started

_HOST: Final = "127.0.0.1"
_SMALL: Final = ("-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_ENDING_WITH_ITS_PARENT: Final = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execv(sys.argv[1], sys.argv[1:])"
)
"""Java's daemons read no input: the kernel kills them when the process that started them is gone."""
EXECUTOR_MEMORY: Final = "700m"


class Cluster:
    """A master and ``workers`` workers, whose logs and work are in ``folder``."""

    def __init__(self, folder: Path, workers: int = 2, java: JavaRuntime | None = None) -> None:
        self.folder = folder
        self._java = java or find_java()
        self._master = ServerProcess(_made(folder / "master"))
        self._workers = [ServerProcess(_made(folder / f"worker-{number}")) for number in range(workers)]
        self.url = ""

    def start(self) -> None:
        """Starts all and waits until each worker is registered."""
        options = ["--host", _HOST, "--port", "0", "--webui-port", "0"]
        self._start(self._master, "master.Master", options)
        self.url = self._master.wait_for(
            lambda: _found(r"Starting Spark master at (spark://\S+)", self._master)
        )
        for worker in self._workers:
            work = ["--work-dir", worker.folder, "--cores", "1", "--memory", "1g"]
            places = ["--host", _HOST, "--webui-port", "0", *work]
            self._start(worker, "worker.Worker", [*map(str, places), self.url])
        for worker in self._workers:
            worker.wait_for(lambda: _found(r"(Successfully registered with master)", worker))  # noqa: B023

    def end(self) -> None:
        for server in (*self._workers, self._master):
            server.end()

    @property
    def conf(self) -> dict[str, str]:
        """The Spark settings of a target that runs on it, with the driver on loopback as well."""
        return {
            "spark.master": self.url,
            "spark.driver.host": _HOST,
            "spark.driver.bindAddress": _HOST,
            "spark.executor.memory": EXECUTOR_MEMORY,
        }

    def executors(self) -> list[int]:
        """The processes of the executors that run now: the workers start nothing else."""
        workers = {worker.pid for worker in self._workers}
        return [pid for pid, parent in _parents() if parent in workers]

    def said(self) -> str:
        """What executors wrote, for a look at what went wrong."""
        return "\n".join(
            log.read_text(errors="replace") for log in self.folder.glob("worker-*/app-*/*/stderr")
        )

    def _start(self, server: ServerProcess, role: str, options: list[str]) -> None:
        java = [str(self._java.executable), "-cp", f"{spark_home()}/jars/*", *_SMALL, *SPARK_OPTIONS]
        ending = [sys.executable, "-c", _ENDING_WITH_ITS_PARENT]
        server.start([*ending, *java, f"org.apache.spark.deploy.{role}", *options], _environ(self._java))


def _parents() -> Iterator[tuple[int, int]]:
    """Each process that has not ended, with the one that started it."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            yield int(stat.parent.name), int(parent)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _environ(java: JavaRuntime) -> Mapping[str, str]:
    """No variable of this process but PATH: executors find no settings that the driver should send."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return kept | {
        "JAVA_HOME": str(java.home),
        "SPARK_HOME": str(spark_home()),
        "SPARK_SCALA_VERSION": "2.13",
    }


def _found(pattern: str, server: ServerProcess) -> str | None:
    said = re.search(pattern, server.said())
    return said[1] if said else None


def running(workers: int = 2) -> AbstractContextManager[Cluster]:
    return started(lambda folder: Cluster(folder, workers))
