"""Names of files in messages."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from unicodedata import normalize


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


def told_apart(name: str, others: Collection[str]) -> str:
    """Returns a name for a message: with its characters' numbers if one of the ``others`` looks the same.

    >>> told_apart("o\u0308l", ["\u00f6l"])
    'o\u0308l (U+0308)'
    """
    shown = normalize("NFKC", name)
    if not any(other != name and normalize("NFKC", other) == shown for other in others):
        return name
    numbers = " ".join(f"U+{ord(character):04X}" for character in name if not character.isascii())
    return f"{name} ({numbers or 'ASCII'})"


def without_numbers(name: str) -> str:
    """Returns the name of which ``told_apart`` made a text."""
    return re.sub(r" \((U\+[0-9A-F]+( U\+[0-9A-F]+)*|ASCII)\)$", "", name)
