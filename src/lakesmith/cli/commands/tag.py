"""``lakesmith tag`` and ``lakesmith untag``."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesmith.api.past import Tags
from lakesmith.api.words import count, moment
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()
untag_app = opt.command_app()


@app.command(no_args_is_help=False)
def tag(
    name: Annotated[str | None, typer.Argument(help="The name; none: lists those there are.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Move a tag of that name here.")] = False,
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Tags the heads of all tables, or lists the tags."""
    with open_lake(project, target) as lake:
        if name is None:
            show(lake.tags(), json, _tag_lines)
            return
        done = lake.tag(name, replace=replace, wait=wait)
    tables = count(len(done.tables), "table")
    show(done, json, lambda _: [f"{name} is this point in time of {tables}: query --as-of {name}"])


def _tag_lines(found: Tags) -> list[str]:
    rows = [(each.name, moment(each.newest_ms), count(len(each.tables), "table")) for each in found.tags]
    return columns_aligned(rows) or ["there is no tag yet: lakesmith tag NAME sets one"]


@untag_app.command()
def untag(
    name: Annotated[str, typer.Argument(help="The name.", show_default=False)],
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    with open_lake(project, target) as lake:
        done = lake.untag(name, wait=wait)
    tables = count(len(done.tables), "table")
    show(done, json, lambda _: [f"{name} was taken off {tables}; what only it kept may expire now"])
