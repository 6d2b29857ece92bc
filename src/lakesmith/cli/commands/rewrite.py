"""``lakesmith rewrite``: brings old rows into a table's partitioning and order of now, in pieces between which runs come through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.words import count
from lakesmith.cli.commands.maintain import open_view, stopping
from lakesmith.cli.guard import INTERRUPTED
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, command_app
from lakesmith.cli.render.run_view import stray_prints_to_stderr
from lakesmith.errors import Problem, UsageError
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Orders
from lakesmith.execute.opened import Opened
from lakesmith.project.definitions import TableName

app = command_app()


@app.command()
def rewrite(
    table: Annotated[str, typer.Argument(help="The table: bronze.orders.", show_default=False)],
    all_files: Annotated[
        bool, typer.Option("--all", help="Rewrite all data files, not only those of earlier partitionings.")
    ] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``rewrite_command`` takes them."""
    raise typer.Exit(rewrite_command(project, target, table, all_files, json))


def rewrite_command(root: Path, target: str | None, table: str, all_files: bool, as_json: bool) -> int:
    """Rewrites and says what; 0, or 130 when it was stopped. Raises UsageError LS250 for a table that is not there."""
    opened = open_project(root, target)
    name = opened.one_of_ours(table)
    if opened.lake.catalog.table(name.layer, name.name) is None:
        what = f"{name} was not built yet"
        raise UsageError(
            Problem("LS250", what, None, "a table that was built", hint="lakesmith run builds it")
        )
    with open_view(as_json) as view, stray_prints_to_stderr(as_json):
        said = _rewritten(opened, name, all_files, view)
    print(json.dumps(said) if as_json else _in_words(said))
    return INTERRUPTED if said["stopped"] else 0


def _rewritten(opened: Opened, name: TableName, all_files: bool, view: Any) -> dict[str, Any]:
    from lakesmith.cli.warm import keep_of
    from lakesmith.spark.maintenance.maintainer import Maintainer
    from lakesmith.spark.maintenance.rewriting import rewrite as rewrite_files
    from lakesmith.spark.open import open_session

    view.say("starting Spark")
    session = open_session(opened.project, little=False, keep=keep_of(opened.project))
    turns = Turns(opened.lake, f"rewrite {name}", on_wait=lambda holder: view.say(f"waiting for {holder}"))
    try:
        with stopping(turns, session):
            maintainer = Maintainer(session, opened.lake, turns, Orders(), view.say)
            done = rewrite_files(maintainer, name, all_files)
    except RunStopped:
        return {"table": str(name), "stopped": True}
    finally:
        session.stop()
    return {
        "table": str(name),
        "files": done.done.files,
        "into": done.done.into,
        "pieces": done.pieces,
        "stopped": False,
    }


def _in_words(said: dict[str, Any]) -> str:
    if said["stopped"]:
        return "stopped: what was rewritten stays, and the next call goes on"
    if not said["files"]:
        return f"{said['table']}: nothing to rewrite, all files are of the present partitioning (--all rewrites them anyhow)"
    files, pieces = count(said["files"], "data file"), count(said["pieces"], "piece")
    return f"{said['table']}: {files} written anew as {said['into']:,}, in {pieces}"
