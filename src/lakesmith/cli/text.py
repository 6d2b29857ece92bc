"""Numbers and names as people read them."""

from __future__ import annotations


def count(number: int, what: str, plural: str | None = None) -> str:
    """``1 row``, ``1,234 rows``."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def duration(seconds: float) -> str:
    """``0.42 s``, ``3.1 s``, ``2 min 05 s``."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def columns_aligned(rows: list[tuple[str, ...]], right: frozenset[int] = frozenset()) -> list[str]:
    """Rows as lines of aligned columns; ``right`` are the numbers of those aligned to the right."""
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(widths[number]) if number in right else cell.ljust(widths[number])
            for number, cell in enumerate(row)
        ).rstrip()
        for row in rows
    ]
