"""``lakesmith rollback`` and ``lakesmith release``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.past import RolledBack
from lakesmith.cli import command as opt
from lakesmith.cli.command import apply_agreed, open_lake, show

app = opt.command_app()
release_app = opt.command_app()


@app.command()
def rollback(
    table: opt.TableArgument,
    to: Annotated[str, typer.Option("--to", help="A snapshot, a tag or a time, as query --as-of takes it.")],
    with_downstream: Annotated[
        bool, typer.Option("--with-downstream", help="Move the tables below as well.")
    ] = False,
    hold: Annotated[bool, typer.Option("--hold", help="Keep it there, until lakesmith release.")] = False,
    lossy: Annotated[
        bool, typer.Option("--lossy", help="Also where files taken since are gone, with their rows.")
    ] = False,
    yes: opt.YesOption = False,
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    with open_lake(project, target) as lake:
        change = lake.rollback(table, to, with_downstream=with_downstream, hold=hold, lossy=lossy, wait=wait)
        if change.preview.is_needless:
            show(change.preview, json, RolledBack.lines)
            return
        name = change.preview.prepared.first.name
        done = apply_agreed(
            change, f"set {name} back?", yes, json, "nothing was changed", change.preview.lines()
        )
        if done is not None:
            show(done, json, _done)


def _done(done: RolledBack) -> Iterator[str]:
    name = done.prepared.first.name
    if done.options.hold:
        yield f"{name} was set back and stays there until: lakesmith release {name}"
    else:
        yield f"{name} was set back; the next run brings it on again"


@release_app.command()
def release(
    table: opt.TableArgument,
    wait: opt.WaitOption = 0.0,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    with open_lake(project, target) as lake:
        done = lake.release(table, wait=wait)
    name = done.table
    said = f"{name} is free: the next run brings it on" if done.was_held else f"{name} was not held"
    show(done, json, lambda _: [said])
