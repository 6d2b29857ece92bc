"""``lakesmith plan``."""

from __future__ import annotations

import typer

from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.plan_text import plan_lines

app = opt.command_app()


@app.command()
def plan(
    select: opt.SelectArgument = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Prints the plan; exits with 1 when a table is refused, or waits for approval."""
    found = open_lake(project, target).plan(*select or ())
    show(found, json, lambda found: plan_lines(found.tables))
    raise typer.Exit(1 if found.would_fail else 0)
