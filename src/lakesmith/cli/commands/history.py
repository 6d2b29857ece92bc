"""``lakesmith history``."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesmith.api.reading import History
from lakesmith.api.words import count, moment
from lakesmith.catalog.history import HistoryLine
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()


@app.command()
def history(
    table: opt.TableArgument,
    limit: Annotated[int, typer.Option(min=0, help="How many points, the newest; 0: all.")] = 20,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    show(open_lake(project, target).history(table, limit=limit or None), json, _lines)


def _lines(found: History) -> list[str]:
    """The points as aligned lines; below a batch, what it read."""
    if not found.points:
        return [f"{found.table} has never been written"]
    points = found.points
    heads = columns_aligned(
        [(moment(line.published_ms), str(line.snapshot_id), _text(line)) for line in points]
    )
    lines = [f"{found.table}, newest first: when, the snapshot (for query --as-of), what", ""]
    indent = " " * heads[0].index(_text(points[0]))
    for head, point in zip(heads, found.points, strict=True):
        lines += [head, *(f"{indent}  {read}" for read in point.read)]
    more = f"({count(found.left_out, 'earlier point')}: --limit 0 shows all)"
    return [*lines, more] if found.left_out else lines


def _text(line: HistoryLine) -> str:
    refs = f" [{', '.join(line.refs)}]" if line.refs else ""
    return line.text + refs + (" (now)" if line.is_head else "")
