"""``lakesmith plan``."""

from __future__ import annotations

import typer

from lakesmith.cli.command import (
    HERE,
    JsonOption,
    ProjectOption,
    SelectArgument,
    TargetOption,
    command_app,
    open_lake,
    show,
)
from lakesmith.cli.render.plan_text import plan_lines

app = command_app()


@app.command()
def plan(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Prints the plan; exits with 1 when a table is refused, or waits for approval."""
    found = open_lake(project, target).plan(*select or ())
    show(found, json, lambda found: plan_lines(found.tables))
    raise typer.Exit(1 if found.would_fail else 0)
