"""Names and texts as Spark SQL reads them back: the one place where anything is quoted, and where the names
of the columns come from that this project puts beside users' columns."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from unicodedata import normalize

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

OWN_PREFIX: Final = "_lakesmith_"
"""What names of this project's columns begin with. No column of a user may (``is_taken``)."""


def own(name: str) -> str:
    """Returns the name of a column of this project beside users' columns, which none of those can have."""
    return OWN_PREFIX + name


def quoted(name: str) -> str:
    """A name in backticks: dots and spaces belong to it."""
    return "`" + name.replace("`", "``") + "`"


def quoted_if_odd(name: str) -> str:
    """A name in backticks where it needs them, as in types and paths that people read."""
    return name if _PLAIN.fullmatch(name) else quoted(name)


def literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\u0000") + "'"


def alike(name: str) -> str:
    """Returns what names have in common that differ in case, or in how Unicode composes their letters.

    Systems differ in the second: macOS writes the name of a file, and some editors a text, with an accent as
    a character of its own. See "canonical caseless match" of the Unicode Standard, section 3.13.

    >>> alike("Gr\u00f6n") == alike("gro\u0308n") != alike("gron")
    True
    """
    return name.casefold() if name.isascii() else composed(normalize("NFD", name).casefold())


def composed(name: str) -> str:
    """Returns a name with each letter and its accents as one character, where Unicode has it (NFC)."""
    return normalize("NFC", name)


def compositions(name: str) -> frozenset[str]:
    """Returns a name with all letters composed, and with none."""
    return frozenset({composed(name), normalize("NFD", name)})


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
