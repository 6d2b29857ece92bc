"""What tables need, and what was done for them, as text and as data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from lakesmith.api.words import count, duration, size
from lakesmith.cli.render.text import columns_aligned
from lakesmith.execute.maintenance import (
    Maintained,
    NotMaintained,
    NotThere,
    Unknown,
    Verdict,
    maintained_as_dict,
)
from lakesmith.plan.expiry import HeldBack
from lakesmith.plan.maintenance import Care, Task
from lakesmith.project.definitions import TableName

_HEADER: Final = ("table", "files", "size", "deleted", "snapshots", "needs", "why")
_FILES_SHOWN: Final = 20
_DAY_MS: Final = 86_400_000


def plan_lines(found: Sequence[Verdict]) -> Iterator[str]:
    """What each table needs and why, or why nothing; a closing line."""
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
    told = (care.left[task] for task in (Task.COMPACT, Task.DELETES, Task.EXPIRE) if task in care.left)
    return "; ".join(told)


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
            f"note: {each.reader} keeps {count(each.snapshots, 'snapshot')} of {table}, up to {count(days, 'day')} old: it"
            " has not taken what came since; a run of it lets them go"
        )


def left_lines(found: Sequence[Verdict]) -> Iterator[str]:
    """The tables that nothing was done for, and why."""
    for each in found:
        if isinstance(each, NotThere):
            yield f"{each.table}: nothing to do: {each.why}"
        elif isinstance(each, Unknown):
            yield from each.problem.lines()
        elif not each.todo:
            yield f"{each.table}: nothing to do: {_why_nothing(each)}"
            yield from _held_lines(each.table, each.held_back)


def plan_as_dict(each: Verdict) -> dict[str, Any]:
    """What a table needs, as JSON data."""
    if isinstance(each, Care):
        held = [{**asdict(one), "reader": str(one.reader)} for one in each.held_back]
        return {
            "table": str(each.table),
            "health": asdict(each.health),
            "small_files": each.small.files,
            "needs": {task.value: why for task, why in each.todo.items()},
            "left": {task.value: why for task, why in each.left.items()},
            "held_back": held,
        }
    if isinstance(each, Unknown):
        return {"table": str(each.table), "problem": each.problem.as_dict()}
    return {"table": str(each.table), "why": each.why}


def done_as_dict(done: Maintained | NotMaintained) -> dict[str, Any]:
    """What was done, as JSON data."""
    if isinstance(done, Maintained):
        return maintained_as_dict(done)
    return {"table": str(done.table), "problems": [problem.as_dict() for problem in done.problems]}
