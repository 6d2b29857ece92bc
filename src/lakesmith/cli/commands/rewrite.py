"""``lakesmith rewrite``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.maintaining import Interrupted
from lakesmith.api.words import count
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.render.live import stray_prints_to_stderr
from lakesmith.cli.render.maintain_text import open_view
from lakesmith.execute.maintenance import RewriteResult

app = opt.command_app()


@app.command()
def rewrite(
    table: Annotated[str, typer.Argument(help="The table: bronze.orders.", show_default=False)],
    all_files: Annotated[
        bool, typer.Option("--all", help="Rewrite all data files, not only those of earlier partitionings.")
    ] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Rewrites a table's data files; 130 after an interrupt."""
    with open_lake(project, target) as lake, open_view(json) as view, stray_prints_to_stderr(json):
        try:
            done = lake.rewrite(table, everything=all_files, on_event=view)
        except Interrupted as interrupt:
            done = interrupt.result
    show(done, json, _lines)
    raise typer.Exit(INTERRUPTED if done.stopped else 0)


def _lines(done: RewriteResult) -> Iterator[str]:
    if done.stopped:
        yield "stopped: what was rewritten stays, and the next call goes on"
    elif not done.files:
        all_new = "all files are of the present partitioning (--all rewrites them)"
        yield f"{done.table}: nothing to rewrite, {all_new}"
    else:
        files, pieces = count(done.files, "data file"), count(done.pieces, "piece")
        yield f"{done.table}: {files} rewritten as {done.into:,}, in {pieces}"
