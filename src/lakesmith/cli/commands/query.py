"""``lakesmith query``: Spark SQL on the present or the past, as a table, JSON or CSV."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.api.question import ask
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import (
    HERE,
    FormatOption,
    JsonOption,
    ProjectOption,
    RowsOption,
    TargetOption,
    command_app,
)
from lakesmith.cli.render.query_output import Shown, write_result
from lakesmith.cli.session import spark_session

app = command_app()


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What the caller of ``query`` asked for."""

    sql: str
    as_of: str | None
    shown: Shown


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="A SELECT in Spark SQL; - reads it from the input.")],
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="A snapshot, a tag or a moment: 2026-01-31T12:30, '2 hours ago'."),
    ] = None,
    output: FormatOption = "table",
    limit: RowsOption = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``query_command`` takes them."""
    options = QueryOptions(sql, as_of, Shown("json" if json else output, limit))
    raise typer.Exit(query_command(project, target, options))


def query_command(root: Path, target: str | None, options: QueryOptions) -> int:
    """Runs the query and prints its rows; 0.

    Raises UsageError LS240 (a table that is not there), LS241 (no SELECT), LS245 (a query that calls code or reads files by their paths), LS242 (an unknown format), LS243 (SQL that
    cannot be followed to the past), LS244 (SQL that Spark refuses), LS230, LS231 (no such point of the past); RunError with Spark's root cause.
    """
    options.shown.require_known()
    opened = open_project(root, target)
    sql = sys.stdin.read() if options.sql == "-" else options.sql
    question = ask(opened, sql, options.as_of)
    with spark_session(opened, question.little) as session:
        from lakesmith.spark.ask import run_query

        limit = options.shown.computed
        secrets = opened.project.secrets
        with run_query(session, sql, question.as_of, limit, secrets, question.others) as result:
            write_result(result, options.shown.output, options.shown.most, sys.stdout)
    return 0
