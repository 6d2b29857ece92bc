"""A session that somebody else started: work is done in a child of it, and it is never stopped.

The child has settings of its own, so ours do not get into the caller's session, and what that is set to does
not change rows. What can be set only when Spark starts, and classes that are missing, are named with the
lines to add.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakesmith.catalog.protocol import SPARK_CATALOG
from lakesmith.errors import EnvironmentProblem, Problem
from lakesmith.spark.jvm.gateway import close_catalogs, own_class
from lakesmith.spark.start.attempts import SessionHandle
from lakesmith.spark.start.settings import (
    DEFAULTS,
    EXACT_COMPARISONS,
    EXTENSIONS,
    FIXED,
    SessionSettings,
    is_embedded,
)
from lakesmith.spark.start.stop import asked_of_jvm
from lakesmith.spark.start.target_conf import S3_FILES
from lakesmith.spark.start.versions import PAIRS, installed_pair, known_pairs, minor_of, pair_of, untested

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HADOOP: Final = "spark.hadoop."
_AT_START: Final = (EXTENSIONS, "spark.sql.catalogImplementation", "spark.sql.warehouse.dir")
_OTHER_CASES: Final = ("tr", "az", "lt")
"""Languages in which Java maps letters of other languages to other cases: ``i`` to ``İ``."""

_LITTLE: Final = {"spark.sql.shuffle.partitions": "8"}
_TUNING: Final = (
    "spark.sql.adaptive.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.broadcastTimeout",
    "spark.sql.catalog.",
    "spark.sql.execution.",
    "spark.sql.files.max",
    "spark.sql.shuffle.",
)
"""Beginnings of settings that change speed alone: a child session has its parent's."""

_CLASSES: Final = {
    "org.apache.iceberg:iceberg-spark-runtime": "org.apache.iceberg.spark.SparkCatalog",
    "org.xerial:sqlite-jdbc": "org.sqlite.JDBC",
    # Of Iceberg's runtime: whether all is there that it is made of, wherever a vendor has it.
    "org.apache.iceberg:iceberg-aws-bundle": "org.apache.iceberg.aws.s3.S3FileIO",
    "org.postgresql:postgresql": "org.postgresql.Driver",
    "org.apache.spark:spark-sql-kafka": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
}
"""A class of each jar that nothing can be done without, by how the jar's coordinates begin."""


@dataclass(frozen=True)
class _Parent:
    spark: SparkSession

    @property
    def jvm(self) -> Any:
        return self.spark._jvm

    def setting(self, name: str) -> str:
        """What Spark was started with, empty for what was not set."""
        return str(self.spark.sparkContext.getConf().get(name, "") or "")

    def has(self, name: str) -> bool:
        from py4j.protocol import Py4JJavaError

        try:
            loader = self.jvm.java.lang.Thread.currentThread().getContextClassLoader()
            # Its methods name the classes that it cannot do without, such as those of Amazon's SDK.
            self.jvm.java.lang.Class.forName(name, False, loader).getDeclaredMethods()
        except Py4JJavaError:
            return False
        return True

    @property
    def iceberg(self) -> str:
        return str(self.jvm.org.apache.iceberg.IcebergBuild.version())


def over_given(spark: SparkSession, settings: SessionSettings) -> SessionHandle:
    """Returns a child of the session, set up for the target. Raises EnvironmentProblem LS332, LS333, LS334,
    LS337."""
    _require_classic(spark)
    parent = _Parent(spark)
    _require_version(f"Spark {spark.version}", pair_of(spark.version) is not None)
    if problems := [*_settings_missing(parent), *_classes_missing(parent, settings)]:
        raise EnvironmentProblem(problems)
    _require_version(
        f"Iceberg {parent.iceberg}", minor_of(parent.iceberg) in {minor_of(pair.iceberg) for pair in PAIRS}
    )
    _compare_exactly(parent)
    child = spark.newSession()
    _set_up(child, parent, settings)
    tag = f"lakesmith-{uuid.uuid4()}"

    def enter() -> None:
        spark.sparkContext.addJobTag(tag)
        parent.jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(child._jsparkSession)

    def let_go() -> None:
        asked_of_jvm(lambda: close_catalogs(child))

    return SessionHandle(
        spark=child,
        jvm_pid=int(parent.jvm.java.lang.ProcessHandle.current().pid()),
        log_path=settings.log_path,
        started_by="given",
        notes=tuple(_notes(parent, settings)),
        stop=let_go,
        is_alive=lambda: _is_up(spark),
        cancel=lambda: spark.sparkContext.cancelJobsWithTag(tag),
        enter=enter,
    )


def _compare_exactly(parent: _Parent) -> None:
    """Adds ``EXACT_COMPARISONS`` to the extensions that new sessions of this Spark begin with."""
    session: Any = parent.spark._jsparkSession
    extensions = session.extensions()
    if EXACT_COMPARISONS in extensions.buildOptimizerRules(session).mkString():
        return
    # Py4J finds no method of any number of arguments that is given none, such as getDeclaredConstructor.
    own_class(parent.spark, EXACT_COMPARISONS).newInstance().apply(extensions)


def settings_at_start(settings: SessionSettings) -> dict[str, str]:
    """Returns what a caller's session must be started with; without one, all that we would set."""
    mine = {name: value for name, value in DEFAULTS.items() if name.startswith("spark.sql.")}
    return {**mine, **settings.catalogs, **settings.conf, **FIXED}


def _require_classic(spark: SparkSession) -> None:
    if hasattr(spark, "_jsparkSession") and _is_up(spark):
        return
    remote = not hasattr(spark, "_jsparkSession")
    found = "a session of Spark Connect" if remote else "a session that was stopped"
    what = "the session cannot be worked in"
    expected = "a running session whose driver is this process, not one that is reached over Spark Connect"
    raise EnvironmentProblem.of("LS332", what, None, expected, found)


def _is_up(spark: SparkSession) -> bool:
    from py4j.protocol import Py4JError

    context: Any = spark.sparkContext
    try:
        return context._jsc is not None and not context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        return False


def _settings_missing(parent: _Parent) -> Iterator[Problem]:
    wanted, found = DEFAULTS[EXTENSIONS], parent.setting(EXTENSIONS)
    if wanted not in [name.strip() for name in found.split(",")]:
        lines = f"{EXTENSIONS}={','.join(filter(None, (found, wanted)))}"
        what = "the session was started without Iceberg's extensions, which cannot be added later"
        yield Problem("LS333", what, None, lines, found or "not set", f"start Spark with --conf {lines}")
    language = str(parent.jvm.java.util.Locale.getDefault().getLanguage())
    if language in _OTHER_CASES:
        what = "the session's Java has a language in which upper and lower case differ, so rows would"
        options = "-Duser.language=en -Duser.country=US"
        hint = (
            f'start Spark with --driver-java-options "{options}" and --conf '
            f'"spark.executor.extraJavaOptions={options}"'
        )
        yield Problem("LS333", what, None, "user.language=en", f"user.language={language}", hint)


def _require_version(found: str, is_known: bool) -> None:
    if is_known:
        return
    hint = "start Spark in one of these versions; their last numbers may differ"
    raise EnvironmentProblem.of(
        "LS337",
        "the session is of a version that lakesmith does not work with",
        None,
        known_pairs(),
        found,
        hint,
    )


def _classes_missing(parent: _Parent, settings: SessionSettings) -> Iterator[Problem]:
    for coordinate in _coordinates(settings):
        name = next((_CLASSES[begin] for begin in _CLASSES if coordinate.startswith(begin)), None)
        if name is not None and not parent.has(name):
            what = f"the session has no {name} on its class path"
            hint = f"start Spark with --packages {coordinate}, or with the jar among --jars"
            yield Problem("LS334", what, None, coordinate, "none", hint)


def _coordinates(settings: SessionSettings) -> Sequence[str]:
    """Returns the coordinates; the embedded catalog's jar only with that catalog."""
    common = settings.coordinates if is_embedded(settings.catalogs) else (installed_pair().runtime,)
    return (*common, *settings.more_coordinates)


def _set_up(child: SparkSession, parent: _Parent, settings: SessionSettings) -> None:
    ours = runtime_conf(settings, reaches_s3=bool(_hadoop(parent, "fs.s3.impl")))
    for name in _inherited(child):
        if name not in ours and not name.startswith(_TUNING):
            child.conf.unset(name)
    for name in _of_another_catalog(child, ours):
        child.conf.unset(name)
    for name, value in ours.items():
        child.conf.set(name, value)


def runtime_conf(settings: SessionSettings, reaches_s3: bool) -> dict[str, str]:
    """What the child is set to. ``reaches_s3``: the session has readers of S3 of its own, as EMR's have."""
    given = {**({} if settings.size.is_large else _LITTLE), **settings_at_start(settings)}
    found = {name: value for name, value in given.items() if _at_run_time(name)}
    files = {
        name.removeprefix(_HADOOP): value
        for name, value in settings.catalogs.items()
        if name.startswith(_HADOOP) and not (reaches_s3 and name == S3_FILES)
    }
    return {**found, **files}


def _at_run_time(name: str) -> bool:
    return name.startswith("spark.sql.") and name not in _AT_START


def _hadoop(parent: _Parent, name: str) -> str | None:
    context: Any = parent.spark.sparkContext._jsc
    return context.hadoopConfiguration().get(name)  # type: ignore[no-any-return]


def _inherited(child: SparkSession) -> list[str]:
    """Returns settings of Spark SQL that the child has from Spark's start and can change."""
    session: Any = child._jsparkSession
    pairs, found = session.sessionState().conf().getAllConfs().iterator(), []
    while pairs.hasNext():
        name = str(pairs.next()._1())
        if name.startswith("spark.sql.") and child.conf.isModifiable(name):
            found.append(name)
    return found


def _of_another_catalog(child: SparkSession, ours: Mapping[str, str]) -> list[str]:
    """Returns settings of the catalog that differ from the target's."""
    kinds = {f"{SPARK_CATALOG}.{part}" for part in ("type", "catalog-impl", "io-impl")}
    return [name for name in kinds if name not in ours and child.conf.get(name, None) is not None]


def _notes(parent: _Parent, settings: SessionSettings) -> Iterator[str]:
    if said := untested(parent.spark.version, parent.iceberg):
        yield said
    late = sorted(
        name
        for name, value in settings.conf.items()
        if not _at_run_time(name) and parent.setting(name) != value
    )
    if late:
        yield (
            f"the session is somebody else's and was there already: {', '.join(late)} of the target is not "
            "set"
        )


def started_with(settings: SessionSettings) -> tuple[SparkSession, bool]:
    """Returns the session that ``spark-submit`` started, and whether it is new."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate(), False
    conf = SparkConf()
    for name, value in settings_at_start(settings).items():
        if name == EXTENSIONS:
            have = conf.get(name, "") or ""
            conf.set(name, have if value in have else ",".join(filter(None, (have, value))))
        elif name != "spark.master" or not conf.contains(name):
            conf.setIfMissing(name, value)
    return SparkSession.builder.config(conf=conf).getOrCreate(), True
