"""The work of an erasure: finds the persons, erases them, and looks for what is left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lakesmith.api.words import count
from lakesmith.errors import Problem, RunError
from lakesmith.execute.erase import EraseDecider, Erasure, Receipts
from lakesmith.execute.erase_places import Looked, clean
from lakesmith.execute.events import Event, TableFailed
from lakesmith.execute.faults import reach
from lakesmith.execute.landing_erase import (
    LandingFile,
    Left,
    Made,
    content_of,
    landing_files,
    landing_of,
    remove,
    rewrite,
    wanted_of,
    was_made,
)
from lakesmith.execute.opened import Opened
from lakesmith.execute.run import Walk
from lakesmith.plan.steps import FileIntake
from lakesmith.project.definitions import OnErase, TableDefinition, TableName
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.without_persons import stand_in_file

if TYPE_CHECKING:
    from lakesmith.spark.erase import Found
    from lakesmith.spark.erase_proof import Proof
    from lakesmith.spark.start.session import SessionHandle

Renewed = Mapping[TableName, tuple[FileIntake, ...]]
Listener = Callable[[str], None]
"""Receives what was done, in words."""


@dataclass(frozen=True)
class Landing:
    """The files of landing folders; ``unread`` are problems of files that cannot be read, in words."""

    files: tuple[LandingFile, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def theirs(self) -> tuple[LandingFile, ...]:
        """The files with records of theirs."""
        return tuple(file for file in self.files if file.records)

    def in_tables(self, tables: Collection[TableName]) -> tuple[LandingFile, ...]:
        """Returns the files with records of theirs that belong to these tables."""
        return tuple(file for file in self.theirs if file.table in tables)

    @property
    def clean(self) -> frozenset[tuple[TableName, FileIdentity]]:
        """The files without."""
        return frozenset((file.table, file.file) for file in self.files if not file.records)


@dataclass(frozen=True)
class Work:
    """An erasure, what was found, and the session that does it; ``say`` receives what was done."""

    opened: Opened
    erasure: Erasure
    session: SessionHandle
    found: Found
    landing: Landing
    say: Listener

    def definition(self, name: TableName) -> TableDefinition:
        return self.opened.graph.node(name).definition


@dataclass
class Done:
    """What was done, and what is ``left`` in words."""

    rewritten: dict[TableName, int] = field(default_factory=dict)
    snapshots: Mapping[TableName, int] = field(default_factory=dict)
    proof: Proof | None = None
    landing_files: int = 0
    left: list[str] = field(default_factory=list)


def find_in_landing(
    opened: Opened,
    erasure: Erasure,
    session: SessionHandle,
    known: frozenset[tuple[TableName, FileIdentity]] = frozenset(),
) -> Landing:
    """Looks for records of the persons in landing files; ``known`` are files that are known to have none."""
    from lakesmith.spark.kinds.persons_in_files import persons_in_files

    files: list[LandingFile] = []
    unread: list[str] = []
    for table in _with_landing(opened, erasure):
        listed = landing_of(opened.lake, table)
        new = [
            (source, [file for file in each if (table.name, file) not in known]) for source, each in listed
        ]
        records = persons_in_files(session, opened.lake, table, new, erasure.persons)
        files += landing_files(opened.lake, table, listed, records.records)
        unread += _why_unread(opened, table, erasure, records.unread)
    return Landing(tuple(files), tuple(unread))


def _with_landing(opened: Opened, erasure: Erasure) -> Iterator[TableDefinition]:
    for name in (*erasure.sourced, *erasure.others):
        if (table := opened.graph.node(name).definition).is_sourced:
            yield table


def _why_unread(
    opened: Opened, table: TableDefinition, erasure: Erasure, files: Iterable[FileIdentity]
) -> Iterator[str]:
    wanted = wanted_of(table, erasure.persons)
    for file in files:
        if stand_in_file(wanted, content_of(opened.lake, file.path)):
            yield (
                f"{file.path}, which {table.name} cannot read, has values of theirs: remove it, or put a"
                " whole one there"
            )


def do(work: Work, receipts: Receipts, number: str) -> Done:
    """Erases, and proves that nothing is left."""
    from lakesmith.spark.erase import forget_past, renew
    from lakesmith.spark.erase_proof import prove

    opened, erasure, done = work.opened, work.erasure, Done()
    receipts.begin(number)
    reach("erase-begun", str(erasure.asked))
    renewed = _rewrite_landing(work, Made(receipts.made(), partial(receipts.note_made, number)), done)
    for name in erasure.tables:
        _bring(work, name, renewed)
        done.rewritten[name] = renew(work.session, opened.lake, name)
        work.say(f"{name}: rewrote {count(done.rewritten[name], 'data file')}")
    done.snapshots = forget_past(work.session, opened.lake, erasure)
    for name in erasure.tables:
        _export(work, name)
    for file in _going(work):
        remove(opened.lake, file)
        reach("erase-landing", "")
    done.proof = prove(work.session, opened.lake, erasure)
    done.left += done.proof.left
    done.left += _left_in_others(work)
    _prove_landing(work, done)
    return done


def _going(work: Work) -> list[LandingFile]:
    """The files that are removed: no table needs them any more."""
    of_tables = work.landing.in_tables(work.erasure.sourced)
    staying = {file.path for file in of_tables if not file.goes}
    return [file for file in of_tables if file.path not in staying]


def _rewrite_landing(work: Work, made: Made, done: Done) -> Renewed:
    """Takes their records out of the landing files that stay; what is to be entered in the ledgers."""
    lake = work.opened.lake
    intakes: dict[TableName, tuple[FileIntake, ...]] = {}
    for file in work.landing.files:
        if file.table not in work.erasure.sourced:
            continue
        was_ours = file.taken is not None and (file.is_as_taken or was_made(lake, file, made))
        now = file.file
        if file.is_rewritten:
            wanted = wanted_of(work.definition(file.table), work.erasure.persons)
            changed = rewrite(lake, file, wanted, made)
            if isinstance(changed, Left):
                done.left.append(f"{changed.path} {changed.why}")
                continue
            now = changed
            work.say(f"{file.path}: {count(file.records, 'record')} taken out")
        if was_ours and (now != file.file or not file.is_as_taken):
            renewed = FileIntake(file.source, renewed=(now,))
            intakes[file.table] = (*intakes.get(file.table, ()), renewed)
    return intakes


def _left_in_others(work: Work) -> Iterator[str]:
    """Tables that nothing was erased from."""
    erasure, found, graph = work.erasure, work.found, work.opened.graph
    for name in erasure.others:
        rows = found.rows.get(name, 0) + found.bad_rows.get(name, 0)
        if rows:
            yield f"{name} has {count(rows, 'row')} of theirs: {ways(graph.node(name).definition, erasure)}"
    unnamed = (table for table in work.opened.project.tables if table.is_sourced)
    for table in unnamed:
        if table.name in (*erasure.sourced, *erasure.besides):
            continue
        ledger = work.opened.lake.ledger(table.name, work.opened.lake.facts(table.name))
        files = sum(erasure.persons.are_named_in(path, surely=True) for path in ledger)
        if files:
            way = ways(table, erasure)
            yield f"{table.name} has taken {count(files, 'file')} whose names tell of them: {way}"


def ways(table: TableDefinition, erasure: Erasure) -> str:
    """What to do about rows in a table that nothing is erased from."""
    if table.is_sourced:
        return (
            f"--also {table.name} erases from it as well, --except {table.name} says that"
            f" {' and '.join(erasure.persons.columns)} means something else there"
        )
    return f"erase from the tables that it is made from, by their columns, or --except {table.name}"


def _prove_landing(work: Work, done: Done) -> None:
    """Looks into the landing files again, into new ones too."""
    landing = find_in_landing(work.opened, work.erasure, work.session, work.landing.clean)
    done.landing_files = len(landing.files)
    done.left += landing.unread
    for file in landing.theirs:
        if any(line.startswith(f"{file.path} ") for line in done.left):
            continue
        if file.table in work.erasure.others:
            how = ways(work.definition(file.table), work.erasure)
            records = count(file.records, "record")
            done.left.append(
                f"{file.path} has {records} of theirs, and {file.table} is not erased from: {how}"
            )
        elif file.choice is not OnErase.KEEP:
            done.left.append(f"{file.path} has {count(file.records, 'record')} of theirs: call this again")


def clean_places(opened: Opened, erasure: Erasure) -> tuple[str, ...]:
    """What is left on this machine besides the tables, once Spark has ended."""
    tables = tuple(_with_landing(opened, erasure))
    return clean(Looked(opened.lake, erasure.persons, tables, erasure.tables))


def _bring(work: Work, name: TableName, renewed: Renewed) -> None:
    """Erases from a sourced table, refreshes a derived one. Raises RunError with what failed."""
    opened, erasure = work.opened, work.erasure
    decider = EraseDecider(
        opened.graph,
        opened.lake,
        approved=frozenset(erasure.tables),
        persons=erasure.persons,
        renewed=renewed,
    )
    if failed := walk(decider, name, work.session):
        hint = "what was erased until then stays so: fix this, and call the same erase again"
        raise RunError([*failed, Problem("LS621", f"the erasure stopped at {name}", hint=hint)])


def walk(decider: EraseDecider, name: TableName, session: SessionHandle) -> list[Problem]:
    """Does what is decided on a table; what failed."""
    from lakesmith.spark.engine import SparkEngine

    failed: list[Problem] = []

    def tell(event: Event) -> None:
        if isinstance(event, TableFailed):
            failed.extend(event.problems)

    with closing(SparkEngine(session, decider.lake, keeps_session=True)) as engine:
        Walk(decider, (name,), lambda: engine, tell, exports=False).run()
    return failed


def _export(work: Work, name: TableName) -> None:
    """Exports a table as it is now. What does not work is found among the places."""
    from lakesmith.spark.engine import SparkEngine

    decider = work.opened.decider()
    with closing(SparkEngine(work.session, decider.lake, keeps_session=True)) as engine:
        Walk(decider, (name,), lambda: engine, lambda _: None).export(name)
