"""The contract of results, and of changes that are two calls: prepare, then apply."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from lakesmith.catalog.protocol import Catalog
from lakesmith.errors import StateError
from lakesmith.project.definitions import TableName

Heads = Mapping[TableName, int | None]
"""Tables and the snapshot that each had when a change was prepared; None: no snapshot, or no such table."""


class Result(Protocol):
    """A frozen answer of a call."""

    def to_dict(self) -> Any:
        """The answer as JSON data, as ``--json`` prints it."""


def heads_of(catalog: Catalog, names: Iterable[TableName]) -> Heads:
    """Returns the heads of tables as the catalog has them now."""
    states = ((name, catalog.table(name.layer, name.name)) for name in names)
    return {name: state.head_id if state else None for name, state in states}


P = TypeVar("P", bound=Result, covariant=True)
R = TypeVar("R", bound=Result, covariant=True)


@dataclass(frozen=True)
class Change(Generic[P, R]):
    """A change that was prepared and is not made yet.

    Attributes:
        preview: what would happen.
        heads: the snapshots of the tables that the preview was made for.
    """

    preview: P
    heads: Heads
    _locked: Callable[[], AbstractContextManager[object]]
    _heads_now: Callable[[], Heads]
    _make: Callable[[P], R]

    def to_dict(self) -> Any:
        """The preview as JSON data."""
        return self.preview.to_dict()

    def apply(self) -> R:
        """Makes the change under the lock of the lake.

        Raises StateError LS511 if a table has another head than when the change was prepared, LockedError
        LS701 while another process holds the lake, and whatever making the change raises.
        """
        with self._locked():
            require_same_heads(self.heads, self._heads_now())
            return self._make(self.preview)


def require_same_heads(prepared: Heads, now: Heads) -> None:
    """Raises StateError LS511 for the first table whose head is not the prepared one."""
    for name in [*prepared, *now]:
        if prepared.get(name) != now.get(name):
            raise StateError.of(
                "LS511",
                f"{name} was changed since this was prepared",
                expected=_snapshot(prepared.get(name)),
                found=_snapshot(now.get(name)),
                hint="prepare it again, and look at what would happen now",
            )


def _snapshot(head: int | None) -> str:
    return "no snapshot" if head is None else f"snapshot {head}"
