"""PyIceberg's commits whose answer does not say what happened: they are looked up before anything is tried again or deleted."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any


def looked_up(table: Any) -> Any:
    """The table of PyIceberg's, whose commits count as done when their snapshots are there, whatever the catalog answered.

    PyIceberg deletes the files of a commit that was refused. A request that was sent twice on its way (by a proxy, by the client of a
    catalog) is refused over its own success, and they would be those of a snapshot that is there.
    """
    commit = table._do_commit

    def do_commit(updates: tuple[Any, ...], requirements: tuple[Any, ...]) -> None:
        try:
            commit(updates, requirements)
        except Exception:
            if not _is_there(table, updates):
                raise

    table._do_commit = do_commit
    return table


def is_in_doubt(error: Exception) -> bool:
    """Whether an error leaves open what became of a commit: the connection ended, or the server failed at it."""
    from pyiceberg.exceptions import CommitStateUnknownException, ServerError, ServiceUnavailableError
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    return isinstance(
        error, CommitStateUnknownException | ServerError | ServiceUnavailableError | NoConnection | Timeout
    )


def _is_there(table: Any, updates: Iterable[Any]) -> bool:
    added = [update.snapshot.snapshot_id for update in updates if update.action == "add-snapshot"]
    with suppress(Exception):
        # One that cannot be looked up is not known to be there, and the first error tells more.
        table.refresh()
        return bool(added) and all(table.metadata.snapshot_by_id(each) is not None for each in added)
    return False
