"""Lines of a batch's ledger for skipped, forgotten and unreadable files, and their notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lakesmith.errors import SourceError
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import TableDefinition
from lakesmith.sources.identity import fingerprints
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry
from lakesmith.sources.names import printable


def asked_entries(step: TableStep, attempt: str, started_ms: int) -> list[LedgerEntry]:
    """The lines of files that the user wants left out, or forgotten, and of those that were rewritten."""
    asked = [
        (file, intake.source.name, action)
        for intake in step.intakes
        for action, files in (
            (FileAction.SKIPPED, intake.skip),
            (FileAction.FORGOTTEN, intake.forget),
            (FileAction.TAKEN, intake.renewed),
        )
        for file in files
    ]
    number = batch_number(step)
    return [LedgerEntry(file, source, action, attempt, number, started_ms) for file, source, action in asked]


def unread_entries(step: TableStep, attempt: str, started_ms: int, root: Path) -> list[LedgerEntry]:
    """The lines of files that could not be read, with what fingerprint they have."""
    number = batch_number(step)
    return [
        LedgerEntry(
            _fingerprinted(unread.file, root),
            intake.source.name,
            FileAction.KEPT if unread.taken else FileAction.UNREADABLE,
            attempt,
            number,
            started_ms,
        )
        for intake in step.intakes
        for unread in intake.unread
    ]


def events_there(table: TableDefinition, root: Path) -> dict[str, frozenset[str]]:
    """By the folder of each source of events the names that are in it now."""
    folders = {source.path: root / source.path for source in table.sources if source.has_events}
    return {
        path: frozenset(each.name for each in folder.iterdir()) if folder.is_dir() else frozenset()
        for path, folder in folders.items()
    }


def batch_number(step: TableStep) -> int:
    """The batch's number, for people: one more than that of the batch it continues."""
    return step.base.record.batch + 1 if step.base.record else 1


def ledger_notes(step: TableStep) -> Iterator[str]:
    """What is to be said of these files."""
    for intake in step.intakes:
        yield from (f"{printable(file.path)} is skipped from now on" for file in intake.skip)
        yield from (f"{printable(file.path)} was forgotten" for file in intake.forget)
        for unread in intake.unread:
            kept = "; the rows that were taken of it before stay" if unread.taken else ""
            yield (
                f"{printable(unread.file.path)} was left out (on_bad_file: skip): {unread.reason}{kept}."
                " It is tried again once it has changed"
            )


def _fingerprinted(file: FileIdentity, root: Path) -> FileIdentity:
    """With a fingerprint, unless its content may not be read at all."""
    try:
        return replace(file, etag=fingerprints((file,), root)[file.path])
    except SourceError:
        return file
