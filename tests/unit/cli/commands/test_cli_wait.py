"""Commands that change a lake and are not runs: they wait for others as runs do, where they are told to."""

import threading
from pathlib import Path

import pytest
from lake import IcebergLake
from shop import Cli

from lakesmith.catalog.lock import ProjectLock


@pytest.fixture
def lake(tmp_path: Path) -> IcebergLake:
    lake = IcebergLake(tmp_path / "shop")
    lake.take(1)
    return lake


def test_one_that_finds_a_run_at_work_says_so_at_once(cli: Cli, lake: IcebergLake) -> None:
    with ProjectLock(lake.root / ".lakesmith", "run"):
        said = cli("release", "bronze.orders", "--project", lake.root)
    assert (said.code, said.err.partition(" ")[0]) == (1, "LS701")


def test_one_that_is_told_to_wait_comes_after_it(cli: Cli, lake: IcebergLake) -> None:
    with ProjectLock(lake.root / ".lakesmith", "run") as lock:
        over = threading.Timer(0.5, lock.__exit__, (None, None, None))
        over.start()
        said = cli("release", "bronze.orders", "--wait", "60", "--project", lake.root)
        over.join()
        lock.__enter__()
    assert (said.code, said.out.strip()) == (0, "bronze.orders was not held")
    assert said.err.startswith("waiting: the project is in use by 'run' on ")


@pytest.mark.parametrize("command", ["rollback", "release", "tag", "untag", "erase", "run"])
def test_all_of_them_can_wait(cli: Cli, command: str) -> None:
    assert "--wait" in cli(command, "--help").out
