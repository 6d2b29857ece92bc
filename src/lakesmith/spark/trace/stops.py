"""What an event does to a table, as frozen data and in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lakesmith.errors import Problem
from lakesmith.project.definitions import TableDefinition

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """A row before and after the event; None: it was not there, or is not there any more."""

    before: Row | None
    after: Row | None

    @property
    def kind(self) -> str:
        """What became of the row: inserted, replaced or deleted."""
        if self.before is None:
            return "inserted"
        return "deleted" if self.after is None else "replaced"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that differ; of a row without a counterpart all."""
        names = dict.fromkeys((*(self.before or ()), *(self.after or ())))
        if self.before is None or self.after is None:
            return tuple(names)
        return tuple(name for name in names if self.before.get(name) != self.after.get(name))


@dataclass(frozen=True, slots=True)
class Bad:
    """A row in quarantine: its JSON, or its text if it could not be parsed."""

    reasons: tuple[str, ...]
    row: str


@dataclass(frozen=True, slots=True)
class Stop:
    """What the event does to one table.

    Attributes:
        table: the table.
        outcomes: rows by what became of them, such as ``inserted``, ``replaced``, ``superseded``,
            ``filtered``, ``quarantined``; or ``failed``, ``stopped`` by a rule, ``not reached``,
            ``unchanged``.
        why: a sentence.
        strategy: how the table was refreshed.
        arrived: the rows that the table's query gives for the event alone, if it is row-wise.
        changes: rows of the table before and after.
        current: rows that superseded those of the event.
        bad: rows in quarantine.
        more: how many changed rows are not shown.
        notes: what a run would say besides.
        problems: why the table failed.
    """

    table: str
    outcomes: Mapping[str, int]
    why: str
    strategy: str = ""
    arrived: tuple[Row, ...] = ()
    changes: tuple[Change, ...] = ()
    current: tuple[Row, ...] = ()
    bad: tuple[Bad, ...] = ()
    more: int = 0
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The stop as JSON data."""
        changes = [{"kind": each.kind, "columns": each.columns, **asdict(each)} for each in self.changes]
        problems = [problem.as_dict() for problem in self.problems]
        return {**asdict(replace(self, problems=())), "changes": changes, "problems": problems}


def paired(gone: Sequence[Row], new: Sequence[Row], keys: Sequence[str]) -> Iterator[Change]:
    """Yields pairs of rows that alone have their key before and after, and the other rows one by one."""
    groups: dict[tuple[str, ...], tuple[list[Row], list[Row]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((gone, new)):
        for number, row in enumerate(rows):
            key = tuple(repr(row.get(name)) for name in keys) or (str(side), str(number))
            groups[key][side].append(row)
    for before, after in groups.values():
        if len(before) == len(after) == 1:
            yield Change(before[0], after[0])
        else:
            yield from (Change(row, None) for row in before)
            yield from (Change(None, row) for row in after)


def why_of(table: TableDefinition, outcomes: Mapping[str, int], by_row: bool) -> str:
    """Returns what decides, a clause for each outcome. ``by_row``: each input row gives a row of its own."""
    key, order = ", ".join(table.key), ", ".join(table.latest_by) or "arrival"
    keyed = bool(table.key) and not table.is_sourced
    words = {
        "inserted": f"no row had this key ({key})"
        if keyed
        else "rows are new"
        if by_row
        else "a group or a row of the result is new",
        "replaced": f"it is not older than the row with the same key ({key}), by {order}"
        if keyed
        else "a group that the event belongs to is computed again",
        "deleted": f"the event deletes the key ({key})"
        if keyed
        else "a group or a row of the result is gone",
        "superseded": f"a row with the same key ({key}) is newer by {order}",
        "filtered": "the query gives no row for it",
        "quarantined": "a rule or a type refuses it",
        "unchanged": "the table has the same row already",
    }
    if table.keeps_versions:
        words |= {"inserted": "a version begins", "replaced": "a version ends, or another one follows it"}
    if not outcomes and table.emit is not None:
        return f"no window closes: a window is published once the watermark has passed {table.emit.closed}"
    return "; ".join(words[name] for name in words if outcomes.get(name)) or "no row changes"
