"""The command ``lakesmith``: each command in a module of its own, imported only when it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lakesmith import __version__
from lakesmith.errors import LakesmithError

app = typer.Typer(
    name="lakesmith",
    help="A lakehouse you declare: one short file per table, kept up to date incrementally and exactly once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ProjectOption = Annotated[Path, typer.Option("--project", help="The project's folder.", show_default=False)]
TargetOption = Annotated[
    str | None, typer.Option("--target", help="The target to use; its default otherwise.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print data instead of text.")]
SelectArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Tables: bronze.orders, silver.*, +gold.x (and upstream), x+ (and downstream)."),
]
HERE = Path()


@app.command()
def run(
    select: SelectArgument = None,
    full_refresh: Annotated[
        list[str] | None, typer.Option("--full-refresh", help="A derived table to rebuild from its inputs.")
    ] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for another run of this project.")] = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Bring tables up to date."""
    from lakesmith.cli.run import RunOptions, run_command

    options = RunOptions(tuple(select or ()), tuple(full_refresh or ()), wait)
    raise typer.Exit(run_command(project, target, options, json))


@app.command()
def plan(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Show what a run would do, and why."""
    from lakesmith.cli.plan import plan_command

    raise typer.Exit(plan_command(project, target, tuple(select or ()), json))


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"lakesmith {__version__}")


def main() -> None:
    """Runs the command line; ends the process with the exit code of ``lakesmith.errors``."""
    try:
        app(standalone_mode=False)
    except LakesmithError as error:
        print("\n".join(line for problem in error.problems for line in problem.lines()), file=sys.stderr)
        sys.exit(error.exit_code)
    except typer.Exit as done:
        sys.exit(done.exit_code)
    except typer.Abort:
        sys.exit(130)
