"""The quality of a table: what its rules found in each batch, as small lines, and why rows are bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lakesmith.execute.opened import Opened
from lakesmith.execute.quarantine import Summary, summarize
from lakesmith.project.definitions import TableName

WIDTH, HEIGHT = 180.0, 30.0
_MARGIN: Final = 4.0
_COUNTED: Final = 100_000
"""The most bad rows that are counted by reason: each is read."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a rule found in a batch, with its place in the line. ``value``: the metric, or how many rows broke
    the rule; None: not measured. ``expected``: what was allowed, in words."""

    batch: int
    value: float | None
    has_failed: bool
    expected: str = ""
    x: float = 0.0
    y: float = 0.0

    @property
    def text(self) -> str:
        """The batch and what was found."""
        value = "" if self.value is None else f": {self.value:.6g}"
        return f"batch {self.batch}{value}{', failed' if self.has_failed else ''}"


@dataclass(frozen=True, slots=True)
class RuleFacts:
    """A rule. ``of_rows``: it is checked row by row, and its values count the rows that broke it."""

    text: str
    of_rows: bool
    marks: tuple[Mark, ...]

    @property
    def last(self) -> Mark | None:
        """What the newest batch found."""
        return self.marks[-1] if self.marks else None

    @property
    def line(self) -> str:
        """The values as points of a line."""
        return " ".join(f"{each.x:.1f},{each.y:.1f}" for each in self.marks if each.value is not None)

    @property
    def span(self) -> str:
        """The least and the greatest value, if they differ."""
        values = [each.value for each in self.marks if each.value is not None]
        return f"{min(values):.6g} to {max(values):.6g}" if values and min(values) != max(values) else ""


def rules_of(rules: Sequence[Any], points: Sequence[Any]) -> tuple[RuleFacts, ...]:
    """Returns what each rule found in the batches; ``points`` as ``history`` has them, newest first."""
    records = [each.record for each in reversed(points) if each.record]
    return tuple(_facts(rule.text, records) for rule in rules)


def _facts(text: str, records: Sequence[Any]) -> RuleFacts:
    marks, of_rows = list[Mark](), False
    for record in records:
        if (gate := record.gates.get(text)) is not None:
            marks.append(Mark(record.batch, gate.metric, gate.has_failed, gate.expected or ""))
        elif (broken := record.checks.get(text)) is not None:
            marks.append(Mark(record.batch, float(broken), broken > 0))
            of_rows = True
    return RuleFacts(text, of_rows, placed(marks))


def placed(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Returns marks with their places: from left to right, the least value at the bottom."""
    values = [each.value for each in marks if each.value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)
    step = (WIDTH - 2 * _MARGIN) / max(1, len(marks) - 1)
    height = HEIGHT - 2 * _MARGIN

    def y(value: float | None) -> float:
        part = 0.5 if value is None or low == high else (value - low) / (high - low)
        return _MARGIN + height * (1 - part)

    return tuple(replace(each, x=_MARGIN + at * step, y=y(each.value)) for at, each in enumerate(marks))


def reasons_of(opened: Opened, name: TableName, quarantined: int | None) -> Summary:
    """Returns the reasons of bad rows with their numbers; empty if there are too many to read for a view."""
    if not quarantined or quarantined > _COUNTED:
        return Summary()
    return summarize(opened.lake, name, opened.lake.facts(name))
