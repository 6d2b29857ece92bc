"""Names that were probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, whatever the case; None when none is like it."""
    from difflib import get_close_matches

    by_folded = {candidate.lower(): candidate for candidate in sorted(known)}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    longer = [folded for folded in by_folded if len(name) > 2 and folded.startswith(name.lower())]
    return next((by_folded[folded] for folded in (*found, *longer)), None)


def listed(names: Iterable[str], most: int = 20) -> str:
    """The names in their order, with commas; of very many only the first."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """A hint: ``did you mean key?``, or ``otherwise``."""
    found = nearest(name, known)
    return f"did you mean {found}?" if found else otherwise
