"""How much of the random or slow tests runs: a little in the suite, far more in a soak (``make soak``)."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

SOAK = int(os.environ.get("LAKESMITH_SOAK", "0"))
"""How many histories a soak draws; 0: this is the suite."""

Case = TypeVar("Case")


def seeds(first: int) -> list[int]:
    """Returns the seed of the suite's history, in a soak as many more as it draws. Tests are named by it."""
    return [first, *(random.randrange(10**9) for _ in range(SOAK))]


def chosen(cases: Sequence[Case], *suite: Case) -> Sequence[Case]:
    """All cases in a soak, and in the suite those that it is to have."""
    assert set(suite) <= set(cases)  # type: ignore[call-overload]
    return cases if SOAK else suite
