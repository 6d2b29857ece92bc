"""A machine out of order: a full disk, a warehouse that cannot be written, a catalog that others lock."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from audit import Audit
from harness import Harness, MakeShop
from killed_shop import FILES, Shop
from processes import RunProcess

from lakesmith.catalog import busy
from lakesmith.catalog.local import LocalCatalog
from lakesmith.errors import LakesmithError
from lakesmith.execute import faults
from lakesmith.spark.start.session import SessionHandle, local_catalog_conf

SMALL = "size=24m"
"""Room for a few batches."""


@contextmanager
def disk(folder: Path, *options: str) -> Iterator[None]:
    """A file system of its own at ``folder``, where this machine allows it."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    """Changes how a file system is mounted: ``ro``, ``rw``."""
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Takes all room that is left."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 4096):
            pass
    return path


def codes(project: Harness) -> set[str]:
    """Runs, which has to fail, and gives the codes of the problems."""
    try:
        result = project.run()
    except LakesmithError as error:
        return {problem.code for problem in error.problems}
    assert result.code == 1
    return {problem.code for problem in result.problems}


@pytest.mark.parametrize("where", [".lakesmith/warehouse", ".lakesmith"])
def test_a_full_disk(tmp_path: Path, session: SessionHandle, where: str) -> None:
    shop = Shop(tmp_path / "shop", seed=17)
    with disk(shop.root / where, SMALL):
        project = Harness(shop.root, session, FILES)
        shop.land()
        project.must_run()
        shop.land()
        filler = fill(shop.root / where)
        # Without room for the lock itself, that is what is told.
        assert codes(project) == ({"LS603"} if "warehouse" in where else {"LS323"})
        filler.unlink()
        Audit(shop).check()
        project.must_run()
        Audit(shop).check_complete()


@pytest.mark.parametrize("point", ["after-branch", "after-data", "before-swap"])
def test_a_disk_that_is_full_in_the_middle_of_a_batch(
    tmp_path: Path, session: SessionHandle, point: str
) -> None:
    shop = Shop(tmp_path / "shop", seed=19)
    warehouse = shop.root / ".lakesmith/warehouse"
    with disk(warehouse, SMALL):
        project = Harness(shop.root, session, FILES)
        shop.land()
        project.must_run()
        shop.land()
        faults.arrange(point, lambda: fill(warehouse) and None, "bronze.orders")
        assert codes(project) == {"LS603"}
        faults.clear()
        (warehouse / "filler").unlink()
        project.must_run()
        Audit(shop).check_complete()


def test_a_warehouse_that_may_not_be_written(tmp_path: Path, session: SessionHandle) -> None:
    # Not the whole of .lakesmith: the session keeps the catalog's file open, and a busy disk cannot be made
    # read-only.
    where = ".lakesmith/warehouse"
    shop = Shop(tmp_path / "shop", seed=23)
    with disk(shop.root / where, SMALL):
        project = Harness(shop.root, session, FILES)
        shop.land()
        project.must_run()
        shop.land()
        remount(shop.root / where, "ro")
        assert codes(project) <= {"LS605", "LS323", "LS320"}
        remount(shop.root / where, "rw")
        project.must_run()
        Audit(shop).check_complete()


LOCKER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("ROLLBACK")
"""


@contextmanager
def locked_catalog(root: Path, seconds: float) -> Iterator[None]:
    """Another process keeps the catalog locked for so long, or until the end of the block."""
    command = [sys.executable, "-c", LOCKER, str(root / ".lakesmith/catalog.db"), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as locker:
        assert locker.stdout is not None
        assert locker.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            locker.kill()


def test_a_catalog_that_is_locked_for_a_moment_is_waited_for(tmp_path: Path, session: SessionHandle) -> None:
    shop = Shop(tmp_path / "shop", seed=29)
    project = Harness(shop.root, session, FILES)
    shop.land()
    project.must_run()
    shop.land()
    held: list[str] = []

    def lock(point: str) -> None:
        if point not in held:
            held.append(point)
            locked = locked_catalog(shop.root, 2.0)
            locked.__enter__()
            threading.Timer(3.0, locked.__exit__, (None, None, None)).start()

    points = ("after-lock", "after-intent", "before-swap")
    for point in points:
        faults.arrange(point, partial(lock, point))
    project.must_run()
    assert tuple(held) == points
    Audit(shop).check_complete()


@pytest.mark.parametrize("point", ["after-listing", "after-branch", "before-swap"])
def test_a_catalog_that_stays_locked(
    tmp_path: Path, session: SessionHandle, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names who is in the way, not Spark; nothing counts. (With little patience.)"""
    shop = Shop(tmp_path / "shop", seed=31)
    shop.land()
    project = impatient(Harness(shop.root, session, FILES), monkeypatch)
    project.must_run()
    shop.land()
    with locked_catalog_at(project, point):
        found = codes(project)
    assert found <= {"LS702", "LS740"}, found
    faults.clear()
    Audit(shop).check()
    project.must_run()
    Audit(shop).check_complete()


def impatient(project: Harness, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """Lets the project's catalog wait for a fifth of a second only."""
    state = project.root / ".lakesmith"
    for key, value in local_catalog_conf(state / "catalog.db", state / "warehouse").items():
        project.spark.conf.set(key, value.replace("busy_timeout=60000", "busy_timeout=200"))
    started = LocalCatalog.__init__

    def start(self: LocalCatalog, db: Path, warehouse: Path, **more: Any) -> None:
        started(self, db, warehouse, **{"busy_seconds": 0.2, **more})

    monkeypatch.setattr(LocalCatalog, "__init__", start)
    monkeypatch.setattr(busy, "TRIES", 2)
    return project


@contextmanager
def locked_catalog_at(project: Harness, point: str) -> Iterator[None]:
    """Locks the catalog when bronze comes by ``point``, until the end of the block."""
    held = locked_catalog(project.root, 120)
    entered: list[bool] = []

    def lock() -> None:
        if not entered:
            entered.append(True)
            held.__enter__()

    faults.arrange(point, lock, "bronze.orders")
    yield
    assert entered, f"nothing came by {point}"
    held.__exit__(None, None, None)


MACHINES_FILES = {
    "tables/bronze/people.yaml": """
        source:
          files: {path: landing/, format: csv}
        columns: {id: bigint, name: string, at: timestamp}
        """,
    "tables/silver/names.sql": "SELECT id, upper(name) AS upper, lower(name) AS lower, initcap(name) AS"
    " initcap FROM bronze.people",
    "tables/silver/times.yaml": "deterministic: true",
    "tables/silver/times.py": """
        from datetime import datetime

        from pyspark.sql import functions as F

        BEGIN = F.lit(datetime(2024, 1, 1))


        def times(bronze__people):
            @F.udf("string")
            def text(at):
                return str(at)

            late = bronze__people.filter((F.col("at") >= BEGIN) & (F.col("at") < datetime(2024, 1, 2)))
            return late.select("id", text("at").alias("text"))
        """,
}


def test_rows_do_not_depend_on_the_language_and_the_time_zone_of_the_machine(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Duser.language=tr -Duser.country=TR -Duser.timezone=Asia/Tokyo")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    project = make_shop(MACHINES_FILES)
    times = ("2023-12-31 23:59:59Z", "2024-01-01 00:00:00Z", "2024-01-01 23:59:59Z", "2024-01-02 00:00:00Z")
    rows = "".join(f"{number},éi ÉI,{at}\n" for number, at in enumerate(times))
    project.land("landing/1.csv", f"id,name,at\n{rows}")
    with RunProcess.start(project.root) as run:
        ended = run.end()
    assert ended.code == 0, ended.output
    assert "Traceback" not in ended.output
    assert project.rows("silver.names", "upper", "lower", "initcap") == [("ÉI ÉI", "éi éi", "Éi Éi")] * 4
    assert project.rows("silver.times", "id", "text") == [
        (1, "2024-01-01 00:00:00"),
        (2, "2024-01-01 23:59:59"),
    ]
