"""``lakesmith status``: what is up to date, what is behind and why, without a JVM."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import typer

from lakesmith.api.reading import Status
from lakesmith.api.words import ago, count
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.text import columns_aligned
from lakesmith.cli.render.up_section import up_lines
from lakesmith.execute.status import Standing, TableStatus
from lakesmith.plan.maintenance import signs
from lakesmith.serve.state import UpState, is_alive

app = opt.command_app()


_HEADER = ("table", "state", "batch", "published", "rows", "quarantined", "why")
_WORDS = {
    Standing.UP_TO_DATE: "up to date",
    Standing.HELD: "held",
    Standing.BEHIND: "behind",
    Standing.REFUSED: "refused",
}


@app.command()
def status(
    select: opt.SelectArgument = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Prints the status of the selected tables and of ``lakesmith up``; 1 if a table is refused."""
    found = open_lake(project, target).status(*select or ())
    show(found, json, lambda found: [*_with_up(found.tables, found.up), *_unfinished(found)])
    raise typer.Exit(1 if found.has_refused else 0)


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
    notes += [f"note: {status.name}: {status.export}" for status in found if status.export]
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
    exports = sum(bool(status.export) for status in found)
    if not behind and not refused and not held and not exports:
        if any(status.not_read for status in found):
            return (
                "nothing is behind that is known here: what there is to read in PostgreSQL, a run finds out"
            )
        return "everything is up to date"
    parts = [f"{count(behind, 'table')} behind: lakesmith {keeper} refreshes them"] if behind else []
    parts += [f"{count(exports, 'export')} behind: lakesmith run writes them"] if exports else []
    parts += [f"{count(refused, 'table')} refused"] if refused else []
    return "; ".join([*parts, *([f"{count(held, 'table')} held"] if held else [])])
