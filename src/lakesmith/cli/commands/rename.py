"""``lakesmith rename``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.renaming import Renamed
from lakesmith.cli import command as opt
from lakesmith.cli.command import apply_agreed, open_lake, show

app = opt.command_app()


@app.command()
def rename(
    old: opt.TableArgument,
    new: Annotated[str, typer.Argument(help="Its new name: bronze.sales.", show_default=False)],
    yes: opt.YesOption = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    change = open_lake(project, target).rename(old, new)
    found = change.preview
    done = apply_agreed(change, f"rename {found.old} to {found.new}?", yes, json, "nothing was renamed")
    if done is not None:
        show(done, json, _lines)


def _lines(done: Renamed) -> Iterator[str]:
    old, new = done.old, done.new
    yield f"{old} is {new} now: its next run takes what is new"
    yield from (f"  {source} -> {wanted}" for source, wanted in done.moved)
    if not any(source.startswith("tables/") for source, _ in done.moved):
        yield f"  no file of the project declares {old}: declare {new}"
    if any(source.endswith(".py") for source, _ in done.moved):
        yield f"  the function in it keeps its name: call it {new.name}, or name it in its YAML: function:"
    if done.to_change:
        yield f"these read {old}, and have to read {new}:"
        yield from (f"  {name}: {place}" for name, place in done.to_change)
