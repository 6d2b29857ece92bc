"""What a command costs: processor time and peak memory of its whole process tree, the JVM included."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import common

_EVERY_SECONDS = 0.1
_TICKS, _PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, of all processors (user and system), and the most megabytes resident at once."""

    seconds: float
    cpu: float
    megabytes: float


@dataclass
class _Watch:
    """Follows a process and all below it. A process that ended keeps the time that it was last seen with."""

    root: int
    ticks: dict[tuple[int, int], int] = field(default_factory=dict)
    peak: float = 0.0
    _last: float = 0.0

    def look(self) -> None:
        """Adds what there is now."""
        tree = list(_tree(self.root))
        for pid in tree:
            if (found := _times(pid)) is not None:
                self.ticks[pid, found[0]] = found[1]
        # A process that forks seems to be there twice for a moment: of two looks the lower counts.
        now = sum(map(_resident, tree))
        self.peak, self._last = max(self.peak, min(now, self._last)), now

    @property
    def cpu(self) -> float:
        """Seconds of all processes that were seen."""
        return sum(self.ticks.values()) / _TICKS


@contextmanager
def watched(root: int) -> Iterator[_Watch]:
    """Watches a tree while the body runs."""
    watch, over = _Watch(root), threading.Event()

    def follow() -> None:
        while not over.wait(_EVERY_SECONDS):
            watch.look()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()
        watch.look()


def cost_of(command: Sequence[str | Path], folder: Path) -> Cost:
    """Runs a command to its end. Its output goes to ``output.log``. Raises BenchmarkError if it fails."""
    begin = time.perf_counter()
    with (folder / "output.log").open("ab+") as log:
        process = subprocess.Popen(
            list(map(str, command)), cwd=folder, env=common.environment(),
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        with watched(process.pid) as watch:
            _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        tail = (folder / "output.log").read_text(errors="replace")[-3000:]
        raise common.BenchmarkError(f"exit {process.returncode} of {' '.join(map(str, command))}\n{tail}")
    # The kernel's own sum misses processes that nobody waited for; the watch misses the last tenths.
    return Cost(seconds, max(used.ru_utime + used.ru_stime, watch.cpu), watch.peak)


def _tree(root: int) -> Iterator[int]:
    yield root
    try:
        texts = [task.read_text() for task in Path(f"/proc/{root}/task").glob("*/children")]
    except OSError:
        return
    for child in " ".join(texts).split():
        yield from _tree(int(child))


def _times(pid: int) -> tuple[int, int] | None:
    """When a process began, and its own ticks without those of its children; None if it has ended."""
    try:
        parts = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return int(parts[19]), int(parts[11]) + int(parts[12])


def _resident(pid: int) -> float:
    """Megabytes of a process in memory."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 2**20
    except OSError:
        return 0.0
