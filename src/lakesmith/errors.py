"""The errors of lakesmith: one tree, each kind with an exit code, each error with a code of its own.

    LakesmithError                 exit code
    ├── ProjectError     LS1xx     2   the project's files are wrong (carries every problem found)
    ├── UsageError       LS2xx     2   the call is wrong: an unknown table, a bad option
    ├── EnvironmentProblem LS3xx   2   the machine lacks something: Java, jars, a writable folder
    ├── SourceError      LS4xx     1   a landing file is missing, changed, corrupt or not as declared
    ├── StateError       LS5xx     1   a table's state does not allow the step: no record, moved, expired
    ├── RunError         LS6xx     1   a step failed in Spark or while publishing
    ├── LockedError      LS7xx     1   another process holds the table or the catalog
    └── QualityError     LS8xx     3   a rule stopped the publishing

A message always has four parts, each a field: where (file:line, when there is one), what was expected, what
was found and what to do next. Nothing secret may be put in any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in the project: ``file`` relative to the project's folder (posix), ``line`` counted from 1."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, in the four parts a reader needs.

    Args:
        code: ``LS`` and three digits, stable between versions.
        what: one sentence: what is wrong. For a person, no trailing full stop.
        place: where, if it is in a file of the project.
        expected: what would have been right.
        found: what was there instead.
        hint: what to do next: a command or an edit.
        rule: the text of the quality rule that it is about, if it is about one.
    """

    code: str
    what: str
    place: Place | None = None
    expected: str | None = None
    found: str | None = None
    hint: str | None = None
    rule: str | None = None

    def lines(self) -> list[str]:
        """The problem as plain lines: the first says code, place and what; the rest are indented."""
        head = f"{self.code} {self.place}: {self.what}" if self.place else f"{self.code} {self.what}"
        details = (("expected", self.expected), ("found", self.found), ("to do", self.hint))
        return [head, *(f"    {label}: {text}" for label, text in details if text)]

    def as_dict(self) -> dict[str, str | int | None]:
        """The problem as JSON data."""
        return {
            "code": self.code,
            "what": self.what,
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "expected": self.expected,
            "found": self.found,
            "hint": self.hint,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Problem:
        """Returns the problem that ``as_dict`` made data of."""
        place = Place(data["file"], data["line"]) if data.get("file") else None
        parts = (data.get(part) for part in ("expected", "found", "hint"))
        return cls(data["code"], data["what"], place, *parts)


class LakesmithError(Exception):
    """The root: whatever lakesmith raises on purpose. Carries one problem or more."""

    exit_code = 1

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(line for problem in self.problems for line in problem.lines()))

    @classmethod
    def of(
        cls,
        code: str,
        what: str,
        place: Place | None = None,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> Self:
        """Makes an error of one problem with these parts."""
        return cls(Problem(code, what, place, expected, found, hint))


class ProjectError(LakesmithError):
    """The project's files are wrong; every problem found in them is in ``problems``."""

    exit_code = 2


class UsageError(LakesmithError):
    """The command was called wrongly: an unknown table, a bad option."""

    exit_code = 2


class EnvironmentProblem(LakesmithError):
    """This machine lacks something: Java, the jars, a folder that can be written."""

    exit_code = 2


class SourceError(LakesmithError):
    """A landing file is missing, changed while it was read, corrupt, or not as declared."""


class StateError(LakesmithError):
    """A table's state does not allow the step: it has no record, it moved, a snapshot expired."""


class RunError(LakesmithError):
    """A step failed in Spark or while publishing."""


class LockedError(LakesmithError):
    """Another process holds what this one needs."""


class QualityError(LakesmithError):
    """A quality rule stopped the publishing."""

    exit_code = 3


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name most similar to ``name``, in any case; None if none is similar."""
    from difflib import get_close_matches

    by_folded = {candidate.lower(): candidate for candidate in sorted(known)}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    longer = [folded for folded in by_folded if len(name) > 2 and folded.startswith(name.lower())]
    return next((by_folded[folded] for folded in (*found, *longer)), None)


def count(number: int, what: str, plural: str | None = None) -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def listed(names: Iterable[str], most: int = 20) -> str:
    """Returns the names with commas; of very many only the first."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """Returns a hint: ``did you mean key?``, or ``otherwise``."""
    found = nearest(name, known)
    return f"did you mean {found}?" if found else otherwise


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """An error code such as LS101. The three texts are whole sentences; ``fix`` says what the user does."""

    code: str
    meaning: str
    cause: str
    fix: str

    def to_dict(self) -> dict[str, str]:
        """The explanation as JSON data."""
        return asdict(self)


@cache
def error_codes() -> dict[str, ErrorCode]:
    """Returns every error code, in the order of their numbers, from ``error_codes.toml``."""
    import tomllib  # No command but explain reads the table.

    text = Path(__file__).with_name("error_codes.toml").read_text(encoding="utf-8")
    return {code: ErrorCode(code, **entry) for code, entry in tomllib.loads(text).items()}
