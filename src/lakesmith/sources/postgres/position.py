"""Up to where a table in PostgreSQL was read: kept beside the landing files, and made anew from the lake where it is lost."""

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
    """What was read. ``file``: the newest landing file, whose rows are the last that ``rows`` (hashes by keys) know of.

    ``bound``, ``ahead``: see ``reading.Reading``. ``of``: the settings that it was read with; ``forgotten``: how many files had been forgotten by hand.
    """

    of: str
    file: str | None = None
    forgotten: int = 0
    bound: str | None = None
    rows: dict[str, str | None] = field(default_factory=dict)
    ahead: str | None = None


def load_position(folder: Path) -> Position | None:
    """The position that is kept in the folder; None where there is none that can be read."""
    try:
        data = json.loads((folder / _FILE).read_bytes())
        return Position(**data)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def notes_of(folder: Path) -> tuple[str, ...]:
    """What is to be said of the last reading."""
    position = load_position(folder)
    return (position.ahead,) if position is not None and position.ahead is not None else ()


def save_position(folder: Path, position: Position) -> None:
    """Keeps it, at once and as a whole."""
    write_whole(folder / _FILE, json.dumps(asdict(position), separators=(",", ":")))


def touch_position(folder: Path, now: float) -> None:
    """Says that the table was read at ``now``, in seconds since the epoch."""
    os.utime(folder / _FILE, (now, now))


def seconds_since_read(folder: Path, now: float) -> float:
    """How long ago that was said; ``now``: seconds since the epoch. A time in the future is long ago: the clock was set back."""
    try:
        passed = now - (folder / _FILE).stat().st_mtime
    except OSError:
        return float("inf")
    return passed if passed >= 0 else float("inf")
