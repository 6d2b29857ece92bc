"""``lakesmith send``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.keeping_up import Found, SendOptions, SendReport, Sent, Shares
from lakesmith.api.keeping_up import SendPace as Pace
from lakesmith.api.words import count as counted
from lakesmith.api.words import duration
from lakesmith.cli.command import HERE, JsonOption, ProjectOption, TargetOption, command_app, open_lake, show

app = command_app()

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
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Sends events; 1 if an event that fits was not taken once, or is not in the table."""
    if count is None and seconds is None:
        seconds = _SECONDS
    pace, shares = Pace(rate, batch, count, seconds, patience), Shares(late, duplicate, bad)
    options = SendOptions(url, pace, shares, seed, check)
    done = open_lake(project, target).send(table, options, on_event=_ignore if json else _say)
    show(done, json, _lines)
    raise typer.Exit(0 if done.is_right else 1)


def _ignore(_text: str) -> None:
    """Prints nothing."""


def _say(text: str) -> None:
    print(text, flush=True)


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
