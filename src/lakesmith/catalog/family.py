"""What belongs to a table besides itself: its sidecars, whose names are made of its own."""

from __future__ import annotations

from typing import Final

from lakesmith.project.definitions import TableName
from lakesmith.project.layout import RESERVED_LAYER

SIDECARS: Final = ("files", "quarantine", "tombstones")
"""The kinds of sidecar, as they end in their tables' names."""


def sidecar_of(table: TableName, kind: str) -> TableName:
    """``silver.customers``, ``quarantine`` -> ``lakesmith.silver__customers__quarantine``."""
    return TableName(RESERVED_LAYER, f"{table.layer}__{table.name}__{kind}")


def family(table: TableName) -> tuple[TableName, ...]:
    """The table and all the sidecars it can have."""
    return (table, *(sidecar_of(table, kind) for kind in SIDECARS))
