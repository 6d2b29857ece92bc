"""The arguments and options of several commands, and the app that a command's file has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
WaitOption = Annotated[float, typer.Option(help="Seconds to wait for another run of this project.")]
FormatOption = Annotated[str, typer.Option("--format", help="table, json or csv.")]
RowsOption = Annotated[
    int | None,
    typer.Option("--limit", min=0, help="How many rows; 0: all. A table shows 100.", show_default=False),
]
HERE = Path()


def command_app() -> typer.Typer:
    """The app of a command's file; the command's help is in ``commands.COMMANDS``."""
    return typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)
