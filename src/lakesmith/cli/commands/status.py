"""``lakesmith status``: what is up to date, what is behind and why, without a JVM."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, SelectArgument, TargetOption, command_app
from lakesmith.cli.render.text import ago, columns_aligned, count, iso
from lakesmith.execute.positions import InputPosition
from lakesmith.execute.status import Standing, TableStatus, statuses

app = command_app()


_HEADER = ("table", "state", "batch", "published", "rows", "quarantined", "why")
_WORDS = {Standing.UP_TO_DATE: "up to date", Standing.BEHIND: "behind", Standing.REFUSED: "refused"}


@app.command()
def status(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``status_command`` takes them."""
    raise typer.Exit(status_command(project, target, tuple(select or ()), json))


def status_command(root: Path, target: str | None, patterns: tuple[str, ...], as_json: bool) -> int:
    """Prints how the selected tables stand; 0, or 1 when one of them is refused."""
    opened = open_project(root, target)
    found = statuses(opened.decider(), opened.names(patterns))
    if as_json:
        print(json.dumps({"tables": [status_as_dict(status) for status in found]}, indent=2))
    else:
        print("\n".join(status_lines(found, time.time_ns() // 1_000_000)))
    return 1 if any(status.standing is Standing.REFUSED for status in found) else 0


def status_lines(found: Sequence[TableStatus], now_ms: int) -> list[str]:
    """The tables as a table of text, what to know of them below, and a closing line."""
    if not found:
        return ["the project has no tables yet"]
    rows = [_row(status, now_ms) for status in found]
    lines = columns_aligned([_HEADER, *rows], right=frozenset({2, 4, 5}))
    notes = [f"note: {status.name}: {note}" for status in found for note in status.notes]
    problems = [line for status in found if status.problem for line in status.problem.lines()]
    return [*lines, "", *notes, *problems, _closing(found)]


def _row(status: TableStatus, now_ms: int) -> tuple[str, ...]:
    published = "never" if status.published_ms is None else ago(status.published_ms, now_ms)
    return (
        str(status.name),
        _WORDS[status.standing],
        str(status.record.batch) if status.record else "-",
        published,
        "-" if status.rows is None else f"{status.rows:,}",
        "?" if status.quarantined is None else f"{status.quarantined:,}",
        status.why,
    )


def _closing(found: Sequence[TableStatus]) -> str:
    behind = sum(status.standing is Standing.BEHIND for status in found)
    refused = sum(status.standing is Standing.REFUSED for status in found)
    if not behind and not refused:
        return "everything is up to date"
    parts = [f"{count(behind, 'table')} behind: lakesmith run brings them up to date"] if behind else []
    return "; ".join([*parts, *([f"{count(refused, 'table')} refused"] if refused else [])])


def status_as_dict(status: TableStatus) -> dict[str, Any]:
    """A table's status as JSON data."""
    return {
        "table": str(status.name),
        "status": status.standing.value,
        "why": status.why,
        "batch": status.record.batch if status.record else None,
        "published_at": None if status.published_ms is None else iso(status.published_ms),
        "rows": status.rows,
        "quarantined": status.quarantined,
        "files_waiting": status.files_waiting,
        "inputs": [input_as_dict(position) for position in status.inputs],
        "notes": list(status.notes),
        "problem": status.problem.as_dict() if status.problem else None,
    }


def input_as_dict(position: InputPosition) -> dict[str, Any]:
    """A position in an input as JSON data."""
    return {**asdict(position), "table": str(position.table), "change": position.change.value}
