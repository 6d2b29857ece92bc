"""``up``, which keeps a project up to date until it is stopped, and the end of a JVM that a command left warm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakesmith.api.access import Access
from lakesmith.catalog.history import account_in_words
from lakesmith.execute.events import BatchReport, RunResult
from lakesmith.serve.loop import Lake
from lakesmith.serve.notices import Observer
from lakesmith.serve.options import Pace, UpOptions, certificate_and_key
from lakesmith.serve.up import Up

__all__ = ["BatchReport", "Observer", "Pace", "RunResult", "Up", "account_in_words"]


@dataclass(frozen=True, slots=True)
class Stopped:
    """What became of a warm JVM: it ``ended``, there was none, or the process ``used_by`` uses it."""

    ended: bool
    used_by: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"ended": self.ended, "used_by": self.used_by}


def up(
    access: Access,
    observer: Observer,
    address: tuple[str, int],
    pace: Pace,
    tls: tuple[Path | None, Path | None],
) -> Up:
    """Returns a service that is not started yet; see ``Lakehouse.up``."""
    from lakesmith.api.lakehouse import Lakehouse

    def open_lake() -> Lake:
        return Lakehouse(access.folder, access.target)

    options = UpOptions(access.folder, access.target, *address, pace, certificate_and_key(*tls))
    access.opened()
    return Up(options, observer, open_lake)


def stop(access: Access) -> Stopped:
    """Ends a warm JVM; see ``Lakehouse.stop``."""
    from lakesmith.spark.start.resident import socket_of
    from lakesmith.spark.start.resident import stop as stop_at

    project = access.opened().project
    found = stop_at(socket_of(project.root, project.target.name))
    return Stopped(found) if isinstance(found, bool) else Stopped(False, found)
