"""The end of a JVM that a command left warm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lakesmith.api.access import Access


@dataclass(frozen=True, slots=True)
class Stopped:
    """What became of a warm JVM: it ``ended``, there was none, or the process ``used_by`` uses it."""

    ended: bool
    used_by: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"ended": self.ended, "used_by": self.used_by}


def stop(access: Access) -> Stopped:
    """Ends a warm JVM; see ``Lakehouse.stop``."""
    from lakesmith.spark.start.resident import socket_of
    from lakesmith.spark.start.resident import stop as stop_at

    project = access.opened().project
    found = stop_at(socket_of(project.root, project.target.name))
    return Stopped(found) if isinstance(found, bool) else Stopped(False, found)
