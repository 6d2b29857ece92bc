"""Erases persons' rows from a sourced table and its quarantine, and keeps hashes of them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import functions as F

from lakesmith.catalog.record import Account, Pin
from lakesmith.errors import RunError
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.execute.publish import asked_entries
from lakesmith.quoting import literal, quoted
from lakesmith.sources.kafka.slices import is_slice
from lakesmith.sources.ledger import hash_entries
from lakesmith.sources.ledger_view import HIDDEN, LedgerView, hidden_path
from lakesmith.sources.model import FileAction, LedgerEntry, place_of
from lakesmith.spark.batch.context import Batch, Draft, live_rows, remove_left_deletes
from lakesmith.spark.batch.earlier_rows import is_of
from lakesmith.spark.batch.quarantine import COLUMNS as OF_QUARANTINE
from lakesmith.spark.batch.sidecar import SidecarKind, SidecarWriter, read_pinned
from lakesmith.spark.frames.sql_text import any_of
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.validation.erased_rows import COLUMNS, hash_of, left_out
from lakesmith.sql.erasure_filter import ErasureFilter, regex_of

_NOBODY: Final = "false"


def erase(batch: Batch, lake: Lake) -> tuple[str, Draft]:
    """Deletes the rows of the step's persons on the working branch.

    Hides the names of files that identify them, and records landing files that were rewritten without them.
    """
    persons = batch.step.persons
    assert persons is not None
    theirs = _theirs(batch, persons)
    named = _Named.of(batch, lake, theirs)
    entries = _entries(batch, named)
    pin = (
        lake.ledgers.append(
            batch.name, batch.step.base.pin(LEDGER_PIN), entries, leaving=frozenset(named.paths)
        )
        if entries
        else None
    )
    table_uuid = batch.open_branch()
    batch.say("erasing rows")
    batch.spark.sql(f"DELETE FROM {batch.target} WHERE {theirs}")
    remove_left_deletes(batch, batch.name, batch.state())
    batch.pass_point("after-delete")
    state = batch.state()
    before = live_rows(batch, state, batch.step.base.snapshot)
    deleted = before - live_rows(batch, state, state.refs[batch.branch])
    updated = named.hide(batch, batch.target, "_source_file")
    remembered = _remember(batch, persons) if theirs != _NOBODY else {}
    sidecars = {**_clear_quarantine(batch, persons, named), **remembered}
    if pin is not None:
        sidecars[LEDGER_PIN] = pin
    lines_hash = hash_entries(entries) if entries else None
    account = Account(deleted=deleted, updated=updated)
    return table_uuid, Draft(account, by_row=False, sidecars=sidecars, ledger_hash=lines_hash)


def _theirs(batch: Batch, persons: ErasureFilter) -> str:
    """SQL of the rows to delete. Without the columns these are none, and only names count."""
    there = frozenset(column.name.lower() for column in batch.state().columns)
    return persons.condition() if persons.within(there) else _NOBODY


@dataclass(frozen=True)
class _Named:
    """The files whose names are hidden: ``paths`` in the ledger, and the ``salt`` of the hash."""

    ledger: LedgerView
    paths: tuple[str, ...]
    salt: str

    @classmethod
    def of(cls, batch: Batch, lake: Lake, theirs: str) -> _Named:
        """Files whose names identify the persons, or may, as they have only their rows."""
        assert batch.step.persons is not None
        ledger = lake.ledgers.read(batch.name, batch.step.base.pin(LEDGER_PIN))
        alone = _files_of_theirs_alone(batch, theirs)
        salt = min(ledger.salts, default=secrets.token_hex(16))
        are_named = batch.step.persons.are_named_in
        files = [path for path, row in ledger.rows.items() if not _is_named_by_us(path, row[1])]
        return cls(ledger, tuple(path for path in files if path in alone or are_named(path)), salt)

    def entry(self, entry: LedgerEntry) -> LedgerEntry:
        """The entry with its path hidden, if it is one of these."""
        path = entry.file.path
        if path not in self.paths:
            return replace(entry, file=replace(entry.file, path=self.ledger.known_as(path)))
        return replace(entry, file=replace(entry.file, path=hidden_path(path, self.salt)))

    def hide(self, batch: Batch, target: str, column: str) -> int:
        """Writes the hidden paths to the rows of other persons from these files; returns their number."""
        assert batch.step.persons is not None
        where = (
            f"({batch.step.persons.named_in(column)} OR {is_of(column, self.paths or ('',))}) AND NOT"
            f" startswith({column}, '{HIDDEN}')"
        )
        found = batch.spark.table(target).where(where).count()
        if found:
            hidden = f"concat('{HIDDEN}{self.salt}:', sha2(concat('{self.salt}', {column}), 256))"
            batch.spark.sql(f"UPDATE {target} SET {column} = {hidden} WHERE {where}")
        return found


def _is_named_by_us(path: str, action: str) -> bool:
    """Whether it is hidden already, or a slice or segment, whose lines are folded by these names."""
    return (
        path.startswith(HIDDEN) or is_slice(path) or place_of(path) is not None or action == FileAction.FOLDED
    )


def _files_of_theirs_alone(batch: Batch, theirs: str) -> frozenset[str]:
    """The landing files of which the table has the persons' rows and no others."""
    rows = batch.spark.table(physical(batch.name)).groupBy("_source_file")
    found = rows.agg(F.expr(f"every(coalesce({theirs}, false))").alias("alone")).where("alone")
    return frozenset(str(row[0]) for row in found.select("_source_file").collect())


def _entries(batch: Batch, named: _Named) -> list[LedgerEntry]:
    """The lines of the files that were rewritten, and of those whose names are hidden."""
    renewed = [named.entry(each) for each in asked_entries(batch.step, batch.attempt, batch.started_ms)]
    known = {each.file.path for each in renewed}
    hidden = (named.entry(named.ledger[path]) for path in named.paths)
    return [*renewed, *(each for each in hidden if each.file.path not in known)]


def readmit(batch: Batch, _lake: Lake) -> tuple[str, Draft]:
    """Deletes the hashes of the step's persons. Raises RunError LS623 if the table has none of them."""
    persons = batch.step.persons
    assert persons is not None
    known = read_pinned(batch, SidecarKind.ERASED)
    ids = {column.name.lower(): column.field_id for column in batch.state().columns}
    fields = F.array(*(F.lit(ids[name.lower()]) for name in persons.columns))
    hashes = [hash_of(F.col("salt"), [F.lit(value) for value in each]) for each in persons.values]
    theirs = (
        known.where((F.col("fields") == fields) & F.col("hash").isin(*hashes)) if known is not None else None
    )
    if theirs is None or theirs.isEmpty():
        what = f"{batch.name} knows none of these persons as erased by {', '.join(persons.columns)}"
        raise RunError.of("LS623", what, batch.step.table.place, "the columns and values of the erasure")
    table_uuid = batch.open_branch()
    writer = SidecarWriter(batch, SidecarKind.ERASED, COLUMNS)
    writer.open()
    writer.take_out(theirs.select("salt", "hash"))
    return table_uuid, Draft(Account(), by_row=False, sidecars={writer.kind.value: writer.pin()})


def in_quarantine(persons: ErasureFilter, texts: Sequence[str] = ("raw", "row")) -> str:
    """Returns SQL that is true for a person's bad rows: a value is a word of one of the columns ``texts``."""
    each = ((f"({_mentions(value, texts)})" for value in values) for values in persons.values)
    return any_of(map(" AND ".join, each))


def _mentions(value: str, texts: Sequence[str]) -> str:
    pattern = literal(rf"(?<![\p{{L}}\p{{N}}]){regex_of(value)}(?![\p{{L}}\p{{N}}])")
    # In JSON the quotes and backslashes of a text are escaped.
    return any_of(f"coalesce({text}, '') RLIKE {pattern}" for text in texts)


def _clear_quarantine(batch: Batch, persons: ErasureFilter, named: _Named) -> dict[str, Pin]:
    if batch.step.base.pin(SidecarKind.QUARANTINE) is None:
        return {}
    writer = SidecarWriter(batch, SidecarKind.QUARANTINE, OF_QUARANTINE)
    writer.open()
    writer.clear(in_quarantine(persons))
    named.hide(batch, writer.target, "source_file")
    batch.pass_point("after-quarantine")
    return {writer.kind.value: writer.pin()}


def _remember(batch: Batch, persons: ErasureFilter) -> dict[str, Pin]:
    ids = {column.name.lower(): column.field_id for column in batch.state().columns}
    rows = ", ".join(f"({', '.join(map(literal, values))})" for values in persons.values)
    wanted = batch.spark.sql(f"SELECT * FROM VALUES {rows} AS t({', '.join(map(quoted, persons.columns))})")
    new = left_out(batch, persons.columns).without(wanted)
    salt = F.lit(secrets.token_hex(16))
    values = [F.col(quoted(name)) for name in persons.columns]
    hashes = new.select(
        F.lit(batch.attempt).alias("attempt"),
        F.timestamp_millis(F.lit(batch.started_ms)).alias("erased_at"),
        F.array(*(F.lit(ids[name.lower()]) for name in persons.columns)).alias("fields"),
        salt.alias("salt"),
        hash_of(salt, values).alias("hash"),
    )
    writer = SidecarWriter(batch, SidecarKind.ERASED, COLUMNS)
    writer.open()
    writer.append(hashes)
    return {writer.kind.value: writer.pin()}
