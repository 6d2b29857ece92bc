"""What ``lakesmith check`` found, as values; and as JSON data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from lakesmith.errors import Problem

SUMMARY_KEY: Final = "lakesmith.checks"
"""The property of a snapshot of the table of results that says how the check went, by table."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """Whether a table meets one rule.

    Attributes:
        kind: ``row`` or ``table``.
        metric: what was measured; for a row rule the number of rows that break it.
        found, expected: in words.
        place: where the rule is declared, file:line.
    """

    rule: str
    kind: Literal["row", "table"]
    passed: bool
    metric: float | None
    found: str
    expected: str
    place: str


@dataclass(frozen=True, slots=True)
class TableResult:
    """The rules of one table at a snapshot of its batch; ``why`` it was not checked; ``problems`` of its
    rules."""

    table: str
    results: tuple[RuleResult, ...] = ()
    snapshot: int | None = None
    batch: int | None = None
    why: str | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def failed(self) -> tuple[RuleResult, ...]:
        return tuple(result for result in self.results if not result.passed)

    @property
    def is_wrong(self) -> bool:
        """Whether a rule failed, or could not be evaluated."""
        return bool(self.failed or self.problems)

    def to_dict(self) -> dict[str, Any]:
        data = asdict(replace(self, problems=()))
        return {**data, "problems": [problem.as_dict() for problem in self.problems]}
