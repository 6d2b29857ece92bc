"""``lakesmith doctor``: what this machine and this project lack, and how to mend it; without a JVM unless asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.cli.commands.doctor_checks import Check, Verdict, machine_checks, start_check
from lakesmith.cli.commands.doctor_project import as_check, project_checks
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, command_app
from lakesmith.cli.render.text import columns_aligned
from lakesmith.errors import Problem, ProjectError
from lakesmith.execute.opened import Opened

app = command_app()


_MARKS = {Verdict.OK: "ok", Verdict.NOTE: "note", Verdict.PROBLEM: "PROBLEM"}


@app.command()
def doctor(
    start: Annotated[bool, typer.Option("--start", help="Also start Spark, to see that it does.")] = False,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``doctor_command`` takes them."""
    raise typer.Exit(doctor_command(project, target, start, json))


def doctor_command(root: Path, target: str | None, start: bool, as_json: bool) -> int:
    """Prints a line for each check; 0, or 2 when there is a problem."""
    checks = list(_checks(root, target, start))
    if as_json:
        print(json.dumps({"checks": [asdict(check) for check in checks]}, indent=2))
    else:
        print("\n".join(doctor_lines(checks)))
    return 2 if any(check.verdict is Verdict.PROBLEM for check in checks) else 0


def _checks(root: Path, target: str | None, start: bool) -> Iterator[Check]:
    yield from machine_checks()
    opened = None
    try:
        opened = open_project(root, target)
    except ProjectError as error:
        yield from (_unreadable(problem, root) for problem in error.problems)
    yield from project_checks(opened) if opened else ()
    if start:
        yield _start(opened)


def _start(opened: Opened | None) -> Check:
    if opened is None:
        return Check("spark", Verdict.NOTE, "not started: that takes a project that can be read")
    return start_check(opened.project)


def _unreadable(problem: Problem, root: Path) -> Check:
    """Where no project was named there need not be one: then only the machine is looked at."""
    if problem.code == "LS119" and root == Path():
        return Check(
            "project", Verdict.NOTE, "none in this folder: only the machine was looked at", problem.hint
        )
    return as_check("project", problem)


def doctor_lines(checks: list[Check]) -> list[str]:
    """A line for each check, what to do below it, and a closing line."""
    firsts = [check.text.splitlines()[0] for check in checks]
    heads = columns_aligned(
        [(_MARKS[check.verdict], check.name, first) for check, first in zip(checks, firsts, strict=True)]
    )
    lines: list[str] = []
    for head, check in zip(heads, checks, strict=True):
        lines += [head, *(f"    {line.strip()}" for line in check.text.splitlines()[1:])]
        lines += [f"    to do: {check.hint}"] if check.hint else []
    problems = sum(check.verdict is Verdict.PROBLEM for check in checks)
    return [*lines, "", f"{problems} problem{'s' if problems > 1 else ''}" if problems else "all is well"]
