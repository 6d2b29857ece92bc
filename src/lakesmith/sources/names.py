"""Names of files in messages."""

from __future__ import annotations

import os
from collections.abc import Sequence


def printable(path: str) -> str:
    """Returns ``path`` for a message: bytes that are not text, and line breaks, become escapes."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return escaped(text)


def escaped(text: str) -> str:
    """Returns ``text`` with escapes for tabs, line breaks and control characters."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def named(paths: Sequence[str]) -> str:
    """Returns one of the files, and the number of the others.

    >>> named(["in/a.csv", "in/b.csv", "in/c.csv"])
    'in/a.csv and 2 more'
    """
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{printable(paths[0])}{more}" if paths else "no file"
