"""The command ``lakesmith``: the commands put together, each imported only when it is called."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from lakesmith import __version__
from lakesmith.cli import commands
from lakesmith.cli.guard import guarded


class LazyCommands(TyperGroup):
    """Commands of which only names and help are known before one is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is called, imported now."""
        name, known, rest = super().resolve_command(ctx, args)
        if name is None or known is None:
            return name, known, rest
        command = get_command(commands.app_of(name))
        command.help = known.help
        return name, command, rest


app = typer.Typer(
    name="lakesmith",
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"lakesmith {__version__}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """A lakehouse you declare: one short file per table, kept up to date incrementally and exactly once."""


def _not_imported() -> None:
    """Stands for a command until it is called."""


for _name, _help in commands.COMMANDS.items():
    app.command(_name, help=_help)(_not_imported)


def main() -> None:
    """Runs the command line; ends the process with the exit code of ``lakesmith.errors``."""
    # Arrow's own allocator keeps the memory of ended threads: a long process would grow with each batch.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    sys.exit(guarded(lambda: app(prog_name="lakesmith", standalone_mode=False), sys.argv[1:]))


if __name__ == "__main__":
    main()
