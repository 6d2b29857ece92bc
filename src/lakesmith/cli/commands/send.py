"""``lakesmith send``: posts events to a source of the project, as a till or a sensor would, and says what came of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Annotated

import typer

from lakesmith.api.words import count, duration
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, command_app
from lakesmith.serve.routes import event_sources
from lakesmith.serve.send.batches import Batches, Shares
from lakesmith.serve.send.check import Found, awaited, count_now, settled
from lakesmith.serve.send.choose import chosen, token_for, url_of
from lakesmith.serve.send.report import SendReport
from lakesmith.serve.send.sender import Pace, Sender
from lakesmith.serve.send.values import EventMaker

app = command_app()

_SECONDS = 10.0
"""How long events are sent where nothing is said of it."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """What is sent where. ``table``: a table, or a path; None where the project has one source of events."""

    project: Path
    target: str | None
    table: str | None
    url: str
    pace: Pace
    shares: Shares
    seed: int
    check: bool
    as_json: bool


@app.command()
def send(
    table: Annotated[
        str | None,
        typer.Argument(help="A table with a source of events, or its path. Not needed where there is one."),
    ] = None,
    rate: Annotated[float, typer.Option(help="Events a second.", min=0.01, max=1_000_000)] = 10.0,
    seconds: Annotated[
        float | None,
        typer.Option(
            help=f"How long events are sent; {_SECONDS:g} where there is no --count.",
            min=0.01,
            show_default=False,
        ),
    ] = None,
    count: Annotated[
        int | None, typer.Option(help="How many events are sent.", min=1, show_default=False)
    ] = None,
    batch: Annotated[int, typer.Option(help="Events in a request.", min=1)] = 10,
    late: Annotated[
        float, typer.Option(help="Part of the events that are minutes to hours late: 0.1.", min=0, max=1)
    ] = 0.0,
    duplicate: Annotated[
        float, typer.Option(help="Part of the requests that are sent again with the same key.", min=0, max=1)
    ] = 0.0,
    bad: Annotated[
        float, typer.Option(help="Part of the requests whose events do not fit the columns.", min=0, max=1)
    ] = 0.0,
    url: Annotated[str, typer.Option(help="Where lakesmith up takes events.")] = "http://127.0.0.1:8080",
    seed: Annotated[
        int | None, typer.Option(help="Makes the same values again; by chance otherwise.", show_default=False)
    ] = None,
    patience: Annotated[
        float,
        typer.Option(help="Seconds a request is tried again, and --check waits for the rows.", min=0),
    ] = 60.0,
    check: Annotated[
        bool, typer.Option("--check", help="Wait until the table has all that was acknowledged, once.")
    ] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``send_command`` takes them."""
    if count is None and seconds is None:
        seconds = _SECONDS
    pace = Pace(rate, batch, count, seconds, patience)
    number = SystemRandom().randrange(2**32) if seed is None else seed
    shares = Shares(late, duplicate, bad)
    raise typer.Exit(
        send_command(SendOptions(project, target, table, url, pace, shares, number, check, json))
    )


def send_command(options: SendOptions) -> int:
    """Sends, and prints what came of it; 0 where all that fits was taken once, and with ``check`` is in the table; else 1."""
    opened = open_project(options.project, options.target)
    source = chosen(event_sources(opened.project), options.table)
    url, token = url_of(source, options.url), token_for(source, os.environ)
    maker = EventMaker(source.table.columns, source.source.event_id)
    sender = Sender(url, token, Batches(maker, options.shares, options.seed), options.pace)
    count_rows = partial(count_now, options.project, options.target, source)
    before = settled(count_rows, options.pace.patience) if options.check else None
    if not options.as_json:
        print(f"POST {url.geturl()} -> {source.table.name}, seed {options.seed}", flush=True)
    report, found = sender.send(), None
    if before is not None:
        found = awaited(count_rows, before, report.good, report.unanswered, options.pace.patience)
    _show(report, found, options)
    return 0 if report.is_right and (found is None or found.is_right) else 1


def _show(report: SendReport, found: Found | None, options: SendOptions) -> None:
    if options.as_json:
        checked = found.as_dict() if found else None
        print(json.dumps({**report.as_dict(), "seed": options.seed, "check": checked}, indent=2))
    else:
        print("\n".join((*report_lines(report), *(found_lines(found) if found else ()))))


def report_lines(report: SendReport) -> Iterator[str]:
    """What came of sending, in words."""
    retries = f", after {count(report.retries, 'retry', 'retries')}" if report.retries else ""
    yield f"sent          {count(report.sent, 'event')} in {duration(report.seconds)}"
    yield f"acknowledged  {report.acknowledged:,} ({report.rate:,.1f} a second){retries}"
    if report.duplicates or report.twice:
        yield f"duplicates    {report.duplicates:,} sent again and not taken again"
    for status, number in sorted(report.refused.items()):
        yield f"refused       {number:,} with status {status}"
    median, p99 = report.latency(0.5), report.latency(0.99)
    if median is not None and p99 is not None:
        yield f"latency       median {median * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms"
    if report.unanswered:
        yield f"unanswered    {report.unanswered:,}: nobody knows whether they were taken"
    if report.twice:
        yield f"wrong: {count(report.twice, 'event')} taken twice"
    if report.refused_good:
        yield f"wrong: {count(report.refused_good, 'event')} refused that fit the columns"
    yield from report.problem.lines() if report.problem else ()


def found_lines(found: Found) -> Iterator[str]:
    """What the table has, in words."""
    bad = f", and {found.quarantined:,} more in quarantine" if found.quarantined else ""
    yield f"in the table  {found.rose:,} more rows after {duration(found.seconds)}{bad}"
    if found.is_right:
        yield f"right: all {found.expected:,} acknowledged events that fit are in the table, once"
    elif found.rose < found.expected:
        yield f"wrong: {found.expected - found.rose:,} of {found.expected:,} acknowledged events are not in the table"
    else:
        more = found.rose - found.expected - found.uncertain
        yield f"wrong: {count(more, 'row')} too many; if nobody else sends, events were taken twice"
