"""Law 1 over random histories: after each, every table is what DuckDB and plain Python make of what landed.

Here one lake goes through a chain of histories, after each of which some of the shapes are due: what a shape
has not seen lies behind it in many snapshots. In a soak (``make soak``) the chain goes on with histories that
are drawn, and others have a lake of their own, and are shrunk when they fail.
"""

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
from shapes import BY_NAME, with_inputs
from soaking import SOAK

from lakesmith import limits
from lakesmith.spark.start.session import SessionHandle

DRAWN = (Phase.explicit, Phase.generate)
RANDOM = 5
"""How many histories of the chain are drawn in a soak. The suite has those that are written out."""
PARTS = 5
"""A batch by keys takes a second: after each history one shape of so many is due."""

KINDS = (
    "silver.log", "silver.sizes", "gold.aggregates", "gold.sliding", "gold.log_by_hour", "gold.left_chain",
    "gold.few_of_both", "gold.three_of_a_city", "gold.running", "gold.in_all_orders", "gold.nested",
    "gold.never", "gold.so_often", "gold.regions", "gold.regions_of_customers", "gold.newest_of_any",
    "gold.small", "gold.past_of_customer", "silver.py_log", "gold.py_of_cities",
)  # fmt: skip
"""Shapes refreshed in a way of their own. ``test_rule_of_keys`` and soaks have the others too."""

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

    def __init__(self, root: Path, session: SessionHandle, names: Sequence[str], version: int = 3) -> None:
        self.shapes = [BY_NAME[name] for name in names]
        self.lake = Lake(root, session, self.shapes, version)
        self.histories: list[History] = []
        self.failed: Exception | None = None
        begin(self.lake)

    def go_through(self, history: History, *names: str) -> list[str]:
        """What is not right after the history, and all the histories that led there. ``names``: are due."""
        if self.failed is not None:
            raise self.failed
        part = [BY_NAME[name] for name in names] or self.shapes[len(self.histories) % PARTS :: PARTS]
        due = with_inputs(tuple(part))
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
        """Brings up to date what was disturbed, and all of them when some rows of everything have changed."""
        self.lake.run(self.lake.as_defined([shape for shape in shapes if shape.name in self.lake.loose]))
        for table, keys in KEYS.items():
            Land(table, tuple((key, 9000 + number) for number, key in enumerate(keys[::3]))).do(self.lake, ())
        self.lake.run(self.lake.as_defined(shapes))


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Chain:
    return Chain(tmp_path_factory.mktemp("histories") / "shop", session, KINDS)


LATE = Land("orders", ((1, 24), (2, 0), (3, 9), (5, 14), (5, 3), (7, 22)), 3)
DERIVED = (*KEYED, "silver.log", "gold.by_city", "gold.regions")


@settings(ALWAYS, max_examples=RANDOM, database=None, phases=DRAWN if SOAK else DRAWN[:1])
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
@example(
    (
        Land("orders", ((4, 12), (9, 3)), 2), Land("items"), WriteAbove("gold.by_city", "insert"),
        RollBack("silver.customers", 1, "below"), LandAgain("customers"),
        WriteBelow("items", "insert", "a", 7), WriteBelow("orders", "update", 7),
    )
)  # fmt: skip
@given(histories(DERIVED))
def test_a_chain_of_histories(chain: Chain, history: History) -> None:
    assert chain.go_through(history) == []


def test_at_its_end_a_column_comes(chain: Chain) -> None:
    last = (LandAgain("orders"), AddColumn(), RollBack("silver.orders"), Fail("before-publish", 1), LATE)
    assert chain.go_through(last) == []
    assert len(chain.histories) > (2 * PARTS if SOAK else PARTS), "some shapes were not due"


def test_every_shape_was_refreshed_by_what_it_is_said_to_be(chain: Chain) -> None:
    """Where no other strategy was possible. Shapes that were not refreshed so are due once more."""
    missing = [shape for shape in chain.lake.as_defined(chain.shapes) if not chain.has_seen(shape)]
    chain.go_on(missing)
    assert [shape.name for shape in missing if not chain.has_seen(shape)] == []


MAINTAINED = tuple(
    Maintain(table) for table in ("bronze.orders", "silver.orders", "silver.log", "gold.never")
)


def test_a_history_with_maintenance_in_between(chain: Chain) -> None:
    names = ("silver.log", "gold.aggregates", "gold.never")
    chain.lake.refreshed.pop("silver.log", None)
    maintained: History = (LATE, *MAINTAINED, Land("orders", ((11, 16),)), RollBack("silver.orders"))
    assert chain.go_through(maintained, *names) == []
    behind: History = (
        RunBelow(),
        LATE,
        RunBelow(),
        *MAINTAINED,
        WriteBelow("orders", "delete", 5),
        *MAINTAINED,
    )
    assert chain.go_through(behind, *names) == []
    assert {"append"} <= chain.lake.refreshed["silver.log"]


OF_VERSION_2 = ("gold.log_by_hour", "gold.aggregates", "gold.never", "gold.past_of_customer", "silver.log")
"""One shape of each strategy, due one after the other; the keyed tables below them are upserted."""


@pytest.fixture(scope="module")
def of_version_2(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Chain:
    return Chain(tmp_path_factory.mktemp("version_2") / "shop", session, OF_VERSION_2, version=2)


@pytest.mark.parametrize(
    "history",
    [
        (LATE, RollBack("silver.orders"), Compact("silver.customers"), Fail("after-data", 7), LATE),
        (
            LandAgain("orders"),
            WriteBelow("orders", "delete", 5),
            Compact("silver.orders"),
            Expire("silver.items"),
        ),
        (WriteBelow("orders", "update", 2), Compact("bronze.orders"), LATE, CompactWithin("after-data", 6)),
        (LATE, RollBack("bronze.orders"), AddColumn(), Fail("before-publish", 1)),
        (WriteBelow("orders", "update", 2), *MAINTAINED, LATE, RunBelow(), Maintain("bronze.orders"), LATE),
    ],
    ids=lambda history: " ".join(type(step).__name__ for step in history),
)
def test_a_history_of_tables_of_version_2(of_version_2: Chain, history: History) -> None:
    assert of_version_2.go_through(history) == []


def test_tables_of_version_2_once_more_from_where_all_of_that_has_left_them(of_version_2: Chain) -> None:
    last = (LATE, Land("customers", ((1, 30), (2, 31))))
    assert of_version_2.go_through(last, *OF_VERSION_2) == []


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
