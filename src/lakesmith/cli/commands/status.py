"""``lakesmith status``: what is up to date, what is behind and why, without a JVM."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from lakesmith.api.reading import Standing, Status, TableStatus, UpState, is_alive, signs
from lakesmith.api.words import ago, count
from lakesmith.cli.command import (
    HERE,
    JsonOption,
    ProjectOption,
    SelectArgument,
    TargetOption,
    command_app,
    open_lake,
    show,
)
from lakesmith.cli.render.text import columns_aligned
from lakesmith.cli.render.up_section import up_lines
from lakesmith.errors import LakesmithError, UsageError

app = command_app()


_HEADER = ("table", "state", "batch", "published", "rows", "quarantined", "why")
_REDRAW_SECONDS = 1.0
_WORDS = {
    Standing.UP_TO_DATE: "up to date",
    Standing.HELD: "held",
    Standing.BEHIND: "behind",
    Standing.REFUSED: "refused",
}


@app.command()
def status(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
    watch: Annotated[bool, typer.Option("--watch", help="Draw it again each second, until Ctrl-C.")] = False,
) -> None:
    """The command line's words, as ``status_command`` takes them."""
    if watch:
        raise typer.Exit(watch_command(project, target, tuple(select or ()), json))
    raise typer.Exit(status_command(project, target, tuple(select or ()), json))


def status_command(root: Path, target: str | None, patterns: tuple[str, ...], as_json: bool) -> int:
    """Prints the status of the selected tables and of ``lakesmith up``; 0, or 1 when a table is refused."""
    found = open_lake(root, target).status(*patterns)
    show(found, as_json, lambda found: [*_with_up(found.tables, found.up), *_unfinished(found)])
    return 1 if found.has_refused else 0


def watch_command(root: Path, target: str | None, patterns: tuple[str, ...], as_json: bool) -> int:
    """Draws the status each second until Ctrl-C. Raises UsageError LS228 without a terminal."""
    if as_json or not sys.stdout.isatty():
        found = "--json" if as_json else "an output that is no terminal"
        hint = "lakesmith status --json prints the status once, as data"
        raise UsageError.of(
            "LS228", "--watch draws on a terminal", None, "a terminal, and no --json", found, hint
        )
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with suppress(KeyboardInterrupt), Live(console=Console(), auto_refresh=False) as live:
        while True:
            text = "\n".join(_lines_now(root, target, patterns))
            live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)
            time.sleep(_REDRAW_SECONDS)
    return 0


def _lines_now(root: Path, target: str | None, patterns: tuple[str, ...]) -> list[str]:
    """The status now; what is wrong with the project, while somebody edits it, in its place."""
    try:
        found = open_lake(root, target).status(*patterns)
        return _with_up(found.tables, found.up)
    except LakesmithError as error:
        return [line for problem in error.problems for line in problem.lines()]


def _unfinished(found: Status) -> list[str]:
    """Erasures that were killed: only the same call finishes them."""
    begun = found.erasures_begun
    return (
        [f"{count(begun, 'erasure')} begun and not ended: call the same lakesmith erase again"]
        if begun
        else []
    )


def _with_up(found: Sequence[TableStatus], up: UpState | None) -> list[str]:
    now_ms = time.time_ns() // 1_000_000
    names = {str(status.name) for status in found}
    section = ["", *up_lines(up, names, now_ms)] if up is not None else []
    keeper = "up" if up is not None and is_alive(up) and up.problem is None else "run"
    return [*status_lines(found, now_ms, keeper), *section]


def status_lines(found: Sequence[TableStatus], now_ms: int, keeper: str = "run") -> list[str]:
    """The tables as text, notes, and a closing line. ``keeper``: the command that refreshes them."""
    if not found:
        return ["the project has no tables yet"]
    rows = [_row(status, now_ms) for status in found]
    lines = columns_aligned([_HEADER, *rows], right=frozenset({2, 4, 5}))
    notes = [f"note: {status.name}: {note}" for status in found for note in status.notes]
    problems = [line for status in found if status.problem for line in status.problem.lines()]
    return [*lines, "", *notes, *_health_lines(found), *problems, _closing(found, keeper)]


def _health_lines(found: Sequence[TableStatus]) -> Iterator[str]:
    """What the summaries show of tables that may need maintenance; nothing of the others."""
    unwell = {str(status.name): signs(status.health) for status in found if status.health is not None}
    for name, said in unwell.items():
        if said:
            yield f"health: {name}: {'; '.join(said)}"
    if any(unwell.values()):
        yield "lakesmith maintain --dry-run shows what they need"


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


def _closing(found: Sequence[TableStatus], keeper: str) -> str:
    behind = sum(status.standing is Standing.BEHIND for status in found)
    refused = sum(status.standing is Standing.REFUSED for status in found)
    held = sum(status.standing is Standing.HELD for status in found)
    if not behind and not refused and not held:
        if any(status.not_read for status in found):
            return (
                "nothing is behind that is known here: what there is to read in PostgreSQL, a run finds out"
            )
        return "everything is up to date"
    parts = [f"{count(behind, 'table')} behind: lakesmith {keeper} refreshes them"] if behind else []
    parts += [f"{count(refused, 'table')} refused"] if refused else []
    return "; ".join([*parts, *([f"{count(held, 'table')} held"] if held else [])])
