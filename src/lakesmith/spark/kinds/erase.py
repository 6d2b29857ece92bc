"""A batch that takes people's rows out of a sourced table and its quarantine, and keeps hashes by which they are known if they come again."""

from __future__ import annotations

import re
import secrets

from pyspark.sql import functions as F

from lakesmith.catalog.record import Account, Pin
from lakesmith.errors import Problem, RunError
from lakesmith.execute.lake import LEDGER_PIN, Lake
from lakesmith.execute.ledger_lines import asked_entries
from lakesmith.quoting import literal, quoted
from lakesmith.sources.ledger import hash_entries
from lakesmith.spark.batch.context import Batch, Draft, live_rows, remove_left_deletes
from lakesmith.spark.batch.quarantine import COLUMNS as OF_QUARANTINE
from lakesmith.spark.batch.sidecar import SidecarKind, SidecarWriter, read_pinned
from lakesmith.spark.judge.erased import COLUMNS, hash_of, left_out
from lakesmith.sql.persons import Persons


def erase(batch: Batch, lake: Lake) -> tuple[str, Draft]:
    """Deletes the rows of the step's persons on the working branch, and enters landing files that were rewritten without them."""
    persons = batch.step.persons
    assert persons is not None
    entries = asked_entries(batch.step, batch.attempt, batch.started_ms)
    pin = lake.ledgers.append(batch.name, batch.step.base.pin(LEDGER_PIN), entries) if entries else None
    table_uuid = batch.open_branch()
    batch.say("erasing rows")
    batch.spark.sql(f"DELETE FROM {batch.target} WHERE {persons.condition()}")
    remove_left_deletes(batch, batch.name, batch.state())
    batch.pass_point("after-delete")
    state = batch.state()
    before = live_rows(batch, state, batch.step.base.snapshot)
    deleted = before - live_rows(batch, state, state.refs[batch.branch])
    sidecars = {**_clear_quarantine(batch, persons), **_remember(batch, persons)}
    if pin is None:
        return table_uuid, Draft(Account(deleted=deleted), by_row=False, sidecars=sidecars)
    sidecars = {**sidecars, LEDGER_PIN: pin}
    lines_hash = hash_entries(entries)
    return table_uuid, Draft(
        Account(deleted=deleted), by_row=False, sidecars=sidecars, ledger_hash=lines_hash
    )


def readmit(batch: Batch, _lake: Lake) -> tuple[str, Draft]:
    """Takes the hashes of the step's persons away. Raises RunError LS623 where the table knows none of these."""
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
        what = f"{batch.name} knows nobody of these who was erased by {', '.join(persons.columns)}"
        raise RunError(
            Problem("LS623", what, batch.step.table.place, "the columns and values of the erasure")
        )
    table_uuid = batch.open_branch()
    writer = SidecarWriter(batch, SidecarKind.ERASED, COLUMNS)
    writer.open()
    writer.take_out(theirs.select("salt", "hash"))
    return table_uuid, Draft(Account(), by_row=False, sidecars={writer.kind.value: writer.pin()})


def in_quarantine(persons: Persons) -> str:
    """SQL that is true for bad rows of theirs: a value stands in the text of the row, with no letter or digit beside it."""
    return " OR ".join(f"({' AND '.join(map(_mentions, values))})" for values in persons.values)


def _mentions(value: str) -> str:
    pattern = literal(rf"(?<![\p{{L}}\p{{N}}]){_plain(value)}(?![\p{{L}}\p{{N}}])")
    # In JSON a text has its quotes and backslashes escaped.
    return f"(coalesce(raw, '') RLIKE {pattern} OR coalesce(row, '') RLIKE {pattern})"


def _plain(value: str) -> str:
    """A regular expression of Java's for just this text."""
    return re.sub(r"([\\.^$|?*+()\[\]{}\-])", r"\\\1", value)


def _clear_quarantine(batch: Batch, persons: Persons) -> dict[str, Pin]:
    if batch.step.base.pin(SidecarKind.QUARANTINE) is None:
        return {}
    writer = SidecarWriter(batch, SidecarKind.QUARANTINE, OF_QUARANTINE)
    writer.open()
    writer.clear(in_quarantine(persons))
    batch.pass_point("after-quarantine")
    return {writer.kind.value: writer.pin()}


def _remember(batch: Batch, persons: Persons) -> dict[str, Pin]:
    """Adds the hashes that are not there yet."""
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
