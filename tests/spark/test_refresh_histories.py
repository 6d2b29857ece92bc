"""Law 1 over random histories: after each, every table is what DuckDB and plain Python make of what landed.

Here one lake goes through a chain of histories, after each of which some of the shapes are due: what a shape has not seen
lies behind it in many snapshots. In a soak (``make soak``) each history has a lake of its own, and is shrunk when it fails.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from histories import (
    AddColumn,
    Compact,
    CompactWithin,
    Expire,
    Fail,
    History,
    Land,
    LandAgain,
    RollBack,
    RunBelow,
    WriteAbove,
    WriteBelow,
    begin,
    histories,
    play,
)
from history_lake import Lake
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from shapes import BY_NAME, SHAPES, with_inputs

from lakesmith.plan import planner
from lakesmith.spark import touched_keys

if TYPE_CHECKING:
    from lakesmith.spark.session import SessionHandle

pytestmark = pytest.mark.spark

SOAK = int(os.environ.get("LAKESMITH_SOAK", "0"))
HISTORIES = 10
"""How many the chain of the suite has, before its last step."""
PARTS = 5
"""A batch by keys takes a second whatever its size: after each history of the suite one shape of so many is due."""

ALIKE = frozenset(
    f"gold.{name}"
    for name in ("by_nothing_known", "by_expression", "by_size", "by_amount",
                 "collected", "frequent", "large", "shares", "dearest", "unnamed", "by_hour", "tumbling",
                 "joined", "enriched_sums", "implicitly_joined", "without_orders", "joined_using", "of_nobody",
                 "both", "kinds", "plain", "ids_twice", "ever", "listed", "pairs", "distinct_items", "two_partitions",
                 "sizes_again", "window_ends", "dated", "right_joined", "two_ranks", "by_category", "left_counted")
)  # fmt: skip
"""Shapes that are refreshed as others of the suite are: they are taken in soaks alone."""
SUITE = tuple(shape for shape in SHAPES if shape.name not in ALIKE)

KEYED = ("silver.orders", "silver.customers", "silver.items")
ALWAYS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@pytest.fixture(scope="module", autouse=True)
def _by_keys() -> Iterator[None]:
    """Small tables are refreshed by keys too, where large ones are, however much of them changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "WORTH_KEYS_BYTES", 0)
        patch.setattr(touched_keys, "MOST_TOUCHED", float("inf"))
        yield


class Chain:
    """One lake and the histories it went through. What failed once fails again: the lake is not what it was before."""

    def __init__(self, root: Path, session: SessionHandle) -> None:
        self.lake = Lake(root, session, SUITE)
        self.histories: list[History] = []
        self.failed: Exception | None = None
        begin(self.lake)

    def go_through(self, history: History) -> list[str]:
        """What is not right after the history, and all the histories that led there."""
        if self.failed is not None:
            raise self.failed
        due = with_inputs(SUITE[len(self.histories) % PARTS :: PARTS])
        self.histories.append(history)
        led = "after these histories:\n" + "\n".join(map(str, self.histories))
        try:
            wrong = play(self.lake, history, due)
        except Exception as error:
            self.failed = error
            error.add_note(led)
            raise
        if wrong:
            self.failed = AssertionError("\n".join([*wrong, led]))
            wrong.append(led)
        return wrong


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Chain:
    return Chain(tmp_path_factory.mktemp("histories") / "shop", session)


LATE = Land("orders", ((1, 24), (2, 0), (3, 9), (5, 14), (5, 3), (7, 22)), 3)
DERIVED = (*KEYED, "silver.log", "gold.by_city", "gold.regions")
RANDOM = HISTORIES - 5
"""How many histories of the chain are drawn."""


@pytest.mark.skipif(SOAK > 0, reason="the soak makes a lake for each history")
@settings(
    ALWAYS, max_examples=RANDOM, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)
@example((LATE, RollBack("silver.orders"), Compact("silver.customers"), Fail("after-data", 8)))
@example(
    (
        LandAgain("orders"),
        WriteBelow("customers", "update", 2),
        Compact("silver.orders"),
        Expire("silver.items"),
    )
)
@example(
    (
        WriteAbove("silver.orders", "delete"),
        RunBelow(),
        LATE,
        RollBack("bronze.orders"),
        CompactWithin("after-data", 9),
    )
)
@example((Land("orders", ((11, 16),)), Fail("after-data", 16), WriteBelow("orders", "delete", 11)))
@given(histories(DERIVED))
def test_a_chain_of_histories(chain: Chain, history: History) -> None:
    assert chain.go_through(history) == []


@pytest.mark.skipif(SOAK > 0, reason="the soak makes a lake for each history")
def test_at_its_end_a_column_comes(chain: Chain) -> None:
    last = (LandAgain("orders"), AddColumn(), RollBack("silver.orders"), Fail("before-publish", 3), LATE)
    assert chain.go_through(last) == []
    assert len(chain.histories) >= 2 * PARTS, "some shapes were not due twice"


@pytest.mark.skipif(not SOAK, reason="a soak: LAKESMITH_SOAK says how many histories")
@settings(ALWAYS, max_examples=SOAK or 1)
@given(
    names=st.lists(st.sampled_from(list(BY_NAME)), min_size=1, max_size=6, unique=True),
    rounds=st.lists(histories(DERIVED, st.builds(AddColumn)), min_size=1, max_size=4),
)
def test_any_history_of_a_lake_of_its_own(
    session: SessionHandle, names: list[str], rounds: list[History]
) -> None:
    with tempfile.TemporaryDirectory(prefix="lakesmith-soak-") as folder:
        lake = Lake(Path(folder) / "shop", session, [BY_NAME[name] for name in names])
        begin(lake)
        for history in rounds:
            assert play(lake, history, lake.shapes) == []
