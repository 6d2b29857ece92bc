"""A configured Spark session, started the fast way where that works and the ordinary way where it does not.

``start_session(settings)`` returns at once with a `SessionStart`; the JVM comes up in the background while
the caller plans, and ``.result()`` gives the `SessionHandle`. One session at a time in a process.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace

from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.start.attempts import SessionHandle, attempts, first_that_works, over_borrowed
from lakesmith.spark.start.class_archive import Archive, archive_for, usable, why_missing
from lakesmith.spark.start.jars import cache_folder, jars_folder, spark_home
from lakesmith.spark.start.keeper import is_running
from lakesmith.spark.start.launch import LaunchError
from lakesmith.spark.start.resident import (
    STARTS_ITS_OWN,
    Borrowed,
    KeepWarm,
    borrow,
    borrow_from_up,
    parts_of,
    wanted,
)
from lakesmith.spark.start.settings import SessionSettings, launch_plan, local_catalog_conf, session_conf
from lakesmith.spark.start.train_archive import train_in_background
from lakesmith.spark.start.versions import installed_pair, installed_spark, untested

__all__ = ["SessionHandle", "SessionSettings", "SessionStart", "local_catalog_conf", "start_session"]


class SessionStart:
    """A session that is being started in the background. Safe to use from several threads."""

    def __init__(self, settings: SessionSettings) -> None:
        self._future: Future[SessionHandle] = Future()
        # A daemon: a caller that stops waiting must not wait for a JVM that it does not want any more.
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


def _start(settings: SessionSettings) -> SessionHandle:
    _refuse_second_session()
    said = untested(installed_spark(), installed_pair().iceberg)
    notes: tuple[str, ...] = (said,) if said else ()
    parts = parts_of(kept_settings(settings), settings.size) if settings.keep else {}
    shared = parts_of(kept_settings(settings), None)
    if settings.keep is not None:
        for look, wanted in ((_lent, shared), (_warm, parts)):
            found = look(settings, settings.keep, wanted)
            if isinstance(found, SessionHandle):
                return replace(found, notes=(*notes, *found.notes))
            notes = (*notes, found) if found else notes
    plan = launch_plan(settings)
    # Java takes an archive of the beginning of a class path as well: other jars and the project's come later.
    begin = (spark_home() / "jars", jars_folder(settings.coordinates))
    archived = [jar for jar in plan.class_path if jar.parent in begin]
    archive = archive_for(cache_folder(), plan.java, archived)
    sent = [jar for jar in plan.class_path if jar.parent != spark_home() / "jars"]
    conf = session_conf(settings, plan.folder.spark_local, sent)
    notes = (*notes, *_note_of(archive))
    handle = first_that_works(plan, conf, attempts(plan, archive, conf))

    def stop() -> None:
        if settings.keep is None or not settings.keep.seconds or not _left(handle, settings.keep, parts):
            handle.stop()
        train_in_background(archive, settings.coordinates)

    lent = handle.lent and replace(handle.lent, parts=shared, size=settings.size)
    return replace(handle, stop=stop, notes=(*notes, *handle.notes), lent=lent)


def _note_of(archive: Archive) -> tuple[str, ...]:
    """Returns the note that there is no archive, unless this session's end makes it."""
    why = None if usable(archive) else why_missing(archive)
    said = "Spark starts some seconds slower, without its class-data archive"
    return (f"{said}: {why} (see `lakesmith doctor`)",) if why else ()


def kept_settings(settings: SessionSettings) -> list[object]:
    """What a warm JVM must have been started with, as JSON data."""
    maps = [sorted(settings.catalogs.items()), sorted(settings.conf.items())]
    jars = [*settings.coordinates, *settings.more_coordinates]
    return [*maps, settings.cores, settings.driver_memory_mb, jars, str(settings.log_path)]


def _lent(settings: SessionSettings, keep: KeepWarm, parts: Mapping[str, str]) -> SessionHandle | str | None:
    """A session in the JVM of a running ``up``; else as ``_warm``."""
    found = None if keep.up is None else borrow_from_up(keep.up, parts, settings.size, keep.reads)
    return _over(found, settings, f"lakesmith up has an engine, and {STARTS_ITS_OWN}: ")


def _warm(settings: SessionSettings, keep: KeepWarm, parts: Mapping[str, str]) -> SessionHandle | str | None:
    """A session over the JVM that was kept, or why there is not one, in words; None where none was kept."""
    found = borrow(keep.path, wanted(parts, settings.size))
    return _over(found, settings, f"there is a warm engine, and {STARTS_ITS_OWN}: ")


def _over(found: Borrowed | str | None, settings: SessionSettings, note: str) -> SessionHandle | str | None:
    """A session over what was borrowed; why it was not, after ``note``; None if nothing was there."""
    if found is None or isinstance(found, str):
        return found and note + found
    try:
        return over_borrowed(found, settings.log_path)
    except LaunchError as error:
        return f"{note}{error}"


def _left(handle: SessionHandle, keep: KeepWarm, parts: Mapping[str, str]) -> bool:
    """Leaves the JVM to a keeper; False if that is impossible."""
    if handle.leave is None or not is_running(handle.jvm_pid):
        return False
    try:
        handle.leave(keep, parts)
    except OSError:
        return False
    keep.on_left()
    return True


def _refuse_second_session() -> None:
    context = sys.modules.get("pyspark.core.context")
    if context is None or context.SparkContext._active_spark_context is None:
        return
    raise EnvironmentProblem.of(
        code="LS306",
        what="a Spark session is already running in this Python process",
        expected="none: lakesmith starts its own, with its catalogs and settings",
        hint="hand it over (lakesmith.open(..., spark=spark)), stop it first (spark.stop()), or use a "
        "process of its own",
    )
