"""Notes and problems of a source's files, each once, with one of its files and the number of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import Source, TableName
from lakesmith.quoting import without_numbers
from lakesmith.sources.names import named, printable

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Holders:
    """Files of one shape. ``first``: one file with each key, for files only known together (JSON)."""

    paths: tuple[str, ...]
    first: Mapping[str, str] = field(default_factory=dict)

    def of(self, names: str | None) -> str:
        """Returns where the keys ``names``, separated by commas, are found."""
        key = without_numbers((names or "").split(", ")[0])
        return printable(self.first[key]) if key in self.first else f"among {named(self.paths)}"


@dataclass(slots=True)
class Findings:
    """Notes and problems of a source's files, gathered by text."""

    source: Source
    table: TableName | None = None
    _notes: dict[str, dict[str, None]] = field(default_factory=dict)
    _problems: dict[Problem, dict[str, None]] = field(default_factory=dict)

    def add(self, notes: Iterable[str], problems: Iterable[Problem], holders: Holders) -> None:
        together = bool(holders.first)
        for note in notes:
            paths = (f"among {named(holders.paths)}",) if together else holders.paths
            self._notes.setdefault(note, {}).update(dict.fromkeys(paths))
        for problem in problems:
            paths = (holders.of(problem.found),) if together else holders.paths
            self._problems.setdefault(problem, {}).update(dict.fromkeys(paths))

    @property
    def notes(self) -> list[str]:
        return [f"{note} ({named(tuple(paths))})" for note, paths in self._notes.items()]

    def raise_problems(self) -> None:
        """Raises SourceError with the first 20 problems, each with its files, if there are any."""
        if self._problems:
            first = list(self._problems.items())[:_SHOWN]
            raise SourceError([self._placed(problem, tuple(paths)) for problem, paths in first])

    def _placed(self, problem: Problem, paths: tuple[str, ...]) -> Problem:
        what = f"source {self.source.name!r}: {named(paths)}: {problem.what}"
        hint = (problem.hint or "").replace(" TABLE ", f" {self.table or 'TABLE'} ")
        return replace(problem, what=what, place=problem.place or self.source.place, hint=hint or None)
