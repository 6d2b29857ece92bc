"""Files that cannot be read as a whole: told by their names, and left out where their source says so (``on_bad_file: skip``)."""

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
"""What is mended by a setting of the source, and has nothing to do with the one file."""


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file of a source that cannot be read. ``lasting``: it will be so as long as the file is what it is."""

    file: FileIdentity
    source: Source
    problem: Problem
    lasting: bool

    @property
    def may_be_skipped(self) -> bool:
        """Whether its source leaves such a file out."""
        return self.lasting and self.source.on_bad_file is OnBadFile.SKIP

    @property
    def reason(self) -> str:
        """What is wrong with it, in words."""
        what = self.problem.what.rpartition(": ")[2]
        return f"{what} ({self.problem.found})" if self.problem.found else what


class BadFiles(SourceError):
    """Some of a batch's files cannot be read; a problem for each of the first 20, and LS428 for the others."""

    def __init__(self, files: Sequence[BadFile]) -> None:
        self.files = tuple(files)
        super().__init__([*(bad.problem for bad in self.files[:_SHOWN]), *_more(self.files)])


def unreadable(
    file: FileIdentity, source: Source, error: OSError | UnreadableFile, table: TableName | None
) -> BadFile:
    """What to say of a listed file that could not be read: LS421 (gone, or not allowed), or what is wrong with its content."""
    if isinstance(error, UnreadableFile):
        problem = Problem(error.code, error.what, expected=error.expected, found=error.found)
        first = error.hint or "replace it by a whole one"
        return _bad(file, source, problem, first, table, lasting=error.code not in _OF_A_SETTING)
    problem = Problem(
        "LS421", "it cannot be read", expected="the file as it was listed", found=error.strerror or str(error)
    )
    if isinstance(error, PermissionError):
        return _bad(file, source, problem, "give this user the right to read it", table)
    hint = "run again: what is there then is listed anew"
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
