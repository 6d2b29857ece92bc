"""What Spark is at right now, for the live line of a terminal: rows and tasks of the stages that run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_SECONDS = 0.5
_CANCEL_SECONDS = 0.3


def follow(spark: SparkSession, tell: Callable[[str], None]) -> None:
    """Tells every half second what the running stages have done, in words, until the session ends."""

    def watch() -> None:
        try:
            while True:
                tell(work_in_words(spark))
                time.sleep(_SECONDS)
        except (Py4JError, OSError, AttributeError):
            # The session has ended, or its JVM: that is reported elsewhere.
            return

    threading.Thread(target=watch, name="spark-live", daemon=True).start()


def work_in_words(spark: SparkSession) -> str:
    """Returns ``1,204,311 rows read, task 3 of 8``; empty if nothing runs."""
    context: Any = spark.sparkContext._jsc
    stages = context.sc().statusStore().activeStages()
    read = written = done = tasks = 0
    for number in range(stages.size()):
        stage = stages.apply(number)
        read += stage.inputRecords()
        written += stage.outputRecords()
        done += stage.numCompleteTasks()
        tasks += stage.numTasks()
    said = [f"{read:,} rows read"] if read else []
    said += [f"{written:,} written"] if written else []
    return ", ".join([*said, *([f"task {min(done + 1, tasks)} of {tasks}"] if tasks > 1 else [])])


def keep_cancelling(cancel: Callable[[], None], ended: threading.Event) -> None:
    """Cancels running jobs until ``ended``. Publishing is not a job: it is never interrupted."""
    while not ended.wait(_CANCEL_SECONDS):
        try:
            cancel()
        except (Py4JError, OSError, AttributeError):
            # The session is ending (PySpark takes its parts away one by one), or the JVM is gone.
            return
