"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name most similar to ``name``, in any case; None if none is similar."""
    from difflib import get_close_matches

    by_folded = {candidate.lower(): candidate for candidate in sorted(known)}
    found = get_close_matches(name.lower(), by_folded, n=1, cutoff=0.6)
    longer = [folded for folded in by_folded if len(name) > 2 and folded.startswith(name.lower())]
    return next((by_folded[folded] for folded in (*found, *longer)), None)


def listed(names: Iterable[str], most: int = 20) -> str:
    """Returns the names with commas; of very many only the first."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """Returns a hint: ``did you mean key?``, or ``otherwise``."""
    found = nearest(name, known)
    return f"did you mean {found}?" if found else otherwise
