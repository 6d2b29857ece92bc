"""Executors and drivers killed during a batch on a cluster: after the next run each row is there once."""

import random
import signal
import time
from collections.abc import Iterator

import places
import pytest
from machines import TABLES, Machines
from processes import RunProcess, kill, status, wait_until

import rest_server
import s3_server
import spark_cluster_server

# A cluster on one machine takes minutes.
pytestmark = pytest.mark.release

LEASE = "6"
MANY = 30_000
"""Orders in a file whose tasks take a while."""
BETWEEN = ("after-data@bronze.orders", "after-merge@silver.newest", "after-merge@gold.sums")
"""Where all executors go, with all frames that were kept on them and all that was shuffled."""
ENDS = (
    "after-intent@bronze.orders:kill",
    "before-swap@bronze.orders:killboth/5",
    "before-publish@silver.newest:kill",
    "before-swap@gold.sums:killjvm",
)
"""Where the driver goes: its Python, its JVM or both."""


@pytest.fixture(scope="module")
def machines(
    tmp_path_factory: pytest.TempPathFactory,
    cluster: spark_cluster_server.Cluster,
    rest: rest_server.Server,
    s3: s3_server.Server,
) -> Iterator[Machines]:
    """A project that has run once; each case goes on with what the one before has left."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**s3.environ, "TEST_LEASE_SECONDS": LEASE}.items():
            patch.setenv(name, value)
        made = Machines(tmp_path_factory.mktemp("killed"), places.on_rest(rest, s3), cluster.conf)
        made.land()
        _well(made)
        yield made


@pytest.mark.parametrize("point", BETWEEN)
def test_executors_that_are_killed_between_the_steps_of_a_batch(
    machines: Machines, cluster: spark_cluster_server.Cluster, point: str
) -> None:
    machines.land()
    with machines.start("one", fault=f"{point}:stop") as run:
        wait_until(lambda: status(run.pid) in "TZ", f"the run is at {point}")
        running = cluster.executors()
        assert running, "it has executors there"
        for pid in running:
            kill(pid)
        kill(run.pid, signal.SIGCONT)
        _ended_or_told(run)
    _well(machines)
    machines.check()


@pytest.mark.parametrize("fault", ENDS)
def test_a_driver_that_is_killed(machines: Machines, fault: str) -> None:
    machines.land()
    with machines.start("one", fault=fault) as run:
        ended = run.end()
    assert ended.code == (1 if "killjvm" in fault else -9), ended.output
    _well(machines)
    machines.check()


def test_executors_that_are_killed_while_their_tasks_run(
    machines: Machines, cluster: spark_cluster_server.Cluster
) -> None:
    machines.land(MANY)
    with machines.start("one") as run:
        assert _kill_now_and_then(run, cluster), "there were tasks to be killed"
        _ended_or_told(run)
    _well(machines)
    machines.check()


def test_what_is_there_after_all_of_it(machines: Machines) -> None:
    assert all(machines.chain(name)[0] == 1 for name in TABLES)
    verified = machines.run("one", "verify")
    assert verified.code == 0, verified.output


def _kill_now_and_then(run: RunProcess, cluster: spark_cluster_server.Cluster) -> int:
    """Kills an executor every few seconds while the run goes on. Returns how many (the master allows ten)."""
    chance, killed = random.Random(), 0
    for _ in range(5):
        wait_until(
            lambda: bool(cluster.executors()) or run.process.poll() is not None, "there is an executor"
        )
        time.sleep(chance.uniform(3, 8))
        for pid in cluster.executors()[:1]:
            kill(pid)
            killed += 1
    return killed


def _ended_or_told(run: RunProcess) -> None:
    """A run that lost executors ends well, or says what happened."""
    ended = run.end()
    assert ended.code in (0, 1), ended.output
    assert "Traceback" not in ended.output


def _well(machines: Machines) -> None:
    ended = machines.run("one")
    assert ended.code == 0, ended.output
