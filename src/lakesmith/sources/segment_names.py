"""Names of segments: which writer wrote one, and as its how manieth. Pure.

    20261123T101500123456-4f2a9c1b-0000017.jsonl

A writer (a process, from when it opens the folder to its end) draws a name for its *series*, and numbers its segments from 1 without
leaving one out. So that a series was taken up to a number says of each name whether it was taken, whatever clocks and listings did.
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
        """Where the ledger has the line that stands for many of them: no segment is called so."""
        return f"{self.folder}/*-{self.name}{ENDING}"


def segment_name(at: datetime, series: str, number: int) -> str:
    """A segment's name, without its ending."""
    return f"{at:%Y%m%dT%H%M%S%f}-{series}-{number:07}"


def place_of(path: str) -> tuple[Series, int] | None:
    """The series of a segment and its number there; None for a path that is not a segment's."""
    folder, _, name = path.rpartition("/")
    found = _NAME.fullmatch(name) if name.endswith(ENDING) else None
    return (Series(folder, found["series"]), int(found["number"])) if found else None
