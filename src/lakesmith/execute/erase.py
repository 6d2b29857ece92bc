"""The scope of an erasure and its receipts. Reads metadata, no JVM. Rows are deleted where they entered the
lake; a run then removes them from all tables below."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakesmith.catalog.family import hold_of
from lakesmith.catalog.state import BRANCH_PREFIX, MAIN, RECORD_TAG, TableState
from lakesmith.errors import StateError, UsageError, listed
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import Graph
from lakesmith.plan.sourced import cut_problem
from lakesmith.plan.steps import Decision, FileIntake, Refused, Strategy, TableStep, UpToDate
from lakesmith.project.definitions import TableName
from lakesmith.sources.ledger_view import HIDDEN
from lakesmith.sql.erasure_filter import ErasureFilter
from lakesmith.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Asked:
    """What the caller named: ``table``, other tables (``also``), and tables to leave out (``besides``)."""

    table: TableName
    persons: ErasureFilter
    also: tuple[TableName, ...] = ()
    besides: tuple[TableName, ...] = ()


@dataclass(frozen=True, slots=True)
class Erasure:
    """``sourced``: tables whose rows are deleted; ``tables``: with all derived ones, in order. ``skipped``:
    inputs of ``asked`` without such columns. ``others``: unrelated tables with the columns. ``tags``: what
    keeps the tables' past."""

    asked: TableName
    persons: ErasureFilter
    sourced: tuple[TableName, ...]
    tables: tuple[TableName, ...]
    skipped: tuple[TableName, ...] = ()
    others: tuple[TableName, ...] = ()
    besides: tuple[TableName, ...] = ()
    tags: Mapping[str, tuple[TableName, ...]] = field(default_factory=dict)


@dataclass
class EraseDecider(Decider):
    """Decides on sourced tables to erase ``persons``, with the landing files that were rewritten
    (``renewed``, by table), and on all others as a run does. ``strategy``: ``ERASE``, or ``READMIT``, which
    lets new rows of theirs in again."""

    persons: ErasureFilter | None = None
    strategy: Strategy = Strategy.ERASE
    renewed: Mapping[TableName, tuple[FileIntake, ...]] = field(default_factory=dict)

    def decide(self, name: TableName) -> Decision:
        """The step that erases, or refreshes a derived table."""
        table, facts = self.graph.node(name).definition, self.lake.facts(name)
        if not table.is_sourced or self.persons is None:
            return super().decide(name)
        if problem := facts.problem or cut_problem(table, facts):
            return Refused(table, problem)
        record = facts.base.record
        if record is None:
            return UpToDate(table, "it has no rows yet")
        return TableStep(
            table=table,
            strategy=self.strategy,
            reason="people are let in again"
            if self.strategy is Strategy.READMIT
            else "rows of people are erased",
            base=facts.base,
            fingerprint=record.fingerprint,
            intakes=self.renewed.get(name, ()),
            row_wise=True,
            persons=self.persons,
        )


def plan_erasure(lake: Lake, graph: Graph, asked: Asked) -> Erasure:
    """Returns what to erase from. Raises UsageError LS259 if no sourced table has the columns, StateError
    LS523 for a frozen table, and the tables' problems."""
    persons, named = asked.persons, (asked.table, *asked.also)
    reach = {up for each in named for up in (each, *graph.upstream(each))}
    above = [each for each in graph.order if each in reach and graph.node(each).definition.is_sourced]
    states = {name: state for name, state in lake.own_states().items() if state.head is not None}
    with_columns = {name for name in graph.order if persons.within(_columns(graph, states, name))}
    sourced = tuple(each for each in above if each in states and (each in with_columns or each in asked.also))
    if not with_columns.intersection(sourced):
        raise _no_source(graph, asked.table, persons, above)
    below = {each for name in sourced for each in graph.downstream(name)}
    tables = tuple(name for name in graph.order if name in states and name in below.union(sourced))
    for name in tables:
        _require_free(lake, name, states[name])
    skipped = tuple(each for each in above if each in states and each not in sourced)
    others = tuple(
        each
        for each in graph.order
        if each in with_columns.difference(tables, asked.besides)
        and graph.node(each).definition.external is None
    )
    tags = _tags(tables, states)
    return Erasure(asked.table, persons, sourced, tables, skipped, others, asked.besides, tags)


def _columns(graph: Graph, states: Mapping[TableName, TableState], name: TableName) -> frozenset[str]:
    """Returns the columns that the table has or declares, in lower case."""
    declared = (column.name.lower() for column in graph.node(name).definition.columns)
    return columns_of(states[name]) if name in states else frozenset(declared)


def columns_of(state: TableState) -> frozenset[str]:
    return frozenset(column.name.lower() for column in state.columns)


def _require_free(lake: Lake, name: TableName, state: TableState) -> None:
    if (problem := lake.facts(name).problem) is not None:
        raise StateError(problem)
    if hold_of(state) is not None:
        what = f"{name} is frozen, so nothing can be erased from it"
        hint = f"lakesmith release {name}"
        raise StateError.of("LS523", what, None, "a table that runs refresh", hint=hint)


def _tags(
    tables: Iterable[TableName], states: Mapping[TableName, TableState]
) -> dict[str, tuple[TableName, ...]]:
    found: dict[str, tuple[TableName, ...]] = {}
    for name in tables:
        for ref in states[name].refs:
            if ref not in (MAIN, RECORD_TAG) and not ref.startswith(BRANCH_PREFIX):
                found[ref] = (*found.get(ref, ()), name)
    return found


def _no_source(
    graph: Graph, asked: TableName, persons: ErasureFilter, above: Iterable[TableName]
) -> UsageError:
    sources = listed(map(str, above))
    return UsageError.of(
        "LS259",
        f"no table with a source that {asked} is made from has {' and '.join(persons.columns)}",
        graph.node(asked).definition.place,
        "columns of a table whose rows came from files or events",
        f"made from {sources}" if sources else "a table that was never run",
        "name one of these tables, and its own columns",
    )


_FOLDER, _KEY = "erasures", ".key"


class Receipts:
    """Those of a project, in ``.lakesmith/erasures``."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / _FOLDER

    def id_of(self, asked: TableName, persons: ErasureFilter) -> str:
        """The same for the same call, and for nobody else to find out."""
        said = json.dumps([str(asked), persons.columns, persons.values])
        return hmac.new(self._key(), said.encode(), hashlib.sha256).hexdigest()[:16]

    def path(self, number: str) -> Path:
        return self._folder / f"{number}.json"

    def begin(self, number: str) -> None:
        """Notes that the erasure was begun, with what an earlier call made of landing files."""
        self._keep(number, self._read(number))

    def note_made(self, number: str, digest: str) -> None:
        """Keeps the digest of what a landing file is about to be."""
        known = self._read(number)
        self._keep(number, {**known, "made": [*known.get("made", []), digest]})

    def made(self) -> frozenset[str]:
        """The digests that erasures keep which did not come to their end."""
        begun = (self._read(path.stem) for path in self._folder.glob("*.begun"))
        return frozenset(digest for known in begun for digest in known.get("made", []))

    def finish(self, number: str, receipt: Mapping[str, Any]) -> Path:
        """Writes the receipt; with ``done`` false the call may be made again, and goes on."""
        path = self.path(number)
        self._write(path, receipt)
        if receipt["done"]:
            self._begun(number).unlink(missing_ok=True)
        return path

    def begun(self) -> int:
        """How many erasures were begun here and did not come to their end."""
        return len(list(self._folder.glob("*.begun")))

    def hidden(self, data: Any, persons: ErasureFilter, paths: Collection[str] = ()) -> Any:
        """Returns JSON data with keyed hashes instead of names of files that mention the persons."""
        if isinstance(data, str):
            # The longest first: one may be the beginning of another.
            for path in sorted(paths, key=len, reverse=True):
                data = data.replace(path, self._hash(path))
            return " ".join(
                self._hash(word) if persons.are_named_in(word) else word for word in data.split(" ")
            )
        if isinstance(data, dict):
            return {key: self.hidden(each, persons, paths) for key, each in data.items()}
        return [self.hidden(each, persons, paths) for each in data] if isinstance(data, list) else data

    def hide_names(self, persons: ErasureFilter) -> None:
        """Takes the names of files that tell of the persons out of all receipts: older ones had them."""
        for path in self._folder.glob("*.json"):
            said = json.loads(path.read_text())
            if (hidden := self.hidden(said, persons)) != said:
                self._write(path, hidden)

    def _hash(self, path: str) -> str:
        text = path.encode("utf-8", "surrogateescape")
        return f"{HIDDEN}{hmac.new(self._key(), text, hashlib.sha256).hexdigest()[:16]}"

    def _write(self, path: Path, receipt: Any) -> None:
        write_whole(path, json.dumps(receipt, indent=2) + "\n", to_disk=True)

    def _read(self, number: str) -> dict[str, Any]:
        begun = self._begun(number)
        return dict(json.loads(begun.read_text())) if begun.is_file() else {}

    def _keep(self, number: str, known: Mapping[str, Any]) -> None:
        write_whole(self._begun(number), json.dumps(known), to_disk=True)

    def _begun(self, number: str) -> Path:
        return self._folder / f"{number}.begun"

    def _key(self) -> bytes:
        path = self._folder / _KEY
        if not path.is_file():
            write_whole(path, secrets.token_hex(32), to_disk=True)
            path.chmod(0o600)
        return path.read_bytes()
