"""Sizes in words: ``1 GB``."""

from __future__ import annotations

import re
from typing import Final

_UNITS: Final = {
    "b": 1,
    **{unit: 1000**power for power, unit in enumerate(("kb", "mb", "gb", "tb"), 1)},
    **{unit: 1024**power for power, unit in enumerate(("kib", "mib", "gib", "tib"), 1)},
}


def size_in_bytes(text: str) -> int:
    """The size in bytes. Raises ValueError.

    >>> size_in_bytes("1.5 MB"), size_in_bytes("1 GiB")
    (1500000, 1073741824)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text.lower())
    if found is None or found.group(2) not in _UNITS:
        raise ValueError(f"no size: {text!r}")
    return int(float(found.group(1)) * _UNITS[found.group(2)])
