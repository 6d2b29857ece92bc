"""What a batch would remove for good. It waits for approval. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from lakesmith.catalog.record import Record
from lakesmith.catalog.state import ColumnState, TableState
from lakesmith.errors import Problem, listed
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.settings import with_renamings
from lakesmith.plan.steps import Decision, Strategy, TableStep, UpToDate
from lakesmith.project.definitions import ADDED_COLUMNS, OnNewColumn, TableDefinition, TableName, is_taken
from lakesmith.sources.columns.types import type_changes

WAITS: Final = "LS524"
"""The error code of a table that waits for approval."""


def losses_of(step: TableStep, state: TableState | None, given: Sequence[str] | None) -> tuple[str, ...]:
    """Describes what a batch would lose. ``given``: its query's columns, None if only Spark knows them."""
    if state is None or step.base.record is None:
        return ()
    gone = gone_columns(step.base.record, with_renamings(step.table, state), given)
    return (*lost_values(step), *lost_columns(gone, ()))


def lost_values(step: TableStep) -> Iterator[str]:
    """Values as of arrival, which a rebuild looks up again."""
    record = step.base.record
    if step.strategy is Strategy.FULL and record is not None and record.account.rows_after:
        for item in step.inputs:
            if item.lookup:
                yield f"what its rows got from {item.table} when they arrived is looked up again"


def gone_columns(
    record: Record | None, state: TableState, given: Sequence[str] | None
) -> tuple[ColumnState, ...]:
    """Returns columns that a derived table's batches wrote and its query no longer gives.

    ``given``: the columns of its query; None: unknown, then no column counts as gone.
    """
    if given is None or record is None:
        return ()
    names = {name.lower() for name in given}
    gone = (column for column in state.columns if column.name.lower() not in names)
    return tuple(column for column in gone if record.columns.get(column.name) == column.field_id)


def lost_columns(gone: Iterable[ColumnState], retyped: Iterable[tuple[str, str, str]]) -> tuple[str, ...]:
    """Describes removed columns, and (name, old, new) whose new type cannot hold every old value."""
    dropped = [f"column {column.name} ({column.type}) goes" for column in gone]
    narrowed = [
        f"column {name} becomes {new} (it is {old})" for name, old, new in retyped if is_narrower(old, new)
    ]
    return (*dropped, *narrowed)


def is_narrower(old: str, new: str) -> bool:
    """Whether a type may not hold each value of the old one. A string holds any."""
    return new.lower() != "string" and type_changes(old, new) is None


def undeclared_columns(table: TableDefinition, state: TableState | None) -> tuple[ColumnState, ...]:
    """Returns columns of a sourced table missing in its declaration, if that names all columns."""
    if state is None or not table.is_sourced or not table.columns:
        return ()
    if any(source.on_new_column is OnNewColumn.EVOLVE for source in table.sources):
        return ()
    there = with_renamings(table, state).columns
    declared = {column.name.lower() for column in table.columns}
    return tuple(each for each in there if each.name.lower() not in declared and not _is_own(each.name))


def _is_own(name: str) -> bool:
    return name in ADDED_COLUMNS or is_taken(name)


def waits(table: TableDefinition, losses: Sequence[str], readers: Sequence[TableName]) -> Problem:
    """Returns LS524: the table's batch waits for approval."""
    read = f" (read by {listed(map(str, readers))})" if readers else ""
    return Problem(
        WAITS,
        f"{table.name} waits for approval: its next batch would lose something{read}",
        place=table.query.place if table.query else table.place,
        expected=f"approval: lakesmith run --approve {table.name}",
        found="; ".join(losses),
        hint="keep it in the definition instead; until then the table stays as it is",
    )


def stays(table: TableDefinition, columns: Sequence[ColumnState], readers: Sequence[TableName]) -> str:
    """Returns a note on columns that are not declared, or no longer."""
    names = listed(column.name for column in columns)
    one = len(columns) == 1
    read = f", read by {listed(map(str, readers))}" if readers else ""
    return (
        f"{'column' if one else 'columns'} {names} {'is' if one else 'are'} not declared{read}: kept until"
        f" lakesmith run --approve {table.name} drops {'it' if one else 'them'}"
    )


def with_approval(
    decision: Decision,
    facts: TableFacts,
    given: Sequence[str] | None,
    readers: Sequence[TableName],
    approved: bool,
) -> Decision:
    """Returns the decision with its losses, unless ``approved``; columns of sourced tables stay until then.

    ``given``: as for ``losses_of``. ``readers``: the tables that read this one.
    """
    if decision.table.is_sourced:
        return _of_files(decision, facts, readers, approved)
    if not isinstance(decision, TableStep):
        return decision
    if approved:
        return replace(decision, approved=True)
    loses = losses_of(decision, facts.state, given)
    notes = (f"{'; '.join(loses)}: it waits for lakesmith run --approve {decision.name}",) if loses else ()
    return replace(decision, loses=loses, readers=tuple(readers), notes=(*decision.notes, *notes))


def _of_files(
    decision: Decision, facts: TableFacts, readers: Sequence[TableName], approved: bool
) -> Decision:
    table, columns = decision.table, undeclared_columns(decision.table, facts.state)
    if not columns or not isinstance(decision, TableStep | UpToDate):
        return decision
    if not approved:
        return replace(decision, notes=(*decision.notes, stays(table, columns, readers)))
    drops = tuple(column.name for column in columns)
    if isinstance(decision, TableStep):
        return replace(decision, drops=drops)
    record = facts.base.record
    if record is None:
        return decision
    reason = (
        f"{'column' if len(drops) == 1 else 'columns'} {listed(drops)} {'goes' if len(drops) == 1 else 'go'}"
    )
    return TableStep(
        table, Strategy.ADVANCE, reason, facts.base, record.fingerprint, drops=drops, row_wise=True
    )
