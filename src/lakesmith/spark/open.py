"""Starts the engine for a project: the session's settings from its target."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.lock import ProjectLock
from lakesmith.catalog.open import iceberg_properties
from lakesmith.errors import EnvironmentProblem, LakesmithError
from lakesmith.execute.events import EngineStarted, EngineStarting, Listener
from lakesmith.execute.lake import Lake
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import Project
from lakesmith.project.files import scratch_folder
from lakesmith.spark.iceberg.commits import use_naming
from lakesmith.spark.iceberg.others import others_conf
from lakesmith.spark.start.given import over_given
from lakesmith.spark.start.resident import KeepWarm
from lakesmith.spark.start.session import SessionHandle, SessionSettings, local_catalog_conf, start_session
from lakesmith.spark.start.settings import drafts_conf, is_cluster, require_shared
from lakesmith.spark.start.target_conf import jars_of, objects_conf, target_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesmith.spark.engine import SparkEngine

Offer = Callable[[SessionSettings], "SparkSession"]
"""Gives the session that this process was started with."""

_FILLED_IN = re.compile(r"\$\{\S+?\}")


def session_settings(project: Project, size: DataSize = DataSize.LARGE) -> SessionSettings:
    """Returns the settings of the target's session, set up for a ``size``. Raises EnvironmentProblem LS308,
    LS326."""
    return SessionSettings(
        catalogs={
            **(_local_conf(project) if project.target.is_local else _conf(project)),
            **others_conf(project.target),
        },
        log_path=log_of(project),
        conf=dict(project.target.spark),
        size=size,
        more_coordinates=jars_of(project),
    )


def log_of(project: Project) -> Path:
    """Where Spark's log of a project is; its sessions are known by that."""
    return scratch_folder(project.root).absolute() / "logs" / "spark.log"


def _local_conf(project: Project) -> dict[str, str]:
    state_dir = project.state_dir
    _require_plain(state_dir)
    catalog = LocalCatalog(state_dir / "catalog.db", state_dir / "warehouse")
    # Who may not write can only read, and Iceberg's catalog does not even that. A run has had that from its
    # lock.
    db = catalog.prepared() if catalog.can_write() else catalog.copied()
    objects = objects_conf(project.target.store) if project.has_objects else {}
    return {**local_catalog_conf(db, catalog.warehouse), **drafts_conf(), **objects}


def _conf(project: Project) -> dict[str, str]:
    target, properties = project.target, iceberg_properties(project.target)
    return {**target_conf(target, properties), **drafts_conf()}


def _require_plain(folder: Path) -> None:
    """Refuses folders with ``${env:HOME}`` in their path, which Spark would substitute."""
    if found := _FILLED_IN.search(str(folder)):
        raise EnvironmentProblem.of(
            "LS308",
            f"the project's folder has {found[0]} in its name, which Spark would fill in and write elsewhere",
            expected="a path without ${...}",
            found=str(folder),
            hint="rename the folder",
        )


_offered: list[Offer] = []


def offer(session: Offer) -> None:
    """Makes this process work in the given session: ``spark-submit`` has started one."""
    _offered[:] = [session]


def open_session(
    project: Project,
    size: DataSize = DataSize.LARGE,
    keep: KeepWarm | None = None,
    given: SparkSession | None = None,
) -> SessionHandle:
    """Returns a session on the lake; ``keep``: a warm JVM, to use and to leave; ``given``: its parent. Raises
    EnvironmentProblem."""
    require_shared(project)
    use_naming(project.target.naming)
    if given is not None or _offered:
        settings = session_settings(project, size)
        return over_given(given or _offered[0](settings), settings)
    if is_cluster(dict(project.target.spark)):
        # Its executors would be held for as long as the JVM is left.
        keep = None
    return start_session(replace(session_settings(project, size), keep=keep)).result()


def open_engine(
    lake: Lake,
    lock: ProjectLock,
    listener: Listener,
    size: DataSize = DataSize.LARGE,
    keep: KeepWarm | None = None,
    given: SparkSession | None = None,
) -> SparkEngine:
    """Starts Spark for a run, unless it is given; the lock's holder says which JVM works for it."""
    # Imported here: a question is asked without it.
    from lakesmith.spark.engine import SparkEngine

    listener(EngineStarting())
    began = time.monotonic()
    # Importing PyIceberg takes a second or two: it is done while the JVM comes up, not when the ledger is
    # first written.
    threading.Thread(target=_import_writer, args=(lake,), name="pyiceberg-import", daemon=True).start()
    session = open_session(lake.project, size, keep, given)
    lock.note_jvm(session.jvm_pid)
    listener(EngineStarted(time.monotonic() - began, tuple(session.notes)))
    return SparkEngine(session, lake)


def _import_writer(lake: Lake) -> None:
    # What is wrong with the catalog is raised where it is used.
    with suppress(LakesmithError):
        lake.catalog.writer()


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
