"""``lakesmith register`` and ``lakesmith relocate``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lakesmith.api.registering import Registered
from lakesmith.api.words import count, moment
from lakesmith.cli import command as opt
from lakesmith.cli.command import apply_agreed, note_if_watched, open_lake, show
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()
relocate_app = opt.command_app()

_HEADER = ("table", "batch", "last written", "rows", "metadata")


@app.command()
def register(
    yes: opt.YesOption = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Registers the tables that are found, after asking."""
    change = open_lake(project, target).register()
    tables = count(len(change.preview.tables), "table")
    if not change.preview.tables:
        show(change.preview, json, _lines)
        return
    done = apply_agreed(
        change, f"enter {tables} in the catalog?", yes, json, "nothing was registered", _lines(change.preview)
    )
    if done is not None:
        show(done, json, lambda _: [f"{tables} registered: the next run goes on from there"])


def _lines(found: Registered) -> Iterator[str]:
    if not found.tables:
        yield "every table in the warehouse is in the catalog"
        return
    rows = [
        (
            str(each.table),
            "-" if each.batch is None else str(each.batch),
            moment(each.written_ms),
            "?" if each.rows is None else f"{each.rows:,}",
            Path(each.metadata).name,
        )
        for each in found.tables
    ]
    yield from columns_aligned([_HEADER, *rows], right=frozenset({1, 3}))
    for each in found.tables:
        if each.others:
            others = count(each.others, "other file")
            yield f"{each.table}: {others} may have been its last state as well; the newest is taken"
    yield from (f"{each.table}: in place of {each.instead_of}" for each in found.tables if each.instead_of)


@relocate_app.command()
def relocate(
    yes: opt.YesOption = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Makes the files of a copy or a move the project's own, after asking."""
    change = open_lake(project, target).relocate(on_event=note_if_watched)
    found = change.preview
    if not found.tables:
        show(found, json, lambda _: [f"every table is in {found.warehouse}: there is nothing to do"])
        return
    tables = count(len(found.tables), "table")
    question = f"have the files in {found.warehouse} be the {tables} of {', '.join(found.origins)}?"
    done = apply_agreed(change, question, yes, json, "nothing was changed")
    if done is None:
        return
    files = count(done.files, "file")
    said = f"{tables}, with the paths in {files}: the project is independent of {found.origins[0]}"
    show(done, json, lambda _: [said])
