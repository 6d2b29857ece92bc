"""``lakesmith stop``."""

from __future__ import annotations

import typer

from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, ProjectOption, TargetOption, command_app
from lakesmith.spark.start.resident import socket_of, stop

app = command_app()


@app.command("stop")
def stop_command(project: ProjectOption = HERE, target: TargetOption = None) -> None:
    """Ends the warm Spark of the project; one that a command uses is left to it."""
    opened = open_project(project, target)
    found = stop(socket_of(opened.project.root, opened.project.target.name))
    if found is True:
        print("Spark has ended")
    elif found is False:
        print("no Spark was left warm")
    else:
        print(f"process {found} uses it: it stays")
        raise typer.Exit(1)
