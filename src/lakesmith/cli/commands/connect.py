"""``lakesmith connect``."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesmith.api.connecting import ENGINES
from lakesmith.cli.command import HERE, JsonOption, ProjectOption, TargetOption, command_app, open_lake, show

app = command_app()

_NAMES = ", ".join(ENGINES)


@app.command()
def connect(
    engine: Annotated[str, typer.Argument(help=f"The engine: {_NAMES}.", show_default=False)],
    table: Annotated[
        list[str] | None, typer.Option("--table", help="Tables: silver.customers, gold.*; all otherwise.")
    ] = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    show(open_lake(project, target).connect(engine, *(table or ())), json, lambda found: [found.text])
