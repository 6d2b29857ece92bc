"""``source: {http: ...}`` as an HttpSource, with its sizes read and its columns held against those of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lakesmith.errors import Problem
from lakesmith.project.definitions import USUAL_MAX_REQUEST, USUAL_MAX_WAITING, Column
from lakesmith.project.models import HttpSettings
from lakesmith.project.settings import Level, find
from lakesmith.project.sizes import size_in_bytes
from lakesmith.project.spark_types import parse_type

_NO_LIMIT: Final = 2**63
_REQUESTS: Final = (1000, 16 * 1024**2)
"""A request is held in memory as a whole, and so are those that wait for the disk."""


def endpoint_settings(
    own: Level[HttpSettings], columns: Sequence[Column], problems: list[Problem]
) -> dict[str, Any]:
    """The arguments of an HttpSource. Appends problems LS105."""
    settings = own.model
    _check_id(own, columns, problems)
    for column in columns:
        if parse_type(column.type or "string").has_odd_keys:
            what = f"{column.name} has a map whose keys are no texts, which JSON does not have"
            problems.append(
                Problem(
                    "LS105",
                    what,
                    column.place or own.document.place(*own.path),
                    "map<string,...>",
                    column.type,
                )
            )
    return {
        "url_path": settings.path,
        "tokens": tuple(settings.tokens or ()),
        "event_id": tuple(settings.event_id or ()),
        "max_rate": settings.max_rate,
        "max_waiting": _size(own, "max_waiting", USUAL_MAX_WAITING, (1, _NO_LIMIT), problems),
        "max_request": _size(own, "max_request", USUAL_MAX_REQUEST, _REQUESTS, problems),
    }


def _check_id(own: Level[HttpSettings], columns: Sequence[Column], problems: list[Problem]) -> None:
    setting = find([own], "event_id")
    if setting is None or not columns:
        return
    names = [column.name for column in columns]
    for index, name in enumerate(setting.value):
        if name not in names:
            what = f"event_id has {name}, which is no column"
            problems.append(Problem("LS105", what, setting.item_place(index), f"one of {', '.join(names)}"))


def _size(
    own: Level[HttpSettings], name: str, default: int, limits: tuple[int, int], problems: list[Problem]
) -> int:
    setting = find([own], name)
    if setting is None:
        return default
    expected = "a number and a unit: 500 KB, 64 MiB, 1 GB"
    try:
        found = size_in_bytes(setting.value)
        if limits[0] <= found <= limits[1]:
            return found
        what, expected = f"{name} is too {'small' if found < limits[0] else 'large'}", "from 1 KB to 16 MiB"
    except ValueError:
        what = f"{name} is no size"
    problems.append(Problem("LS105", what, setting.place, expected, repr(setting.value)))
    return default
