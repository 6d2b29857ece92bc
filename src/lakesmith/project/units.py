"""Durations (``5 minutes``) and sizes (``1 GB``) as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_SECONDS: Final = {
    **dict.fromkeys(("s", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86400),
}
_BYTES: Final = {
    "b": 1,
    **{unit: 1000**power for power, unit in enumerate(("kb", "mb", "gb", "tb"), 1)},
    **{unit: 1024**power for power, unit in enumerate(("kib", "mib", "gib", "tib"), 1)},
}


def seconds(text: str) -> float:
    """Returns a duration in seconds. Raises ValueError.

    >>> seconds("5 minutes"), seconds("1.5h")
    (300.0, 5400.0)
    """
    return _amount(text, _SECONDS)


def size_in_bytes(text: str) -> int:
    """Returns a size in bytes. Raises ValueError.

    >>> size_in_bytes("1.5 MB"), size_in_bytes("1 GiB")
    (1500000, 1073741824)
    """
    return int(_amount(text, _BYTES))


def _amount(text: str, units: Mapping[str, int]) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text.lower())
    if found is None or found.group(2) not in units:
        raise ValueError(f"not a number and a unit: {text!r}")
    return float(found.group(1)) * units[found.group(2)]
