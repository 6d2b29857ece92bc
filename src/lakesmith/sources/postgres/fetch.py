"""Writes the changes of a table in PostgreSQL to a landing file of its source."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Final

from lakesmith.errors import SourceError
from lakesmith.project.definitions import PostgresSource, TableName
from lakesmith.redaction import ENCODE, WITHHELD, library_message
from lakesmith.sources.postgres.changes import FILE_TIME, Comparison, NotUniqueError, ReadRow, next_time
from lakesmith.sources.postgres.position import (
    Position,
    load_position,
    save_position,
    seconds_since_read,
    touch_position,
)
from lakesmith.sources.postgres.reading import read_table

_PATTERN: Final = "*.jsonl"

Keys = Callable[[], Mapping[str, str | None]]
"""Returns the keys that are in the lake, if nothing else knows what was read."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """One source and its state. ``folder``: of its landing files; ``taken``: their names in the published
    ledger; ``forgotten``: how many of them were forgotten by command, with their rows."""

    table: TableName
    source: PostgresSource
    folder: Path
    taken: frozenset[str]
    keys: Keys
    forgotten: int = 0


def fetch(task: Fetch, environment: Mapping[str, str], now: datetime) -> None:
    """Writes a landing file of the changes since the last one, if there are any and all others are ingested.

    Raises SourceError LS438 if the table cannot be read, LS439 if its connection is not declared.
    """
    settings = task.source
    if _waiting(task):
        return
    newest = max(task.taken, default=None)
    before = _position(task, newest)
    if before is None:
        before = Position(_of(settings), newest, task.forgotten, rows=dict(task.keys()))
    elif seconds_since_read(task.folder, now.timestamp()) < settings.refresh_seconds:
        return
    url = _url(task, environment)
    try:
        _read(task, before, url, next_time(now, newest), now.timestamp())
    except NotUniqueError as error:
        raise _not_unique(task, error) from error
    except Exception as error:
        if not _is_of_psycopg(error):
            raise
        # A stack trace repeats the client's message.
        raise _unreadable(task, error, url) from None


def require_readable(
    table: TableName, source: PostgresSource, environment: Mapping[str, str] = os.environ
) -> None:
    """Raises SourceError LS312, LS438 or LS439 if the table in PostgreSQL cannot be read; ingests nothing."""
    task = Fetch(table, source, Path(), frozenset(), dict)
    url = _url(task, environment)
    try:
        with read_table(url, source, None) as reading:
            next(reading.rows, None)
    except Exception as error:
        if not _is_of_psycopg(error):
            raise
        raise _unreadable(task, error, url) from None


def _waiting(task: Fetch) -> bool:
    """Whether there is a file that no batch has ingested yet; ingested ones are removed."""
    waiting = False
    for file in task.folder.glob(_PATTERN):
        if file.name in task.taken:
            file.unlink(missing_ok=True)
        else:
            waiting = True
    return waiting


def _position(task: Fetch, newest: str | None) -> Position | None:
    """What was read, if the lake has just that; else (a rollback, another folder) None."""
    found = load_position(task.folder)
    fits = (_of(task.source), newest, task.forgotten)
    return found if found is not None and (found.of, found.file, found.forgotten) == fits else None


def _of(settings: PostgresSource) -> str:
    """The settings that decide what is read."""
    key, columns = settings.key, settings.columns
    # The zero is a former interval of reading, which decides nothing.
    said = [settings.connection, settings.table, columns, key, 0.0, settings.growing, settings.overlap]
    return json.dumps([*said, settings.binary] if settings.binary else said)


def _read(task: Fetch, before: Position, url: str, at: datetime, now: float) -> None:
    settings = task.source
    task.folder.mkdir(parents=True, exist_ok=True)
    name = f"{at.strftime(FILE_TIME)}.jsonl"
    found = Comparison(settings, before.rows, before.names)
    with (
        TemporaryFile("w+", encoding="utf-8", dir=task.folder) as aside,
        read_table(url, settings, before.bound) as reading,
    ):
        changes = found.changes(reading.rows, reading.same, _Aside(aside))
        _write(task.folder, name, (change.line(at) for change in changes))
    after = Position(
        before.of,
        name if found.changed else before.file,
        before.forgotten,
        reading.bound,
        found.rows,
        reading.ahead,
        found.names,
    )
    if found.changed or after != before or load_position(task.folder) is None:
        save_position(task.folder, after)
    touch_position(task.folder, now)


class _Aside:
    """Rows in a file that has no name, so that nothing is left of it after a kill."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def put(self, row: ReadRow) -> None:
        self._file.write(json.dumps([row.key, row.row]) + "\n")

    def rows(self) -> Iterator[ReadRow]:
        self._file.seek(0)
        return (ReadRow(*json.loads(line)) for line in self._file)


def _write(folder: Path, name: str, lines: Iterator[str]) -> None:
    """The file, complete and on the disk; None without a line."""
    beside = folder / f".{name}.tmp"
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
            some = file.tell() > 0
        if some:
            beside.replace(folder / name)
    finally:
        beside.unlink(missing_ok=True)


def _url(task: Fetch, environment: Mapping[str, str]) -> str:
    if find_spec("psycopg") is None:
        what = f"{task.table} is read from PostgreSQL, and the package psycopg is not installed"
        hint = "pip install 'lakesmith[postgres]'"
        raise SourceError.of(
            "LS312", what, task.source.place, "lakesmith with its extra `postgres`", hint=hint
        )
    if url := environment.get(task.source.connection):
        return url
    what = f"the environment does not say where {task.table} is read from"
    expected = f"a connection in {task.source.connection}"
    hint = f"export {task.source.connection}=postgresql://user:password@host/database"
    raise SourceError.of("LS439", what, task.source.place, expected, "nothing", hint)


def _is_of_psycopg(error: Exception) -> bool:
    """Psycopg resolves host names by itself, and Python refuses some as invalid IDNA."""
    return isinstance(error, UnicodeError) or any(
        kind.__module__.split(".")[0] == "psycopg" for kind in type(error).__mro__
    )


def _unreadable(task: Fetch, error: Exception, url: str) -> SourceError:
    said = library_message(str(error).strip(), [] if _is_of_a_statement(error) else [url])
    what = f"{task.source.table}, from which {task.table} comes, cannot be read from PostgreSQL"
    hint = "the lake keeps what was read last; the next run tries again"
    hint = f"{hint}; in {task.source.connection}, {ENCODE}" if said == WITHHELD else hint
    return SourceError.of("LS438", what, task.source.place, found=said, hint=hint)


def _is_of_a_statement(error: Exception) -> bool:
    """Whether a server answered: its words about a statement do not contain the address."""
    state = str(getattr(error, "sqlstate", None) or "08")
    return not state.startswith(("08", "28", "3D"))


def _not_unique(task: Fetch, error: NotUniqueError) -> SourceError:
    what = f"two rows of {task.source.table} have one key"
    hint = "declare more columns as its key"
    return SourceError.of("LS438", what, task.source.place, "a key that tells rows apart", str(error), hint)
