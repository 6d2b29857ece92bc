"""``lakesmith quarantine list`` and ``show``: bad rows and what is wrong with them, without a JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lakesmith.api.words import count, iso, moment
from lakesmith.cli.opening import open_project
from lakesmith.execute.opened import Opened
from lakesmith.execute.quarantine import BadRow, Summary, line_numbers, read_bad_rows, summarize
from lakesmith.execute.status import quarantined_rows
from lakesmith.plan.steps import BadRows
from lakesmith.project.definitions import TableName
from lakesmith.sources.names import escaped

_REASONS = 5
"""The most reasons that ``list`` shows of a table; ``--json`` gives all."""

_WIDTH = 200
"""The most characters of a row that ``show`` prints; ``--json`` gives all."""


def list_command(root: Path, target: str | None, as_json: bool) -> int:
    """Prints each table's bad rows in numbers; 0. Reads rows only where there are any."""
    opened = open_project(root, target)
    found = {name: summary for name in opened.graph.order if (summary := _summary(opened, name)).rows}
    if as_json:
        print(json.dumps([summary_as_dict(name, summary) for name, summary in found.items()], indent=2))
    else:
        print("\n".join(summary_lines(found)))
    return 0


def _summary(opened: Opened, name: TableName) -> Summary:
    facts = opened.lake.facts(name)
    known = quarantined_rows(opened.lake, name, facts)
    return Summary() if known == 0 else summarize(opened.lake, name, facts)


def summary_lines(found: dict[TableName, Summary]) -> list[str]:
    """The numbers as lines: a table, and below it its most frequent reasons."""
    if not found:
        return ["no row is in quarantine"]
    return [line for name, summary in found.items() for line in _summary_lines(name, summary)]


def _summary_lines(name: TableName, summary: Summary) -> Iterator[str]:
    yield f"{name}: {count(summary.rows, 'bad row')}, found {_when(summary)}"
    width = max((len(f"{number:,}") for _, number in summary.reasons), default=0)
    for reason, number in summary.reasons[:_REASONS]:
        yield f"  {number:>{width},}  {reason}"
    if len(summary.reasons) > _REASONS:
        yield f"  and {count(len(summary.reasons) - _REASONS, 'more reason')}"


def _when(summary: Summary) -> str:
    oldest, newest = moment(summary.oldest_ms or 0), moment(summary.newest_ms or 0)
    return oldest if oldest == newest else f"{oldest} to {newest}"


def summary_as_dict(name: TableName, summary: Summary) -> dict[str, Any]:
    """A table's bad rows in numbers, as JSON data."""
    return {
        "table": str(name),
        "rows": summary.rows,
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in summary.reasons],
        "oldest": _iso(summary.oldest_ms),
        "newest": _iso(summary.newest_ms),
    }


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)


def show_command(
    root: Path, target: str | None, table: str, chosen: BadRows, limit: int | None, as_json: bool
) -> int:
    """Prints the first ``limit`` (None: all) bad rows that are chosen; 0."""
    opened = open_project(root, target)
    name = opened.one(table)
    facts = opened.lake.facts(name)
    total = quarantined_rows(opened.lake, name, facts)
    rows = () if total == 0 else read_bad_rows(opened.lake, name, facts, chosen, limit)
    places = line_numbers(rows, opened.graph.node(name).definition, opened.project.root)
    numbered = [(row, places.get((row.file or "", row.position or 0))) for row in rows]
    if as_json:
        found = [row_as_dict(row, line) for row, line in numbered]
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        is_cut = limit is not None and len(rows) == limit and total != limit
        print("\n".join(row_lines(name, numbered, chosen, is_cut)))
    return 0


def row_lines(
    name: TableName, rows: Sequence[tuple[BadRow, int | None]], chosen: BadRows, is_cut: bool
) -> list[str]:
    """The rows, with the lines they stand on where known, as text: where each came from, everything that is wrong with it, and what it holds."""
    if not rows:
        asked = "" if chosen == BadRows() else f" ({chosen})"
        return [f"no row of {name} is in quarantine{asked}"]
    lines = [line for row, number in rows for line in _row_lines(row, number)]
    if is_cut:
        lines.append(f"only the first {count(len(rows), 'row')} are shown: --limit 0 shows all")
    return lines


def _row_lines(row: BadRow, line: int | None) -> Iterator[str]:
    position = f", line {line}" if line else f", row {row.position}"
    where = f"{row.file}{position if row.position is not None else ''}" if row.file else "a row of the query"
    yield f"{where} (batch {row.batch}, {moment(row.found_ms)})"
    yield from (f"  {reason}" for reason in row.reasons)
    yield f"    {_cut(row.raw if row.raw is not None else row.row or '')}"


def _cut(text: str) -> str:
    # A tab is the delimiter that a reader looks for, and no control character may reach a terminal.
    shown = escaped(text)
    return shown if len(shown) <= _WIDTH else f"{shown[:_WIDTH]}… ({count(len(text), 'character')})"


def row_as_dict(row: BadRow, line: int | None) -> dict[str, Any]:
    """A bad row as JSON data; ``row`` is an object where the row parsed."""
    return {
        "batch": row.batch,
        "found_at": iso(row.found_ms),
        "reasons": list(row.reasons),
        "file": row.file,
        "position": row.position,
        "line": line,
        "raw": row.raw,
        "row": None if row.row is None else json.loads(row.row),
    }
