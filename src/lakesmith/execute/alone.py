"""At work on a lake alone: the project's lock on this machine, and the lease where others may be at work elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from lakesmith.catalog.home import project_lock
from lakesmith.catalog.lease import Waiting, held
from lakesmith.catalog.lock import ProjectLock
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.execute.lake import Lake


@contextmanager
def alone(
    lake: Lake, command: str, wait_seconds: float = 0.0, on_wait: Callable[[str], None] = lambda _: None
) -> Iterator[ProjectLock]:
    """Holds both for ``command``; ``on_wait`` is told whom it waits for. Raises LockedError LS701, LS703 while another holds one after the wait,
    StateError LS525 where the tables are another's."""
    lock = project_lock(
        lake.project,
        command,
        wait_seconds=wait_seconds,
        on_wait=lambda holder: on_wait(str(holder) if holder else "another process"),
    )
    waiting = Waiting(wait_seconds, lambda other: on_wait(str(other)))
    with lock as held, lease(lake, command, waiting):
        yield held


def lease(lake: Lake, command: str, waiting: Waiting) -> AbstractContextManager[None]:
    """The lease of a shared catalog; in a catalog of the project's folder the lock is enough."""
    if not isinstance(lake.catalog, RemoteCatalog):
        return nullcontext()
    return held(lake.catalog.lease_table(lake.project.name), command, waiting)
