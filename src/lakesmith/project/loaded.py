"""What loading a project gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lakesmith.errors import Place, Problem
from lakesmith.project.definitions import Project, TableName


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """A project and what is wrong with it.

    With ``problems``, ``project`` has only the tables that are right; ``declared`` are the names of all of them.
    ``uses_environment``: the target takes values from environment variables.
    """

    project: Project
    problems: tuple[Problem, ...]
    declared: frozenset[TableName] = frozenset()
    uses_environment: bool = False


def sorted_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems by place and code, each once."""
    return tuple(sorted(dict.fromkeys(problems), key=_by_place))


def _by_place(problem: Problem) -> tuple[str, int, str, str]:
    place = problem.place or Place("")
    return (place.file, place.line or 0, problem.code, problem.what)
