"""At work on a lake alone: the project's lock on this machine, and the lease where others may be at work elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from lakesmith.catalog.lease import Waiting, held
from lakesmith.catalog.lock import ProjectLock
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.execute.lake import Lake


@contextmanager
def alone(lake: Lake, command: str) -> Iterator[ProjectLock]:
    """Holds both for ``command``. Raises LockedError LS701, LS703 while another holds one."""
    with ProjectLock(lake.project.state_dir, command) as lock, lease(lake, command, Waiting()):
        yield lock


def lease(lake: Lake, command: str, waiting: Waiting) -> AbstractContextManager[None]:
    """The lease of a shared catalog; in a catalog of the project's folder the lock is enough."""
    if not isinstance(lake.catalog, RemoteCatalog):
        return nullcontext()
    return held(lake.catalog.lease_table(lake.project.name), command, waiting)
