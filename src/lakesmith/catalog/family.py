"""What belongs to a table besides itself: its sidecars, whose names are made of its own."""

from __future__ import annotations

from typing import Final

from lakesmith.catalog.state import MAIN, TableState
from lakesmith.errors import Problem, StateError
from lakesmith.project.definitions import TableName
from lakesmith.project.layout import RESERVED_LAYER

SIDECARS: Final = ("files", "quarantine", "tombstones", "erased")
"""The kinds of sidecar, as they end in their tables' names."""


def sidecar_of(table: TableName, kind: str) -> TableName:
    """``silver.customers``, ``quarantine`` -> ``lakesmith.silver__customers__quarantine``."""
    return TableName(RESERVED_LAYER, f"{table.layer}__{table.name}__{kind}")


def family(table: TableName) -> tuple[TableName, ...]:
    """The table and all the sidecars it can have."""
    return (table, *(sidecar_of(table, kind) for kind in SIDECARS))


def newest_compaction(state: TableState, pinned: int | None) -> int | None:
    """The snapshot of a sidecar that has the rows of the ``pinned`` one in the fewest files: main's head, where only compactions lie between
    the two; else the pinned one.
    """
    main = state.refs.get(MAIN)
    for snapshot in state.ancestors(main):
        if snapshot.snapshot_id == pinned:
            return main
        if snapshot.operation != "replace":
            break
    return pinned


def lost_sidecar(table: TableName, what: str, found: str) -> StateError:
    """LS508: ``what`` belongs to ``table`` and is not as its record says."""
    return StateError(
        Problem(
            "LS508",
            f"{what} is not as the last published batch left it",
            expected="the snapshot that the table's progress record pins",
            found=found,
            hint="'lakesmith register' enters it again where its files are there; a derived table's is made anew by"
            f" lakesmith run --full-refresh {table}",
        )
    )
