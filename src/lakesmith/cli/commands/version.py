"""``lakesmith version``."""

from __future__ import annotations

import typer

from lakesmith import __version__
from lakesmith.cli.options import command_app

app = command_app()


@app.command()
def version() -> None:
    """The version, as ``--version`` prints it too."""
    typer.echo(f"lakesmith {__version__}")
