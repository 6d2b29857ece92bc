"""``lakesmith stop``."""

from __future__ import annotations

import typer

from lakesmith.cli.opening import open_lake
from lakesmith.cli.options import HERE, ProjectOption, TargetOption, command_app

app = command_app()


@app.command()
def stop(project: ProjectOption = HERE, target: TargetOption = None) -> None:
    """Ends the warm JVM of the project; 1 if a process uses it."""
    found = open_lake(project, target).stop()
    if found.used_by is not None:
        print(f"process {found.used_by} uses it: it stays")
        raise typer.Exit(1)
    print("Spark has ended" if found.ended else "no Spark was left warm")
