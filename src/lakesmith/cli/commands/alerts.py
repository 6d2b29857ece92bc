"""``lakesmith alerts``: what fires by the last runs, and tests of channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.alerts.overview import CurrentAlerts, TestedChannels
from lakesmith.alerts.texts import WORDS, in_words
from lakesmith.api.words import count, moment
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show

app = opt.command_app()


@app.command()
def alerts(
    channels: Annotated[
        list[str] | None, typer.Argument(help="With --test: the channels; all if none.")
    ] = None,
    test: Annotated[bool, typer.Option("--test", help="Send a message to each channel, to try it.")] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Prints what fires, and who was notified; with ``--test``, 1 if a channel did not take it."""
    lake = open_lake(project, target)
    if test or channels:
        tested = lake.test_alerts(*(channels or ()))
        show(tested, json, _tested_lines)
        raise typer.Exit(1 if tested.has_failed else 0)
    show(lake.alerts(), json, _lines)


def _tested_lines(found: TestedChannels) -> Iterator[str]:
    for name, problem in found.channels.items():
        if problem is None:
            yield f"{name}: the test was sent"
        else:
            yield from problem.lines()


def _lines(found: CurrentAlerts) -> Iterator[str]:
    if not found.channels:
        yield "the project has no channels: alerts: {channels: {…}} in lakesmith.yaml"
        return
    if not found.is_on:
        yield "no alerts are sent on this target"
    for firing in found.firing:
        finding = firing.finding
        head = f"{WORDS[finding.kind]} {finding.table or ''}".rstrip()
        notified = ", ".join(channel for channel, at in firing.sent.items() if at) or "nobody yet"
        yield f"{head} since {moment(int(firing.since * 1000))} (notified: {notified}): {in_words(finding)}"
    yield f"{count(len(found.firing), 'alert')} firing" if found.firing else "nothing fires"
