"""What a rollback would do: to the table, to those below it, and to the files that it took since. Reads metadata and folders, no JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lakesmith.catalog.family import family
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem, StateError, UsageError
from lakesmith.execute.file_report import FileLine, FileReport, FileState, file_report
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.graph.graph import Graph
from lakesmith.plan.rollback import Move, Rollback, move_to, with_below
from lakesmith.project.definitions import TableName
from lakesmith.sources.folded import stands_for
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.ledger_view import LedgerView
from lakesmith.sources.model import FileAction


@dataclass(frozen=True, slots=True)
class UndoneFiles:
    """What was taken since: ``again`` is still there, for the next run; ``gone`` is not. ``topics``: partitions of which records are read again."""

    again: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A rollback, the files it undoes, the tables below that read what it undoes, and in words the ``columns`` of the table that do not go
    back with its rows.
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
    """What it would do to set the table back to ``to``: a snapshot, a tag or a moment.

    Raises UsageError LS230, LS231 for what is no point of the past, LS255 for a table that was never written, StateError as ``move_to`` and where the
    table cannot be read.
    """
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
    """``then``: the columns that the batch left, with their ids; none: that is not known."""
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
    """Segments of events that have no line of their own any more: they left their folder long ago."""
    found = []
    for line in (each for each in report.lines if each.stands_for is not None):
        own = sum(report.ledger.is_folded(path) for path in then)
        before = own + (stands_for(then, line.path) or 0 if line.path in then else 0)
        if line.count > before:
            found.append(f"{line.count - before:,} segments of {line.path}")
    return found


def never_written(name: TableName) -> UsageError:
    """LS255: there is no past to look at."""
    what = f"{name} was never written, so it has no past"
    return UsageError(Problem("LS255", what, None, "a table with batches"))


def lost_files(name: TableName, gone: Sequence[str]) -> StateError:
    """LS519: rows that would not come back."""
    more = f" and {len(gone) - 3:,} more" if gone[3:] else ""
    return StateError(
        Problem(
            "LS519",
            f"the rows of {len(gone):,} file{'s' if gone[1:] else ''} that {name} took since would not come back: nothing lies there any more",
            expected="the files that were taken since, so that the next run takes them again",
            found=f"gone: {', '.join(gone[:3])}{more}",
            hint="bring them back, or add --lossy to give their rows up; until they expire the snapshots of now still have them",
        )
    )
