"""``lakesmith connect``."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesmith.api.connecting import ENGINES
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show

app = opt.command_app()

_NAMES = ", ".join(ENGINES)


@app.command()
def connect(
    engine: Annotated[str, typer.Argument(help=f"The engine: {_NAMES}.", show_default=False)],
    table: Annotated[
        list[str] | None, typer.Option("--table", help="Tables: silver.customers, gold.*; all otherwise.")
    ] = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    show(open_lake(project, target).connect(engine, *(table or ())), json, lambda found: [found.text])
