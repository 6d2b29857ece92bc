"""What a session is set to: pure, but for asking the machine how much memory there is."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lakesmith.catalog import busy
from lakesmith.catalog.protocol import SPARK_CATALOG
from lakesmith.errors import EnvironmentProblem, Problem
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import Project
from lakesmith.spark.jvm.gateway import CLASSES_JAR
from lakesmith.spark.jvm.growing import PARTITIONS, little_conf
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars
from lakesmith.spark.start.launch import SAME_EVERYWHERE, LaunchPlan, spark_class_path
from lakesmith.spark.start.resident import KeepWarm
from lakesmith.spark.start.session_folder import new_session_folder
from lakesmith.spark.start.sizes import collector, compiler, memory_conf
from lakesmith.spark.start.versions import local_jars

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
    # What it leaves out once a stage turned out to have no rows includes the counting of the rows that went
    # into it.
    "spark.sql.adaptive.optimizer.excludedRules": (
        "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation"
    ),
    # To write in order, by ranges, Spark first takes samples: rows are made twice then, and counted twice.
    "spark.sql.iceberg.distribution-mode": "hash",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalogImplementation": "in-memory",
    # Ten calls for each column expression, to tell the JVM its line of Python.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}

LOCAL_FILES: Final = {"spark.hadoop.fs.file.impl": "lakesmith.LocalFiles"}
"""Hadoop's local files without a process of ``chmod`` for each file and each checksum: a small batch started
some 30 of them, a tenth of its time. Executors elsewhere do not have the class."""

TABLE_FILES: Final = {f"{SPARK_CATALOG}.io-impl": "lakesmith.TableFiles"}
"""Files of the embedded catalog's tables without Hadoop's defaults, which Iceberg copies for each file it
opens. (Files in S3 are not written without: Hadoop has a folder of its own for them.)"""

_EMBEDDED: Final = "jdbc:sqlite:"

UNSEEN: Final = {
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "10",
    "spark.sql.ui.explainMode": "simple",
}
"""Without its page Spark still describes each plan, at each stage, and remembers a thousand: memory of a JVM
that stays, and a part of each small batch."""

FIXED: Mapping[str, str] = {
    # Spark would fill in ``${env:HOME}`` in any SQL text: in names of files, in literals, in what users ask
    # for.
    "spark.sql.variable.substitute": "false",
    # Backslashes would mean themselves, also those that follow a quote of a literal.
    "spark.sql.parser.escapedStringLiterals": "false",
}
"""Settings that are fixed in every session; a project that sets them otherwise is refused."""

EXTENSIONS: Final = "spark.sql.extensions"
EXACT_COMPARISONS: Final = "lakesmith.FloatComparisons"
"""The extension that finds -0.0 and NaN, which filters that are pushed to files lose."""


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
        more_coordinates: of those that not every project needs.
        size: for little data code is compiled quickly rather than well, and shuffles are small.
        keep: where a warm JVM is looked for, and left; None: nowhere.
    """

    catalogs: Mapping[str, str]
    log_path: Path
    cores: int | None = None
    driver_memory_mb: int | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    coordinates: tuple[str, ...] = field(default_factory=local_jars)
    more_coordinates: tuple[str, ...] = ()
    size: DataSize = DataSize.LARGE
    keep: KeepWarm | None = None


def local_catalog_conf(catalog_db: Path, warehouse: Path) -> dict[str, str]:
    """Spark settings of the embedded catalog: Iceberg's JdbcCatalog on one SQLite file.

    The file has to be there (``LocalCatalog.prepare``). PyIceberg's SqlCatalog of the same name and file sees
    the same tables. A writer that meets another's lock waits for it (see ``catalog.busy``); with the
    write-ahead log readers and a writer do not block each other.
    """
    wait_ms = round(busy.SPARK_WAIT_SECONDS * 1000)
    return {
        SPARK_CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{SPARK_CATALOG}.type": "jdbc",
        f"{SPARK_CATALOG}.uri": f"{_EMBEDDED}{catalog_db}?busy_timeout={wait_ms}&journal_mode=WAL",
        f"{SPARK_CATALOG}.jdbc.schema-version": "V1",
        f"{SPARK_CATALOG}.jdbc.init-catalog-tables": "false",
        f"{SPARK_CATALOG}.warehouse": f"file://{warehouse}",
        f"{SPARK_CATALOG}.cache-enabled": "false",
    }


def is_embedded(catalogs: Mapping[str, str]) -> bool:
    """Whether these settings of catalogs are those of the embedded one."""
    return catalogs.get(f"{SPARK_CATALOG}.uri", "").startswith(_EMBEDDED)


DRAFTS: Final = "lake_draft"
"""The catalog of drafts (``spark.iceberg.drafts``), beside the target's."""


def drafts_conf() -> dict[str, str]:
    """Spark settings of the catalog of drafts."""
    catalog = f"spark.sql.catalog.{DRAFTS}"
    return {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.catalog-impl": "lakesmith.Drafts",
        f"{catalog}.cache-enabled": "false",
    }


def session_conf(settings: SessionSettings, local_folder: Path, jars: Sequence[Path] = ()) -> dict[str, str]:
    """Returns a session's Spark settings; `local_folder` gets shuffles, executors elsewhere the `jars`."""
    places = {
        "spark.sql.warehouse.dir": (local_folder / "no-warehouse").as_uri(),
        "spark.pyspark.driver.python": sys.executable,
    }
    here = (
        cluster_conf(DEFAULTS, settings.conf, settings.size)
        if is_cluster(settings.conf)
        else _one_machine(settings)
    )
    conf = {**here, **places, **settings.catalogs, **settings.conf, **_sent(settings, jars), **FIXED}
    return {**conf, EXTENSIONS: f"{conf[EXTENSIONS]},{EXACT_COMPARISONS}"}


def _one_machine(settings: SessionSettings) -> dict[str, str]:
    cores = settings.cores or os.cpu_count() or 1
    return {
        **DEFAULTS,
        **LOCAL_FILES,
        **(TABLE_FILES if is_embedded(settings.catalogs) else {}),
        **({} if settings.conf.get("spark.ui.enabled") == "true" else UNSEEN),
        **memory_conf(settings.size, memory_mb(settings), settings.conf),
        "spark.master": f"local[{settings.cores or '*'}]",
        **_shuffles(settings, cores),
        "spark.pyspark.python": sys.executable,
    }


def _shuffles(settings: SessionSettings, cores: int) -> dict[str, str]:
    if settings.size is DataSize.LITTLE:
        return little_conf(cores, settings.conf)
    return {PARTITIONS: str(max(8, 2 * cores) if settings.size.is_large else cores)}


def _sent(settings: SessionSettings, jars: Sequence[Path]) -> dict[str, str]:
    return jars_conf(settings.conf, jars) if is_cluster(settings.conf) else {}


def default_memory_mb() -> int:
    """Returns half of the memory of this container or machine, within bounds."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    allowed = min([machine, *_container_limits()])
    return max(MIN_MEMORY_MB, min(MAX_MEMORY_MB, allowed // 2 // 2**20))


def _container_limits() -> list[int]:
    files = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
    texts = [path.read_text().strip() for path in files if path.is_file()]
    return [int(text) for text in texts if text.isdigit()]


def launch_plan(settings: SessionSettings) -> LaunchPlan:
    """What the JVM is started with: Java and jars are found (and fetched at first use), a session folder is
    made.

    Raises:
        EnvironmentProblem: LS301 no Java, LS302 no jars, LS304 no cache folder, LS307 a memory size is not
            one.
    """
    java = find_java()
    class_path = spark_class_path(ensure_jars(java, settings.coordinates))
    more = ensure_jars(java, settings.more_coordinates) if settings.more_coordinates else ()
    texts = [settings.conf.get(f"spark.driver.{kind}JavaOptions", "") for kind in ("default", "extra")]
    declared = tuple(shlex.split(" ".join(texts)))
    return LaunchPlan(
        java=java,
        # What comes behind the archived jars may differ from start to start.
        class_path=(*class_path, *more, CLASSES_JAR, *_more_class_path(settings.conf)),
        memory_mb=memory_mb(settings),
        folder=new_session_folder(str(settings.log_path.absolute())),
        log_path=settings.log_path.absolute(),
        python=sys.executable,
        java_options=java_options(settings, declared),
        own_options=bool(declared),
    )


def java_options(settings: SessionSettings, declared: tuple[str, ...]) -> tuple[str, ...]:
    """Returns our options, then the project's, which win. A declared collector replaces ours."""
    compiled = compiler(settings.size)
    has_collector = any(re.fullmatch(r"-XX:\+Use\w+GC|-Xmn\w+", option) for option in declared)
    cores = settings.cores or os.cpu_count() or 1
    ours = () if has_collector else collector(settings.size, cores, memory_mb(settings))
    return (*compiled, *ours, *declared)


def memory_mb(settings: SessionSettings) -> int:
    """The largest heap in MiB: as set, else Spark's own setting ``spark.driver.memory``, else half of the
    memory.

    Raises:
        EnvironmentProblem: LS307, ``spark.driver.memory`` is not a size like ``4g``.
    """
    text = settings.conf.get("spark.driver.memory")
    if settings.driver_memory_mb or text is None:
        return settings.driver_memory_mb or default_memory_mb()
    match = re.fullmatch(r"\s*(\d+)\s*([kmgt]?)b?\s*", text.lower())
    if match is None:
        raise EnvironmentProblem(_not_a_size(text))
    # Spark reads a number alone as MiB.
    return max(1, int(match[1]) * {"k": 1, "m": 2**10, "": 2**10, "g": 2**20, "t": 2**30}[match[2]] // 2**10)


def _more_class_path(conf: Mapping[str, str]) -> list[Path]:
    return [Path(entry) for entry in conf.get("spark.driver.extraClassPath", "").split(os.pathsep) if entry]


def _not_a_size(text: str) -> Problem:
    return Problem(
        code="LS307",
        what="spark.driver.memory is not a size",
        expected="a number and a unit: 512m, 4g",
        found=text,
        hint="correct it in the target's spark settings",
    )


JARS: Final = "spark.jars"
_ONE_MACHINE: Final = re.compile(r"\s*local(\[[^\]]*\])?\s*")
_STANDALONE: Final = "spark://"
_LITTLE_PARTITIONS: Final = 8
"""Of how many cores there will be nothing is known yet; tasks without rows cost some milliseconds each."""
_OF_ONE_MACHINE: Final = ("spark.driver.host", "spark.driver.bindAddress")
"""Defaults for one machine: executors elsewhere would look for the driver on their loopback."""


def is_cluster(conf: Mapping[str, str]) -> bool:
    """Whether these settings have tasks run in other processes than the driver."""
    return not _ONE_MACHINE.fullmatch(conf.get("spark.master", "local"))


def is_standalone(conf: Mapping[str, str]) -> bool:
    """Returns whether the cluster needs only this machine's address, no files of Hadoop or Kubernetes."""
    return conf.get("spark.master", "").strip().startswith(_STANDALONE)


def cluster_conf(defaults: Mapping[str, str], given: Mapping[str, str], size: DataSize) -> dict[str, str]:
    """The ``defaults`` for a cluster, without what holds on one machine; what is ``given`` is not in it."""
    kept = {name: value for name, value in defaults.items() if name not in _OF_ONE_MACHINE}
    return {
        **kept,
        **({"spark.sql.shuffle.partitions": str(_LITTLE_PARTITIONS)} if not size.is_large else {}),
        # As on the driver: code of many columns is one method, which Java would not compile.
        "spark.executor.extraJavaOptions": " ".join(("-XX:-DontCompileHugeMethods", *SAME_EVERYWHERE)),
        "spark.pyspark.python": given.get("spark.pyspark.python", sys.executable),
    }


def jars_conf(given: Mapping[str, str], jars: Sequence[Path]) -> dict[str, str]:
    """Returns the jars that executors fetch at start. ``spark.jars: ""``: they have all of them."""
    declared = given.get(JARS)
    if declared is not None and not declared.strip():
        return {JARS: ""}
    ours = [jar.as_uri() for jar in jars]
    return {JARS: ",".join([*ours, *([declared] if declared else [])])}


def require_shared(project: Project) -> None:
    """Raises EnvironmentProblem LS331 where executors would write tables to disks of their own."""
    target = project.target
    if not target.is_local or not is_cluster(dict(target.spark)):
        return
    raise EnvironmentProblem.of(
        "LS331",
        f"the tables of target {target.name!r} are in a folder of this machine, and its tasks run on others",
        place=target.place,
        expected="a catalog that all machines reach: glue, s3tables, rest or jdbc",
        found=f"the embedded catalog, with spark.master: {dict(target.spark)['spark.master']}",
        hint="give the target a catalog, or leave spark.master out",
    )
