"""Patterns of dates and times, looked at before a row is read: some mean another day than their author did.

Spark refuses some of these when it reads the first row. Others it takes: ``dd/mm/yyyy`` has minutes where the month should
be, and makes 31/12/2026 the 31st of January.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_KNOWN: Final = frozenset("GyMLdDQqEFaKkHhmsSVzOXx")
_RUNS: Final = re.compile(r"([A-Za-z])\1*")
_QUOTED: Final = re.compile(r"'[^']*'")


def wrong_pattern(pattern: str) -> str | None:
    """What is wrong with a pattern, in words; None if nothing is to be seen.

    >>> wrong_pattern("dd/MM/yyyy HH:mm"), wrong_pattern("yyyy-MM-dd'T'HH:mm:ss")
    (None, None)
    >>> wrong_pattern("DD/MM/YYYY")
    "'Y' is not known: 'yyyy' is the year"
    >>> wrong_pattern("dd/mm/yyyy")
    "'mm' are minutes: 'MM' is the month"
    """
    return next(_faults(pattern), None)


def _faults(pattern: str) -> Iterator[str]:
    bare = _QUOTED.sub(" ", pattern)
    runs = [run[1] for run in _RUNS.finditer(bare)]
    letters = frozenset(runs)
    if "%" in bare:
        yield "'%' begins nothing here: 'dd/MM/yyyy' is '%d/%m/%Y'"
    if unknown := [letter for letter in runs if letter not in _KNOWN]:
        hints = {"Y": ": 'yyyy' is the year", "T": ": a text stands in quotes, as in yyyy-MM-dd'T'HH:mm:ss"}
        yield f"'{unknown[0]}' is not known{hints.get(unknown[0], '')}"
    if "m" in letters and "d" in letters and not letters & {"M", "L"}:
        yield "'mm' are minutes: 'MM' is the month"
    if "D" in letters and letters & {"M", "L"}:
        yield "'DD' is the day of the year: 'dd' is that of the month"
    if letters & {"h", "K"} and "a" not in letters:
        yield "'hh' are hours of half a day, and there is no 'a' (AM or PM): 'HH' are those of a day"
    if "[" not in bare and (twice := [letter for letter in runs if runs.count(letter) > 1]):
        yield f"'{twice[0]}' stands in it twice"
