"""The landing files of a table: ingested, new, and the effect of `files --skip` and `--forget`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from lakesmith.errors import LakesmithError, Problem, StateError, UsageError, did_you_mean, listed
from lakesmith.execute.lake import Lake
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.sourced import cut_problem
from lakesmith.plan.steps import FileIntake, Strategy, TableStep
from lakesmith.project.definitions import FileSource, Source, TableDefinition
from lakesmith.sources.choose import FileChoice
from lakesmith.sources.folded import stands_for
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.ledger_view import LedgerView
from lakesmith.sources.listing import Listing, list_files
from lakesmith.sources.model import FileAction, FileIdentity
from lakesmith.sources.moved_files import chosen_files
from lakesmith.sources.postgres.changes import is_landing_file


class FileState(StrEnum):
    """What a file is to its table."""

    TAKEN = "taken"
    WAITING = "waiting"
    TOO_YOUNG = "too_young"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FORGOTTEN = "forgotten"
    UNREADABLE = "unreadable"
    BEFORE_SINCE = "before_since"
    """It is there, comes before the source's ``since``, and was never taken."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A landing file. ``batch`` and ``at_ms`` are of its newest ledger line. ``file`` is the present file, or
    the ingested one if ``there`` is False. ``stands_for``: the number of segments of a folded line.
    ``outside``: it is before the source's ``since``."""

    file: FileIdentity
    source: str
    state: FileState
    there: bool
    batch: int | None = None
    at_ms: int | None = None
    stands_for: int | None = None
    outside: bool = False

    @property
    def count(self) -> int:
        """How many files it tells of."""
        return 1 if self.stands_for is None else self.stands_for

    @property
    def path(self) -> str:
        """The file's path as the ledger and the rows have it."""
        return self.file.path

    @property
    def is_of_postgres(self) -> bool:
        """Whether its rows can be read from PostgreSQL again."""
        return is_landing_file(self.path.rpartition("/")[2])


@dataclass(frozen=True, slots=True)
class FileReport:
    """All files of a table, sorted by path; ``problems`` are those of folders that could not be listed,
    ``notes`` what the listings left out. ``ledger``: what was taken, also where it has no line of its own any
    more."""

    lines: tuple[FileLine, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    ledger: LedgerView = field(default_factory=LedgerView)

    def of(self, *states: FileState) -> tuple[FileLine, ...]:
        """The files in one of the states."""
        return tuple(line for line in self.lines if line.state in states)


def file_report(lake: Lake, table: TableDefinition, facts: TableFacts) -> FileReport:
    """What became of each file of a sourced table. Raises as reading its ledger does."""
    ledger = lake.ledger(table.name, facts)
    lines: dict[str, FileLine] = {}
    problems: list[Problem] = []
    notes: list[str] = []
    for source in (each for each in table.sources if each.has_files):
        try:
            listing = list_files(source, lake.project.root, time.time_ns(), ledger.rows)
            lines |= _source_lines(lake, source, listing, ledger)
            lines |= _before_since(lake, source, lines, ledger)
            notes += dict.fromkeys((*listing.notes, *filter(None, [listing.summary])))
        except LakesmithError as error:
            problems += error.problems
    listed_here = {ledger.known_as(path) for path in lines}
    for path in ledger:
        if path not in listed_here:
            # A partition is there as long as nobody has asked the brokers, which no list of what was taken
            # has to.
            lines[path] = _gone(ledger, path, there=is_slice(path))
    return FileReport(tuple(lines[path] for path in sorted(lines)), tuple(problems), tuple(notes), ledger)


def _source_lines(lake: Lake, source: Source, listing: Listing, ledger: LedgerView) -> dict[str, FileLine]:
    choice = chosen_files(source, listing, ledger, lake.project.root)
    states = dict(_states(listing, choice))
    return {
        file.path: _line(file, source.name, states.get(file.path, FileState.TAKEN), ledger)
        for file in (*listing.found, *listing.waiting)
    }


def _before_since(
    lake: Lake, source: Source, inside: Mapping[str, FileLine], ledger: LedgerView
) -> dict[str, FileLine]:
    """Yields files before ``since``, which no run ingests: late ones are seen here alone."""
    if source.since is None:
        return {}
    everywhere = list_files(replace(source, since=None), lake.project.root, time.time_ns(), ledger.rows)
    files = (file for file in (*everywhere.found, *everywhere.waiting) if file.path not in inside)
    return {file.path: _outside(file, source.name, ledger) for file in files}


def _outside(file: FileIdentity, source: str, ledger: LedgerView) -> FileLine:
    row = ledger.row(file.path)
    known = row is not None and row[1] != FileAction.FORGOTTEN
    state = _GONE_STATES[FileAction(row[1])] if row is not None and known else FileState.BEFORE_SINCE
    return replace(_line(file, source, state, ledger), outside=True)


def _states(listing: Listing, choice: FileChoice) -> Iterator[tuple[str, FileState]]:
    yield from ((file.path, FileState.WAITING) for file in choice.take)
    for changed in (choice.replace, choice.changed, choice.ignored_changed):
        yield from ((file.path, FileState.CHANGED) for file in changed)
    yield from ((file.path, FileState.SKIPPED) for file in choice.skipped)
    yield from ((file.path, FileState.UNREADABLE) for file in choice.unread)
    yield from ((file.path, FileState.TOO_YOUNG) for file in listing.waiting)


def _line(file: FileIdentity, source: str, state: FileState, ledger: LedgerView) -> FileLine:
    row = ledger.row(file.path)
    if row is None or row[1] == FileAction.FORGOTTEN:
        return FileLine(file, source, state, True)
    return FileLine(file, source, state, True, row[8], row[9])


_GONE_STATES = {
    FileAction.TAKEN: FileState.TAKEN,
    FileAction.SKIPPED: FileState.SKIPPED,
    FileAction.FORGOTTEN: FileState.FORGOTTEN,
    FileAction.UNREADABLE: FileState.UNREADABLE,
    FileAction.KEPT: FileState.UNREADABLE,
    FileAction.FOLDED: FileState.TAKEN,
}


def _gone(ledger: LedgerView, path: str, there: bool) -> FileLine:
    entry = ledger[path]
    line = FileLine(entry.file, entry.source, _GONE_STATES[entry.action], there, entry.batch, entry.at_ms)
    return replace(line, stands_for=stands_for(ledger, path)) if entry.action is FileAction.FOLDED else line


def find_files(report: FileReport, texts: Sequence[str], root: Path, here: Path) -> tuple[FileLine, ...]:
    """Returns the files that ``texts`` name by path or unique name. Raises UsageError LS210, LS211."""
    by_path = {line.path: line for line in report.lines}
    for text in texts:
        by_path |= {path: _gone(report.ledger, path, there=False) for path in _folded(report, text)}
    found = [_find(by_path, text, root, here) for text in texts]
    return tuple(dict.fromkeys(found))


def _folded(report: FileReport, text: str) -> list[str]:
    """Returns the ingested segments of this path or name that are folded into another line."""
    folders = {line.path.rpartition("/")[0] for line in report.lines if line.stands_for is not None}
    return [
        path for path in (text, *(f"{folder}/{text}" for folder in folders)) if report.ledger.is_folded(path)
    ]


def _find(by_path: dict[str, FileLine], text: str, root: Path, here: Path) -> FileLine:
    from_here = os.path.abspath(here / text)  # noqa: PTH100 - links keep their names, as in listings
    inside = os.path.relpath(from_here, root)
    for path in (text, inside, from_here):
        if path in by_path:
            return by_path[path]
    same_name = [path for path in by_path if Path(path).name == text]
    if len(same_name) == 1:
        return by_path[same_name[0]]
    if same_name:
        raise UsageError.of(
            "LS211", f"{text} is the name of several files", None, "one of", listed(same_name)
        )
    raise UsageError(_unknown(text, by_path))


def _unknown(text: str, known: Iterable[str]) -> Problem:
    by_name = {Path(path).name: path for path in known}
    hint = did_you_mean(text, known) or did_you_mean(Path(text).name, by_name)
    return Problem(
        "LS210",
        f"no file called {text} was taken, and none is waiting to be",
        None,
        "a file of this table, as lakesmith files --all shows it",
        hint=hint,
    )


def ledger_step(
    table: TableDefinition,
    fingerprint: str,
    facts: TableFacts,
    skip: Sequence[FileLine],
    forget: Sequence[FileLine],
) -> TableStep:
    """Returns the step that marks files as skipped or forgotten, and deletes the forgotten files' rows.
    Raises UsageError LS212, LS213, LS214, and StateError with the table's problem."""
    if problem := facts.problem or cut_problem(table, facts):
        raise StateError(problem)
    _check(table, facts, skip, forget)
    intakes = tuple(_intake(source, skip, forget) for source in _sources(table, (*skip, *forget)))
    return TableStep(
        table=table,
        strategy=Strategy.LEDGER,
        reason="as asked",
        base=facts.base,
        # The definition that made the rows there are: this batch makes none.
        fingerprint=facts.base.record.fingerprint if facts.base.record else fingerprint,
        intakes=tuple(intake for intake in intakes if intake.skip or intake.forget),
        row_wise=True,
    )


def _intake(source: Source, skip: Sequence[FileLine], forget: Sequence[FileLine]) -> FileIntake:
    return FileIntake(
        source,
        skip=tuple(line.file for line in skip if line.source == source.name),
        forget=tuple(line.file for line in forget if line.source == source.name),
    )


def _sources(table: TableDefinition, lines: Sequence[FileLine]) -> tuple[Source, ...]:
    """Returns the table's sources by name; files keep the name that a source had."""
    known = {source.name: source for source in table.sources}
    first = table.sources[0]
    old = {line.source for line in lines} - known.keys()
    renamed = (FileSource(name, first.path, first.format, first.place, first.pattern) for name in sorted(old))
    return (*table.sources, *renamed)


def _check(
    table: TableDefinition, facts: TableFacts, skip: Sequence[FileLine], forget: Sequence[FileLine]
) -> None:
    for line in (*skip, *forget):
        if is_slice(line.path):
            raise UsageError(_of_a_topic(line))
        if line.stands_for is not None:
            raise UsageError(_of_many(line))
    both = {line.path for line in skip} & {line.path for line in forget}
    if both:
        what = f"{min(both)} can be skipped or forgotten, not both"
        raise UsageError.of("LS212", what, None, "one of the two")
    for line in forget:
        if line.batch is None or line.state is FileState.FORGOTTEN:
            raise UsageError(_nothing_to_forget(line))
    if facts.state is None and not table.columns:
        raise UsageError(_no_table_yet(table))


def _nothing_to_forget(line: FileLine) -> Problem:
    return Problem(
        "LS213",
        f"{line.path} was never taken, so there is nothing to forget",
        None,
        "a file that was ingested or skipped",
        line.state.value,
        "it is taken by the next run" if line.there else None,
    )


def _of_a_topic(line: FileLine) -> Problem:
    return Problem(
        "LS216",
        f"{line.path} is a partition of a topic, of which nothing can be skipped or forgotten",
        None,
        "a landing file",
        hint="bad records go to quarantine with `on_bad_row: quarantine`; what was taken may not be in the "
        "topic any more",
    )


def _of_many(line: FileLine) -> Problem:
    return Problem(
        "LS217",
        f"{line.path} stands for {line.stands_for:,} segments, which were taken long ago",
        None,
        "one segment, by its own name",
        hint="the rows say it: _source_file",
    )


def _no_table_yet(table: TableDefinition) -> Problem:
    return Problem(
        "LS214",
        f"{table.name} has not taken any file yet, and its columns are to be inferred from its files",
        table.place,
        "a table that was built, or declared columns",
        hint="declare columns:, or move the file out of the folder until the first run is through",
    )
