"""How far a table in PostgreSQL was read: a file beside the landing files, rebuilt if lost."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from lakesmith.whole_file import write_whole

_FILE: Final = ".position.json"


@dataclass(frozen=True, slots=True)
class Position:
    """What was read. ``file``: the newest landing file, whose rows are the last in ``rows`` (key -> hash).

    ``bound``, ``ahead``: see ``reading.Reading``. ``of``: the settings of the reading; ``forgotten``: how
    many files had been forgotten by command. ``names``: the keys of rows in ``rows``, by those that
    PostgreSQL writes for them now, if it writes others.
    """

    of: str
    file: str | None = None
    forgotten: int = 0
    bound: str | None = None
    rows: dict[str, str | None] = field(default_factory=dict)
    ahead: str | None = None
    names: dict[str, str] = field(default_factory=dict)


def load_position(folder: Path) -> Position | None:
    """Returns the position that is kept in the folder; None if no readable one is."""
    try:
        data = json.loads((folder / _FILE).read_bytes())
        return Position(**data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def notes_of(folder: Path) -> tuple[str, ...]:
    position = load_position(folder)
    return (position.ahead,) if position is not None and position.ahead is not None else ()


def save_position(folder: Path, position: Position) -> None:
    write_whole(folder / _FILE, json.dumps(asdict(position), separators=(",", ":")))


def touch_position(folder: Path, now: float) -> None:
    """Records that the table was read at ``now``, in seconds since the epoch."""
    os.utime(folder / _FILE, (now, now))


def seconds_since_read(folder: Path, now: float) -> float:
    """Returns the seconds since the last reading, at ``now``; very many if that is in the future."""
    try:
        passed = now - (folder / _FILE).stat().st_mtime
    except OSError:
        return float("inf")
    return passed if passed >= 0 else float("inf")
