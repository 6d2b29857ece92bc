"""Named points between the steps of a batch, where a test can make a process fail.

``LAKESMITH_FAULT=point[@table][:action]`` makes the process do ``action`` when it comes by ``point``: ``kill`` (default:
SIGKILL to itself), ``stop`` (SIGSTOP to itself), ``raise`` (an OSError), or ``killjvm`` (SIGKILL to the engine's JVM).
Without the variable, passing a point costs one dictionary look-up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

POINTS = (
    "after-listing",
    "after-lock",
    "after-create",
    "after-intent",
    "after-branch",
    "after-quarantine",
    "after-tombstones",
    "after-delete",
    "after-merge",
    "after-data",
    "after-check",
    "after-record",
    "before-publish",
    "after-publish",
    "after-sidecars",
)
"""Every point, in the order a batch passes them."""

_jvm_pid: list[int] = []
_in_process: dict[str, Callable[[], None]] = {}


def note_jvm(pid: int) -> None:
    """Tells which process ``killjvm`` means."""
    _jvm_pid[:] = [pid]


def arrange(point: str, action: Callable[[], None]) -> None:
    """Runs ``action`` whenever ``point`` is passed in this process: for tests that need no real kill."""
    if point not in POINTS:
        raise ValueError(f"no fault point {point!r}")
    _in_process[point] = action


def clear() -> None:
    """Forgets what was arranged."""
    _in_process.clear()


def reach(point: str, table: str) -> None:
    """Marks that a batch of ``table`` passes ``point``; fails there when a test asked for it."""
    if action := _in_process.get(point):
        action()
    wanted = os.environ.get("LAKESMITH_FAULT")
    if not wanted:
        return
    place, _, action_name = wanted.partition(":")
    name, _, where = place.partition("@")
    if name == point and where in ("", table):
        _act(action_name or "kill", point)


def _act(action: str, point: str) -> None:
    if action == "raise":
        raise OSError(f"fault at {point}")
    if action == "killjvm":
        os.kill(_jvm_pid[0], signal.SIGKILL)
        return
    os.kill(os.getpid(), signal.SIGSTOP if action == "stop" else signal.SIGKILL)
