"""``lakesmith run``."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from lakesmith.catalog.lock import ProjectLock
from lakesmith.cli.asking import asks
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import (
    HERE,
    JsonOption,
    ProjectOption,
    SelectArgument,
    TargetOption,
    WaitOption,
    command_app,
)
from lakesmith.cli.render.run_view import JsonView, TextView, open_view, stray_prints_to_stderr
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import Engine
from lakesmith.execute.events import Event, Listener, TableFailed
from lakesmith.execute.opened import Opened
from lakesmith.execute.run import LazyEngine, Run
from lakesmith.plan.losses import WAITS
from lakesmith.project.definitions import TableName
from lakesmith.project.nearest import listed

app = command_app()


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the caller of ``run`` asked for. ``wait`` is in seconds; ``command`` is what the lock's holder is called."""

    select: tuple[str, ...] = ()
    full_refresh: tuple[str, ...] = ()
    approve: tuple[str, ...] = ()
    wait: float = 0.0
    command: str = "run"


@app.command()
def run(
    select: SelectArgument = None,
    full_refresh: Annotated[
        list[str] | None, typer.Option("--full-refresh", help="A derived table to rebuild from its inputs.")
    ] = None,
    approve: Annotated[
        list[str] | None,
        typer.Option("--approve", help="A table that may lose what plan says that its change takes away."),
    ] = None,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``run_command`` takes them."""
    options = RunOptions(tuple(select or ()), tuple(full_refresh or ()), tuple(approve or ()), wait)
    raise typer.Exit(run_command(project, target, options, json))


def run_command(root: Path, target: str | None, options: RunOptions, as_json: bool) -> int:
    """Runs and shows it; returns the exit code."""
    opened = open_project(root, target)
    names, decider = opened.to_run(options.select, options.full_refresh, approve=options.approve)
    events: list[Event] = []
    code = run_and_show(opened, decider, names, options, as_json, events.append)
    if as_json or not (tables := _that_wait(events)) or not asks():
        return code
    if not typer.confirm(f"May {listed(tables)} lose that?"):
        return code
    again = RunOptions(tuple(f"{table}+" for table in tables), approve=(*options.approve, *tables))
    return run_command(root, target, again, as_json)


def _that_wait(events: Sequence[Event]) -> tuple[str, ...]:
    """The tables that wait for approval."""
    failed = (event for event in events if isinstance(event, TableFailed))
    return tuple(str(event.table) for event in failed if any(each.code == WAITS for each in event.problems))


def run_and_show(
    opened: Opened,
    decider: Decider,
    names: Sequence[TableName],
    options: RunOptions,
    as_json: bool,
    tell: Listener = lambda _: None,
) -> int:
    """Runs what ``decider`` decides on ``names``, shows it and ``tell``s of it; returns the exit code."""
    with open_view(as_json) as view:

        def both(event: Event) -> None:
            tell(event)
            view(event)

        run = Run(
            decider,
            names,
            lambda lock, little: _engine(opened, lock, little, view),
            both,
            command=options.command,
            wait_seconds=options.wait,
        )
        with _stopping(run, view), stray_prints_to_stderr(as_json):
            code = run.run()
    return INTERRUPTED if run.stop.is_set() else code


def _engine(opened: Opened, lock: ProjectLock, little: bool, view: Listener) -> Engine:
    # Imported here: what has nothing to do starts no Spark and does not pay for its import.
    from lakesmith.cli.warm import keep_of
    from lakesmith.spark.open import open_engine
    from lakesmith.spark.progress import follow

    engine = open_engine(opened.lake, lock, view, little, keep_of(opened.project))
    if isinstance(view, TextView) and view.status is not None:
        follow(engine.session.spark, view.progress)
    return engine


@contextmanager
def _stopping(run: Run, view: TextView | JsonView) -> Iterator[None]:
    """Ctrl-C ends running jobs and starts no more; a second one ends the process at once.

    Nothing is lost by either: what is not published does not count, and the JVM ends with the process that started it.
    """
    ended = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        if run.engine is None:
            raise KeyboardInterrupt
        if run.stop.is_set():
            view.close()
            os._exit(INTERRUPTED)
        run.stop.set()
        view.stopping()
        # Not here: the main thread may be in the middle of a call to the JVM.
        threading.Thread(target=_cancel, args=(run.engine, ended), name="cancel", daemon=True).start()

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        ended.set()
        signal.signal(signal.SIGINT, previous)


def _cancel(engine: LazyEngine, ended: threading.Event) -> None:
    from lakesmith.spark.progress import keep_cancelling

    keep_cancelling(engine.cancel, ended)
