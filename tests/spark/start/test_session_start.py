"""The session: its settings, that other readers see its tables, how it starts, falls back and ends."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.conftest import LakePaths

from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.start.class_archive import Archive, archive_for, last_doubt, seal, usable
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import cache_folder, ensure_jars, jars_folder
from lakesmith.spark.start.launch import spark_class_path
from lakesmith.spark.start.session import SessionHandle, SessionSettings, start_session
from lakesmith.spark.start.session_folder import sweep
from lakesmith.spark.start.versions import local_jars

pytestmark = pytest.mark.in_turn


def test_the_session_counts_in_utc_and_is_strict(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    same = spark.sql("SELECT timestamp'2024-01-01 00:00:00' = timestamp_seconds(1704067200) AS same")
    assert [row.same for row in same.collect()] == [True]
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        spark.sql("SELECT cast('x' AS int)").collect()


def test_compiled_code_has_the_room_that_it_usually_has(spark: SparkSession) -> None:
    """Java gives its first compiler a fifth of it; once that is full, queries slow down, and some fail."""
    jvm: Any = spark._jvm
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    code = [pool.getUsage().getMax() for pool in pools if str(pool.getName()).startswith("Code")]
    assert sum(code) >= 240 * 2**20


def test_the_gateway_leaves_no_trace_in_the_environment(session: SessionHandle) -> None:
    assert not [name for name in os.environ if name.startswith("PYSPARK_GATEWAY")]


def test_ctrl_c_does_not_reach_the_jvm(session: SessionHandle) -> None:
    assert os.getpgid(session.jvm_pid) != os.getpgid(0)


def test_python_workers_are_this_python(spark: SparkSession) -> None:
    from pyspark.sql.functions import udf

    where = udf(lambda _: sys.executable)
    assert [row[0] for row in spark.range(1).select(where("id")).collect()] == [sys.executable]


def test_avro_files_are_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "rows")
    spark.sql("SELECT 1L AS id, 'ü' AS name, 1.50BD AS price").write.format("avro").save(path)
    assert [tuple(map(str, row)) for row in spark.read.format("avro").load(path).collect()] == [
        ("1", "ü", "1.50")
    ]


def test_a_second_session_in_one_process_is_refused(session: SessionHandle, lake_paths: LakePaths) -> None:
    with pytest.raises(EnvironmentProblem, match="LS306"):
        start_session(SessionSettings(catalogs={}, log_path=lake_paths.log_path)).result(60)


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.start")
    spark.sql("CREATE TABLE lake.start.t (id bigint, v string) USING iceberg")
    yield "lake.start.t"
    spark.sql("DROP TABLE lake.start.t PURGE")


def test_pyiceberg_and_spark_see_each_other(spark: SparkSession, table: str, lake_paths: LakePaths) -> None:
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    spark.sql(f"INSERT INTO {table} VALUES (1, 'spark')")
    catalog = SqlCatalog("lake", uri=f"sqlite:///{lake_paths.catalog_db}")
    seen = catalog.load_table("start.t")
    assert seen.scan().to_arrow().to_pylist() == [{"id": 1, "v": "spark"}]
    seen.append(pa.table({"id": pa.array([2], pa.int64()), "v": ["pyiceberg"]}))
    assert [row.v for row in spark.table(table).orderBy("id").collect()] == ["spark", "pyiceberg"]


def test_a_commit_waits_for_the_lock_of_another_writer(
    spark: SparkSession, table: str, lake_paths: LakePaths
) -> None:
    other = sqlite3.connect(lake_paths.catalog_db, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    spark.sql(f"SELECT count(*) FROM {table}").collect()  # a reader does not wait
    released: list[float] = []

    def release() -> None:
        released.append(time.monotonic())
        other.execute("COMMIT")

    timer = threading.Timer(3.0, release)
    timer.start()
    spark.sql(f"INSERT INTO {table} VALUES (1, 'x')")
    committed = time.monotonic()
    timer.join()
    other.close()
    assert released
    assert committed > released[0]
    assert spark.table(table).count() == 1


# The rest starts processes of its own: what is tested is how a whole process starts and ends.

SCRIPT = """
import json, os, sys, time
from pathlib import Path
from lakesmith.spark.start.session import SessionSettings, local_catalog_conf, start_session

root = Path(sys.argv[1])
catalogs = local_catalog_conf(root / "c.db", root / "w")
conf = json.loads(os.environ.get("CONF", "{}"))
settings = SessionSettings(catalogs, root / "spark.log", driver_memory_mb=1024, conf=conf)
handle = start_session(settings).result()
spark = handle.spark
rows = spark.range(3).count()
command = Path(f"/proc/{handle.jvm_pid}/cmdline").read_text()
said = {"by": handle.started_by, "notes": handle.notes, "pid": handle.jvm_pid, "rows": rows}
said["command"] = command
"""
STOP = """
began = time.monotonic()
handle.stop()
print(json.dumps({**said, "stop_seconds": time.monotonic() - began}))
"""
WAIT = """
print(json.dumps(said), flush=True)
spark.range(10**15).selectExpr("sum(hash(id))").collect()
"""


@pytest.fixture
def world(tmp_path: Path, session: SessionHandle) -> dict[str, str]:
    """The environment of a process with its own TMPDIR, and its own cache with the jars in it."""
    cache = tmp_path / "cache"
    (cache / "jars").mkdir(parents=True)
    folder = jars_folder(local_jars())
    (cache / "jars" / folder.name).symlink_to(folder)
    (tmp_path / "tmp").mkdir()
    return {**os.environ, "LAKESMITH_CACHE": str(cache), "TMPDIR": str(tmp_path / "tmp")}


def script(tmp_path: Path, end: str) -> list[str]:
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(SCRIPT + end))
    return [sys.executable, str(path), str(tmp_path)]


def run(tmp_path: Path, world: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        script(tmp_path, STOP), env=world, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def make_archive_of(world: dict[str, str], content: bytes) -> Archive:
    """A sealed archive with this content where a start looks for it, and no leave to make a new one."""
    java = find_java(world)
    cache = Path(world["LAKESMITH_CACHE"])
    names = sorted(jars_folder(local_jars(), cache).glob("*.jar"))
    archive = archive_for(cache, java, spark_class_path(names))
    archive.folder.mkdir(exist_ok=True)
    fresh = archive.folder / "fresh"
    fresh.write_bytes(content)
    seal(archive, fresh)
    return archive


def is_running(pid: int) -> bool:
    """Whether the process lives; one that ended and is not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(pid)


def test_a_corrupt_archive_does_not_keep_spark_from_starting(tmp_path: Path, world: dict[str, str]) -> None:
    archive = make_archive_of(world, b"this is no archive" * 10_000)
    said = run(tmp_path, world)
    assert said["rows"] == 3
    assert said["by"] == "direct"
    assert "archive" in said["notes"][0]
    # The next start tries it again: this JVM may have had another reason.
    assert last_doubt(archive) == "refused by the JVM"
    assert usable(archive)
    # Stopped quickly, JVM and temporary files gone.
    assert said["stop_seconds"] < 5
    assert not is_running(said["pid"])
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_extra_class_path_does_not_cost_the_archive(tmp_path: Path, session: SessionHandle) -> None:
    java = find_java()
    there = archive_for(cache_folder(), java, spark_class_path(ensure_jars(java, local_jars())))
    if not usable(there):
        pytest.skip("the archive of this machine is not made yet")
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "mine.txt").write_text("x")
    with zipfile.ZipFile(tmp_path / "mine.jar", "w") as jar:
        jar.writestr("mine.txt", "x")
    extra = os.pathsep.join(str(tmp_path / name) for name in ("mine.jar", "classes"))
    said = run(tmp_path, {**os.environ, "CONF": json.dumps({"spark.driver.extraClassPath": extra})})
    assert (said["rows"], said["notes"], last_doubt(there)) == (3, [], None)
    assert "-XX:SharedArchiveFile" in said["command"]


def test_when_the_fast_ways_fail_the_ordinary_start_serves(tmp_path: Path, world: dict[str, str]) -> None:
    real = find_java(world).home
    home = tmp_path / "jdk"
    (home / "bin").mkdir(parents=True)
    (home / "lib").symlink_to(real / "lib")
    (home / "release").write_text((real / "release").read_text())
    refuses = '#!/bin/sh\ncase "$*" in *UsePerfData*) echo not this way; exit 1;; esac\n'
    (home / "bin" / "java").write_text(f'{refuses}exec {real}/bin/java "$@"\n')
    (home / "bin" / "java").chmod(0o755)
    world["JAVA_HOME"] = str(home)
    make_archive_of(world, b"an archive")
    said = run(tmp_path, world)
    assert (said["rows"], said["by"]) == (3, "ordinary")
    assert [note.split(" failed")[0] for note in said["notes"]] == [
        "the start with a class-data archive",
        "the direct start",
    ]
    assert "not this way" in said["notes"][1]
    assert not is_running(said["pid"])


@pytest.mark.always
def test_a_killed_python_leaves_no_jvm(tmp_path: Path, world: dict[str, str]) -> None:
    make_archive_of(world, b"")
    process = subprocess.Popen(script(tmp_path, WAIT), env=world, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid = int(json.loads(process.stdout.readline())["pid"])
    time.sleep(1)
    assert is_running(pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_until_gone(pid, seconds=30)
    # What it left is known for dead, and swept.
    swept = sweep(tmp_path / "tmp")
    deadline = time.monotonic() + 15
    while not swept and time.monotonic() < deadline:
        time.sleep(0.1)  # the last thread of a JVM that exits keeps its files open a little longer
        swept = sweep(tmp_path / "tmp")
    assert len(swept) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_jvm_that_was_killed_does_not_hold_up_the_stop(tmp_path: Path, world: dict[str, str]) -> None:
    make_archive_of(world, b"").failed.write_text("not now")
    killed = "import signal; os.kill(handle.jvm_pid, signal.SIGKILL)\n"
    done = subprocess.run(
        script(tmp_path, killed + STOP), env=world, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stop_seconds"] < 5
    assert list((tmp_path / "tmp").iterdir()) == []
