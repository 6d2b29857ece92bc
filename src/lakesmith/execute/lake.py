"""Facts about the lake and the landing folders that planning needs. Takes milliseconds, without a JVM."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Final

from lakesmith import limits
from lakesmith.cache import Kept, Look
from lakesmith.catalog.entries import Entry, require_finished
from lakesmith.catalog.family import foreign_owner
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.home import away_problem
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.lost import has_moved_on, lost_problem, older_problem
from lakesmith.catalog.metadata import plain_location
from lakesmith.catalog.open import open_catalog
from lakesmith.catalog.progress import Progress, find_progress
from lakesmith.catalog.protocol import Catalog
from lakesmith.catalog.state import TableState
from lakesmith.errors import EnvironmentProblem, LakesmithError, Problem, StateError, UsageError
from lakesmith.execute.lost_lake import not_recovered
from lakesmith.plan.external_inputs import no_such_begin
from lakesmith.plan.facts import SourceFacts, TableFacts
from lakesmith.plan.steps import Decision, FileIntake, InputRange, Strategy, TableStep, Waiting
from lakesmith.project.definitions import (
    ExternalTable,
    KafkaSource,
    Project,
    Source,
    TableDefinition,
    TableName,
)
from lakesmith.project.files import scratch_folder
from lakesmith.sources.choose import FileChoice
from lakesmith.sources.kafka.broker import topic_state
from lakesmith.sources.kafka.slices import choose_slices
from lakesmith.sources.ledger import LedgerStore, LedgerView
from lakesmith.sources.listing import Listing, list_files
from lakesmith.sources.moved import Moved, moved_of
from lakesmith.sources.moved_files import chosen_files
from lakesmith.sources.postgres.position import notes_of

SETTLED_NS: Final = 1_000_000_000
"""What was changed so lately before it was read may change again in the same tick of its clock."""
LEDGER_PIN = "files"
"""The name under which a sourced table's record pins its file ledger."""


def _moved(catalog: Catalog, table: TableName) -> Moved:
    """Where the table's landing files are since a recovery. An embedded lake is moved by ``relocate``."""
    state = None if isinstance(catalog, LocalCatalog) else catalog.table(table.layer, table.name)
    return moved_of(state.properties) if state else ()


@dataclass(frozen=True)
class Lake:
    """The lake of one project: its catalog and its file ledgers."""

    project: Project
    catalog: Catalog
    ledgers: LedgerStore
    kept: Kept = field(default_factory=Kept, repr=False, compare=False)
    _look: Look = field(default_factory=Look, init=False, repr=False, compare=False)

    @classmethod
    def open(cls, project: Project, kept: Kept | None = None) -> Lake:
        """Opens the target's catalog; nothing is contacted or made yet. ``kept``: what is known from files
        that never change."""
        catalog = open_catalog(project, kept)
        folders = (scratch_folder(project.root) / "cache", project.state_dir / "cache")
        ledgers = LedgerStore(catalog, *folders, kept=kept, moved=partial(_moved, catalog))
        return cls(project, catalog, ledgers, kept or Kept())

    def own_states(self) -> dict[TableName, TableState]:
        """Returns the project's own tables that are there. Raises as ``Catalog`` says."""
        own = [table.name for table in self.project.tables if table.external is None]
        found = ((name, self.catalog.table(name.layer, name.name)) for name in own)
        return {name: state for name, state in found if state is not None}

    @contextmanager
    def one_look(self, tables: Iterable[TableName]) -> Iterator[None]:
        """Within it these tables are as they were when it began. See ``Catalog.one_look``."""
        with self._look.one(), self.catalog.one_look(tables):
            yield

    def facts(self, name: TableName) -> TableFacts:
        """Returns the table's facts, with its ``problem``; within one look, always the same. Raises
        StateError LS513 if a drop or rename is unfinished."""
        return self._look.get(name, lambda: self._facts(name))

    def _facts(self, name: TableName) -> TableFacts:
        if (external := self._external(name)) is not None:
            return self._facts_of_others(name, external)
        require_finished(self.project.state_dir, name)
        local = self.catalog if isinstance(self.catalog, LocalCatalog) else None
        try:
            state = self.catalog.table(name.layer, name.name)
        except StateError:
            # A project that was moved: the files are not where they were.
            if local and (away := away_problem(local, self.project.name)):
                return TableFacts(problem=away)
            raise
        if state is None:
            return TableFacts(problem=lost_problem(local, name) if local else self._not_recovered())
        if (
            local
            and not local.has_below(state.metadata_location)
            and (away := away_problem(local, self.project.name))
        ):
            return TableFacts(state, problem=away)
        if local and self._has_moved_on(state.metadata_location):
            return TableFacts(state, problem=older_problem(local, [Entry(name, state.metadata_location)]))
        if foreign := foreign_owner(state, self.project.name):
            return TableFacts(state, problem=foreign)
        try:
            return TableFacts(state, self._progress(name, state))
        except LakesmithError as error:
            return TableFacts(state, problem=error.problems[0])

    def _not_recovered(self) -> Problem | None:
        return self._look.get("not recovered", lambda: not_recovered(self.project, self.catalog))

    def _has_moved_on(self, location: str) -> bool:
        """See ``has_moved_on``, which is asked again once there is another file beside this one."""
        seen = None
        with suppress(OSError):
            changed = os.stat(plain_location(location).rpartition("/")[0]).st_mtime_ns  # noqa: PTH116
            seen = (location, changed) if changed < time.time_ns() - SETTLED_NS else None
        return self.kept.get(("moved on", location.rpartition("/")[0]), seen, lambda: has_moved_on(location))

    def _progress(self, name: TableName, state: TableState) -> Progress | None:
        is_sourced = self._is_sourced(name)
        seen = state.metadata_location, is_sourced
        return self.kept.get(("progress", name), seen, lambda: find_progress(state, not is_sourced))

    def _facts_of_others(self, name: TableName, external: ExternalTable) -> TableFacts:
        """Returns facts of an external table. If its catalog is silent, only its readers wait."""
        try:
            return external_facts(name, external, self.catalog.table(name.layer, name.name))
        except EnvironmentProblem as error:
            found = error.problems[0]
            what = f"{name}, a table of others, cannot be looked at: {found.what}"
            return TableFacts(problem=replace(found, what=what, place=external.place))

    def _external(self, name: TableName) -> ExternalTable | None:
        table = self._definitions.get(name)
        return table.external if table else None

    def _is_sourced(self, name: TableName) -> bool:
        table = self._definitions.get(name)
        return table is not None and table.is_sourced

    @cached_property
    def _definitions(self) -> dict[TableName, TableDefinition]:
        return {table.name: table for table in self.project.tables}

    def ledger(self, table: TableName, facts: TableFacts) -> LedgerView:
        """What the table has taken, as of its published record."""
        return self.ledgers.read(table, facts.base.pin(LEDGER_PIN))

    def source_facts(self, table: TableDefinition, facts: TableFacts) -> SourceFacts:
        """What the table's sources have to give it now; what is wrong with them is in ``problems``."""
        try:
            ledger = self.ledger(table.name, facts)
            choices = [(source, *self._chosen(table, source, ledger)) for source in table.sources]
        except LakesmithError as error:
            return SourceFacts(problems=error.problems)
        return _gathered(choices)

    def _chosen(
        self, table: TableDefinition, source: Source, ledger: LedgerView
    ) -> tuple[Listing, FileChoice]:
        if isinstance(source, KafkaSource):
            return Listing(()), choose_slices(source, topic_state(source), ledger)
        listing = list_files(source, self.project.root, time.time_ns(), ledger.rows)
        if source.is_growing:
            listing = replace(listing, notes=(*listing.notes, *notes_of(self.project.root / source.path)))
        return listing, chosen_files(source, listing, ledger, self.project.root, table.name)


def _gathered(choices: list[tuple[Source, Listing, FileChoice]]) -> SourceFacts:
    facts = SourceFacts()
    for source, listing, choice in choices:
        facts = replace(
            facts,
            intakes=(*facts.intakes, FileIntake(source, choice.take, choice.replace)),
            problems=(*facts.problems, *choice.problems),
            notes=(*facts.notes, *choice.notes, *listing.notes),
            waiting=facts.waiting + len(listing.waiting),
            known=facts.known + len(listing.found),
            skipped=facts.skipped + len(choice.skipped) + len(choice.unread),
        )
    return facts


def external_facts(name: TableName, external: ExternalTable, state: TableState | None) -> TableFacts:
    """Returns the facts of an external table, with problem LS514 or LS515 if it cannot be read."""
    if state is None:
        return TableFacts(problem=_not_there(name, external))
    if external.begin is None:
        return TableFacts(state)
    try:
        begin = resolve_as_of(state, external.begin, datetime.now(UTC))
    except UsageError as error:
        found = error.problems[0]
        return TableFacts(state, problem=no_such_begin(name, external, found.found or found.what))
    return TableFacts(state, begin=begin)


def _not_there(name: TableName, external: ExternalTable) -> Problem:
    of = external.project or external.catalog or "the catalog of the target"
    where = external.metadata or f"{external.table} of {of}"
    return Problem(
        "LS514",
        f"{name}, a table of others, is not there",
        external.place,
        expected=where,
        found="no such table",
        hint="correct external:, or have it built where it belongs to; what was read of it stays as it is",
    )


def planned_bytes(lake: Lake, decisions: Sequence[Decision]) -> int:
    """Returns the bytes to read: files to ingest, inputs read in full, and a part of other tables. A waiting
    table that was built counts as incremental."""
    busy = [decision for decision in decisions if isinstance(decision, TableStep | Waiting)]
    whole = {name for decision in busy for name in _read_whole(lake, decision)}
    part = {name for decision in busy for name in (decision.name, *_read(decision))} - whole
    files = sum(_file_bytes(decision) for decision in busy)
    return files + table_bytes(lake, whole) + table_bytes(lake, part) // limits.INCREMENTAL_ONE_BYTE_IN


def _read(decision: TableStep | Waiting) -> Iterable[TableName]:
    if isinstance(decision, Waiting):
        return decision.upstream
    return (item.table for item in decision.inputs)


def _read_whole(lake: Lake, decision: TableStep | Waiting) -> Iterable[TableName]:
    if isinstance(decision, Waiting):
        built = lake.catalog.table(decision.name.layer, decision.name.name)
        return () if built else decision.upstream
    if decision.strategy is Strategy.REPLAY:
        return (decision.name,)
    return (item.table for item in decision.inputs if item.start is None or _is_large_part(lake, item))


def _is_large_part(lake: Lake, item: InputRange) -> bool:
    """Returns whether more rows came than INCREMENTAL_ONE_BYTE_IN assumes."""
    state = lake.catalog.table(item.table.layer, item.table.name)
    rows = state.head.count("total-records") if state and state.head else 0
    return (item.rows or 0) * limits.INCREMENTAL_ONE_BYTE_IN > rows


def _file_bytes(decision: TableStep | Waiting) -> int:
    if isinstance(decision, Waiting):
        return 0
    return sum(intake.size for intake in decision.intakes)


def table_bytes(lake: Lake, names: Iterable[TableName]) -> int:
    """The bytes of the tables' data files, deleted rows included; of a table that does not exist: 0."""
    states = (lake.catalog.table(name.layer, name.name) for name in names)
    return sum(state.head.count("total-files-size") for state in states if state and state.head)
