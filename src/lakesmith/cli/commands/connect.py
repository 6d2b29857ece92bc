"""``lakesmith connect``: the text with which another engine reads the project's tables on a target."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, command_app
from lakesmith.connect.model import Engine
from lakesmith.connect.read import read_lake
from lakesmith.connect.registry import ALL, engine_named
from lakesmith.connect.render import snippet

app = command_app()

_NAMES = ", ".join(engine.name for engine in ALL)


@app.command()
def connect(
    engine: Annotated[str, typer.Argument(help=f"The engine: {_NAMES}.", show_default=False)],
    table: Annotated[
        list[str] | None, typer.Option("--table", help="Tables: silver.customers, gold.*; all otherwise.")
    ] = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``connect_command`` takes them."""
    raise typer.Exit(connect_command(project, target, engine, table or [], json))


def connect_command(root: Path, target: str | None, name: str, tables: list[str], as_json: bool) -> int:
    """Prints the snippet; 0.

    Raises UsageError LS254 (no such engine), LS252 (it cannot read that catalog), LS253 (no table is there), LS201.
    """
    engine = engine_named(name)
    lake = read_lake(engine, root, target, tables, lambda: open_project(root, target).lake.catalog)
    text = snippet(engine, lake)
    if as_json:
        said = {
            "engine": engine.name,
            "target": lake.target.name,
            "text": text,
            "runs_here": runs_here(engine),
        }
        print(json.dumps(said, indent=2))
    else:
        print(text)
    return 0


def runs_here(engine: Engine) -> bool:
    """Whether this Python has what the snippet needs."""
    return engine.package is not None and find_spec(engine.package) is not None
