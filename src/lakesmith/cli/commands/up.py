"""``lakesmith up``, and ``lakesmith ui``: what runs until it is stopped."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from lakesmith.api.words import duration
from lakesmith.catalog.history import account_in_words
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.render.live import handled
from lakesmith.errors import LakesmithError
from lakesmith.execute.events import BatchReport, RunResult
from lakesmith.page.server import Ui
from lakesmith.serve.options import Pace, PageChoice
from lakesmith.serve.up import Up

app = opt.command_app()
ui_app = opt.command_app()


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
    ui_port: Annotated[
        int | None, typer.Option(help="The page's port. Default: as declared, or 8090.", min=1, max=65535)
    ] = None,
    no_ui: Annotated[bool, typer.Option("--no-ui", help="Serve no page.")] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="The page changes nothing: it only shows.")
    ] = False,
    systemd: Annotated[
        bool, typer.Option("--systemd", help="Print a unit of systemd that does this, and do nothing.")
    ] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
) -> None:
    """Runs the service until SIGINT or SIGTERM; a second one abandons the batch under way."""
    terminal = Terminal()
    lake = open_lake(project, target)
    pace = Pace(every, at_most_every)
    serves = False if no_ui else None if ui_port is None else True
    page = PageChoice(serves, ui_port, not read_only, shows_link=sys.stdout.isatty())
    service = lake.up(terminal, address=(host, port), pace=pace, tls=(tls_cert, tls_key), page=page)
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


@ui_app.command()
def ui(
    port: Annotated[
        int | None,
        typer.Option(help="The page's port; 0: any. Default: as declared, or 8090.", min=0, max=65535),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="The address that it listens on. Default: as declared, or 127.0.0.1.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name under which browsers may ask for it. Needs TLS.")
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(help="Serves the page over HTTPS, with the certificate in this file.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The certificate's key.")] = None,
    link: Annotated[
        bool, typer.Option("--link", help="Print the link that signs a browser in, and end.")
    ] = False,
    fd: Annotated[list[int] | None, typer.Option(hidden=True)] = None,
    may_change: Annotated[bool, typer.Option("--may-change", hidden=True)] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
) -> None:
    """Serves the page until SIGINT or SIGTERM."""
    page = open_lake(project, target).ui(
        port=port, host=host, allow_hosts=allow_host or (), tls=(tls_cert, tls_key), may_change=may_change
    )
    if link:
        print(page.link)
        return
    with _until_stopped(page):
        # Beside ``up``, which passes on the sockets, its lines are for ``up``.
        page.keep(_to_up if fd else _to_user, fd or ())


def _to_user(page: Ui) -> None:
    print(f"the page of the lake: {page.link}\nCtrl-C ends it", flush=True)


def _to_up(page: Ui) -> None:
    print(json.dumps({"url": page.url, "link": page.link}), flush=True)


class Terminal:
    """Prints what happens with the time, and problems on stderr. Implements ``Observer``."""

    def __init__(self) -> None:
        self._notes: dict[str, tuple[str, ...]] = {}

    def notice(self, text: str) -> None:
        print(f"{datetime.now().astimezone():%H:%M:%S}  {text}", flush=True)

    def on_batch(self, name: str, report: BatchReport) -> None:
        """Prints what a table's batch did, and its warnings that the batch before did not have."""
        self.notice(f"{name}: {account_in_words(report.record.account)}")
        known, self._notes[name] = self._notes.get(name, ()), report.warnings
        for note in report.warnings:
            if note not in known:
                self.notice(f"{name}: note: {note}")

    def on_run(self, result: RunResult) -> None:
        self.notice(f"up to date after {duration(result.seconds)}")

    def on_problems(self, error: LakesmithError) -> None:
        lines = [line for problem in error.problems for line in problem.lines()]
        print("\n".join(lines), file=sys.stderr, flush=True)


def _until_stopped(service: Up | Ui) -> AbstractContextManager[None]:
    def end(_signal: int, _frame: FrameType | None) -> None:
        service.stop()

    return handled(end, signal.SIGINT, signal.SIGTERM)
