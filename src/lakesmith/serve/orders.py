"""Orders of people to ``up``: tables that it leaves alone, and failed tables that it tries at once.

Each order is a file in ``.lakesmith/orders/``, so that writers need no lock, and an order outlives ``up``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from lakesmith.serve.retries import Failing
from lakesmith.serve.state import moment
from lakesmith.whole_file import write_whole

FOLDER: Final = "orders"
_PAUSED: Final = ".paused"
_AGAIN: Final = ".again"


@dataclass(frozen=True, slots=True)
class Orders:
    """The orders that are in a project's state folder."""

    state_dir: Path

    def pause(self, table: str) -> None:
        """Has ``up`` leave a table alone: schedule and arrivals. ``lakesmith run`` refreshes it. Raises
        OSError."""
        self._write(table, _PAUSED)

    def resume(self, table: str) -> bool:
        """Ends a pause; returns whether there was one. A time that has passed fires then. Raises OSError."""
        path = self._path(table, _PAUSED)
        was_there = path.exists()
        path.unlink(missing_ok=True)
        return was_there

    def try_again(self, table: str) -> None:
        """Has ``up`` try a table at once that failed. Raises OSError."""
        self._write(table, _AGAIN)

    def paused(self) -> frozenset[str]:
        return frozenset(table for table, _ in self._named(_PAUSED))

    def tried_at_once(self, failing: Mapping[str, Failing], now: float) -> dict[str, Failing]:
        """Takes the orders to try again; returns the failing tables, those of the orders due now."""
        found = dict(failing)
        for table, path in self._named(_AGAIN):
            with suppress(OSError):
                path.unlink()
            if table in found:
                found[table] = replace(found[table], next_try=now)
        return found

    def _named(self, kind: str) -> Iterator[tuple[str, Path]]:
        for path in sorted((self.state_dir / FOLDER).glob(f"*{kind}")):
            yield unquote(path.name.removesuffix(kind)), path

    def _write(self, table: str, kind: str) -> None:
        path = self._path(table, kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, moment() + "\n")

    def _path(self, table: str, kind: str) -> Path:
        return self.state_dir / FOLDER / (quote(table, safe="") + kind)
