"""``lakesmith untag``."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesmith.api.words import count
from lakesmith.cli.asking import show
from lakesmith.cli.opening import open_lake
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, WaitOption, command_app

app = command_app()


@app.command()
def untag(
    name: Annotated[str, typer.Argument(help="The name.", show_default=False)],
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Deletes a tag."""
    with open_lake(project, target) as lake:
        done = lake.untag(name, wait=wait)
    tables = count(len(done.tables), "table")
    show(done, json, lambda _: [f"{name} was taken off {tables}; what only it kept may expire now"])
