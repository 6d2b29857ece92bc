"""``lakesmith drop``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.dropping import Dropped, DropPreview
from lakesmith.api.words import count
from lakesmith.cli import command as opt
from lakesmith.cli.command import apply_agreed, open_lake, show

app = opt.command_app()


@app.command()
def drop(
    table: opt.TableArgument,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its data files, too.")] = False,
    yes: opt.YesOption = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    change = open_lake(project, target).drop(table, purge=purge)
    name = change.preview.table
    done = apply_agreed(change, f"drop {name}?", yes, json, "nothing was dropped", _losses(change.preview))
    if done is not None:
        show(done, json, _done)


def _losses(preview: DropPreview) -> Iterator[str]:
    """The table and who reads it; then what the next run does."""
    rows = "" if preview.rows is None else f", {count(preview.rows, 'row')}"
    sidecars = f", with its {' and '.join(preview.sidecars)}" if preview.sidecars else ""
    kept = "deleted" if preview.purge else "kept"
    yield f"{preview.table}{rows}{sidecars}: its data files are {kept}"
    yield from (f"its export in {place} is {kept}" for place in preview.exports)
    for reader, place in preview.readers:
        yield f"  {reader} reads it ({place})"
    if preview.declared_in is not None:
        yield f"{preview.declared_in} stays: the next run {preview.next_run}"


def _done(dropped: Dropped) -> Iterator[str]:
    yield f"{dropped.table} was dropped"
    if dropped.files_kept_in:
        yield "its files are still in"
        yield from (f"  {folder}" for folder in dropped.files_kept_in)
