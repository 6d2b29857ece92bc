"""How much of the random or slow tests runs: a little in the suite, far more in a soak (``make soak``)."""

import os
import random
from collections.abc import Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

SOAK = int(os.environ.get("LAKESMITH_SOAK", "0"))
"""How many histories a soak draws; 0: this is the suite."""

Case = TypeVar("Case")


def seeds(first: int) -> list[int]:
    """Returns the seed of the suite's history, in a soak as many more as it draws. Tests are named by it."""
    return [first, *(random.randrange(10**9) for _ in range(SOAK))]


def chosen(cases: Iterable[Case], *suite: Case) -> list[ParameterSet]:
    """All cases, those that are not the suite's short cut marked so. Raises ValueError if it has others."""
    every = list(cases)
    if unknown := [case for case in suite if case not in every]:
        raise ValueError(f"no such cases: {unknown}")
    return [pytest.param(case, marks=[] if case in suite else pytest.mark.release) for case in every]
