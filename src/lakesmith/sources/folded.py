"""Lines of the ledger that may leave, and what stands for them. Pure.

A ledger would have a line for ever for each segment of events, and for each slice of a topic that a batch took.

- Segments: one line says up to which number a series was taken; the lines of those that are long taken, and not there any more, leave. The
  number grows only over segments that have a line, so it never passes one that was not taken. A segment of which something else is said
  (forgotten, skipped) keeps its line, which counts.
- Slices: the newest line of a partition counts, and those before it say nothing more.

Lines of other files stay. An older version of the ledger, which an older record pins, has the lines that it had.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.project.definitions import KAFKA_PATH
from lakesmith.sources.ledger_view import LedgerView, entry_of
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry
from lakesmith.sources.segment_names import Series, place_of

_FEWEST: Final = 2
"""Lines that one line may stand for."""


@dataclass(frozen=True, slots=True)
class Folding:
    """All lines of the paths ``leaving`` go, and ``standing`` come in their place: of each path there is one afterwards."""

    leaving: frozenset[str] = frozenset()
    standing: tuple[LedgerEntry, ...] = ()

    def of(self, view: LedgerView) -> LedgerView:
        """The ledger afterwards."""
        return view.without(self.leaving).plus(self.standing) if self.leaving else view


NOTHING: Final = Folding()


def fold(view: LedgerView, there: Mapping[str, Collection[str]], before_ms: int) -> Folding:
    """What may leave.

    Args:
        view: the ledger, published.
        there: by the folder of each source of events, as paths have it, the names that are in it now.
        before_ms: lines of segments that were written later stay (milliseconds since the epoch).
    """
    found = [_fold_series(view, series, lines) for series, lines in _old(view, there, before_ms).items()]
    slices = frozenset(path for path in view if path.startswith(KAFKA_PATH))
    leaving = slices.union(*(each.leaving for each in found))
    newest = [view[path] for path in sorted(slices)]
    return Folding(leaving, (*(line for each in found for line in each.standing), *newest))


def _old(
    view: LedgerView, there: Mapping[str, Collection[str]], before_ms: int
) -> dict[Series, dict[int, LedgerEntry]]:
    """The segments of each series that are old enough and not there any more, by their numbers."""
    found: defaultdict[Series, dict[int, LedgerEntry]] = defaultdict(dict)
    for path, row in view.rows.items():
        if row[9] > before_ms or (place := place_of(path)) is None:
            continue
        series, number = place
        if series.folder in there and path.rpartition("/")[2] not in there[series.folder]:
            found[series][number] = entry_of(path, row)
    return found


def _fold_series(view: LedgerView, series: Series, lines: Mapping[int, LedgerEntry]) -> Folding:
    known = [view[series.path]] if series.path in view else []
    last = known[0].file.size if known else 0
    upto = known[0].file.etag if known else ""
    while last + 1 in lines:
        last += 1
        upto = lines[last].file.path.rpartition("/")[2]
    taken = [lines[number] for number in lines if number <= last]
    gone = [entry for entry in taken if entry.action is FileAction.TAKEN]
    if len(gone) + len(known) < _FEWEST:
        return NOTHING
    newest = max([*gone, *known], key=lambda entry: (entry.batch, entry.at_ms))
    line = replace(newest, file=FileIdentity(series.path, last, 0, etag=upto), action=FileAction.FOLDED)
    return Folding(frozenset({series.path, *(entry.file.path for entry in gone)}), (line,))


def stands_for(view: LedgerView, path: str) -> int:
    """How many segments the line of a series stands for: those up to its number that have no line of their own."""
    upto = view.rows[path][2]
    places = (place_of(each) for each in view)
    return upto - sum(place is not None and place[0].path == path and place[1] <= upto for place in places)
