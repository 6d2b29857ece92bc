"""``lakesmith query``: Spark SQL on the present or the past, as a table, JSON or CSV."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.api.question import ask
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, command_app
from lakesmith.cli.render.query_output import FORMATS, write_result
from lakesmith.cli.session import spark_session
from lakesmith.errors import Problem, UsageError
from lakesmith.project.nearest import did_you_mean

app = command_app()

TABLE_LIMIT = 100
"""The rows a table shows when no limit was given."""


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What the caller of ``query`` asked for. ``limit`` None: all rows, of a table the first hundred; 0: all."""

    sql: str
    as_of: str | None = None
    output: str = "table"
    limit: int | None = None

    @property
    def most(self) -> int | None:
        """The most rows to show; None: all."""
        if self.limit is None:
            return TABLE_LIMIT if self.output == "table" else None
        return self.limit or None


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="A SELECT in Spark SQL; - reads it from the input.")],
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", help="A snapshot, a tag or a moment: 2026-01-31T12:30, '2 hours ago'."),
    ] = None,
    output: Annotated[str, typer.Option("--format", help="table, json or csv.")] = "table",
    limit: Annotated[
        int | None, typer.Option(min=0, help="How many rows; 0: all. A table shows 100.", show_default=False)
    ] = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``query_command`` takes them."""
    options = QueryOptions(sql, as_of, "json" if json else output, limit)
    raise typer.Exit(query_command(project, target, options))


def query_command(root: Path, target: str | None, options: QueryOptions) -> int:
    """Runs the query and prints its rows; 0.

    Raises UsageError LS240 (a table that is not there), LS241 (no SELECT), LS242 (an unknown format), LS243 (SQL that
    cannot be followed to the past), LS244 (SQL that Spark refuses), LS230, LS231 (no such point of the past); RunError with Spark's root cause.
    """
    if options.output not in FORMATS:
        hint = did_you_mean(options.output, FORMATS)
        raise UsageError(
            Problem("LS242", f"there is no format {options.output}", None, ", ".join(FORMATS), hint=hint)
        )
    opened = open_project(root, target)
    sql = sys.stdin.read() if options.sql == "-" else options.sql
    question = ask(opened, sql, options.as_of)
    with spark_session(opened, question.little) as session:
        from lakesmith.spark.ask import run_query

        most = options.most
        # One row more than is shown tells whether there are more.
        limit = None if most is None else most + 1
        secrets = opened.project.secrets
        with run_query(session, sql, question.as_of, limit, secrets, question.others) as result:
            write_result(result, options.output, most, sys.stdout)
    return 0
