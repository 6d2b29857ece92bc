"""``lakesmith diff``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.comparing import Diff
from lakesmith.api.words import count
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.query_output import Shown, write_rows

app = opt.command_app()


@app.command()
def diff(
    table: opt.TableArgument,
    begin: Annotated[str, typer.Argument(help="A snapshot, a tag or a moment.", show_default=False)],
    end: Annotated[str | None, typer.Argument(help="Another, later one; none: now.")] = None,
    output: opt.FormatOption = "table",
    limit: opt.RowsOption = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Prints what changed. Raises UsageError LS242 for an unknown format, and as ``Lakehouse.diff``."""
    shown = Shown("json" if json else output, limit)
    shown.require_known()
    with open_lake(project, target) as lake:
        found = lake.diff(table, begin, end, limit=shown.most)
    if shown.output != "csv":
        show(found, shown.output == "json", _lines)
    if shown.output == "csv" or (shown.output == "table" and not found.is_empty):
        write_rows(found, found.rows, shown.output, sys.stdout, found.is_cut)


def _lines(found: Diff) -> Iterator[str]:
    yield f"{found.table} from snapshot {found.from_snapshot} to {found.to_snapshot}"
    counts = found.counts
    numbers = {"inserted": counts.inserted, "deleted": counts.deleted, "updated": counts.updated}
    said = [f"{number:,} {word}" for word, number in numbers.items() if number]
    yield f"rows: {', '.join(said)}" if said else "no row changed"
    if counts.columns:
        each = ", ".join(f"{name} in {count(number, 'row')}" for name, number in counts.columns.items())
        yield f"columns of the updated ones: {each}"
    yield ""
