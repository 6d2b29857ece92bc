"""Decides what tables of files, events and topics need. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lakesmith.catalog.progress import cut_batch
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem, count
from lakesmith.plan.facts import SourceFacts, TableFacts
from lakesmith.plan.format_version import format_problem
from lakesmith.plan.settings import with_renamings
from lakesmith.plan.steps import Decision, FileIntake, Refused, Strategy, TableStep, UpToDate
from lakesmith.project.definitions import Column, TableDefinition, TableName
from lakesmith.sources.bad_files import BadFile
from lakesmith.sources.columns.types import column_changes, known_columns
from lakesmith.sources.model import FileIdentity, UnreadFile
from lakesmith.sources.names import printable


def plan_sourced(
    table: TableDefinition, fingerprint: str, facts: TableFacts, sources: SourceFacts
) -> Decision:
    """Returns the decision for a table whose rows come from files."""
    problem = (
        facts.problem
        or other_origin(table, facts)
        or cut_problem(table, facts)
        or type_problem(table, facts.state)
        or format_problem(table, facts.state)
        or next(iter(sources.problems), None)
    )
    if problem is not None:
        return Refused(table, problem)
    files = sum(len(intake.files) for intake in sources.intakes)
    if not files and any(intake.unread for intake in sources.intakes):
        return _none_readable(table, fingerprint, facts, sources)
    if not files and facts.base.record is not None:
        return UpToDate(table, _no_files(sources), sources.notes)
    if not files and not any(source.has_files for source in table.sources):
        return UpToDate(table, "no record has arrived yet", sources.notes)
    if not files:
        waiting = f" ({sources.waiting} too young)" if sources.waiting else ""
        return UpToDate(table, f"no file has arrived yet{waiting}", sources.notes)
    return TableStep(
        table=table,
        strategy=Strategy.FILES,
        reason=" and ".join(_what_is_new(sources)),
        base=facts.base,
        fingerprint=fingerprint,
        intakes=sources.intakes,
        notes=sources.notes,
        row_wise=True,
    )


def _what_is_new(sources: SourceFacts) -> Iterator[str]:
    files = sum(len(intake.files) for intake in sources.intakes if intake.source.has_files)
    if files:
        yield f"{files} new file{'s' if files > 1 else ''}"
    for intake in sources.intakes:
        if intake.files and not intake.source.has_files:
            records = sum(file.size for file in intake.files)
            yield f"{count(records, 'new record')} of {intake.source.origin}"


def _none_readable(
    table: TableDefinition, fingerprint: str, facts: TableFacts, sources: SourceFacts
) -> Decision:
    """Returns the step that only records the unreadable files; refused if no table can record them."""
    bad = [unread for intake in sources.intakes for unread in intake.unread]
    if facts.state is None and not table.columns:
        what = (
            f"none of the files of {table.name} can be read: {printable(bad[0].file.path)}: {bad[0].reason}"
        )
        hint = "bring a whole file, or declare columns: they are inferred from the first files"
        return Refused(
            table, Problem("LS429", what, table.place, "a file to infer the columns from", hint=hint)
        )
    return TableStep(
        table=table,
        strategy=Strategy.LEDGER,
        reason="no new file can be read",
        base=facts.base,
        fingerprint=facts.base.record.fingerprint if facts.base.record else fingerprint,
        intakes=sources.intakes,
        notes=sources.notes,
        row_wise=True,
    )


def other_origin(table: TableDefinition, facts: TableFacts) -> Problem | None:
    """Returns LS510 for a sourced table that is derived now, or the other way round.

    Neither can continue from the other, and rows that came from files exist nowhere else.
    """
    record = facts.base.record
    if record is None or table.is_sourced != _is_derived(record):
        return None
    was, now = ("tables", "files") if table.is_sourced else ("files", "tables")
    return Problem(
        "LS510",
        f"the rows of {table.name} came from {was}, and now it is to take them from {now}",
        place=table.place,
        expected=f"a table that takes its rows from {was}",
        found=f"one that takes them from {now}",
        hint=f"give the new one another name, or rename the old one (lakesmith rename), or remove it:"
        f" lakesmith drop {table.name}",
    )


def _is_derived(record: Record) -> bool:
    return bool(record.inputs) or record.kind == Strategy.FULL.value


def cut_problem(table: TableDefinition, facts: TableFacts) -> Problem | None:
    """Returns LS505 if main is at a snapshot inside a batch, before its record."""
    cut = cut_batch(facts.state, facts.progress) if facts.state and facts.progress else None
    if cut is None:
        return None
    return Problem(
        "LS505",
        f"{table.name} was set back into the middle of a batch by another tool",
        place=table.place,
        expected="main at a snapshot that a batch was published with",
        found=f"snapshot {cut.snapshot_id}, which has rows of a batch and not yet its record",
        hint=f"roll it back to a snapshot that 'lakesmith history {table.name}' names, and run again",
    )


def _no_files(sources: SourceFacts) -> str:
    waiting = f", {sources.waiting} too young" if sources.waiting else ""
    if not sources.known and not all(intake.source.has_files for intake in sources.intakes):
        return f"all records were ingested already{waiting}"
    return f"{_no_new_files(sources.known - sources.skipped, sources.skipped)}{waiting}"


def _no_new_files(taken: int, skipped: int) -> str:
    """Describes the files that are there, none of which is new."""
    if taken and skipped:
        return f"{_counted(taken)} ingested already, {skipped} skipped"
    if not taken and not skipped:
        return "no file is there"
    files = "the only file was" if taken + skipped == 1 else f"all {taken + skipped} files were"
    return f"{files} skipped" if skipped else f"{files} ingested already"


def _counted(files: int) -> str:
    return "1 file was" if files == 1 else f"{files} files were"


def type_problem(table: TableDefinition, state: TableState | None) -> Problem | None:
    """Returns LS507 for the first column whose declared type the table's type cannot be widened to."""
    if state is None:
        return None
    there = with_renamings(table, state)
    types = {column.name.lower(): column.type for column in there.columns}
    for column, known in zip(table.columns, known_columns(table, there), strict=False):
        if any(changes is None for _, changes in column_changes(there.columns, [known])):
            return _problem(table.name, column, types[column.name.lower()])
    return None


def _problem(table: TableName, column: Column, old: str) -> Problem:
    return Problem(
        "LS507",
        f"column {column.name} of {table} cannot change its type in place",
        place=column.place,
        expected=f"{old}, or a type it widens to without new data",
        found=column.type,
        hint=f"declare {old} again and CAST it in a query that reads {table}; or ingest the files again:"
        f" `lakesmith drop {table}`, then `lakesmith run` (files that left their folder do not come back)",
    )


def without_bad_files(sources: SourceFacts, bad: Sequence[BadFile]) -> SourceFacts:
    """Returns the sources without the bad files; a file that has changed since is tried again."""
    if not bad:
        return sources
    reasons = {(each.source.name, each.file): each.reason for each in bad}
    return replace(sources, intakes=tuple(_without(intake, reasons) for intake in sources.intakes))


def _without(intake: FileIntake, reasons: dict[tuple[str, FileIdentity], str]) -> FileIntake:
    def reason(file: FileIdentity) -> str | None:
        return reasons.get((intake.source.name, file))

    unread = [
        UnreadFile(file, why, taken)
        for files, taken in ((intake.take, False), (intake.replace, True))
        for file in files
        if (why := reason(file)) is not None
    ]
    return replace(
        intake,
        take=tuple(file for file in intake.take if reason(file) is None),
        replace=tuple(file for file in intake.replace if reason(file) is None),
        unread=tuple(unread),
    )
