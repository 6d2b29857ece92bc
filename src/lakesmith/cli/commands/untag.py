"""``lakesmith untag``: takes the name of a moment away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.api.words import count
from lakesmith.cli.alone import alone
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, WaitOption, command_app
from lakesmith.cli.session import spark_session
from lakesmith.execute.rollback import known_name, own_states, to_be_untagged

app = command_app()


@app.command()
def untag(
    name: Annotated[str, typer.Argument(help="The name.", show_default=False)],
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``untag_command`` takes them."""
    raise typer.Exit(untag_command(project, target, name, wait, json))


def untag_command(root: Path, target: str | None, name: str, wait: float, as_json: bool) -> int:
    """Takes the tag off all tables; 0. Raises UsageError LS256, LS257, StateError LS511, LockedError LS701, LS703."""
    from lakesmith.spark.past import remove_tag

    opened = open_project(root, target)
    name = known_name(name)
    with alone(opened, f"untag {name}", wait):
        tables = to_be_untagged(name, own_states(opened.lake), opened.project)
        with spark_session(opened, little=True) as session:
            remove_tag(session, opened.lake, name, tables)
    said = f"{name} was taken off {count(len(tables), 'table')}; what only it kept may expire now"
    print(json.dumps({"untagged": name, "tables": list(map(str, tables))}) if as_json else said)
    return 0
