"""Durations in words: ``5 minutes``."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    **dict.fromkeys(("s", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
}


def seconds(text: str) -> float:
    """The duration in seconds. Raises ValueError.

    >>> seconds("5 minutes"), seconds("1.5h")
    (300.0, 5400.0)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text.lower())
    if found is None or found.group(2) not in _UNITS:
        raise ValueError(f"no duration: {text!r}")
    return float(found.group(1)) * _UNITS[found.group(2)]
