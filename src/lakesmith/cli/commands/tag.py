"""``lakesmith tag``: names this moment of the whole lake, or lists the names there are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.words import count, iso, moment
from lakesmith.cli.alone import alone
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, WaitOption, command_app
from lakesmith.cli.render.text import columns_aligned
from lakesmith.cli.session import spark_session
from lakesmith.execute.rollback import Tag, known_name, own_states, tags_of, to_be_tagged

app = command_app()


@app.command(no_args_is_help=False)
def tag(
    name: Annotated[str | None, typer.Argument(help="The name; none: lists those there are.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Have a name mean this moment instead.")] = False,
    wait: WaitOption = 0.0,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``tag_command`` and ``list_command`` take them."""
    if name is None:
        raise typer.Exit(list_command(project, target, json))
    raise typer.Exit(tag_command(project, target, name, replace, wait, json))


def list_command(root: Path, target: str | None, as_json: bool) -> int:
    """Prints the tags; 0."""
    found = tags_of(own_states(open_project(root, target).lake))
    if as_json:
        print(json.dumps(list(map(as_dict, found)), indent=2))
    else:
        print("\n".join(_lines(found)) or "no moment has a name yet: lakesmith tag NAME gives this one one")
    return 0


def tag_command(root: Path, target: str | None, name: str, replace: bool, wait: float, as_json: bool) -> int:
    """Tags all tables that were written; 0. Raises UsageError LS256, StateError LS511, LS522, LockedError LS701, LS703."""
    opened = open_project(root, target)
    name = known_name(name)
    with alone(opened, f"tag {name}", wait):
        states = own_states(opened.lake)
        tables = to_be_tagged(name, states, replace=replace)
        if tables:
            from lakesmith.spark.past import set_tag

            with spark_session(opened, little=True) as session:
                set_tag(session, opened.lake, name, tables)
    if as_json:
        print(json.dumps({"tag": name, "tables": list(map(str, states))}))
    else:
        print(f"{name} is this moment of {count(len(states), 'table')}: query --as-of {name}")
    return 0


def _lines(tags: Sequence[Tag]) -> list[str]:
    return columns_aligned(
        [(each.name, moment(each.newest_ms), count(len(each.tables), "table")) for each in tags]
    )


def as_dict(found: Tag) -> dict[str, Any]:
    """A tag as JSON data."""
    tables = {str(table): snapshot for table, snapshot in found.tables.items()}
    return {"tag": found.name, "newest_at": iso(found.newest_ms), "tables": tables}
