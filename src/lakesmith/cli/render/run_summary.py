"""The closing summary of a run: each table's row balance and times, and where bad rows are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lakesmith.api.words import count, duration
from lakesmith.catalog.history import account_in_words, versions_in_words
from lakesmith.catalog.record import Account
from lakesmith.cli.render.text import columns_aligned, terminal_width
from lakesmith.execute.events import (
    Event,
    ExportFailed,
    RunFinished,
    TableCurrent,
    TableExported,
    TableFailed,
    TableHeld,
    TablePublished,
)

_COUNTS = (
    ("inserted", "inserted"),
    ("updated", "updated"),
    ("deleted", "deleted"),
    ("unchanged", "unchanged"),
    ("superseded", "superseded"),
    ("filtered", "filtered"),
    ("quarantined", "quarantined"),
    ("absent_deletes", "deletes of absent keys"),
    ("rounded", "rounded"),
)


def summary_lines(events: Sequence[Event]) -> list[str]:
    """The lines that close a run's output."""
    published = [event for event in events if isinstance(event, TablePublished)]
    lines = ["", *_accounts(published)] if published else []
    return [*lines, *_closing(events)]


def _accounts(published: Sequence[TablePublished]) -> list[str]:
    accounts = [event.report.record.account for event in published]
    counts = [
        (field, title) for field, title in _COUNTS if any(getattr(account, field) for account in accounts)
    ]
    header = ("table", "how", "read", *(title for _, title in counts), "rows now", "time")
    rows = [_row(event, [field for field, _ in counts]) for event in published]
    lines = columns_aligned([header, *rows], right=frozenset(range(2, len(header))))
    width = terminal_width()
    if width and max(map(len, lines)) > width:
        return _in_words(published)
    return [*lines, *(line for event in published if (line := _versions(event)))]


def _versions(event: TablePublished) -> str | None:
    """What became of the versions that a table read which keeps them: the columns count its rows."""
    account = event.report.record.account
    if account.versions is None:
        return None
    did = ", ".join(
        f"{number:,} {word}" for word, number in versions_in_words(account.versions).items() if number
    )
    return f"{event.table}: of {count(account.read, 'version')} read {did}" if did else None


def _in_words(published: Sequence[TablePublished]) -> list[str]:
    """The accounts where a table would be wider than the terminal."""
    records = [(event, event.report.record) for event in published]
    return [
        f"{event.table} ({record.kind}, {duration(event.seconds)}): {account_in_words(record.account)}"
        for event, record in records
    ]


def _row(event: TablePublished, counts: Iterable[str]) -> tuple[str, ...]:
    record = event.report.record
    account: Account = record.account
    numbers = (f"{getattr(account, field):,}" if getattr(account, field) else "-" for field in counts)
    rows_after = f"{account.rows_after:,}"
    return (str(event.table), record.kind, f"{account.read:,}", *numbers, rows_after, duration(event.seconds))


def _closing(events: Sequence[Event]) -> list[str]:
    published = [event for event in events if isinstance(event, TablePublished)]
    failed = [event for event in events if isinstance(event, TableFailed)]
    held = [event for event in events if isinstance(event, TableHeld)]
    current = [event for event in events if isinstance(event, TableCurrent)]
    stay = sum(event.held for event in current)
    finished = next(event for event in reversed(events) if isinstance(event, RunFinished))
    exported = [event for event in events if isinstance(event, TableExported)]
    not_exported = [event for event in events if isinstance(event, ExportFailed)]
    if not (published or failed or held or exported or not_exported):
        up_to_date = f"nothing to do: {count(len(current) - stay, 'table')} up to date"
        return [f"{up_to_date}{f', {stay} held' if stay else ''} ({duration(finished.seconds)})"]
    parts = [f"{count(len(published), 'table')} published"]
    parts += [f"{len(current) - stay} up to date"] if len(current) > stay else []
    parts += [f"{stay} held"] if stay else []
    parts += [f"{len(failed)} failed"] if failed else []
    parts += [f"{len(held)} not tried"] if held else []
    parts += [f"{count(len(exported), 'export')} written"] if exported else []
    parts += [f"{count(len(not_exported), 'export')} NOT written"] if not_exported else []
    return ["", f"{', '.join(parts)} in {duration(finished.seconds)}", *_in_quarantine(published)]


def _in_quarantine(published: Sequence[TablePublished]) -> list[str]:
    """Returns a line for each table whose batch found bad rows."""
    found = [(event.table, event.report.record.account.quarantined) for event in published]
    return [
        f"{count(rows, 'row')} of {table} {'is' if rows == 1 else 'are'} in quarantine."
        f" See: lakesmith quarantine show {table}"
        for table, rows in found
        if rows
    ]
