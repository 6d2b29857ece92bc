"""What ``lakesmith up`` tells of itself, as ``status`` shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, Final

from lakesmith.api.words import ago, count, duration
from lakesmith.cli.render.text import columns_aligned
from lakesmith.serve.state import TableState, UpState, is_alive, is_here

_HEADER: Final = ("up", "schedule", "next", "last batch", "rows in", "rows out", "waits for", "failures")
_SILENT_MS: Final = 10_000
"""It writes each second: after so long it is stopped, or its disk does not answer."""


def up_lines(state: UpState, names: Collection[str], now_ms: int) -> list[str]:
    """The process, what it does, and those of the tables of which there is something to tell."""
    if is_here(state) and not is_alive(state):
        return [_gone(state, now_ms)]
    rows = [_row(name, each, now_ms) for name, each in state.tables.items() if name in names and _tells(each)]
    table = ["", *columns_aligned([_HEADER, *rows], right=frozenset({4, 5, 6, 7}))] if rows else []
    return [*_process(state, now_ms), *_problems(state, names, now_ms), *table]


def _gone(state: UpState, now_ms: int) -> str:
    return (
        f"lakesmith up is not running: process {state.pid} ended without a word, and was heard of last"
        f" {ago(_ms(state.written), now_ms)}"
    )


def _process(state: UpState, now_ms: int) -> Iterator[str]:
    where = "" if is_here(state) else f" on {state.host}"
    since = (
        "just begun" if now_ms - _ms(state.since) < _SILENT_MS else f"begun {ago(_ms(state.since), now_ms)}"
    )
    yield f"lakesmith up (process {state.pid}{where}, {since}): {state.doing}{_events(state)}"
    if now_ms - _ms(state.written) > _SILENT_MS:
        heard = ago(_ms(state.written), now_ms)
        yield f"  it was heard of last {heard}: it does not answer, or its folder cannot be written"
    if state.page is not None:
        yield f"  the page of the lake: {state.page} (lakesmith ui --link signs in)"
    if state.intake is not None and state.intake.problem is not None:
        yield f"  no events are taken: {state.intake.problem}"
    for path, why in state.intake.troubles.items() if state.intake else ():
        yield f"  {path} takes no events: {why}"
    if (run := state.last_run) is not None:
        failed = f", {count(len(run.failed), 'table')} failed" if run.failed else ""
        batches = count(len(run.published), "batch", "batches")
        yield f"  last run {ago(_ms(run.ended), now_ms)}: {batches} in {duration(run.seconds)}{failed}"


def _events(state: UpState) -> str:
    if state.intake is None:
        return ""
    if state.intake.is_taking:
        return f"; it takes events at {state.address}"
    return f"; the process that takes events at {state.address} is being started, and they wait"


def _problems(state: UpState, names: Collection[str], now_ms: int) -> Iterator[str]:
    if state.problem is not None:
        yield f"  nothing can be run: {_told(state.problem)}"
    for name, each in state.tables.items():
        if name in names and each.problem is not None and each.next_try is not None:
            how = "is parked" if each.is_parked else "fails"
            wait = max(0, _ms(each.next_try) - now_ms) / 1000
            yield f"  {name} {how}: {_told(each.problem)}; it is tried again in {duration(wait)}"


def _told(problem: Any) -> str:
    return f"{problem.get('code')} {problem.get('what')}"


def _tells(each: TableState) -> bool:
    return bool(
        each.schedule or each.failures or each.last_batch or each.lag_seconds is not None or each.is_paused
    )


def _row(name: str, each: TableState, now_ms: int) -> tuple[str, ...]:
    return (
        name,
        each.schedule or "on arrival",
        _when(each.next_firing),
        ago(_ms(each.last_batch), now_ms) if each.last_batch else "-",
        *("-" if rows is None else f"{rows:,}" for rows in (each.last_rows, each.last_changed)),
        "-" if each.lag_seconds is None else duration(each.lag_seconds),
        f"{each.failures}{' (parked)' if each.is_parked else ''}{' (paused)' if each.is_paused else ''}",
    )


def _when(iso: str | None) -> str:
    return "-" if iso is None else f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M:%S} UTC"


def _ms(iso: str) -> int:
    return round(datetime.fromisoformat(iso).timestamp() * 1000)
