"""The command ``lakesmith``: each command in a module of its own, imported only when it is called."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from lakesmith import __version__
from lakesmith.cli import quarantine_app
from lakesmith.cli.guard import guarded

app = typer.Typer(
    name="lakesmith",
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
TableArgument = Annotated[str, typer.Argument(help="A table: bronze.orders.", show_default=False)]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
HERE = Path()


def _print_version(asked: bool) -> None:
    if asked:
        version()
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """A lakehouse you declare: one short file per table, kept up to date incrementally and exactly once."""


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
def status(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Show what is up to date, what is behind and why."""
    from lakesmith.cli.status import status_command

    raise typer.Exit(status_command(project, target, tuple(select or ()), json))


@app.command()
def explain(
    table: TableArgument,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Show how a table is refreshed, why not better, and where its settings come from."""
    from lakesmith.cli.explain import explain_command

    raise typer.Exit(explain_command(project, target, table, json))


@app.command()
def history(
    table: TableArgument,
    limit: Annotated[int, typer.Option(min=0, help="How many points, the newest; 0: all.")] = 20,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Show a table's past in words, with the snapshots that query --as-of takes."""
    from lakesmith.cli.history import history_command

    raise typer.Exit(history_command(project, target, table, limit, json))


@app.command()
def files(
    table: TableArgument,
    skip: Annotated[
        list[str] | None, typer.Option("--skip", help="Leave a file out from now on; its rows stay.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option("--forget", help="Delete a file's rows, and take it again.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every file, not only the newest.")] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Show which landing files were taken, when and by which batch; leave out or forget some."""
    from lakesmith.cli.files import FilesOptions, files_command

    options = FilesOptions(tuple(skip or ()), tuple(forget or ()), every)
    raise typer.Exit(files_command(project, target, table, options, json))


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
    """Run a query on the present or the past."""
    from lakesmith.cli.query import QueryOptions, query_command

    options = QueryOptions(sql, as_of, "json" if json else output, limit)
    raise typer.Exit(query_command(project, target, options))


@app.command()
def verify(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Recompute derived tables from the snapshots they have consumed, and compare."""
    from lakesmith.cli.verify import verify_command

    raise typer.Exit(verify_command(project, target, tuple(select or ()), json))


@app.command()
def drop(
    table: TableArgument,
    purge: Annotated[bool, typer.Option("--purge", help="Delete its data files, too.")] = False,
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Drop a table from the lake, with its quarantine and file ledger; its files stay unless they are purged."""
    from lakesmith.cli.drop import DropOptions, drop_command

    raise typer.Exit(drop_command(project, target, table, DropOptions(purge, yes), json))


@app.command()
def rename(
    old: TableArgument,
    new: Annotated[str, typer.Argument(help="Its new name: bronze.sales.", show_default=False)],
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Give a table another name, in the lake and in the project; its next run goes on where it was."""
    from lakesmith.cli.rename import rename_command

    raise typer.Exit(rename_command(project, target, (old, new), yes, json))


@app.command()
def register(
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Enter tables in the catalog whose files are in the warehouse: for when the catalog was lost."""
    from lakesmith.cli.register import register_command

    raise typer.Exit(register_command(project, target, yes, json))


@app.command()
def init(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEMPLATE] DIR", help="A shipped example, and the new folder.", show_default=False
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the shipped examples.")] = False,
    json: JsonOption = False,
) -> None:
    """Make a new project, empty or from one of the shipped examples."""
    from lakesmith.cli.init import init_command

    raise typer.Exit(init_command(tuple(names or ()), list_, json))


@app.command()
def doctor(
    start: Annotated[bool, typer.Option("--start", help="Also start Spark, to see that it does.")] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Look for what is missing on this machine and in this project, and say how to mend it."""
    from lakesmith.cli.doctor import doctor_command

    raise typer.Exit(doctor_command(project, target, start, json))


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"lakesmith {__version__}")


app.add_typer(quarantine_app.app, name="quarantine")


def main() -> None:
    """Runs the command line; ends the process with the exit code of ``lakesmith.errors``."""
    sys.exit(guarded(lambda: app(prog_name="lakesmith", standalone_mode=False), sys.argv[1:]))
