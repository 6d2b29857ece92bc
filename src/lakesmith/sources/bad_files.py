"""Files that cannot be read: problems, or left out with ``on_bad_file: skip``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import OnBadFile, Source, TableName
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.names import printable
from lakesmith.sources.shape import UnreadableFile

_SHOWN: Final = 20
_OF_A_SETTING: Final = frozenset({"LS425"})
"""Problems that a setting of the source fixes, whatever the file."""


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file of a source that cannot be read. ``lasting``: it stays unreadable until the file changes."""

    file: FileIdentity
    source: Source
    problem: Problem
    lasting: bool

    @property
    def may_be_skipped(self) -> bool:
        return self.lasting and self.source.on_bad_file is OnBadFile.SKIP

    @property
    def reason(self) -> str:
        what = self.problem.what.rpartition(": ")[2]
        return f"{what} ({self.problem.found})" if self.problem.found else what


class BadFiles(SourceError):
    """Some files of a batch cannot be read: a problem for each of the first 20, and LS428 for the others."""

    def __init__(self, files: Sequence[BadFile]) -> None:
        self.files = tuple(files)
        super().__init__([*(bad.problem for bad in self.files[:_SHOWN]), *_more(self.files)])


def unreadable(
    file: FileIdentity, source: Source, error: OSError | UnreadableFile, table: TableName | None
) -> BadFile:
    """Returns the problem of a listed file: LS421 (gone, no permission), or what its content lacks."""
    if isinstance(error, UnreadableFile):
        problem = Problem(error.code, error.what, expected=error.expected, found=error.found)
        first = error.hint or "replace it by a complete one"
        return _bad(file, source, problem, first, table, lasting=error.code not in _OF_A_SETTING)
    problem = Problem(
        "LS421", "it cannot be read", expected="the file as it was listed", found=error.strerror or str(error)
    )
    if isinstance(error, PermissionError):
        return _bad(file, source, problem, "give this user the right to read it", table)
    hint = "run again: the folder is listed again"
    return BadFile(file, source, _placed(file, source, replace(problem, hint=hint)), lasting=False)


def _bad(
    file: FileIdentity,
    source: Source,
    problem: Problem,
    first: str,
    table: TableName | None,
    lasting: bool = True,
) -> BadFile:
    ways = [first, f"`lakesmith files {table or 'TABLE'} --skip {printable(file.path)}` leaves this file out"]
    if lasting and source.on_bad_file is OnBadFile.FAIL:
        ways.append("`on_bad_file: skip` on the source leaves out every such file, on record")
    return BadFile(file, source, _placed(file, source, replace(problem, hint="; or ".join(ways))), lasting)


def _placed(file: FileIdentity, source: Source, problem: Problem) -> Problem:
    what = f"source {source.name!r}: {printable(file.path)}: {problem.what}"
    return replace(problem, what=what, place=source.place)


def _more(files: Sequence[BadFile]) -> list[Problem]:
    left = len(files) - _SHOWN
    if left <= 0:
        return []
    source = files[_SHOWN].source
    return [Problem("LS428", f"source {source.name!r}: {left} more files cannot be read", source.place)]
