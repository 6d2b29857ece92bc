"""A configured Spark session, started the fast way where that works and the ordinary way where it does not.

``start_session(settings)`` returns at once with a `SessionStart`; the JVM comes up in the background while the caller
plans, and ``.result()`` gives the `SessionHandle`. One session at a time in a process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.errors import EnvironmentProblem, Problem
from lakesmith.spark.jars import LOCAL_JARS, ensure_jars
from lakesmith.spark.java import JavaRuntime, find_java
from lakesmith.spark.launch import (
    DriverProcess,
    LaunchError,
    LaunchPlan,
    StartedBy,
    connect,
    direct_command,
    launch,
    ordinary_command,
    spark_class_path,
    start_failed,
    write_properties,
)
from lakesmith.spark.start_archive import Archive, archive_for, discard, usable
from lakesmith.spark.start_cache import cache_folder
from lakesmith.spark.start_folder import new_session_folder

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession

BUSY_MILLISECONDS = 60_000
STOP_SECONDS = 10.0
EXIT_SECONDS = 0.2
MIN_MEMORY_MB, MAX_MEMORY_MB = 1024, 16 * 1024

DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "lakesmith",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.enabled": "true",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalogImplementation": "in-memory",
}


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What a session is made of.

    Args:
        catalogs: Spark settings of the catalogs, see `local_catalog_conf`.
        log_path: the file that all words of Spark and its JVM go to, appended.
        cores: cores to use; None: all of this machine.
        driver_memory_mb: the largest heap in MiB; None: half of the memory this process may use, 1 to 16 GiB.
        conf: more Spark settings; they win over the defaults.
        coordinates: Maven coordinates of the jars beside Spark's own.
    """

    catalogs: Mapping[str, str]
    log_path: Path
    cores: int | None = None
    driver_memory_mb: int | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    coordinates: tuple[str, ...] = LOCAL_JARS


@dataclass(frozen=True, slots=True)
class SessionHandle:
    """A running session.

    Args:
        spark: the session.
        jvm_pid: process id of the driver JVM.
        log_path: Spark's log.
        started_by: ``direct`` (the fast way) or ``ordinary`` (``spark-submit``).
        notes: what a reader of the run should know of the start: fallbacks and why.
        stop: ends the session and its JVM within seconds, whatever state it is in; safe to call twice.
    """

    spark: SparkSession
    jvm_pid: int
    log_path: Path
    started_by: StartedBy
    notes: tuple[str, ...]
    stop: Callable[[], None]


class SessionStart:
    """A session that is being started in the background. Safe to use from several threads."""

    def __init__(self, settings: SessionSettings) -> None:
        self._future: Future[SessionHandle] = Future()
        # A daemon: a caller that gives up must not wait for a JVM that it does not want any more.
        self._thread = threading.Thread(target=self._run, args=(settings,), name="spark-start", daemon=True)
        self._thread.start()

    def result(self, timeout: float | None = None) -> SessionHandle:
        """The session, waited for.

        Raises:
            EnvironmentProblem: LS301 no Java, LS302 no jars, LS303 it did not start, LS304 no cache folder.
            TimeoutError: it is not there after `timeout` seconds.
        """
        return self._future.result(timeout)

    def done(self) -> bool:
        """Whether `result` would return, or raise, at once."""
        return self._future.done()

    def stop(self) -> None:
        """Stop the session, once it is up; nothing to do if it never came up."""
        if self._future.exception() is None:
            self._future.result().stop()

    def _run(self, settings: SessionSettings) -> None:
        try:
            self._future.set_result(_start(settings))
        except BaseException as error:  # noqa: BLE001 - handed to whoever asks for the result
            self._future.set_exception(error)


def start_session(settings: SessionSettings) -> SessionStart:
    """Begin to start a session and return at once."""
    return SessionStart(settings)


def local_catalog_conf(catalog_db: Path, warehouse: Path) -> dict[str, str]:
    """Spark settings of the embedded catalog: Iceberg's JdbcCatalog on one SQLite file.

    PyIceberg's SqlCatalog of the same name and file sees the same tables. A writer that meets another's lock waits a
    minute for it (``busy_timeout``); with the write-ahead log readers and a writer do not block each other.
    """
    prefix = f"spark.sql.catalog.{CATALOG_NAME}"
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "jdbc",
        f"{prefix}.uri": f"jdbc:sqlite:{catalog_db}?busy_timeout={BUSY_MILLISECONDS}&journal_mode=WAL",
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.warehouse": f"file://{warehouse}",
        f"{prefix}.cache-enabled": "false",
    }


def session_conf(settings: SessionSettings, local_folder: Path) -> dict[str, str]:
    """The Spark settings of a session; `local_folder` takes shuffle files and spills."""
    cores = settings.cores or os.cpu_count() or 1
    local = {
        "spark.master": f"local[{settings.cores or '*'}]",
        "spark.local.dir": str(local_folder),
        "spark.sql.warehouse.dir": (local_folder / "no-warehouse").as_uri(),
        "spark.sql.shuffle.partitions": str(max(8, 2 * cores)),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
    }
    return {**DEFAULTS, **local, **settings.catalogs, **settings.conf}


def default_memory_mb() -> int:
    """Half of the memory that this process may use (its container's limit, else the machine's), within bounds."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    allowed = min([machine, *_container_limits()])
    return max(MIN_MEMORY_MB, min(MAX_MEMORY_MB, allowed // 2 // 2**20))


def _container_limits() -> list[int]:
    """The memory limit of control groups, version 2 and 1, in bytes."""
    files = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
    texts = [path.read_text().strip() for path in files if path.is_file()]
    return [int(text) for text in texts if text.isdigit()]


def _start(settings: SessionSettings) -> SessionHandle:
    """Start: the direct way with an archive, then without it, then the ordinary way."""
    _refuse_second_session()
    java = find_java()
    jars = ensure_jars(java, settings.coordinates)
    plan = _launch_plan(settings, java, spark_class_path(jars))
    conf = session_conf(settings, plan.folder.spark_local)
    archive = archive_for(cache_folder(), java, plan.class_path)
    notes: list[str] = []
    for attempt in _attempts(plan, archive):
        try:
            return _attempt(plan, conf, attempt, notes)
        except LaunchError as error:
            notes.append(f"{attempt.what} failed: {error}")
            if attempt.archive:
                discard(attempt.archive)
    plan.folder.remove()
    raise start_failed(notes, plan.log_path)


@dataclass(frozen=True, slots=True)
class _Attempt:
    what: str
    command: list[str]
    started_by: StartedBy
    archive: Archive | None = None


def _attempts(plan: LaunchPlan, archive: Archive) -> list[_Attempt]:
    fast = _Attempt(
        "the start with a class-data archive", direct_command(plan, archive.file), "direct", archive
    )
    direct = _Attempt("the direct start", direct_command(plan, None), "direct")
    ordinary = _Attempt("the ordinary start", ordinary_command(plan), "ordinary")
    return [*([fast] if usable(archive) else []), direct, ordinary]


def _launch_plan(settings: SessionSettings, java: JavaRuntime, class_path: tuple[Path, ...]) -> LaunchPlan:
    return LaunchPlan(
        java=java,
        class_path=class_path,
        memory_mb=settings.driver_memory_mb or default_memory_mb(),
        folder=new_session_folder(),
        log_path=settings.log_path.absolute(),
        python=sys.executable,
    )


def _attempt(plan: LaunchPlan, conf: Mapping[str, str], attempt: _Attempt, notes: list[str]) -> SessionHandle:
    write_properties(plan, conf)
    driver = launch(plan, attempt.command, attempt.started_by)
    spark = _session(connect(plan, driver), driver)
    plan.properties.unlink()
    return SessionHandle(
        spark=spark,
        jvm_pid=driver.pid,
        log_path=plan.log_path,
        started_by=attempt.started_by,
        notes=tuple(notes),
        stop=_stopper(spark, driver, plan),
    )


def _session(gateway: JavaGateway, driver: DriverProcess) -> SparkSession:
    """The session over a connected gateway; the settings are those the JVM was given.

    Raises:
        LaunchError: Spark refused to start; the JVM is then gone.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    try:
        context = SparkContext(gateway=gateway)
        # PySpark would take whatever `python3` is on PATH for its workers: another one, in an environment not activated.
        context.pythonExec = sys.executable
        return SparkSession(context)
    except (Py4JError, OSError) as error:
        _forget_gateway()
        driver.end(patience=0)
        raise LaunchError(f"Spark refused to start: {str(error).splitlines()[-1]}") from error


def _stopper(spark: SparkSession, driver: DriverProcess, plan: LaunchPlan) -> Callable[[], None]:
    once = threading.Lock()

    def stop() -> None:
        if once.acquire(blocking=False):
            _stop(spark, driver)
            plan.folder.remove()

    return stop


def _stop(spark: SparkSession, driver: DriverProcess) -> None:
    """Stop Spark with patience, then its JVM without: a JVM that hangs or died must not hold up the caller."""
    asked = threading.Thread(target=_stop_context, args=(spark,), name="spark-stop", daemon=True)
    asked.start()
    asked.join(STOP_SECONDS)
    driver.end(EXIT_SECONDS)
    _forget_gateway()


def _stop_context(spark: SparkSession) -> None:
    import warnings

    context = spark.sparkContext
    # Its shutdown waits for a poll of up to half a second; nobody has to wait for that.
    server = context._accumulatorServer
    context._accumulatorServer = None  # type: ignore[assignment]
    threading.Thread(target=server.shutdown, daemon=True).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark.stop()


def _forget_gateway() -> None:
    """PySpark keeps its gateway for ever; without this a later session of this process would talk to a dead JVM."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        SparkContext._gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None


def _refuse_second_session() -> None:
    context = sys.modules.get("pyspark.core.context")
    if context is None or context.SparkContext._active_spark_context is None:
        return
    raise EnvironmentProblem(
        Problem(
            code="LS306",
            what="a Spark session is already running in this Python process",
            expected="none: lakesmith starts its own, with its catalogs and settings",
            hint="stop it first (spark.stop()), or run lakesmith in a process of its own",
        )
    )
