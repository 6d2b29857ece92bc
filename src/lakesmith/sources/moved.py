"""Landing files that are elsewhere than they were when they were ingested, since a recovery."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

MOVED: Final = "lakesmith.landing-moved"
"""The property of a sourced table with pairs of folders, as JSON: where files are, and where they were."""

Moved = tuple[tuple[str, str], ...]
"""Pairs of folders, each with a slash at its end: where files are now, and where they were."""


def moved_of(properties: Mapping[str, str]) -> Moved:
    """Returns the pairs in a table's properties."""
    return tuple((here, before) for here, before in json.loads(properties.get(MOVED, "[]")))


def earlier_paths(path: str, moved: Moved) -> Iterator[str]:
    """Yields the paths that a file had.

    >>> list(earlier_paths("s3://copy/landing/a.csv", (("s3://copy/", "s3://lake/"),)))
    ['s3://lake/landing/a.csv']
    """
    for here, before in moved:
        if path.startswith(here):
            yield before + path.removeprefix(here)
