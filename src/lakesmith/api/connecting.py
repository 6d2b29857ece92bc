"""How other engines read the tables: a text to paste into the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from lakesmith.api.access import Access
from lakesmith.connect.read import read_lake
from lakesmith.connect.registry import ALL, engine_named
from lakesmith.connect.render import snippet

ENGINES = tuple(engine.name for engine in ALL)
"""The engines that ``connect`` knows."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text for an engine; ``runs_here``: whether this Python has the package that the text needs."""

    engine: str
    target: str
    text: str
    runs_here: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def connect(access: Access, engine: str, tables: Sequence[str]) -> Snippet:
    found = engine_named(engine)
    lake = read_lake(found, access.folder, access.target, tables, lambda: access.opened().lake.catalog)
    runs_here = found.package is not None and find_spec(found.package) is not None
    return Snippet(found.name, lake.target.name, snippet(found, lake), runs_here)
