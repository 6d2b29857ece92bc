"""Bad rows: what is wrong with them, and their two ways out, each a batch under the project's lock."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.results import Change, Heads, heads_of
from lakesmith.api.running import both, run, run_decided
from lakesmith.api.words import iso
from lakesmith.errors import UsageError
from lakesmith.execute.events import Listener, RunResult
from lakesmith.execute.opened import Opened
from lakesmith.execute.quarantine import (
    BadRow,
    QuarantineDecider,
    Summary,
    line_numbers,
    read_bad_rows,
    summarize,
)
from lakesmith.execute.status import quarantined_rows
from lakesmith.plan.steps import BadRows, Strategy
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class QuarantineSummary:
    """The tables that have bad rows, with their numbers and most frequent reasons."""

    tables: dict[TableName, Summary]

    def to_dict(self) -> list[dict[str, Any]]:
        return [_summary_to_dict(name, summary) for name, summary in self.tables.items()]


@dataclass(frozen=True, slots=True)
class QuarantineRows:
    """Bad rows of a table, each with its line in the file where that is known. ``is_cut``: there are more."""

    table: TableName
    chosen: BadRows
    rows: tuple[tuple[BadRow, int | None], ...]
    is_cut: bool

    def to_dict(self) -> list[dict[str, Any]]:
        """The rows as JSON data; ``row`` is an object where the row parsed."""
        return [_row_to_dict(row, line) for row, line in self.rows]


@dataclass(frozen=True, slots=True)
class QuarantineDropPreview:
    """The bad rows that would be dropped."""

    table: TableName
    chosen: BadRows
    rows: int

    def to_dict(self) -> dict[str, Any]:
        return {"drop_bad_rows_of": str(self.table), "chosen": str(self.chosen), "rows": self.rows}


def summaries(access: Access) -> QuarantineSummary:
    """Counts the bad rows of every table. Reads rows only where there are any."""
    opened = access.opened()
    found = {name: _summary(opened, name) for name in opened.graph.order}
    return QuarantineSummary({name: summary for name, summary in found.items() if summary.rows})


def _summary(opened: Opened, name: TableName) -> Summary:
    facts = opened.lake.facts(name)
    known = quarantined_rows(opened.lake, name, facts)
    return Summary() if known == 0 else summarize(opened.lake, name, facts)


def rows(access: Access, table: str, chosen: BadRows, limit: int | None) -> QuarantineRows:
    opened = access.opened()
    name = opened.one(table)
    facts = opened.lake.facts(name)
    total = quarantined_rows(opened.lake, name, facts)
    found = () if total == 0 else read_bad_rows(opened.lake, name, facts, chosen, limit)
    places = line_numbers(found, opened.graph.node(name).definition, opened.project.root)
    numbered = tuple((row, places.get((row.file or "", row.position or 0))) for row in found)
    is_cut = limit is not None and len(found) == limit and total != limit
    return QuarantineRows(name, chosen, numbered, is_cut)


def is_derived(access: Access, table: str) -> bool:
    """Whether a table is derived: its bad rows are a function of its inputs and its definition."""
    opened = access.opened()
    return not opened.graph.node(opened.one(table)).definition.is_sourced


def replay(access: Access, table: str, chosen: BadRows, wait: float, on_event: Listener | None) -> RunResult:
    opened = access.opened()
    name = opened.one(table)
    if opened.graph.node(name).definition.is_sourced:
        what = ((name,), _decider(opened, Strategy.REPLAY, chosen))
        text = f"quarantine replay {name}"
        with access.noting(opened.project, "replay", text, [name], lasting=True) as action:
            return run_decided(access, opened, what, ("quarantine replay", wait), both(action, on_event))
    if chosen != BadRows():
        raise UsageError.of(
            "LS226",
            f"the quarantine of {name} can only be replayed completely",
            place=opened.graph.node(name).definition.place,
            expected="no --batch, --reason or --file: a derived table is recomputed from all of its inputs",
            found=str(chosen),
            hint=f"lakesmith quarantine replay {name}",
        )
    return run(access, (), (str(name),), (), wait, on_event)


def drop(
    access: Access, table: str, chosen: BadRows, wait: float, on_event: Listener | None
) -> Change[QuarantineDropPreview, RunResult]:
    opened = access.opened()
    name = opened.one(table)
    count = summarize(opened.lake, name, opened.lake.facts(name), chosen).rows

    def make(_preview: QuarantineDropPreview) -> RunResult:
        now = access.opened()
        what = ((name,), _decider(now, Strategy.DROP, chosen))
        with access.noting(
            now.project, "drop rows", f"quarantine drop {name}", [name], lasting=True
        ) as action:
            return run_decided(access, now, what, ("quarantine drop", wait), both(action, on_event))

    # The run takes the lock itself, and plans on the state that it finds then.
    preview = QuarantineDropPreview(name, chosen, count)

    def heads(now: Opened) -> Heads:
        return heads_of(now.lake.catalog, [name])

    return Change(preview, heads(opened), nullcontext, lambda: heads(access.opened()), make)


def _decider(opened: Opened, strategy: Strategy, chosen: BadRows) -> QuarantineDecider:
    return QuarantineDecider(opened.graph, opened.lake, strategy=strategy, bad_rows=chosen)


def _summary_to_dict(name: TableName, summary: Summary) -> dict[str, Any]:
    return {
        "table": str(name),
        "rows": summary.rows,
        "reasons": [{"reason": reason, "rows": rows} for reason, rows in summary.reasons],
        "oldest": None if summary.oldest_ms is None else iso(summary.oldest_ms),
        "newest": None if summary.newest_ms is None else iso(summary.newest_ms),
    }


def _row_to_dict(row: BadRow, line: int | None) -> dict[str, Any]:
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
