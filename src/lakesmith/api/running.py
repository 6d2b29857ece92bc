"""Runs: the selected tables are refreshed in dependency order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event as Flag

from lakesmith.api.access import Access
from lakesmith.catalog.lock import ProjectLock
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import Engine, RunStopped
from lakesmith.execute.events import Event, Listener
from lakesmith.execute.opened import Opened
from lakesmith.execute.run import Run
from lakesmith.execute.run_result import RunFailed, RunResult, result_of
from lakesmith.project.definitions import TableName


def run(
    access: Access,
    select: Sequence[str],
    full_refresh: Sequence[str],
    approve: Sequence[str],
    wait: float,
    on_event: Listener | None,
) -> RunResult:
    """Refreshes the selected tables; see ``Lakehouse.run``."""
    opened = access.opened()
    names, decider = opened.to_run(select, full_refresh, access.is_warm, approve)
    return run_decided(access, opened, (names, decider), ("run", wait), on_event)


def run_decided(
    access: Access,
    opened: Opened,
    what: tuple[Sequence[TableName], Decider],
    how: tuple[str, float],
    on_event: Listener | None,
) -> RunResult:
    """Does what a decider decides on tables.

    Args:
        what: the tables, and the decider.
        how: what the lock's holder is called, and the seconds to wait for another holder.
        on_event: receives every event.

    Raises RunFailed if a table failed.
    """
    names, decider = what
    events: list[Event] = []

    def tell(event: Event) -> None:
        events.append(event)
        if on_event is not None:
            on_event(event)

    def engine(lock: ProjectLock, little: bool) -> Engine:
        if work.stop.is_set():
            raise RunStopped([])
        return access.engine(opened, lock, tell, little)

    work = Run(decider, names, engine, tell, command=how[0], wait_seconds=how[1])
    access.do(work.run, partial(_give_up, work))
    result = result_of(events)
    if result.exit_code:
        raise RunFailed(result)
    return result


def _give_up(run: Run, ended: Flag) -> None:
    run.stop.set()
    from lakesmith.spark.progress import keep_cancelling

    keep_cancelling(lambda: run.engine.cancel() if run.engine else None, ended)
