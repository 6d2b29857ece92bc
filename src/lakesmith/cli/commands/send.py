"""``lakesmith send`` and ``lakesmith trace``: events to try a project with."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.api.access import ignore
from lakesmith.api.keeping_up import SendOptions, Sent
from lakesmith.api.tracing import SECONDS
from lakesmith.api.words import count as counted
from lakesmith.api.words import duration
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, say, show
from lakesmith.cli.render.trace_text import report
from lakesmith.errors import UsageError
from lakesmith.serve.send.batches import Shares
from lakesmith.serve.send.check import Found
from lakesmith.serve.send.report import SendReport
from lakesmith.serve.send.sender import Pace

app = opt.command_app()
trace_app = opt.command_app()

_SECONDS = 10.0
"""How long events are sent where nothing is said of it."""


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
        float, typer.Option(help="Seconds a request is tried again, and --check waits for the rows.", min=0)
    ] = 60.0,
    check: Annotated[
        bool, typer.Option("--check", help="Wait until the table has all that was acknowledged, once.")
    ] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Sends events; 1 if an event that fits was not taken once, or is not in the table."""
    if count is None and seconds is None:
        seconds = _SECONDS
    pace, shares = Pace(rate, batch, count, seconds, patience), Shares(late, duplicate, bad)
    options = SendOptions(url, pace, shares, seed, check)
    done = open_lake(project, target).send(table, options, on_event=ignore if json else say)
    show(done, json, _lines)
    raise typer.Exit(0 if done.is_right else 1)


def _lines(done: Sent) -> Iterator[str]:
    yield from report_lines(done.report)
    if done.found is not None:
        yield from found_lines(done.found)


def report_lines(report: SendReport) -> Iterator[str]:
    """What came of sending, in words."""
    retries = f", after {counted(report.retries, 'retry', 'retries')}" if report.retries else ""
    yield f"sent          {counted(report.sent, 'event')} in {duration(report.seconds)}"
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
        yield f"wrong: {counted(report.twice, 'event')} taken twice"
    if report.refused_good:
        yield f"wrong: {counted(report.refused_good, 'event')} refused that fit the columns"
    yield from report.problem.lines() if report.problem else ()


def found_lines(found: Found) -> Iterator[str]:
    """What the table has, in words."""
    bad = f", and {found.quarantined:,} more in quarantine" if found.quarantined else ""
    yield f"in the table  {found.rose:,} more rows after {duration(found.seconds)}{bad}"
    if found.is_right:
        yield f"right: all {found.expected:,} acknowledged events that fit are in the table, once"
    elif found.rose < found.expected:
        missing = f"{found.expected - found.rose:,} of {found.expected:,}"
        yield f"wrong: {missing} acknowledged events are not in the table"
    else:
        more = found.rose - found.expected - found.uncertain
        yield f"wrong: {counted(more, 'row')} too many; if nobody else sends, events were taken twice"


@trace_app.command()
def trace(
    table: opt.TableArgument,
    event: Annotated[
        str | None,
        typer.Argument(help="A file with the event, - for the standard input, or a kept event's name."),
    ] = None,
    source: Annotated[str | None, typer.Option(help="The source, if the table has several.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Print an event to edit, and end.")] = False,
    limit: Annotated[float, typer.Option(help="Seconds after which it ends.", min=1.0)] = SECONDS,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Follows an event; exits with 1 if a table fails. Raises as ``Lakehouse.trace``."""
    with open_lake(project, target) as lake:
        if sample or event is None:
            found = lake.samples(table, source=source)
            show(found, json, lambda each: [one.text.rstrip("\n") for one in each.samples[:1]])
            return
        kept = () if event == "-" or Path(event).is_file() else lake.samples(table, source=source).samples
        traced = lake.trace(
            table, _text(event, {each.name: each.text for each in kept}), source=source, limit=limit
        )
    show(traced, json, report)
    raise typer.Exit(1 if any("failed" in stop.outcomes for stop in traced.stops) else 0)


def _text(event: str, kept: Mapping[str, str]) -> str:
    if event == "-":
        return sys.stdin.read()
    if event in kept:
        return kept[event]
    try:
        return Path(event).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what, expected = f"{event} is no event", "a file of text, -, or the name of a kept event"
        raise UsageError.of("LS279", what, None, expected, str(error)) from error
