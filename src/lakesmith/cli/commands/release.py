"""``lakesmith release``."""

from __future__ import annotations

from lakesmith.cli.asking import show
from lakesmith.cli.opening import open_lake
from lakesmith.cli.options import (
    HERE,
    JsonOption,
    ProjectOption,
    TableArgument,
    TargetOption,
    WaitOption,
    command_app,
)

app = command_app()


@app.command()
def release(
    table: TableArgument,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Releases a table."""
    with open_lake(project, target) as lake:
        done = lake.release(table, wait=wait)
    name = done.table
    said = f"{name} is free: the next run brings it on" if done.was_held else f"{name} was not held"
    show(done, json, lambda _: [said])
