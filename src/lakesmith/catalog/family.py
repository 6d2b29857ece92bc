"""What belongs to a table: its sidecars, the project that made it, and whether a rollback froze it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

from lakesmith.catalog.state import TableState
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
    """The snapshot of a sidecar that has the rows of the ``pinned`` one in the fewest files: main's head,
    where only compactions lie between the two; else the pinned one.
    """
    main = state.head_id
    for snapshot in state.ancestors(main):
        if snapshot.snapshot_id == pinned:
            return main
        if snapshot.operation != "replace":
            break
    return pinned


def lost_sidecar(table: TableName, what: str, found: str) -> StateError:
    """LS508: ``what`` belongs to ``table`` and is not as its record says."""
    return StateError.of(
        "LS508",
        f"{what} is not as the last published batch left it",
        expected="the snapshot that the table's progress record pins",
        found=found,
        hint="'lakesmith register' enters it again where its files are there; a derived table's is made "
        "again by"
        f" lakesmith run --full-refresh {table}",
    )


HOLD_KEY: Final = "lakesmith.hold"
"""The table's property. It comes and goes with the commits of ``rollback --hold`` and ``release``."""


@dataclass(frozen=True, slots=True)
class Hold:
    """No run brings the table on. ``since_ms``: since the epoch; ``at``: where it is held, in words."""

    since_ms: int
    at: str

    def to_property(self) -> str:
        """As the table's property has it."""
        return json.dumps(asdict(self))


def hold_of(state: TableState | None) -> Hold | None:
    """How the table is held; None: it is not."""
    text = state.properties.get(HOLD_KEY) if state else None
    return None if text is None else Hold(**json.loads(text))


PROJECT = "lakesmith.project"
"""The table property that says which project made a table."""


def foreign_owner(state: TableState, project: str) -> Problem | None:
    """What to say when the table is not the project's own; None when it is."""
    owner = state.properties.get(PROJECT)
    if owner == project:
        return None
    return Problem(
        "LS503",
        f"{state.name} exists and belongs to somebody else; it is never overwritten",
        expected=f"no table of that name, or one made by project {project!r}",
        found=f"a table of project {owner!r}" if owner else "a table that was not made by lakesmith",
        hint="give your table another name, or choose another target; what made the other one can drop it",
    )
