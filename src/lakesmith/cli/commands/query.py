"""``lakesmith query``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake
from lakesmith.cli.render.query_output import Shown, write_result

app = opt.command_app()


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="A SELECT in Spark SQL; - reads it from the input.")],
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="A snapshot, a tag or a moment: 2026-01-31T12:30, '2 hours ago'."),
    ] = None,
    output: opt.FormatOption = "table",
    limit: opt.RowsOption = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Prints the rows. Raises UsageError LS242 for an unknown format, and as ``Lakehouse.query``."""
    shown = Shown("json" if json else output, limit)
    shown.require_known()
    with open_lake(project, target) as lake:
        rows = lake.query(sys.stdin.read() if sql == "-" else sql, as_of)
        with rows.stream(shown.computed) as result:
            write_result(result, shown.output, shown.most, sys.stdout)
