"""What a rollback or a tag would do to a table, to the tables below it and to its files. No JVM."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from lakesmith.catalog.family import family
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.state import MAIN, RECORD_TAG, TableState
from lakesmith.errors import StateError, UsageError, did_you_mean, listed
from lakesmith.execute.files import FileLine, FileReport, FileState, file_report
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.graph.graph import Graph
from lakesmith.plan.rollback import Move, Rollback, move_to, with_below
from lakesmith.project.definitions import Project, TableName
from lakesmith.sources.folded import stands_for
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.ledger_view import LedgerView
from lakesmith.sources.model import FileAction


@dataclass(frozen=True, slots=True)
class UndoneFiles:
    """Files ingested since: ``again`` still exist, ``gone`` do not; ``topics`` are read again."""

    again: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A rollback, the files it undoes, the tables below that read what it undoes, and in words the
    ``columns`` of the table that do not go back with its rows.
    """

    rollback: Rollback
    files: UndoneFiles = UndoneFiles()
    readers: tuple[TableName, ...] = field(default=())
    columns: tuple[str, ...] = ()

    @property
    def first(self) -> Move:
        """How the table goes back that was asked for."""
        return self.rollback.moves[0]


def prepare(
    lake: Lake, graph: Graph, name: TableName, to: str, now: datetime, *, downstream: bool
) -> Prepared:
    """Returns what a rollback to a snapshot, tag or time would do. Raises UsageError LS230, LS231, LS255, and
    StateError as ``move_to``."""
    facts = lake.facts(name)
    if facts.state is None or facts.state.head is None:
        raise never_written(name)
    if facts.problem is not None and facts.problem.code == "LS503":
        raise StateError(facts.problem)
    below = graph.downstream(name)
    tables = {
        each: state
        for table in (name, *below)
        for each in family(table)
        if (state := lake.catalog.table(each.layer, each.name)) is not None
    }
    first = move_to(name, resolve_as_of(facts.state, to, now), tables)
    inputs = {each: graph.node(each).inputs for each in below}
    rollback = with_below(first, below, inputs, tables) if downstream else Rollback((first,))
    definition = graph.node(name).definition
    files = (
        _undone(lake, file_report(lake, definition, facts), first) if definition.is_sourced else UndoneFiles()
    )
    return Prepared(rollback, files, below, _columns_that_stay(first.record.columns, facts.state))


def _columns_that_stay(then: Mapping[str, int], state: TableState) -> tuple[str, ...]:
    """Returns the columns that stay; ``then``: those of the batch by id, empty: unknown."""
    names, now = (
        {number: name for name, number in then.items()},
        {each.field_id: each.name for each in state.columns},
    )
    if not then:
        return ()
    renamed = [
        f"{now[each]} (then {names[each]})" for each in now if each in names and names[each] != now[each]
    ]
    new = [f"{name} (then not there, so NULL)" for each, name in now.items() if each not in names]
    return (*renamed, *new, *(f"{name} (dropped since)" for each, name in names.items() if each not in now))


def _undone(lake: Lake, report: FileReport, move: Move) -> UndoneFiles:
    then = lake.ledgers.read(move.name, move.record.sidecars.get(LEDGER_PIN))
    since = [line for line in report.lines if _was_taken(line) and not _is_taken(then, line.path)]
    lines = [line for line in since if line.stands_for is None and not is_slice(line.path)]
    gone = [line.path for line in lines if not line.there]
    return UndoneFiles(
        again=tuple(line.path for line in lines if line.there),
        gone=(*gone, *_gone_segments(report, then)),
        topics=tuple(
            line.path for line in report.lines if is_slice(line.path) and _moved(report, then, line)
        ),
    )


def _was_taken(line: FileLine) -> bool:
    return line.state in (FileState.TAKEN, FileState.CHANGED)


def _is_taken(then: LedgerView, path: str) -> bool:
    return then.is_folded(path) or (path in then and then[path].action is FileAction.TAKEN)


def _moved(report: FileReport, then: LedgerView, line: FileLine) -> bool:
    return line.path not in then or then[line.path] != report.ledger[line.path]


def _gone_segments(report: FileReport, then: LedgerView) -> list[str]:
    """Returns segments that have no line of their own any more."""
    found = []
    for line in (each for each in report.lines if each.stands_for is not None):
        own = sum(report.ledger.is_folded(path) for path in then)
        before = own + (stands_for(then, line.path) or 0 if line.path in then else 0)
        if line.count > before:
            found.append(f"{line.count - before:,} segments of {line.path}")
    return found


def never_written(name: TableName) -> UsageError:
    what = f"{name} was never written, so it has no past"
    return UsageError.of("LS255", what, None, "a table with batches")


def lost_files(name: TableName, gone: Sequence[str]) -> StateError:
    return StateError.of(
        "LS519",
        f"the rows of {len(gone):,} file{'s' if gone[1:] else ''} that {name} ingested since would be "
        "lost: the files no longer exist",
        expected="the files that were ingested since, so that the next run ingests them again",
        found=f"gone: {listed(gone, 3)}",
        hint="put the files back, or add --lossy to lose their rows; the present snapshots have them until "
        "they expire",
    )


_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.\-]*")
_OWN: Final = "lakesmith"


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag: its tables with their snapshots. ``newest_ms``: the newest of them (since the epoch)."""

    name: str
    tables: Mapping[TableName, int]
    newest_ms: int

    def to_dict(self) -> dict[str, Any]:
        at = datetime.fromtimestamp(self.newest_ms // 1000, UTC)
        newest = at.replace(microsecond=self.newest_ms % 1000 * 1000).isoformat()
        tables = {str(table): snapshot for table, snapshot in self.tables.items()}
        return {"tag": self.name, "newest_at": newest, "tables": tables}


def known_name(text: str) -> str:
    """Returns ``text`` if it can be a tag's name. Raises UsageError LS256."""
    if _NAME.fullmatch(text) and text != MAIN and not text.startswith(_OWN):
        return text
    expected = "a letter, and then letters, digits, _ - and ."
    hint = f"{MAIN!r} and names that begin with {_OWN!r} are taken"
    raise UsageError.of("LS256", f"{text!r} cannot be the name of a tag", None, expected, hint=hint)


def own_states(lake: Lake) -> dict[TableName, TableState]:
    """The project's tables that were written, without those of others."""
    names = [table.name for table in lake.project.tables if table.external is None]
    with lake.one_look(names):
        facts = {name: lake.facts(name) for name in names}
    for each in facts.values():
        if each.problem is not None and each.problem.code == "LS503":
            raise StateError(each.problem)
    return {name: each.state for name, each in facts.items() if each.state is not None and each.state.head}


def tags_of(states: Mapping[TableName, TableState]) -> tuple[Tag, ...]:
    """All tags that people have set, by their names."""
    names = sorted({tag for state in states.values() for tag in state.tags if tag != RECORD_TAG})
    return tuple(_tag(name, states) for name in names)


def _tag(name: str, states: Mapping[TableName, TableState]) -> Tag:
    tables = {table: state.refs[name] for table, state in states.items() if name in state.tags}
    times = (states[table].snapshots[at].committed_ms for table, at in tables.items())
    return Tag(name, tables, max(times))


def to_be_tagged(
    name: str, states: Mapping[TableName, TableState], *, replace: bool
) -> dict[TableName, TableState]:
    """Returns the tables to tag at their heads. Raises StateError LS522 if the tag is elsewhere and not to be
    replaced; a half-set tag is completed."""
    elsewhere = [str(table) for table, state in states.items() if _is_elsewhere(name, state)]
    if elsewhere and not replace:
        what = f"a tag {name} exists already, and the lake has changed since"
        found = f"{', '.join(elsewhere[:3])}{' and others' if elsewhere[3:] else ''}"
        hint = f"choose another name, or add --replace; lakesmith untag {name} deletes it"
        raise StateError.of("LS522", what, None, "a new name", found, hint)
    return {table: state for table, state in states.items() if state.refs.get(name) != state.refs[MAIN]}


def _is_elsewhere(name: str, state: TableState) -> bool:
    return name in state.refs and (name not in state.tags or state.refs[name] != state.refs[MAIN])


def to_be_untagged(
    name: str, states: Mapping[TableName, TableState], project: Project
) -> dict[TableName, TableState]:
    """The tables that have the tag. Raises UsageError LS257 where none has."""
    found = {table: state for table, state in states.items() if name in state.tags}
    if not found:
        names = [tag.name for tag in tags_of(states)]
        expected = ", ".join(names) or "a tag; there are no tags yet"
        hint = did_you_mean(name, names)
        raise UsageError.of("LS257", f"there is no tag {name} in {project.name}", None, expected, hint=hint)
    return found
