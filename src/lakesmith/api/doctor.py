"""What this machine and this project lack, and how to fix it; without a JVM unless asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.doctor_machine import Check, Verdict, machine_checks, start_check
from lakesmith.api.doctor_project import as_check, project_checks
from lakesmith.errors import Problem, ProjectError
from lakesmith.execute.opened import Opened

__all__ = ["Check", "Checks", "Verdict", "check"]


@dataclass(frozen=True, slots=True)
class Checks:
    """What was looked at, and what was found."""

    checks: tuple[Check, ...]

    @property
    def problems(self) -> int:
        """How many checks found a problem."""
        return sum(check.verdict is Verdict.PROBLEM for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The checks as JSON data."""
        return {"checks": [asdict(check) for check in self.checks]}


def check(access: Access, start: bool) -> Checks:
    """Makes the checks; see ``Lakehouse.doctor``."""
    return Checks(tuple(_checks(access, start)))


def _checks(access: Access, start: bool) -> Iterator[Check]:
    yield from machine_checks()
    opened = None
    try:
        opened = access.opened()
    except ProjectError as error:
        yield from (_unreadable(problem, access.is_named) for problem in error.problems)
    yield from project_checks(opened) if opened else ()
    if start:
        yield _start(opened)


def _start(opened: Opened | None) -> Check:
    if opened is None:
        return Check("spark", Verdict.NOTE, "not started: that takes a project that can be read")
    return start_check(opened.project)


def _unreadable(problem: Problem, is_named: bool) -> Check:
    """If no project was named there need not be one: then only the machine is looked at."""
    if problem.code == "LS119" and not is_named:
        return Check(
            "project", Verdict.NOTE, "none in this folder: only the machine was looked at", problem.hint
        )
    return as_check("project", problem)
