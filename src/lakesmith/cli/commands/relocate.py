"""``lakesmith relocate``."""

from __future__ import annotations

import sys

from lakesmith.api.words import count
from lakesmith.cli.asking import apply_agreed, show
from lakesmith.cli.opening import open_lake
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, YesOption, command_app

app = command_app()


@app.command()
def relocate(
    yes: YesOption = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Makes the files of a copy or a move the project's own, after asking."""
    change = open_lake(project, target).relocate(on_event=_say)
    found = change.preview
    if not found.tables:
        show(found, json, lambda _: [f"every table is in {found.warehouse}: there is nothing to do"])
        return
    tables = count(len(found.tables), "table")
    question = f"have the files in {found.warehouse} be the {tables} of {', '.join(found.origins)}?"
    done = apply_agreed(change, question, yes, json)
    if done is None:
        print("nothing was changed")
        return
    files = count(done.files, "file")
    said = f"{tables}, with the paths in {files}: the project is independent of {found.origins[0]}"
    show(done, json, lambda _: [said])


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)
