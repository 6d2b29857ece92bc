"""``lakesmith run --submit``: a run on AWS, shown as one on this machine; and ``lakesmith logs``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.submitting.logs import RunLog
from lakesmith.api.words import duration
from lakesmith.cli import command as opt
from lakesmith.cli.command import asks, open_lake
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.render.run_view import JsonView, TextView, open_view
from lakesmith.execute.events import RunFailed

logs_app = opt.command_app()


def submit_command(root: Path, target: str | None, as_json: bool, *select: str, **options: Any) -> int:
    """Starts a run, follows it, and returns its exit code. Ctrl-C asks whether to cancel it."""
    with open_view(as_json) as view:
        lake = open_lake(root, target, view.progress if isinstance(view, TextView) and view.status else None)
        run = lake.submit(*select, **options)
        _say(view, f"submitted {run} (Ctrl-C asks whether to cancel it)")
        try:
            return lake.follow(run, on_event=view, on_note=lambda note: _say(view, f"note: {note}")).exit_code
        except RunFailed as failed:
            _say(view, f"its log: {_logs(run, target)}")
            return failed.exit_code
        except KeyboardInterrupt:
            view.close()
    if asks() and typer.confirm(f"Cancel {run}?"):
        lake.cancel(run)
        print("cancelled: tables that were published stay, nothing of the others is left")
    else:
        print(f"it goes on: {_logs(run, target)}")
    return INTERRUPTED


def _logs(run: str, target: str | None) -> str:
    return f"lakesmith logs {run}{f' --target {target}' if target else ''}"


def _say(view: TextView | JsonView, line: str) -> None:
    if isinstance(view, TextView):
        view.say(line)


@logs_app.command()
def logs(
    run: Annotated[str | None, typer.Argument(help="A run's name; the newest otherwise.")] = None,
    lines: Annotated[int, typer.Option(min=0, help="How many lines of the log, from its end.")] = 100,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Shows how a run on AWS went, and the log of its job."""
    opt.show(open_lake(project, target).run_log(run, lines=lines), json, log_lines)


def log_lines(found: RunLog) -> Iterator[str]:
    """The log, and below it how the run went: a terminal shows the end."""
    yield from found.lines
    if found.lines:
        yield ""
    yield from (f"stream {stream} of {found.group}" for stream in found.streams)
    if not found.streams:
        yield f"no log of this run in {found.group} yet"
    yield from (f"{each['table']}: {each['problem']}" for each in found.failed)
    took = f", {duration(found.seconds)}" if found.seconds is not None else ""
    yield f"{found.run}: {found.status.lower()}, started {found.started}{took}"
