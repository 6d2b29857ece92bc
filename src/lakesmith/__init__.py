"""lakesmith: a lakehouse you declare.

with lakesmith.open("shop") as shop:
    shop.run()
    frame = shop.table("gold.sales").arrow()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakesmith.api.frames import Rows, Table
    from lakesmith.api.lakehouse import Lakehouse
    from lakesmith.api.lakehouse import open_lakehouse as open
    from lakesmith.api.results import RunFailed, RunResult
    from lakesmith.errors import LakesmithError, Problem
    from lakesmith.execute import events

__version__ = "0.1.0"
__all__ = [
    "Lakehouse",
    "LakesmithError",
    "Problem",
    "Rows",
    "RunFailed",
    "RunResult",
    "Table",
    "events",
    "open",
]

_HOMES = {
    "LakesmithError": "lakesmith.errors",
    "Lakehouse": "lakesmith.api.lakehouse",
    "Problem": "lakesmith.errors",
    "Rows": "lakesmith.api.frames",
    "RunFailed": "lakesmith.api.results",
    "RunResult": "lakesmith.api.results",
    "Table": "lakesmith.api.frames",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used: a command that needs none of them does not pay for them."""
    from importlib import import_module

    if name == "open":
        return import_module("lakesmith.api.lakehouse").open_lakehouse
    if name == "events":
        return import_module("lakesmith.execute.events")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'lakesmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
