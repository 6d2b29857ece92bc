"""Which versions of Spark and Iceberg go together, and the jars that belong to each: the one place that
knows.

What is installed decides, and in somebody else's session what its JVM says; no setting does, so none can be
wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.start.jars import spark_home

if TYPE_CHECKING:
    from importlib.abc import ResourceLoader

SQLITE: Final = "org.xerial:sqlite-jdbc:3.50.3.0"
POSTGRES_JARS: Final = ("org.postgresql:postgresql:42.7.14",)


@dataclass(frozen=True, slots=True)
class Pair:
    """A version of Spark and the version of Iceberg that it is tested with.

    Args:
        avro, kafka: the versions of Spark's own connectors: the newest that Maven Central was seen to give
        whole for this minor version of
            Spark; patch versions are compatible.
        hadoop: the version of Hadoop's classes in PySpark, which its readers of S3 need too.
        sdk: the version of Amazon's SDK in Iceberg's bundle; ``sdk_parts``: what Hadoop's readers need of it
            that is not in the bundle.
    """

    spark: str
    iceberg: str
    avro: str
    kafka: str
    hadoop: str
    sdk: str
    sdk_parts: tuple[str, ...]

    @property
    def minor(self) -> str:
        """Spark's version without the last number: ``4.1``."""
        return minor_of(self.spark)

    @property
    def runtime(self) -> str:
        return f"org.apache.iceberg:iceberg-spark-runtime-{self.minor}_2.13:{self.iceberg}"

    @property
    def aws_bundle(self) -> str:
        return f"org.apache.iceberg:iceberg-aws-bundle:{self.iceberg}"

    @property
    def local_jars(self) -> tuple[str, ...]:
        return (self.runtime, SQLITE, f"org.apache.spark:spark-avro_2.13:{self.avro}")

    @property
    def kafka_jars(self) -> tuple[str, ...]:
        """Of projects with topics alone, and in a folder of their own."""
        return (f"org.apache.spark:spark-sql-kafka-0-10_2.13:{self.kafka}",)

    @property
    def aws_jars(self) -> tuple[str, ...]:
        """Returns the jars for S3. Of the SDK only the bundle: Hadoop's jar asks for 600 MB more."""
        parts = (f"software.amazon.awssdk:{part}:{self.sdk}" for part in self.sdk_parts)
        return (self.aws_bundle, f"org.apache.hadoop:hadoop-aws:{self.hadoop}", *parts)


PAIRS: Final = (
    Pair("4.0.2", "1.10.1", "4.0.2", "4.0.0", "3.4.1", "2.33.0", ("s3-transfer-manager",)),
    Pair("4.1.1", "1.11.0", "4.1.1", "4.1.1", "3.4.2", "2.44.4", ("s3-transfer-manager",)),
    Pair("4.1.4", "1.12.0", "4.1.1", "4.1.1", "3.4.2", "2.54.17", ("apache-client", "s3-transfer-manager")),
)
"""What the conformance suite is run on (docs/cluster.md), the oldest first."""

_NUMBERS: Final = re.compile(r"\d+\.\d+\.\d+")


def numbers_of(version: str) -> str:
    """A version without what a vendor says behind it.

    >>> numbers_of("4.0.2-amzn-0")
    '4.0.2'
    """
    found = _NUMBERS.match(version)
    return found[0] if found else version


def minor_of(version: str) -> str:
    """
    >>> minor_of("4.0.2-amzn-0")
    '4.0'
    """
    return ".".join(numbers_of(version).split(".")[:2])


def pair_of(spark: str) -> Pair | None:
    """Returns the pair of a Spark version, else the newest of its minor version, or None."""
    near = {pair.spark: pair for pair in PAIRS if pair.minor == minor_of(spark)}
    return near.get(numbers_of(spark)) or next(reversed(near.values()), None)


def known_pairs() -> str:
    return ", ".join(f"Spark {pair.spark} with Iceberg {pair.iceberg}" for pair in PAIRS)


def untested(spark: str, iceberg: str) -> str | None:
    """What a reader of a run should know of versions that are no pair; None of those that are."""
    if any((pair.spark, pair.iceberg) == (numbers_of(spark), numbers_of(iceberg)) for pair in PAIRS):
        return None
    return f"this is Spark {spark} with Iceberg {iceberg}; lakesmith is tested on {known_pairs()}"


def installed_spark() -> str:
    """Returns PySpark's version without importing it. Raises EnvironmentProblem LS305."""
    folder = spark_home()
    spec = find_spec("pyspark")
    # By its loader: spark-submit has the package in a zip.
    loader = cast("ResourceLoader", spec and spec.loader)
    text = loader.get_data(str(folder / "version.py")).decode()
    found = re.search(r"""__version__.*=\s*["']([^"']+)["']""", text)
    return found[1] if found else "unknown"


def installed_pair() -> Pair:
    """The pair of the installed PySpark.

    Raises EnvironmentProblem: LS305, no PySpark; LS313, Iceberg has no jar for it here.
    """
    spark = installed_spark()
    if (pair := pair_of(spark)) is not None:
        return pair
    what = f"lakesmith does not work with PySpark {spark}"
    hint = " or ".join(f"pip install pyspark=={each.spark}" for each in reversed(PAIRS))
    raise EnvironmentProblem.of("LS313", what, None, known_pairs(), f"PySpark {spark}", hint)


def local_jars() -> tuple[str, ...]:
    """Returns the jars' coordinates of every project. Raises as ``installed_pair``."""
    return installed_pair().local_jars
