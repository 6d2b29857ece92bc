"""Spark kept warm by a command in a terminal: the next one has it; losing it costs a cold start at most."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from processes import Ended, RunProcess, is_gone, kill, wait_until
from read_elsewhere import catalog_of
from soaking import chosen

from lakesmith.spark.start.resident import socket_of
from lakesmith.spark.start.session_folder import living_folders, new_session_folder

FILES = {
    "lakesmith.yaml": "name: shop\n",
    "tables/bronze/orders.yaml": "source: {files: {path: landing/, format: csv}}\ncolumns: {id: bigint}\n",
    "tables/silver/orders.sql": "SELECT id, id * 2 AS twice FROM bronze.orders",
}
MAIN = (sys.executable, "-c", "from lakesmith.cli.main import main; main()")


class Shop:
    """A project, whose commands are typed in a terminal or called by a program."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.socket = socket_of(root, "local")

    def lets_be_erased(self) -> None:
        path = self.root / "tables/bronze/orders.yaml"
        path.write_text(path.read_text().replace("format: csv", "format: csv, on_erase: rewrite"))

    def land(self, *numbers: int) -> None:
        path = self.root / f"landing/{numbers[0]:05}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("id\n" + "".join(f"{number}\n" for number in numbers))

    def typed(self, *words: str, **more: str) -> Ended:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*MAIN, *words], cwd=self.root, env=environment(more), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        said = b""
        with suppress(OSError):  # how Linux tells the end of a terminal
            while part := os.read(ours, 65536):
                said += part
        os.close(ours)
        return Ended(process.wait(), said.decode())

    def called(self, *words: str, **more: str) -> Ended:
        done = subprocess.run(
            [*MAIN, *words],
            cwd=self.root,
            env=environment(more),
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        return Ended(done.returncode, done.stdout + done.stderr)

    def jvm(self) -> int:
        """The JVM that is kept: it has the log of this project's Spark open."""
        (found,) = jvms_of(self.root)
        return found

    def has(self, count: int) -> bool:
        """Whether silver has so many rows; False before there is such a table."""
        try:
            return len(self.rows("silver.orders")) == count
        except Exception:  # noqa: BLE001 - whatever is not there yet
            return False

    def rows(self, table: str) -> list[int]:
        found = catalog_of(self.root).load_table(table).scan().to_arrow()
        return sorted(found.column("id").to_pylist())


def environment(more: dict[str, str]) -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name != "CI"}, **more}


def jvms_of(root: Path) -> list[int]:
    """The JVMs that have the log of the project's Spark open, without what one has forked right now."""
    log = root / ".lakesmith/logs/spark.log"
    found = [folder for folder in Path("/proc").glob("[0-9]*") if _is_java_of(folder, log)]
    names = {folder.name for folder in found}
    return [int(folder.name) for folder in found if _parent(folder) not in names]


def _parent(folder: Path) -> str:
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return ""


def _is_java_of(folder: Path, log: Path) -> bool:
    try:
        is_java = b"SparkSubmit" in (folder / "cmdline").read_bytes()
        return is_java and (folder / "fd/1").readlink() == log and not is_gone(int(folder.name))
    except OSError:
        return False


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path / "shop")
    yield shop
    shop.called("stop")
    wait_until(lambda: not shop.socket.exists(), "the keeper has gone", 20)


@pytest.mark.release
def test_a_day_of_a_warm_spark(shop: Shop) -> None:
    shop.land(1, 2)
    first = shop.typed("run")
    assert first.code == 0, first.output
    assert "Spark stays warm for 10 min" in first.output
    wait_until(shop.socket.exists, "the keeper is there", 20)
    assert shop.socket.stat().st_mode & 0o777 == 0o600
    assert shop.socket.parent.stat().st_mode & 0o077 == 0
    jvm = shop.jvm()

    # Commands have it, whoever gives them; nothing of one is seen by the next.
    shop.land(3)
    second = shop.called("run")
    assert second.code == 0, second.output
    assert shop.rows("silver.orders") == [1, 2, 3]
    asked = shop.typed("query", "SELECT sum(twice) AS s FROM silver.orders")
    assert asked.code == 0 and "12" in asked.output, asked.output
    assert shop.called("verify").code == 0
    assert shop.jvm() == jvm

    # A command in another environment starts its own, and says why.
    shop.land(4)
    differs = shop.called("run", SOMETHING="else")
    assert differs.code == 0, differs.output
    assert "the environment is not what it was started with" in differs.output

    # A run that dies takes it along: what it had begun must not be published later.
    shop.land(5)
    died = shop.called("run", LAKESMITH_FAULT="after-data@silver.orders:kill")
    assert died.code == -9
    wait_until(lambda: is_gone(jvm), "the JVM of a run that was killed ends", 20)
    wait_until(lambda: not shop.socket.exists(), "so does its keeper", 20)
    cold = shop.called("run")
    assert cold.code == 0, cold.output
    assert shop.rows("bronze.orders") == shop.rows("silver.orders") == [1, 2, 3, 4, 5]
    assert not shop.socket.exists(), "nobody watches: none is left"


@pytest.mark.parametrize("victim", chosen(["jvm", "keeper"], "jvm"))
def test_one_that_was_killed_costs_a_cold_start(shop: Shop, victim: str) -> None:
    shop.land(1)
    assert shop.typed("run").code == 0
    wait_until(shop.socket.exists, "the keeper is there", 20)
    jvm = shop.jvm()
    (keeper,) = [
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if folder.name != str(os.getpid()) and _is_keeper(folder)
    ]
    kill(jvm if victim == "jvm" else keeper)
    wait_until(lambda: is_gone(jvm), "the JVM ends", 20)
    shop.land(2)
    cold = shop.called("run")
    assert cold.code == 0, cold.output
    assert shop.rows("silver.orders") == [1, 2]
    if victim == "jvm":
        wait_until(lambda: is_gone(keeper), "the keeper of a dead JVM ends", 20)


def _is_keeper(folder: Path) -> bool:
    try:
        return b"keeper.py" in (folder / "cmdline").read_bytes() and not is_gone(int(folder.name))
    except OSError:
        return False


@pytest.mark.release
def test_stop_and_what_leaves_none(shop: Shop) -> None:
    shop.land(1)
    assert "no Spark was left warm" in shop.called("stop").output
    assert shop.called("run").code == 0
    assert not shop.socket.exists()
    shop.land(2)
    assert shop.typed("run", CI="true").code == 0
    assert not shop.socket.exists()
    shop.land(3)
    assert shop.typed("run").code == 0
    wait_until(shop.socket.exists, "the keeper is there", 20)
    jvm = shop.jvm()
    assert "Spark has ended" in shop.called("stop").output
    wait_until(lambda: is_gone(jvm), "the JVM ends", 20)


@pytest.mark.release
def test_a_declared_time_counts_without_a_terminal(shop: Shop) -> None:
    engine = "targets: {local: {engine: {keep_warm: 2 minutes}}, other: {}}\ndefault_target: local\n"
    (shop.root / "lakesmith.yaml").write_text(FILES["lakesmith.yaml"] + engine)
    shop.land(1)
    assert shop.called("run", CI="true").code == 0
    assert not shop.socket.exists()
    shop.land(2)
    first = shop.called("run", INVOCATION_ID="1", JOURNAL_STREAM="8:1")
    assert "Spark stays warm for 2 min" in first.output
    wait_until(shop.socket.exists, "the keeper is there", 20)
    jvm = shop.jvm()
    shop.land(3)
    second = shop.called("run", INVOCATION_ID="2", JOURNAL_STREAM="8:2")
    assert (second.code, shop.jvm()) == (0, jvm), second.output
    assert "starts its own" not in second.output
    assert shop.rows("silver.orders") == [1, 2, 3]


@pytest.mark.release
def test_an_erasure_ends_it_and_leaves_none(shop: Shop) -> None:
    shop.lets_be_erased()
    shop.land(1, 2)
    assert shop.typed("run").code == 0
    wait_until(shop.socket.exists, "the keeper is there", 20)
    jvm = shop.jvm()
    erased = shop.typed("erase", "silver.orders", "--where", "id = 1", "--yes")
    assert erased.code == 0, erased.output
    assert is_gone(jvm)
    assert not shop.socket.exists()
    assert living_folders(str(shop.root / ".lakesmith/logs/spark.log")) == []
    assert shop.rows("silver.orders") == [2]


@pytest.mark.release
def test_an_erasure_waits_for_the_sessions_of_commands_that_go_on(shop: Shop) -> None:
    shop.lets_be_erased()
    shop.land(1, 2)
    assert shop.called("run").code == 0
    going_on = new_session_folder(str(shop.root / ".lakesmith/logs/spark.log"))
    words = ("erase", "silver.orders", "--where", "id = 1", "--yes")
    asked = shop.called(*words)
    assert (asked.code, f"left: {going_on.path} may have rows of theirs" in asked.output) == (1, True), asked
    with RunProcess.start(shop.root, None, (*words, "--wait", "600")) as process:
        assert process.process.stdout is not None
        assert any(line.startswith("waiting for Spark sessions to end") for line in process.process.stdout)
        going_on.remove()
        ended = process.end()
    assert ended.code == 0, ended.output
    assert shop.rows("silver.orders") == [2]
