"""When failed tables are tried again: ever more rarely, and parked if they keep failing in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.errors import Problem

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
PARKED_AFTER: Final = 8
"""Failures in a row with the same problem, after which a table is parked."""
PARKED_PAUSE: Final = 600.0
"""Seconds after which a parked table is tried again."""


_STOPPED_BY_RULES: Final = frozenset({"LS801", "LS805"})
"""Problems of the input: the same batch fails again, until something arrives or the definition changes."""


@dataclass(frozen=True, slots=True)
class Failing:
    """Failures in a row, ``alike`` of them with this problem; ``next_try`` is on a monotonic clock."""

    problem: Problem
    failures: int
    alike: int
    next_try: float

    @property
    def is_parked(self) -> bool:
        """Whether it is tried rarely, until its definition changes."""
        return self.alike >= PARKED_AFTER

    @property
    def waits_for_input(self) -> bool:
        """Whether it is tried when something arrives."""
        return is_stopped_by_rules([self.problem])

    @property
    def is_new(self) -> bool:
        """Whether this problem is new, so that it is reported in full."""
        return self.alike == 1


SPARK_IS_LOST: Final = frozenset({"LS602", "LS604"})
"""Problems after which Spark's process is gone, or not reliable."""


def is_quiet(each: Failing) -> bool:
    """Returns whether a failure is not reported: a lost Spark is reported once for all tables."""
    return each.failures == 1 and each.problem.code in SPARK_IS_LOST


def failed(before: Failing | None, problems: Sequence[Problem], now: float) -> Failing:
    """Returns the state after one more failure."""
    problem = problems[0]
    if is_stopped_by_rules(problems):
        alike = before.alike + 1 if before is not None and _is_alike(before.problem, problem) else 1
        return Failing(problem, before.failures + 1 if before else 1, alike, now + PARKED_PAUSE)
    if before is None:
        return Failing(problem, 1, 1, now + FIRST_PAUSE)
    failures = before.failures + 1
    alike = before.alike + 1 if _is_alike(before.problem, problem) else 1
    if alike >= PARKED_AFTER:
        return Failing(problem, failures, alike, now + PARKED_PAUSE)
    pause: float = min(FIRST_PAUSE * 2.0 ** min(failures - 1, 30), LONGEST_PAUSE)
    return Failing(problem, failures, alike, now + pause)


def is_stopped_by_rules(problems: Sequence[Problem]) -> bool:
    """Returns whether rules stopped a batch, so that it is not tried before something arrives."""
    return problems[0].code in _STOPPED_BY_RULES


def without_parking(failing: Failing, now: float) -> Failing:
    """Returns the state of what is never parked, but tried each minute."""
    return replace(failing, next_try=min(failing.next_try, now + LONGEST_PAUSE))


def held_back(failing: Mapping[str, Failing], now: float) -> frozenset[str]:
    """Returns what is not tried yet."""
    return frozenset(name for name, each in failing.items() if now < each.next_try)


def tried_again(failing: Mapping[str, Failing], now: float) -> frozenset[str]:
    """Returns what is tried now."""
    return frozenset(name for name, each in failing.items() if now >= each.next_try)


def _is_alike(one: Problem, other: Problem) -> bool:
    # The text may name a batch or a time; code and place do not.
    return (one.code, one.place) == (other.code, other.place)
