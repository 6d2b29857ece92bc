"""``lakesmith up`` as a process, on a project that has nothing to do: it starts no Spark."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from intake_process import until

from forked import COMMAND, Forked, run
from lakesmith.errors import LakesmithError
from lakesmith.execute.events import BatchReport, RunResult
from lakesmith.serve.loop import Loop
from lakesmith.serve.options import Pace, UpOptions
from lakesmith.serve.state import is_alive, read_state
from lakesmith.serve.up import Abandoned, Up

PATIENCE = 60.0


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    for name, text in {
        "bronze/orders.yaml": "source: {files: {path: landing/, format: csv}}\ncolumns: {a: bigint}\n",
        "gold/sales.yaml": "query: SELECT a FROM bronze.orders\n"
        "schedule: {cron: 0 6 * * *, time_zone: Europe/Amsterdam}\n",
    }.items():
        (tmp_path / "tables" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tables" / name).write_text(text)
    (tmp_path / "landing").mkdir()
    return tmp_path


@pytest.fixture
def up(shop: Path) -> Iterator[Forked]:
    process = Forked(COMMAND, ["up", "--every", "0.2"], shop)
    until(lambda: (found := read_state(shop / ".lakesmith")) is not None and found.tables)
    yield process
    process.kill()
    process.wait()


def test_it_is_seen_ends_when_it_is_told_and_leaves_nothing_but_its_firings(shop: Path, up: Forked) -> None:
    said = json.loads(run("status", "--json", folder=shop).stdout)
    assert said["up"]["is_alive"] is True
    assert said["up"]["tables"]["gold.sales"]["schedule"] == "0 6 * * * Europe/Amsterdam"
    assert f"lakesmith up (process {up.pid}, " in run("status", folder=shop).stdout
    second = run("up", folder=shop)
    assert second.returncode == 1
    assert "LS701" in second.stderr

    up.send_signal(signal.SIGTERM)

    output = "".join(up.communicate(timeout=PATIENCE))
    assert up.returncode == 0, output
    assert "ended; all that was taken is kept" in output
    assert read_state(shop / ".lakesmith") is None
    assert json.loads((shop / ".lakesmith" / "schedule.json").read_text()).keys() == {"gold.sales"}
    assert json.loads(run("status", "--json", folder=shop).stdout)["up"] is None


def test_one_that_was_killed_is_told_as_such(shop: Path, up: Forked) -> None:
    up.kill()
    up.wait()

    said = run("status", folder=shop)
    assert f"lakesmith up is not running: process {up.pid} ended without a word" in said.stdout
    found = read_state(shop / ".lakesmith")
    assert found is not None
    assert not is_alive(found)


def test_a_project_that_is_broken_meanwhile_is_told_and_read_again(shop: Path, up: Forked) -> None:
    def problem() -> object:
        found = read_state(shop / ".lakesmith")
        return found is not None and found.problem

    right = (shop / "tables/bronze/orders.yaml").read_text()
    (shop / "tables/bronze/orders.yaml").write_text("sauce: 1\n")
    until(problem)
    (shop / "tables/bronze/orders.yaml").write_text(right)
    until(lambda: not problem())
    assert up.poll() is None


def test_a_second_signal_gives_up_only_what_is_under_way(shop: Path) -> None:
    up = Up(UpOptions(shop), observer=None, open_lake=None)  # type: ignore[arg-type]
    up.stop()
    up.stop()

    up._loop = Loop(None, None, Quiet(), None, shop)  # type: ignore[arg-type]
    up.stop()
    up._loop.is_running = True
    with pytest.raises(Abandoned):
        up.stop()


def test_one_that_is_stopped_still_lives(shop: Path, up: Forked) -> None:
    os.kill(up.pid, signal.SIGSTOP)
    found = read_state(shop / ".lakesmith")
    assert found is not None
    assert is_alive(found)
    os.kill(up.pid, signal.SIGCONT)


class IdleLake:
    """A Lakehouse that finds nothing to do, and remembers what it was asked."""

    runs: ClassVar[list[tuple[str, ...]]] = []
    lost_spark = False

    def run(self, *select: str, on_event: object = None) -> RunResult:
        self.runs.append(select)
        return RunResult({}, dict.fromkeys(select, "nothing"), {}, (), 0.1, 0)

    def close(self) -> None:
        pass


class Quiet:
    """Nobody listens."""

    def notice(self, text: str) -> None:
        pass

    def on_batch(self, name: str, report: BatchReport) -> None:
        pass

    def on_run(self, result: RunResult) -> None:
        pass

    def on_problems(self, error: LakesmithError) -> None:
        pass


@pytest.fixture
def idle(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, ...]]]:
    """An ``up`` in this process that looks at everything once alone; its runs."""
    monkeypatch.setattr(IdleLake, "runs", [])
    up = Up(UpOptions(shop, pace=Pace(every=1e9)), Quiet(), lambda _lost: IdleLake())
    thread = threading.Thread(target=up.keep)
    thread.start()
    until(lambda: IdleLake.runs)
    yield IdleLake.runs
    up.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_file_that_arrives_begins_a_run_of_its_table(shop: Path, idle: list[tuple[str, ...]]) -> None:
    pytest.importorskip("watchfiles")
    assert idle == [("bronze.orders",)]

    numbers = iter(range(10**6))

    def another() -> bool:
        (shop / f"landing/{next(numbers)}.csv").write_text("a\n1\n")
        time.sleep(0.5)
        return len(idle) > 1

    until(another)
    assert set(idle) == {("bronze.orders",)}


def test_a_project_that_changes_is_read_at_once(shop: Path, idle: list[tuple[str, ...]]) -> None:
    pytest.importorskip("watchfiles")
    numbers = iter(range(10**6))

    def another() -> bool:
        (shop / "tables/gold/more.yaml").write_text(
            f"query: SELECT {next(numbers)} AS a\nschedule: on arrival\n"
        )
        time.sleep(0.5)
        return ("bronze.orders", "gold.more") in idle

    until(another)
