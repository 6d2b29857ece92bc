"""Names of segments: the writer of each, and its number. Pure.

    20261123T101500123456-4f2a9c1b-0000017.jsonl

A writer (a process, from when it opens the folder to its end) draws a name for its *series*, and numbers its
segments from 1 without a gap. So "ingested up to a number" covers each name, whatever clocks and listings
say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

ENDING: Final = ".jsonl"

_NAME: Final = re.compile(r"\d{8}T\d{12}-(?P<series>[0-9a-f]{8})-(?P<number>\d{7,})\.jsonl")


@dataclass(frozen=True, slots=True)
class Series:
    """The segments of one writer in a source's folder."""

    folder: str
    name: str

    @property
    def path(self) -> str:
        """The path of the line in the ledger that stands for many segments: no segment has it."""
        return f"{self.folder}/*-{self.name}{ENDING}"


def segment_name(at: datetime, series: str, number: int) -> str:
    """Returns a segment's name, without its ending."""
    return f"{at:%Y%m%dT%H%M%S%f}-{series}-{number:07}"


def place_of(path: str) -> tuple[Series, int] | None:
    """Returns a segment's series and its number there; None for another path."""
    folder, _, name = path.rpartition("/")
    found = _NAME.fullmatch(name) if name.endswith(ENDING) else None
    return (Series(folder, found["series"]), int(found["number"])) if found else None
