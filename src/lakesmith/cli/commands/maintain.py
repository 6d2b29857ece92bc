"""``lakesmith maintain``."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesmith.api.maintaining import Interrupted
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.render.live import stray_prints_to_stderr
from lakesmith.cli.render.maintain_text import left_lines, open_view, plan_lines

app = opt.command_app()


@app.command()
def maintain(
    select: opt.SelectArgument = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what tables need, and why; do nothing. Starts no Spark.")
    ] = False,
    orphans: Annotated[
        bool, typer.Option("--orphans", help="List files that no snapshot has, too; remove none.")
    ] = False,
    remove_orphans: Annotated[
        bool, typer.Option("--remove-orphans", help="Remove files that no snapshot has, too.")
    ] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Maintains tables, or shows what they need; 1 if that fails for one, 130 after an interrupt."""
    names = select or ()
    with open_lake(project, target) as lake:
        if dry_run:
            plan = lake.plan_maintenance(*names, orphans=orphans or remove_orphans)
            show(plan, json, plan_lines)
            raise typer.Exit(int(plan.failed))
        with open_view(json) as view, stray_prints_to_stderr(json):
            try:
                done = lake.maintain(*names, orphans=orphans, remove_orphans=remove_orphans, on_event=view)
            except Interrupted as interrupt:
                done = interrupt.result
    if json:
        show(done, json, left_lines)
    else:
        for line in left_lines(done):
            print(line)
    raise typer.Exit(INTERRUPTED if done.stopped else int(done.failed))
