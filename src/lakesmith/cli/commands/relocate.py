"""``lakesmith relocate``: has the files of a project that was copied or moved be its tables, in the folder where they are now."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from lakesmith.api.local_lake import open_local
from lakesmith.api.words import count
from lakesmith.catalog.home import away_tables
from lakesmith.catalog.lock import ProjectLock
from lakesmith.cli.asking import agreed
from lakesmith.cli.opening import open_lake
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, YesOption, command_app
from lakesmith.execute.relocate import relocate as relocate_tables

app = command_app()


@app.command()
def relocate(
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``relocate_command`` takes them."""
    raise typer.Exit(relocate_command(project, target, yes, json))


def relocate_command(root: Path, target: str | None, yes: bool, as_json: bool) -> int:
    """Rewrites the paths when that is agreed to; 0, also where the tables are at home.

    Raises UsageError LS227 (nobody to ask), StateError LS526 (files are missing), LS511 (an entry changed), EnvironmentProblem LS320,
    LS328.
    """
    lake = open_local(open_lake(root, target).access)
    with ProjectLock(lake.project.state_dir, "relocate"):
        away = away_tables(lake.catalog, lake.project.name)
        origins = sorted({each.origin for each in away})
        tables = count(len(away), "table")
        question = f"have the files in {lake.catalog.warehouse} be the {tables} of {', '.join(origins)}?"
        if away and not agreed(question, yes, as_json):
            print("nothing was changed")
            return 0
        files = relocate_tables(lake.catalog, away, _say) if away else 0
    if as_json:
        print(
            json.dumps({"tables": [str(each.entry.name) for each in away], "from": origins, "files": files})
        )
    elif not away:
        print(f"every table is in {lake.catalog.warehouse}: there is nothing to do")
    else:
        print(
            f"{tables}, with the paths in {count(files, 'file')}: the project is independent of {origins[0]}"
        )
    return 0


def _say(what: str) -> None:
    if sys.stderr.isatty():
        print(what, file=sys.stderr, flush=True)
