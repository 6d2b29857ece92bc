"""Lines of the ledger that may leave, and the lines that replace them. Pure.

Otherwise a ledger would keep a line for ever for each segment of events, and for each slice of a topic.

- Segments: one line says up to which number a series was ingested; the lines of those that were ingested long
  ago, and are gone, leave. The number grows only over segments that have a line, so it never passes one that
  was not ingested. A segment with another statement (forgotten, skipped) keeps its line, which counts.
- Slices: the newest line of a partition counts, and earlier ones add nothing.

Lines of other files stay. An older version of the ledger, which an older record pins, keeps its lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lakesmith.project.definitions import KAFKA_PATH
from lakesmith.sources.ledger_view import LedgerView, entry_of
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry, Series, place_of

_FEWEST: Final = 2
"""Lines that one line may stand for."""


@dataclass(frozen=True, slots=True)
class Folding:
    """The lines of the paths ``leaving`` go, and ``standing`` replace them: then each path has one line."""

    leaving: frozenset[str] = frozenset()
    standing: tuple[LedgerEntry, ...] = ()

    def of(self, view: LedgerView) -> LedgerView:
        """Returns the ledger afterwards."""
        return view.without(self.leaving).plus(self.standing) if self.leaving else view


NOTHING: Final = Folding()


def fold(view: LedgerView, there: Mapping[str, Collection[str]], before_ms: int) -> Folding:
    """Finds the lines that may leave.

    Args:
        view: the ledger, published.
        there: by the folder of each source of events, as paths have it, the names in it now.
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
    """The segments of each series that are old enough and gone, by their numbers."""
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
    """Returns how many segments the line of a series stands for: those without a line of their own."""
    upto = view.rows[path][2]
    places = (place_of(each) for each in view)
    return upto - sum(place is not None and place[0].path == path and place[1] <= upto for place in places)
