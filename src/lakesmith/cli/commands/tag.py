"""``lakesmith tag`` and ``lakesmith untag``."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from lakesmith.api.words import count, moment
from lakesmith.cli.command import (
    HERE,
    JsonOption,
    ProjectOption,
    TargetOption,
    WaitOption,
    command_app,
    open_lake,
    show,
)
from lakesmith.cli.render.text import columns_aligned

app = command_app()
untag_app = command_app()


@app.command(no_args_is_help=False)
def tag(
    name: Annotated[str | None, typer.Argument(help="The name; none: lists those there are.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Move a tag of that name here.")] = False,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Tags the heads of all tables, or lists the tags."""
    with open_lake(project, target) as lake:
        if name is None:
            found = lake.tags()
            rows = [(each.name, moment(each.newest_ms), count(len(each.tables), "table")) for each in found]
            text = "\n".join(columns_aligned(rows)) or "there is no tag yet: lakesmith tag NAME sets one"
            print(dumps([each.to_dict() for each in found], indent=2) if json else text)
            return
        done = lake.tag(name, replace=replace, wait=wait)
    tables = count(len(done.tables), "table")
    show(done, json, lambda _: [f"{name} is this point in time of {tables}: query --as-of {name}"])


@untag_app.command()
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
