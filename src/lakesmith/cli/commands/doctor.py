"""``lakesmith doctor``."""

from __future__ import annotations

from typing import Annotated

import typer

from lakesmith.api.doctor import Checks
from lakesmith.api.doctor_machine import Verdict
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()

_MARKS = {Verdict.OK: "ok", Verdict.NOTE: "note", Verdict.PROBLEM: "PROBLEM"}


@app.command()
def doctor(
    start: Annotated[bool, typer.Option("--start", help="Also start Spark, to see that it does.")] = False,
    files: Annotated[
        bool,
        typer.Option("--files", help="Also look for landing files that an earlier version read wrongly."),
    ] = False,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Prints a line for each check; exits with 2 when there is a problem."""
    found = open_lake(project, target).doctor(start=start, files=files)
    show(found, json, _lines)
    raise typer.Exit(2 if found.problems else 0)


def _lines(found: Checks) -> list[str]:
    """A line for each check, what to do below it, and a closing line."""
    checks, problems = found.checks, found.problems
    firsts = [check.text.splitlines()[0] for check in checks]
    heads = columns_aligned(
        [(_MARKS[check.verdict], check.name, first) for check, first in zip(checks, firsts, strict=True)]
    )
    lines: list[str] = []
    for head, check in zip(heads, checks, strict=True):
        lines += [head, *(f"    {line.strip()}" for line in check.text.splitlines()[1:])]
        lines += [f"    to do: {check.hint}"] if check.hint else []
    return [*lines, "", f"{problems} problem{'s' if problems > 1 else ''}" if problems else "all is well"]
