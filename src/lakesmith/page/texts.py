"""Filters of the templates: texts, addresses and paths of what the pages show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from lakesmith.page.overview import Flow

_COMMAND: Final = re.compile(
    r"lakesmith [a-z][a-z-]*(?: (?:show|replay)\b)?"
    r"(?: (?:--target [\w-]+|--?[a-z][a-z-]*|[A-Z][A-Z_]*\b|[\w+*/@-]*[.+*/0-9][\w+*/@.-]*))*(?<![.,;:])"
)


def in_words(flow: Flow | None) -> str:
    """Returns ``+1,200``; ``changed`` where rows were changed, which commits do not count."""
    if flow is None or (flow.is_exact and not flow.rows):
        return ""
    if not flow.is_exact:
        return f"≥{flow.rows:,}" if flow.rows else "changed"
    return f"+{flow.rows:,}"


def middle(text: str, most: int) -> str:
    """Returns a text of at most ``most`` characters: long names of tables differ at their ends."""
    head = (most - 1) // 3
    return text if len(text) <= most else f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def path_of(points: Sequence[tuple[float, float]]) -> str:
    """Returns a line through points as SVG's path: curves between ranks, level across one."""
    (x, y), *rest = points
    text = f"M{x:.1f} {y:.1f}"
    for number, (to_x, to_y) in enumerate(rest):
        half = (x + to_x) / 2
        level = f"L{to_x:.1f} {to_y:.1f}"
        curve = f"C{half:.1f} {y:.1f} {half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        text += curve if number % 2 == 0 else level
        x, y = to_x, to_y
    return text


def address(values: Mapping[str, Any], path: str = "/") -> str:
    """Returns a path with those of the values that are set as its query."""
    given = {name: value for name, value in values.items() if value}
    return quote(path) + (f"?{urlencode(given)}" if given else "")


def advice(hint: str) -> list[tuple[str, bool]]:
    """Returns the parts of an advice, each with whether it is a command.

    >>> advice("lakesmith run")
    [('lakesmith run', True)]
    >>> advice("or lakesmith files silver.sales --forget FILE; then wait")
    [('or ', False), ('lakesmith files silver.sales --forget FILE', True), ('; then wait', False)]
    """
    found, at = list[tuple[str, bool]](), 0
    for command in _COMMAND.finditer(hint):
        found += [(hint[at : command.start()], False), (command[0], True)]
        at = command.end()
    return [part for part in (*found, (hint[at:], False)) if part[0]]
