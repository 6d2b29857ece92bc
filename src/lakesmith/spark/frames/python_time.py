"""Makes UTC the local time of Python while PySpark converts between times of Python and times of Spark.

PySpark takes a ``datetime`` without a zone for a local time: in ``F.lit(datetime(...))``, in rows it
collects, and inside Python functions that workers run. With the time zone of the machine, one table would
have other rows on another machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from pyspark.sql import SparkSession

_TZ = "TZ"


class _Users:
    """How many threads need UTC now, and the time zone to restore after the last of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._before: str | None = None

    def enter(self) -> None:
        with self._lock:
            if not self._count:
                self._before = os.environ.get(_TZ)
                _set(os.environ, "UTC")
                time.tzset()
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                _set(os.environ, self._before)
                time.tzset()


_USERS = _Users()


@contextmanager
def utc_in_python(spark: SparkSession) -> Iterator[None]:
    """Makes UTC the local time of this process and of Python workers. Rows convert as they come: read them
    inside. Threads may share it."""
    # PySpark gives this mapping to the workers of each function that it wraps.
    workers: Any = spark.sparkContext.environment
    before = workers.get(_TZ)
    _USERS.enter()
    _set(workers, "UTC")
    try:
        yield
    finally:
        _set(workers, before)
        _USERS.leave()


def _set(environment: Any, value: str | None) -> None:
    if value is None:
        environment.pop(_TZ, None)
    else:
        environment[_TZ] = value
