"""What tables need, and what was done for them, as text."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from lakesmith.api.maintaining import MaintenanceEvent, Step
from lakesmith.api.words import count, duration, size
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.render.live import Output, handled, live_line, update
from lakesmith.cli.render.text import columns_aligned
from lakesmith.execute.maintenance import (
    Maintained,
    MaintenancePlan,
    MaintenanceResult,
    NotMaintained,
    NotThere,
    Unknown,
    Verdict,
)
from lakesmith.plan.expiry import HeldBack
from lakesmith.plan.maintenance import Care, Task
from lakesmith.project.definitions import TableName

if TYPE_CHECKING:
    from rich.status import Status

_HEADER: Final = ("table", "files", "size", "deleted", "snapshots", "needs", "why")
_FILES_SHOWN: Final = 20
_DAY_MS: Final = 86_400_000


def plan_lines(plan: MaintenancePlan) -> Iterator[str]:
    """What each table needs and why, or why nothing; a closing line."""
    found = plan.tables
    if not found:
        yield "the project has no tables yet"
        return
    yield from columns_aligned(
        [_HEADER, *(row for each in found for row in _rows(each))], right=frozenset({1, 2, 3, 4})
    )
    yield ""
    for each in found:
        if isinstance(each, Unknown):
            yield from each.problem.lines()
        if isinstance(each, Care):
            yield from _held_lines(each.table, each.held_back)
    needing = sum(isinstance(each, Care) and bool(each.todo) for each in found)
    yield f"{count(needing, 'table')} to maintain: lakesmith maintain" if needing else "nothing to maintain"


def _rows(each: Verdict) -> Iterator[tuple[str, ...]]:
    name = str(each.table)
    if isinstance(each, NotThere):
        yield (name, "-", "-", "-", "-", "nothing", each.why)
        return
    if isinstance(each, Unknown):
        yield (name, "-", "-", "-", "-", "?", each.problem.what)
        return
    health = each.health
    facts = (
        name,
        f"{health.data_files:,}",
        size(health.data_bytes),
        f"{health.deleted_part:.0%}",
        f"{health.snapshots:,}",
    )
    for number, (task, why) in enumerate(each.todo.items()):
        yield (*(facts if number == 0 else ("",) * len(facts)), task.value, why)
    if not each.todo:
        yield (*facts, "nothing", _why_nothing(each))


def _why_nothing(care: Care) -> str:
    shown = (Task.COMPACT, Task.DELETES, Task.EXPIRE)
    return "; ".join(care.left[task] for task in shown if task in care.left)


def done_lines(done: Maintained | NotMaintained) -> Iterator[str]:
    """What was done for a table: from what to what, and what it took."""
    if isinstance(done, NotMaintained):
        yield f"{done.table}: not maintained"
        yield from (f"  {line}" for problem in done.problems for line in problem.lines())
        return
    said = "; ".join(done.done.values()) or "there was nothing to do any more"
    yield f"{done.table}: {said} ({duration(done.seconds)})"
    before, after = done.before, done.after
    if done.done:
        yield from (
            f"  {line}"
            for line in columns_aligned(
                [
                    ("", "data files", "size", "delete files", "manifests", "snapshots", "planning a scan"),
                    ("before", *_measures(before)),
                    ("after", *_measures(after)),
                ],
                right=frozenset(range(1, 7)),
            )
        )
    yield from _orphan_lines(done)
    yield from _held_lines(done.table, done.held_back)


def _measures(measured: Any) -> tuple[str, ...]:
    return (
        f"{measured.data_files:,}",
        size(measured.data_bytes),
        f"{measured.delete_files:,}",
        f"{measured.manifests:,}",
        f"{measured.snapshots:,}",
        f"{measured.planning_seconds * 1000:,.0f} ms",
    )


def _orphan_lines(done: Maintained) -> Iterator[str]:
    for path in done.orphans[:_FILES_SHOWN]:
        yield f"  {'removed ' if done.removed else ''}{path}"
    if len(done.orphans) > _FILES_SHOWN:
        yield f"  and {len(done.orphans) - _FILES_SHOWN:,} more: --json has all of them"
    if done.orphans and not done.removed:
        yield f"  to remove them: lakesmith maintain {done.table} --remove-orphans"


def _held_lines(table: TableName, held: Sequence[HeldBack]) -> Iterator[str]:
    now = time.time_ns() // 1_000_000
    for each in held:
        days = (now - each.since_ms) // _DAY_MS
        yield (
            f"note: {each.reader} keeps {count(each.snapshots, 'snapshot')} of {table},"
            f" up to {count(days, 'day')} old: it has not taken what came since; a run of it lets them go"
        )


def left_lines(done: MaintenanceResult) -> Iterator[str]:
    """The tables that nothing was done for, and why; then whether it was stopped."""
    for each in done.left:
        if isinstance(each, NotThere):
            yield f"{each.table}: nothing to do: {each.why}"
        elif isinstance(each, Unknown):
            yield from each.problem.lines()
        else:
            yield f"{each.table}: nothing to do: {_why_nothing(each)}"
            yield from _held_lines(each.table, each.held_back)
    if done.stopped:
        yield "stopped: what was done stays, and the next call goes on"


@dataclass
class _View:
    """Shows steps on a terminal's live line (``status``), and results as lines on ``output``."""

    output: Output | None = None
    status: Status | None = None

    def __call__(self, event: MaintenanceEvent) -> None:
        if isinstance(event, Step):
            update(self.status, event.text)
        elif self.output is not None:
            for line in done_lines(event):
                self.output.write(line)


@contextmanager
def open_view(as_json: bool) -> Iterator[_View]:
    """Shows events. Ctrl-C and SIGTERM interrupt the body; a second one ends the process at once."""
    is_ending = False

    def stop(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_ending
        if is_ending:
            os._exit(INTERRUPTED)
        is_ending = True
        raise KeyboardInterrupt

    with handled(stop, signal.SIGINT, signal.SIGTERM), live_line(as_json, "looking at the tables") as status:
        yield _View(None if as_json else Output(), status)
