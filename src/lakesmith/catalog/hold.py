"""That a table is held where it is: a property of the table itself, so that every machine that runs the project knows it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Final

from lakesmith.catalog.state import TableState

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
