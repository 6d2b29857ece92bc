"""``lakesmith rollback`` and ``lakesmith release``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.past import RollbackPreview, RolledBack
from lakesmith.api.words import count, moment
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
    """Sets a table back after asking."""
    with open_lake(project, target) as lake:
        change = lake.rollback(table, to, with_downstream=with_downstream, hold=hold, lossy=lossy, wait=wait)
        if change.preview.is_done:
            show(change.preview, json, _lines)
            return
        name = change.preview.prepared.first.name
        done = apply_agreed(change, f"set {name} back?", yes, json, _lines(change.preview))
        if done is None:
            print("nothing was changed")
        else:
            show(done, json, _done)


def _lines(preview: RollbackPreview) -> Iterator[str]:
    """What it does, in words."""
    prepared = preview.prepared
    for move in prepared.rollback.moves:
        if move.begin == move.to:
            yield f"{move.name} is at snapshot {move.to} already (batch {move.record.batch})"
        else:
            rows = f", {count(move.record.account.rows_after, 'row')}"
            way = "forward" if move.is_forward else "back"
            at = f"{moment(move.at_ms)} (snapshot {move.to}{rows})"
            yield f"{move.name} goes {way} to batch {move.record.batch} of {at}"
        yield from (f"  undoes batch {record.batch} ({record.kind})" for record in reversed(move.undone))
    if prepared.columns:
        yield f"columns do not go back: {', '.join(prepared.columns)}"
    yield from _file_lines(preview)
    moved = {move.name for move in prepared.rollback.moves}
    for name, why in prepared.rollback.stay.items():
        yield f"{name} stays as it is, and the next run computes it from what is there then: {why}"
    left = [str(name) for name in prepared.readers if name not in moved | prepared.rollback.stay.keys()]
    if left and not preview.options.with_downstream:
        how = "the next run corrects them (--with-downstream moves them now)"
        yield f"made from it: {', '.join(left)}; {how}"


def _file_lines(preview: RollbackPreview) -> Iterator[str]:
    files = preview.prepared.files
    if files.again:
        them = "it" if len(files.again) == 1 else "them"
        yield f"{count(len(files.again), 'file')} taken since: the next run takes {them} again"
    if files.topics:
        partitions = count(len(files.topics), "partition")
        yield f"records of {partitions} taken since: the next run reads again what its topic still has"
    if files.gone:
        yield f"{count(len(files.gone), 'file')} taken since, of which nothing is left: the rows are lost"


def _done(done: RolledBack) -> Iterator[str]:
    name = done.prepared.first.name
    if done.hold:
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
    """Releases a table."""
    with open_lake(project, target) as lake:
        done = lake.release(table, wait=wait)
    name = done.table
    said = f"{name} is free: the next run brings it on" if done.was_held else f"{name} was not held"
    show(done, json, lambda _: [said])
