"""End a session: Spark with patience, its JVM without, and nothing left behind."""

from __future__ import annotations

import atexit
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from lakesmith.spark.jvm.gateway import close_catalogs
from lakesmith.spark.start.launch import DriverProcess
from lakesmith.spark.start.session_folder import SessionFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STOP_SECONDS = 10.0
EXIT_SECONDS = 0.2


def stopper(spark: SparkSession, driver: DriverProcess, folder: SessionFolder) -> Callable[[], None]:
    """A function that stops the session once, however often it is called; also called when Python exits."""
    once = threading.Lock()

    def stop() -> None:
        if once.acquire(blocking=False):
            atexit.unregister(stop)
            _stop(spark, driver)
            folder.remove()

    atexit.register(stop)
    return stop


def asked_of_jvm(work: Callable[[], None]) -> bool:
    """Does ``work`` in the JVM; returns False if the JVM does not answer in time."""
    from py4j.protocol import Py4JError

    answered = threading.Event()

    def ask() -> None:
        with suppress(Py4JError, OSError):
            work()
            answered.set()

    asked = threading.Thread(target=ask, name="spark-asked", daemon=True)
    asked.start()
    asked.join(STOP_SECONDS)
    return answered.is_set()


def detach(spark: SparkSession, tag: str | None = None) -> bool:
    """Ends the session and leaves the JVM idle; returns False if it does not answer.

    ``tag``: that of the session's jobs in a JVM that others use as well; their jobs and caches stay.
    """
    from pyspark.sql import SparkSession

    context = spark.sparkContext
    answered = asked_of_jvm(lambda: _quieten(spark, tag))
    if context._accumulatorServer is not None:
        threading.Thread(target=context._accumulatorServer.shutdown, daemon=True).start()
    SparkSession._instantiatedSession = None
    forget_gateway(close_alone=True)
    return answered


def _quieten(spark: SparkSession, tag: str | None) -> None:
    if tag is None:
        spark.sparkContext.cancelAllJobs()
        spark.catalog.clearCache()
    else:
        spark.sparkContext.cancelJobsWithTag(tag)
    close_catalogs(spark)


def forget_gateway(close_alone: bool = False) -> None:
    """PySpark keeps its gateway for ever; without this a later session of this process would talk to a dead
    JVM.

    ``close_alone``: the JVM's own end of it stays, for others.
    """
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        SparkContext._gateway.close() if close_alone else SparkContext._gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None


def _stop(spark: SparkSession, driver: DriverProcess) -> None:
    asked_of_jvm(lambda: _stop_context(spark))
    driver.end(EXIT_SECONDS)
    forget_gateway()


def _stop_context(spark: SparkSession) -> None:
    context = spark.sparkContext
    # Its shutdown waits for a poll of up to half a second; nobody has to wait for that.
    server = context._accumulatorServer
    context._accumulatorServer = None  # type: ignore[assignment]
    threading.Thread(target=server.shutdown, daemon=True).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spark.stop()
