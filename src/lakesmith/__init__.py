"""lakesmith: a lakehouse you declare.

    with lakesmith.open("shop") as shop:
        shop.run()
        frame = shop.table("gold.sales").arrow()

Public names are in ``__all__``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakesmith.api.frames import Rows
    from lakesmith.api.lakehouse import Lakehouse
    from lakesmith.api.lakehouse import open_lakehouse as open
    from lakesmith.errors import LakesmithError, Problem
    from lakesmith.execute import events
    from lakesmith.execute.events import RunFailed, RunResult
    from lakesmith.plan.steps import BadRows

__version__ = "0.1.0"
__all__ = [
    "BadRows",
    "Lakehouse",
    "LakesmithError",
    "Problem",
    "Rows",
    "RunFailed",
    "RunResult",
    "events",
    "open",
]

_HOMES = {
    "BadRows": "lakesmith.plan.steps:BadRows",
    "Lakehouse": "lakesmith.api.lakehouse:Lakehouse",
    "LakesmithError": "lakesmith.errors:LakesmithError",
    "Problem": "lakesmith.errors:Problem",
    "Rows": "lakesmith.api.frames:Rows",
    "RunFailed": "lakesmith.execute.events:RunFailed",
    "RunResult": "lakesmith.execute.events:RunResult",
    "events": "lakesmith.execute.events",
    "open": "lakesmith.api.lakehouse:open_lakehouse",
}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, so that a command pays only for what it needs."""
    if name not in _HOMES:
        raise AttributeError(f"module 'lakesmith' has no attribute {name!r}")
    from pkgutil import resolve_name

    return resolve_name(_HOMES[name])


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
