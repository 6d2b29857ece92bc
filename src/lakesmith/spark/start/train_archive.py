"""Make the class-data archive: a short Spark session that lists the classes it loads, then a dump of these.

It takes about a minute of one processor, so it is done once, in a quiet moment, by a process of its own that
the end of the first session starts. When it fails it leaves the reason beside, and starts go on without.
`make_archive` does it in the foreground.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lakesmith.catalog.local import LocalCatalog
from lakesmith.spark.jvm.gateway import CLASSES_JAR
from lakesmith.spark.start.attempts import Attempt, first_that_works
from lakesmith.spark.start.class_archive import Archive, archive_for, seal, usable
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import cache_folder, ensure_jars, held, make_folder
from lakesmith.spark.start.launch import LaunchPlan, direct_command, spark_class_path
from lakesmith.spark.start.settings import (
    LOCAL_FILES,
    TABLE_FILES,
    SessionSettings,
    launch_plan,
    local_catalog_conf,
    session_conf,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOW_PRIORITY = 10
QUIET_BELOW_LOAD = 0.4
"""Running processes a core, as the mean of a minute, below which nobody is at work."""
QUIET_WITHIN_SECONDS = 1800
"""How long a quiet moment is waited for: a machine that is always busy has none."""
LOOK_SECONDS = 5
DUMP_SECONDS = 600
DUMP_MEMORY_MB = 1024
RETRY_SECONDS = 3600

# What most runs do: read a CSV file, create, append, aggregate, merge, branch, read back.
WORK = (
    "CREATE NAMESPACE lake.training",
    "CREATE TABLE lake.training.t (id bigint, v string, d timestamp) USING iceberg PARTITIONED BY "
    "(bucket(4, id)) "
    "TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = 'merge-on-read')",
    "CREATE TEMPORARY VIEW landed (id bigint, v string, d timestamp) USING csv OPTIONS (path '{csv}', "
    "header true)",
    "INSERT INTO lake.training.t SELECT * FROM landed",
    "ALTER TABLE lake.training.t CREATE BRANCH work",
    "CREATE TEMPORARY VIEW changes AS SELECT id, v, d FROM (SELECT *, row_number() OVER (PARTITION BY "
    "id ORDER BY d "
    "DESC) AS n FROM (SELECT id + 5 AS id, upper(v) AS v, d FROM lake.training.t)) WHERE n = 1",
    "MERGE INTO lake.training.t.branch_work t USING changes s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "CREATE TABLE lake.training.g USING iceberg AS SELECT v, count(*) AS n, max(d) AS d FROM "
    "lake.training.t GROUP BY v",
)


def train_in_background(archive: Archive, coordinates: Sequence[str]) -> bool:
    """Start to make `archive` in a process of its own, if it is missing; returns whether one was started.

    Left out when another waits to make it, when it failed within the last hour, and when the cache folder
    cannot be written.
    """
    if usable(archive) or _failed_lately(archive) or not os.access(archive.folder.parent, os.W_OK):
        return False
    archive.folder.mkdir(exist_ok=True)
    with held(_turn(archive.folder), wait=False) as is_free:
        if not is_free:
            return False
    with archive.log.open("wb") as log:
        subprocess.Popen(
            [sys.executable, "-m", "lakesmith.spark.start.train_archive", *coordinates],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=archive.folder,
        )
    return True


def _turn(folder: Path) -> Path:
    """The lock of the process that waits for a quiet moment."""
    return folder / "waiting.lock"


def make_in_a_quiet_moment(
    coordinates: Sequence[str], folder: Path, load: Callable[[], float], sleep: Callable[[float], None]
) -> bool:
    """Make the archive once nobody is at work, or after ``QUIET_WITHIN_SECONDS``; returns False if another
    process waits for that already.

    Args:
        coordinates: of the jars beside Spark's own.
        folder: the archive's.
        load: running processes, as the mean of a minute.
        sleep: waits for so many seconds.
    """
    with held(_turn(folder), wait=False) as is_mine:
        if not is_mine:
            return False
        busy = QUIET_BELOW_LOAD * (os.cpu_count() or 1)
        for _ in range(QUIET_WITHIN_SECONDS // LOOK_SECONDS):
            if load() < busy:
                break
            sleep(LOOK_SECONDS)
        make_archive(coordinates)
    return True


def _give_way() -> None:
    """Lets this process run only while no other one wants to, where the system can do that."""
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(LOW_PRIORITY)


def make_archive(coordinates: Sequence[str]) -> Archive:
    """Make the archive for this machine's Java and these jars, unless it is there; waits for another that
    makes it.

    Raises:
        EnvironmentProblem: no Java, no jars, no cache folder, or the training session did not start.
        subprocess.SubprocessError: the dump failed; the reason is left beside the archive.
    """
    java = find_java()
    archive = archive_for(cache_folder(), java, spark_class_path(ensure_jars(java, coordinates)))
    make_folder(archive.folder)
    with held(archive.lock):
        if not usable(archive):
            _make(archive, tuple(coordinates))
    return archive


def _make(archive: Archive, coordinates: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(prefix=".making-", dir=archive.folder) as work:
        try:
            made = _train_and_dump(Path(work), coordinates)
        except Exception as error:
            archive.failed.write_text(f"{type(error).__name__}: {error}\n")
            raise
        seal(archive, made)


def _train_and_dump(work: Path, coordinates: tuple[str, ...]) -> Path:
    classes = work / "classes.lst"
    catalog = LocalCatalog(work / "catalog.db", work / "warehouse")
    settings = SessionSettings(
        catalogs=local_catalog_conf(catalog.prepared(), catalog.warehouse),
        log_path=work / "spark.log",
        cores=1,
        driver_memory_mb=DUMP_MEMORY_MB,
        coordinates=coordinates,
        conf={
            **dict.fromkeys(LOCAL_FILES, "org.apache.hadoop.fs.LocalFileSystem"),
            **dict.fromkeys(TABLE_FILES, "org.apache.iceberg.hadoop.HadoopFileIO"),
        },
    )
    # Of the class path an archive has the beginning, which is the same for all.
    begin = launch_plan(settings)
    jars = tuple(jar for jar in begin.class_path if jar != CLASSES_JAR)
    plan = replace(begin, class_path=jars, java_options=(f"-XX:DumpLoadedClassList={classes}",))
    way = Attempt("the training start", direct_command(plan, None), "direct")
    handle = first_that_works(plan, session_conf(settings, plan.folder.spark_local), [way])
    try:
        _do_work(handle.spark, work)
    finally:
        handle.stop()
    return _dump(plan, classes, work / "archive.jsa")


def _do_work(spark: SparkSession, work: Path) -> None:
    csv = work / "landed.csv"
    csv.write_text("id,v,d\n" + "".join(f"{n},v{n % 7},2024-01-01 00:00:{n:02d}\n" for n in range(40)))
    for statement in WORK:
        spark.sql(statement.format(csv=csv)).collect()
    spark.sql(
        "SELECT g.v, t.id FROM lake.training.g g JOIN lake.training.t t ON t.v = g.v ORDER BY 1, 2"
    ).collect()


def _dump(plan: LaunchPlan, classes: Path, made: Path) -> Path:
    command = [str(plan.java.executable), "-Xshare:dump", f"-Xmx{DUMP_MEMORY_MB}m"]
    command += [f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={made}"]
    class_path = os.pathsep.join(map(str, plan.class_path))
    subprocess.run(
        [*command, "-Xlog:disable", "-Xlog:all=error:stderr", "-cp", class_path],
        check=True,
        timeout=DUMP_SECONDS,
    )
    return made


def _failed_lately(archive: Archive) -> bool:
    try:
        return time.time() - archive.failed.stat().st_mtime < RETRY_SECONDS
    except OSError:
        return False


if __name__ == "__main__":
    _give_way()
    # The folder that it was started in is the archive's.
    make_in_a_quiet_moment(sys.argv[1:], Path.cwd(), lambda: os.getloadavg()[0], time.sleep)
