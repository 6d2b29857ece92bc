"""``lakesmith up``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from lakesmith.api.keeping_up import BatchReport, Pace, RunResult, Up, account_in_words
from lakesmith.api.words import duration
from lakesmith.cli.command import HERE, ProjectOption, TargetOption, command_app, open_lake
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.errors import LakesmithError

app = command_app()


@app.command()
def up(
    host: Annotated[str, typer.Option(help="The address that events are posted to.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Its port.", min=1, max=65535)] = 8080,
    every: Annotated[
        float,
        typer.Option(
            help="Seconds after which everything is looked at. What arrives is taken at once.", min=0.1
        ),
    ] = 10.0,
    tls_cert: Annotated[
        Path | None, typer.Option(help="Takes events over HTTPS, with the certificate in this file.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key.")] = None,
    at_most_every: Annotated[
        float,
        typer.Option(help="Seconds from the beginning of one run to that of the next, at least.", min=0.0),
    ] = 0.0,
    systemd: Annotated[
        bool, typer.Option("--systemd", help="Print a unit of systemd that does this, and do nothing.")
    ] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
) -> None:
    """Runs the service until SIGINT or SIGTERM; a second one abandons the batch under way."""
    terminal = Terminal()
    lake = open_lake(project, target)
    pace = Pace(every, at_most_every)
    service = lake.up(terminal, address=(host, port), pace=pace, tls=(tls_cert, tls_key))
    if systemd:
        print(service.systemd_unit())
        return
    with _until_stopped(service):
        finished = service.keep()
    if not finished:
        terminal.notice(
            "ended; the batch under way was abandoned, nothing of it is published: the next run does it again"
        )
        raise typer.Exit(INTERRUPTED)
    terminal.notice("ended; all that was taken is kept")


class Terminal:
    """Prints what happens with the time, and problems on stderr. Implements ``Observer``."""

    def __init__(self) -> None:
        self._notes: dict[str, tuple[str, ...]] = {}

    def notice(self, text: str) -> None:
        """Prints a line."""
        print(f"{datetime.now().astimezone():%H:%M:%S}  {text}", flush=True)

    def on_batch(self, name: str, report: BatchReport) -> None:
        """Prints what a table's batch did, and its warnings that the batch before did not have."""
        self.notice(f"{name}: {account_in_words(report.record.account)}")
        known, self._notes[name] = self._notes.get(name, ()), report.warnings
        for note in report.warnings:
            if note not in known:
                self.notice(f"{name}: note: {note}")

    def on_run(self, result: RunResult) -> None:
        """Prints how long a run took."""
        self.notice(f"up to date after {duration(result.seconds)}")

    def on_problems(self, error: LakesmithError) -> None:
        """Prints problems in full."""
        lines = [line for problem in error.problems for line in problem.lines()]
        print("\n".join(lines), file=sys.stderr, flush=True)


@contextmanager
def _until_stopped(service: Up) -> Iterator[None]:
    def end(_signal: int, _frame: FrameType | None) -> None:
        service.stop()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, end) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
