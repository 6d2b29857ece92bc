"""``lakesmith up``: takes events over HTTP and keeps the project up to date, until it is told to end."""

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

from lakesmith.api.lakehouse import Lakehouse
from lakesmith.api.words import duration
from lakesmith.catalog.history import account_in_words
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, ProjectOption, TargetOption, command_app
from lakesmith.errors import LakesmithError
from lakesmith.execute.events import BatchReport
from lakesmith.execute.run_result import RunResult
from lakesmith.serve.loop import Pace
from lakesmith.serve.systemd import unit_of
from lakesmith.serve.tls import certificate_and_key
from lakesmith.serve.up import Up, UpOptions

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
    """The command line's words, as ``up_command`` takes them."""
    pace = Pace(every, at_most_every)
    tls = certificate_and_key(tls_cert, tls_key)
    options = UpOptions(project.resolve(), target, host, port, pace, tls)
    if systemd:
        opened = open_project(options.project, target)
        print(unit_of(opened.project.name, options.project, _arguments(options)))
        raise typer.Exit
    raise typer.Exit(up_command(options))


def _arguments(options: UpOptions) -> Iterator[str]:
    """The options as they are typed."""
    yield from ("--host", options.host, "--port", str(options.port))
    yield from ("--every", f"{options.pace.every:g}", "--at-most-every", f"{options.pace.at_most_every:g}")
    if options.tls is not None:
        for name, file in zip(("--tls-cert", "--tls-key"), options.tls, strict=True):
            yield from (name, str(file.resolve()))
    if options.target is not None:
        yield from ("--target", options.target)


def up_command(options: UpOptions) -> int:
    """Keeps the project up to date until SIGINT or SIGTERM; the batch that is under way is finished first, at a second one given up."""
    open_project(options.project, options.target)
    terminal = Terminal()
    keeper = Up(options, terminal, lambda: Lakehouse(options.project, options.target))
    with _until_told(keeper):
        finished = keeper.keep()
    if not finished:
        terminal.tell(
            "ended; the batch under way was given up, nothing of it is published: the next run does it anew"
        )
        return INTERRUPTED
    terminal.tell("ended; all that was taken is kept")
    return 0


class Terminal:
    """Says what happens, a line each with the time, and problems in full on stderr. Implements ``serve.told.Voice``."""

    def __init__(self) -> None:
        self._notes: dict[str, tuple[str, ...]] = {}

    def tell(self, text: str) -> None:
        """A line."""
        print(f"{datetime.now().astimezone():%H:%M:%S}  {text}", flush=True)

    def on_batch(self, name: str, report: BatchReport) -> None:
        """What a table's batch did, and what to know of it that was not said of the one before."""
        self.tell(f"{name}: {account_in_words(report.record.account)}")
        known, self._notes[name] = self._notes.get(name, ()), report.warnings
        for note in report.warnings:
            if note not in known:
                self.tell(f"{name}: note: {note}")

    def on_run(self, result: RunResult) -> None:
        """How long a run took."""
        self.tell(f"up to date after {duration(result.seconds)}")

    def on_problems(self, error: LakesmithError) -> None:
        """Problems with all that is known of them."""
        lines = [line for problem in error.problems for line in problem.lines()]
        print("\n".join(lines), file=sys.stderr, flush=True)


@contextmanager
def _until_told(keeper: Up) -> Iterator[None]:
    def end(_signal: int, _frame: FrameType | None) -> None:
        keeper.stop()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, end) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
