"""At work on a lake alone, as a command of the terminal that says whom it waits for."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager

from lakesmith.catalog.lock import ProjectLock
from lakesmith.execute.locking import Claim
from lakesmith.execute.opened import Opened


def alone(opened: Opened, command: str, wait_seconds: float) -> AbstractContextManager[ProjectLock]:
    """Holds the lake for ``command``. Raises LockedError LS701, LS703 while another holds it after the wait."""
    return Claim(opened.lake, command, wait_seconds, _say).both()


def _say(holder: str) -> None:
    print(f"waiting: the project is in use by {holder}", file=sys.stderr, flush=True)
