"""Settings for a Spark whose executors are on other machines. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lakesmith.errors import EnvironmentProblem
from lakesmith.project.definitions import Project
from lakesmith.spark.start.launch import SAME_EVERYWHERE

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


def cluster_conf(defaults: Mapping[str, str], given: Mapping[str, str], little: bool) -> dict[str, str]:
    """The ``defaults`` for a cluster, without what holds on one machine; what is ``given`` is not in it."""
    kept = {name: value for name, value in defaults.items() if name not in _OF_ONE_MACHINE}
    return {
        **kept,
        **({"spark.sql.shuffle.partitions": str(_LITTLE_PARTITIONS)} if little else {}),
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
