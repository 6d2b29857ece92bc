"""Two machines run one project on one target while files land, and one of them is killed.

At the end every row that landed is in each table once, whatever died where. With a lease the other one waits
until it runs out; without, both are at the same work at once, which the compare-and-swap of each publish
settles. The suite has one kill, a soak draws some on each catalog.
"""

import random
import time
from pathlib import Path

import places
import pytest
from machines import TABLES, Machines
from processes import RunProcess
from soaking import SOAK, chosen

import postgres_server
import rest_server
import s3_server

pytestmark = pytest.mark.release

LEASE, NO_LEASE = "6", "0"
ENDS = (
    "after-lock:kill", "after-intent@bronze.orders:killboth", "after-branch@bronze.orders:kill",
    "after-branch@silver.newest:killjvm", "after-merge@silver.newest:killboth",
    "before-publish@bronze.orders:killboth", "before-publish@silver.newest:kill",
    "before-swap@bronze.orders:killboth", "before-swap@silver.newest:killboth/5",
    "before-swap@silver.newest:killboth/20", "before-swap@silver.lines:kill/50",
    "before-swap@gold.sums:killjvm/10", "after-publish@bronze.orders:killboth",
    "after-publish@silver.newest:killboth", "after-publish@gold.sums:kill",
)  # fmt: skip
"""Where one of the two is killed: before, in and after the publish, with its JVM, before it or without it."""
DRAWN = 5
"""So many of them in each history of a soak: half a minute each."""
ALWAYS = "before-swap@bronze.orders:killboth/5"


@pytest.fixture(params=chosen([places.REST, places.GLUE, places.JDBC], places.REST))
def place(
    request: pytest.FixtureRequest, s3: s3_server.Server, monkeypatch: pytest.MonkeyPatch
) -> places.Place:
    """Each shared catalog in a soak, and one in the suite."""
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    if request.param == places.GLUE:
        return places.in_glue(s3)
    if request.param == places.REST:
        rest: rest_server.Server = request.getfixturevalue("rest")
        return places.on_rest(rest, s3)
    postgres: postgres_server.Server = request.getfixturevalue("jdbc")
    return places.in_postgres(postgres, s3)


@pytest.fixture
def machines(tmp_path: Path, place: places.Place) -> Machines:
    return Machines(tmp_path, place)


def test_who_waits_takes_over_from_one_that_is_killed(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Long enough for the second machine to start before the lease of the killed one ends.
    monkeypatch.setenv("TEST_LEASE_SECONDS", "20")
    machines.land()
    with machines.start("one", fault=ALWAYS) as one:
        machines.wait_for_a_holder()
        machines.land()
        with machines.start("two") as two:
            assert one.end().code == -9
            ended = two.end()
    assert ended.code == 0, ended.output
    assert "the project is in use by" in ended.output
    machines.check()


@pytest.mark.skipif(not SOAK, reason="minutes: kills, one after the other")
@pytest.mark.parametrize("lease", [LEASE, NO_LEASE], ids=["lease", "no lease"])
def test_two_that_are_killed_again_and_again(
    machines: Machines, lease: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_LEASE_SECONDS", lease)
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    told = [f"seed {seed}"]
    for fault in chance.sample(ENDS, DRAWN):
        machines.land()
        with machines.start("one", fault=fault) as one:
            time.sleep(chance.uniform(0, 8))
            machines.land()
            with machines.start("two") as two:
                _ended(one, two, fault, told)
    machines.land()
    last = machines.run("two")
    assert last.code == 0, "\n".join([*told, last.output])
    machines.check()
    assert all(machines.chain(name)[0] == 1 for name in TABLES)
    verified = machines.run("two", "verify")
    assert verified.code == 0, verified.output


def _ended(one: RunProcess, two: RunProcess, fault: str, told: list[str]) -> None:
    """Both have ended, the surviving one well. (The killed one may have had nothing left to do.)"""
    first, second = one.end(), two.end()
    told.append(f"--- {fault}: {first.code}\n{first.output}\n--- the other: {second.code}\n{second.output}")
    assert first.code in (0, 1, -9), "\n".join(told)
    assert second.code == 0, "\n".join(told)
