"""Which data files differ between two snapshots of a table, and what it costs to look at what changed in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakesmith import limits


@dataclass(frozen=True, slots=True)
class DataFile:
    """What a snapshot says of one of its data files: its size, whether its rows have ids, and its ``deletes`` in Iceberg's words
    (another text: other deletes)."""

    bytes: int
    has_ids: bool = True
    deletes: str = "[]"

    @property
    def is_masked_by_position(self) -> bool:
        """Whether all its deletes name positions, and none values."""
        return "content=equality_deletes" not in self.deletes


Files = Mapping[str, DataFile]
"""The data files of a snapshot by their locations."""


@dataclass(frozen=True)
class Differing:
    """The locations of data files that only the earlier snapshot has (``went``), or only the later one (``came``), or both, with other
    deletes (``masked``: by position before and after; ``rewritten``: not so)."""

    went: tuple[str, ...]
    came: tuple[str, ...]
    masked: tuple[str, ...]
    rewritten: tuple[str, ...]


def compare(then: Files, now: Files) -> Differing:
    """How the files of two snapshots differ."""
    changed = [file for file, was in then.items() if file in now and now[file].deletes != was.deletes]
    masked = {
        file for file in changed if then[file].is_masked_by_position and now[file].is_masked_by_position
    }
    return Differing(
        went=tuple(file for file in then if file not in now),
        came=tuple(file for file in now if file not in then),
        masked=tuple(file for file in changed if file in masked),
        rewritten=tuple(file for file in changed if file not in masked),
    )


def have_ids(differing: Differing, then: Files, now: Files) -> bool:
    """Whether each row of the files has an id: files from before the table's upgrade to format version 3 may have none."""
    before = all(then[file].has_ids for file in (*differing.went, *differing.masked, *differing.rewritten))
    return before and all(now[file].has_ids for file in differing.came)


@dataclass(frozen=True, slots=True)
class Bound:
    """What looking at what changed may cost: the ``part`` of what a full refresh reads, which is the later snapshot and so many
    bytes of other inputs ``besides``."""

    part: float
    besides: int = 0


def too_dear(differing: Differing, then: Files, now: Files, bound: Bound) -> str | None:
    """Says that looking at what changed costs more than is within bounds; None: it does not."""
    both = (*differing.went, *differing.masked, *differing.rewritten)
    held = sum(then[file].bytes for file in both) + sum(now[file].bytes for file in differing.came)
    total = sum(file.bytes for file in now.values())
    opened = len(both) + len(differing.came) - len(differing.masked)
    opening = limits.OPENING_A_DATA_FILE_BYTES
    cost = held + opened * opening + len(differing.masked) * limits.COMPARING_DELETES_BYTES
    if cost <= bound.part * (total + len(now) * opening + bound.besides):
        return None
    touched = len(both) + len(differing.came)
    files = "1 file" if touched == 1 else f"{touched:,} files"
    return f"{files} with {held / 1e6:,.1f} MB, and all of it is in {len(now):,} with {total / 1e6:,.1f} MB"
