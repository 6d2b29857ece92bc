"""The lines of file ledgers in the cache, so that an idle run needs neither PyIceberg nor pyarrow to know
what was ingested.

A snapshot never changes, so an entry is right or damaged, never stale. The entry of a long ledger's next
snapshot may have only the lines since an earlier one, which it names; a process that lives for days keeps
long ledgers in memory too. So the cost of a batch is that of its new lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lakesmith import limits
from lakesmith.cache import Cache
from lakesmith.catalog.record import Pin
from lakesmith.sources.ledger_view import LedgerView, Row

KEEP: Final = 2
"""How many snapshots of one ledger are kept: the published one and an attempt's."""

_VERSION: Final = "1"
_FULL_AGAIN_ONE_IN: Final = 20
"""An entry has only the lines since another one as long as these are at most this part of all lines."""
_IN_MEMORY: Final[dict[str, dict[int, LedgerView]]] = {}
"""Long ledgers that were read or written last, by UUID and snapshot."""


class LedgerCache:
    """Ledger views, kept in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, pin: Pin) -> LedgerView | None:
        """Returns the ledger at the pinned snapshot; None if it is not kept."""
        known = _IN_MEMORY.get(pin.uuid, {}).get(pin.snapshot or 0)
        if known is not None:
            return known
        cache = self._entries(pin)
        rows, since = cache.load(str(pin.snapshot)), {}
        if rows is None and (added := cache.load(_added(pin))) is not None:
            base, since = added
            rows = cache.load(base)
        if rows is None:
            return None
        view = LedgerView(rows).plus_rows(since.items()) if since else LedgerView(rows)
        _remember(pin, view)
        return view

    def save(self, pin: Pin, view: LedgerView) -> None:
        self._entries(pin).save(str(pin.snapshot), dict(view.rows))
        _remember(pin, view)

    def save_next(self, pin: Pin, view: LedgerView, before: Pin | None, new: Iterable[str]) -> None:
        """Keeps a ledger that has the paths ``new`` besides those that it had at ``before``."""
        base = self._base_of(before) if before is not None and len(view) >= limits.LONG_LEDGER_LINES else None
        if base is None:
            return self.save(pin, view)
        snapshot, since = base
        rows = since | {path: view.rows[path] for path in new}
        if len(rows) > len(view) // _FULL_AGAIN_ONE_IN:
            return self.save(pin, view)
        cache = self._entries(pin, KEEP + 1)
        cache.renew(snapshot)
        cache.save(_added(pin), (snapshot, rows))
        return _remember(pin, view)

    def _base_of(self, pin: Pin) -> tuple[str, dict[str, Row]] | None:
        """Returns the snapshot that is kept whole, and the lines since then up to ``pin``."""
        cache = self._entries(pin)
        if cache.has(str(pin.snapshot)):
            return str(pin.snapshot), {}
        base, since = cache.load(_added(pin)) or ("", {})
        return (base, since) if cache.has(base) else None

    def _entries(self, pin: Pin, most: int = KEEP) -> Cache:
        return Cache(self._folder, f"ledger-{pin.uuid}", _VERSION, most)


def _added(pin: Pin) -> str:
    return f"{pin.snapshot} on an earlier one"


def _remember(pin: Pin, view: LedgerView) -> None:
    if len(view) < limits.LONG_LEDGER_LINES or pin.snapshot is None:
        return
    known = _IN_MEMORY.setdefault(pin.uuid, {})
    known.pop(pin.snapshot, None)
    known[pin.snapshot] = view
    while len(known) > KEEP:
        del known[next(iter(known))]
