"""Named points between the steps of a batch, where a test can make a process fail.

``LAKESMITH_FAULT=point[@table][:action[/milliseconds]]`` makes the process do ``action`` when it comes by
``point`` for the first time; with milliseconds, so much later, while it goes on. The actions are

- ``kill`` (the default), ``stop``: SIGKILL, SIGSTOP to itself
- ``killjvm``, ``stopjvm``: SIGKILL, SIGSTOP to the engine's JVM
- ``killboth``: SIGKILL to both
- ``raise``: an OSError (never later)

Without the variable, passing a point costs two dictionary look-ups.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

POINTS = (
    "after-lock",
    "after-listing",
    "after-create",
    "after-intent",
    "after-branch",
    "after-delete",
    "after-merge",
    "after-data",
    "after-quarantine",
    "after-tombstones",
    "after-check",
    "before-publish",
    "before-swap",
    "after-publish",
    "after-sidecars",
    "export-written",
    "export-manifest",
    "maintain-begin",
    "maintain-deletes",
    "maintain-piece",
    "maintain-manifests",
    "maintain-expiry",
    "maintain-orphans",
    "rewrite-piece",
    "erase-begun",
    "erase-rewritten",
    "erase-past",
    "erase-landing",
    "erase-versions",
    "erase-proved",
    "relocate-table",
    "relocate-entries",
    "recover-table",
)
"""Every point, in the order a batch, then maintenance, then an erasure, and then a relocation passes them.
``export-written`` has the files of an export, ``export-manifest`` all but its manifest.
``before-swap`` has all of the commit ready but its last call; ``maintain-begin`` is the beginning of each
piece of maintenance, under the lock, and the points after it are between two pieces. An erasure passes its
points beside those of its batches: the third for each table, the fourth for each landing file."""

_jvm_pid: list[int] = []
_passed: set[str] = set()
_in_process: dict[str, Callable[[], None]] = {}


def note_jvm(pid: int) -> None:
    """Tells which process is the engine's JVM."""
    _jvm_pid[:] = [pid]


def arrange(point: str, action: Callable[[], None], table: str = "") -> None:
    """Runs ``action`` in this process whenever ``point`` is passed, by ``table`` or by any table."""
    if point not in POINTS:
        raise ValueError(f"no fault point {point!r}")
    _in_process[f"{point}@{table}"] = action


def clear() -> None:
    _in_process.clear()


def reach(point: str, table: str) -> None:
    """Marks that a batch of ``table`` passes ``point``; fails there when a test asked for it."""
    if _in_process:
        for place in (f"{point}@", f"{point}@{table}"):
            if action := _in_process.get(place):
                action()
    wanted = os.environ.get("LAKESMITH_FAULT")
    if not wanted:
        return
    place, _, action_name = wanted.partition(":")
    name, _, where = place.partition("@")
    if name == point and where in ("", table) and wanted not in _passed:
        _passed.add(wanted)
        _act(action_name or "kill", point)


def _act(action: str, point: str) -> None:
    name, _, milliseconds = action.partition("/")
    if name == "raise":
        raise OSError(f"fault at {point}")
    if milliseconds:
        threading.Timer(int(milliseconds) / 1000, _signal, (name,)).start()
    else:
        _signal(name)


def _signal(action: str) -> None:
    number = signal.SIGSTOP if action.startswith("stop") else signal.SIGKILL
    if action in ("killjvm", "stopjvm", "killboth"):
        for pid in _jvm_pid:
            os.kill(pid, number)
    if action in ("kill", "stop", "killboth"):
        os.kill(os.getpid(), number)
