"""``lakesmith release``: has runs bring a table on again that was held."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from lakesmith.catalog.family import hold_of
from lakesmith.cli.alone import alone
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import (
    HERE,
    JsonOption,
    ProjectOption,
    TableArgument,
    TargetOption,
    WaitOption,
    command_app,
)
from lakesmith.cli.session import spark_session

app = command_app()


@app.command()
def release(
    table: TableArgument,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``release_command`` takes them."""
    raise typer.Exit(release_command(project, target, table, wait, json))


def release_command(root: Path, target: str | None, table: str, wait: float, as_json: bool) -> int:
    """Releases the table; 0. Raises UsageError LS201, LS205, LS221, StateError LS511, LockedError LS701, LS703."""
    opened = open_project(root, target)
    name = opened.one_of_ours(table)
    with alone(opened, f"release {name}", wait):
        held = hold_of(opened.lake.catalog.table(name.layer, name.name)) is not None
        if held:
            from lakesmith.spark.past import release as release_table

            with spark_session(opened, little=True) as session:
                release_table(session, opened.lake, name)
    said = f"{name} is free: the next run brings it on" if held else f"{name} was not held"
    print(json.dumps({"table": str(name), "released": held}) if as_json else said)
    return 0
