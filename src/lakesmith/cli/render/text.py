"""Lines of text as a terminal shows them."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence


def columns_aligned(rows: Sequence[tuple[str, ...]], right: frozenset[int] = frozenset()) -> list[str]:
    """Rows as lines of aligned columns; ``right`` are the numbers of those aligned to the right."""
    if not rows:
        return []
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(widths[number]) if number in right else cell.ljust(widths[number])
            for number, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def titled(title: str, lines: Iterable[str]) -> list[str]:
    """A section: an empty line, its title, and its lines indented; nothing if there are no lines."""
    body = [f"  {line}" for line in lines]
    return ["", title, *body] if body else []


def wrapped(text: str, indent: str = "  ") -> list[str]:
    """A paragraph as lines no wider than the terminal, or than 110 characters elsewhere."""
    return textwrap.wrap(
        text, max(40, terminal_width() or 110), initial_indent=indent, subsequent_indent=indent
    )


def terminal_width() -> int | None:
    """The columns of the terminal that the output goes to; None when it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
