"""Law 1 over random histories: after each, every table is what DuckDB and plain Python make of what landed.

Here one lake goes through a chain of histories, after each of which some of the shapes are due: what a shape
has not seen lies behind it in many snapshots. In a soak (``make soak``) each history has a lake of its own,
and is shrunk when it fails.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from harness import refresh_by_keys
from histories import (
    AddColumn,
    Compact,
    CompactWithin,
    Edit,
    EditKeyed,
    Expire,
    Fail,
    History,
    Land,
    LandAgain,
    Maintain,
    RollBack,
    RunBelow,
    WriteAbove,
    WriteBelow,
    begin,
    by_steps,
    histories,
    play,
)
from history_lake import Lake
from history_rows import KEYS, Newest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from shape import Shape
from shapes import BY_NAME, SHAPES, with_inputs
from soaking import SOAK

import turns
from lakesmith import limits
from lakesmith.spark.start.session import SessionHandle

HISTORIES = 10
"""How many the chain of the suite has, before its last step."""
PARTS = 5
"""A batch by keys takes a second: after each history of the suite one shape of so many is due."""

KINDS = (
    "silver.log", "silver.sizes", "silver.py_log", "gold.aggregates", "gold.sliding", "gold.log_by_hour",
    "gold.left_chain", "gold.three_of_a_city", "gold.few_of_both", "gold.running", "gold.never",
    "gold.so_often", "gold.nested", "gold.regions", "gold.regions_of_customers", "gold.in_all_orders",
    "gold.newest_of_any", "gold.small", "gold.past_of_customer", "gold.py_of_cities",
)  # fmt: skip
"""Shapes refreshed in a way of their own. ``test_rule_of_keys`` and soaks have the others too."""
PART = os.environ.get("LAKESMITH_PART", turns.ALL)
DUE = KINDS if PART == turns.ALL else KINDS[int(PART) % 4 :: 4]
"""A quarter of them goes through the histories of one commit."""
SUITE = tuple(shape for shape in SHAPES if shape.name in DUE)

KEYED = ("silver.orders", "silver.customers", "silver.items")
ALWAYS = settings(deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@pytest.fixture(scope="module", autouse=True)
def _by_keys() -> Iterator[None]:
    """Small tables are refreshed by keys too, where large ones are, however much of them changes."""
    with pytest.MonkeyPatch.context() as patch:
        refresh_by_keys(patch)
        yield
        limit_keys(LIMITS[0])


@dataclass(frozen=True)
class Limits:
    """How many keys are looked at, how many of these are listed, how many intervals stand for more."""

    looked_at: int = limits.KEYS_LOOKED_AT_UP_TO
    listed: int = limits.KEY_VALUES_IN_A_CONDITION
    intervals: int = limits.KEY_INTERVALS_IN_A_CONDITION


LIMITS = (Limits(), Limits(listed=1, intervals=2), Limits(looked_at=2))
"""As for thousands of keys, and for tens of thousands."""


def limit_keys(told: Limits) -> None:
    """Has few keys told as many are."""
    settings = {
        "KEYS_LOOKED_AT_UP_TO": told.looked_at,
        "KEY_VALUES_IN_A_CONDITION": told.listed,
        "KEY_INTERVALS_IN_A_CONDITION": told.intervals,
    }
    for name, value in settings.items():
        setattr(limits, name, value)


class Chain:
    """One lake and the histories it went through. After a failure it fails again: the lake is broken."""

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
        limit_keys(LIMITS[len(self.histories) % len(LIMITS)])
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

    def has_seen(self, shape: Shape) -> bool:
        """Whether a shape was refreshed as it has to be, where it could not have been otherwise."""
        return bool(shape.kinds & self.lake.refreshed.get(shape.name, set()))

    def go_on(self, shapes: Sequence[Shape]) -> None:
        """Brings them up to date, and once more when some rows of everything have changed."""
        due = self.lake.as_defined(shapes)
        self.lake.run(due)
        for table, keys in KEYS.items():
            Land(table, tuple((key, 9000 + number) for number, key in enumerate(keys[::3]))).do(self.lake, ())
        self.lake.run(due)


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
@example(
    (
        LATE, RollBack("silver.orders"), Compact("silver.customers"), Fail("after-data", 8),
        Edit(3, "gold.large"),
    )
)  # fmt: skip
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
        WriteAbove("silver.orders", "delete"), RunBelow(), LATE, RollBack("bronze.orders"),
        CompactWithin("after-data", 9),
    )
)  # fmt: skip
@example(
    (
        Land("orders", ((11, 16),)),
        EditKeyed("items", Newest(deletes=False, filtered=True)),
        Fail("after-data", 16),
        WriteBelow("orders", "delete", 11),
    )
)
@given(histories(DERIVED))
def test_a_chain_of_histories(chain: Chain, history: History) -> None:
    assert chain.go_through(history) == []


@pytest.mark.skipif(SOAK > 0, reason="the soak makes a lake for each history")
def test_at_its_end_a_column_comes(chain: Chain) -> None:
    last = (LandAgain("orders"), AddColumn(), RollBack("silver.orders"), Fail("before-publish", 3), LATE)
    assert chain.go_through(last) == []
    assert len(chain.histories) >= 2 * PARTS, "some shapes were not due twice"


@pytest.mark.skipif(SOAK > 0, reason="the soak makes a lake for each history")
def test_every_shape_was_refreshed_by_what_it_is_said_to_be(chain: Chain) -> None:
    """Where no other strategy was possible. Shapes that were not refreshed so are due once more."""
    missing = [shape for shape in chain.lake.as_defined(SUITE) if not chain.has_seen(shape)]
    chain.go_on(missing)
    assert [shape.name for shape in missing if not chain.has_seen(shape)] == []


MAINTAINED = tuple(
    Maintain(table) for table in ("bronze.orders", "silver.orders", "silver.log", "gold.never")
)


@pytest.mark.in_turn
@pytest.mark.skipif(SOAK > 0, reason="the soak draws it, too")
def test_a_history_with_maintenance_in_between(tmp_path: Path, session: SessionHandle) -> None:
    shapes = [BY_NAME[name] for name in ("silver.log", "gold.aggregates", "gold.never")]
    lake = Lake(tmp_path / "shop", session, shapes)
    begin(lake)
    assert (
        play(lake, (LATE, *MAINTAINED, Land("orders", ((11, 16),)), RollBack("silver.orders")), lake.shapes)
        == []
    )
    behind = (RunBelow(), LATE, RunBelow(), *MAINTAINED, WriteBelow("orders", "delete", 5), *MAINTAINED)
    assert play(lake, behind, lake.shapes) == []
    assert {"append"} <= lake.refreshed["silver.log"]


OF_VERSION_2 = ("silver.log", "gold.aggregates", "gold.log_by_hour", "gold.never", "gold.past_of_customer")
"""One shape of each strategy; the keyed tables below them are upserted."""


@pytest.mark.in_turn
@pytest.mark.skipif(SOAK > 0, reason="the soak draws the version, too")
@pytest.mark.parametrize(
    "history",
    [
        (LATE, RollBack("silver.orders"), Compact("silver.customers"), Fail("after-data", 8), LATE),
        (
            LandAgain("orders"),
            WriteBelow("orders", "delete", 5),
            Compact("silver.orders"),
            Expire("silver.items"),
        ),
        (WriteBelow("orders", "update", 2), Compact("bronze.orders"), LATE, CompactWithin("after-data", 9)),
        (LATE, RollBack("bronze.orders"), AddColumn(), Fail("before-publish", 3)),
        (WriteBelow("orders", "update", 2), *MAINTAINED, LATE, RunBelow(), Maintain("bronze.orders"), LATE),
    ],
    ids=lambda history: " ".join(type(step).__name__ for step in history),
)
def test_a_history_of_tables_of_version_2(tmp_path: Path, session: SessionHandle, history: History) -> None:
    lake = Lake(tmp_path / "shop", session, [BY_NAME[name] for name in OF_VERSION_2], format_version=2)
    begin(lake)
    assert play(lake, history, lake.shapes) == []
    # Once more, from where all of that has left it.
    assert play(lake, (LATE, Land("customers", ((1, 30), (2, 31)))), lake.shapes) == []


@pytest.mark.skipif(not SOAK, reason="a soak: LAKESMITH_SOAK says how many histories")
@settings(ALWAYS, max_examples=SOAK or 1)
@given(
    names=st.lists(st.sampled_from(list(BY_NAME)), min_size=1, max_size=6, unique=True),
    told=st.sampled_from(LIMITS),
    format_version=st.sampled_from((3, 3, 2)),
    rounds=st.lists(
        st.tuples(histories(DERIVED, st.builds(AddColumn)), st.booleans()), min_size=1, max_size=4
    ),
)
def test_any_history_of_a_lake_of_its_own(
    session: SessionHandle,
    names: list[str],
    told: Limits,
    format_version: int,
    rounds: list[tuple[History, bool]],
) -> None:
    limit_keys(told)
    with tempfile.TemporaryDirectory(prefix="lakesmith-soak-") as folder:
        lake = Lake(Path(folder) / "shop", session, [BY_NAME[name] for name in names], format_version)
        begin(lake)
        for history in (part for drawn in rounds for part in by_steps(*drawn)):
            assert play(lake, history, lake.shapes) == []
