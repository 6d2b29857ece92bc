"""Which versions go together, and which jars follow from what is installed."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.start import session, versions
from lakesmith.spark.start.jars import spark_home
from lakesmith.spark.start.resident import KeepWarm
from lakesmith.spark.start.session import SessionHandle, SessionSettings, start_session
from lakesmith.spark.start.versions import (
    PAIRS,
    installed_pair,
    installed_spark,
    local_jars,
    pair_of,
    untested,
)

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("spark", "iceberg"),
    [
        ("4.0.2", "1.10.1"), ("4.1.1", "1.11.0"), ("4.1.4", "1.12.0"), ("4.0.2-amzn-0", "1.10.1"),
        ("4.1.1+vendor.3", "1.11.0"), ("4.0.7", "1.10.1"), ("4.1.2", "1.12.0"),
    ],
)  # fmt: skip
def test_iceberg_follows_from_spark(spark: str, iceberg: str) -> None:
    pair = pair_of(spark)
    assert pair is not None
    assert pair.iceberg == iceberg


@pytest.mark.parametrize("spark", ["3.5.6", "4.2.0", "5.0.0", "4.10.2", "unknown"])
def test_another_minor_version_has_none(spark: str) -> None:
    assert pair_of(spark) is None


def test_the_jars_are_for_their_spark() -> None:
    old, glue, new = PAIRS
    assert old.local_jars == (
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
        "org.xerial:sqlite-jdbc:3.50.3.0",
        "org.apache.spark:spark-avro_2.13:4.0.2",
    )
    assert glue.aws_jars == (
        "org.apache.iceberg:iceberg-aws-bundle:1.11.0",
        "org.apache.hadoop:hadoop-aws:3.4.2",
        "software.amazon.awssdk:s3-transfer-manager:2.44.4",
    )
    assert new.runtime == "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
    for pair in PAIRS:
        connectors = [
            jar for jar in (*pair.local_jars, *pair.kafka_jars) if jar.startswith("org.apache.spark:")
        ]
        assert all(jar.split(":")[2].startswith(f"{pair.minor}.") for jar in connectors)


def test_what_is_installed_decides() -> None:
    pair = installed_pair()
    assert pair.spark == installed_spark()
    assert local_jars() == pair.local_jars
    # Readers of S3 have to be of the version of the Hadoop that PySpark has.
    assert (spark_home() / "jars" / f"hadoop-client-api-{pair.hadoop}.jar").is_file()


def test_a_pyspark_in_a_zip_has_a_version(tmp_path: Path) -> None:
    """As spark-submit puts it on the path."""
    with zipfile.ZipFile(tmp_path / "pyspark.zip", "w") as packed:
        packed.writestr("pyspark/__init__.py", "raise AssertionError('imported')")
        packed.writestr("pyspark/version.py", '__version__: str = "4.0.2"\n')
    code = "from lakesmith.spark.start.versions import installed_spark; print(installed_spark())"
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "pyspark.zip")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout == "4.0.2\n"


def test_a_pyspark_that_has_no_iceberg_is_refused_with_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "installed_spark", lambda: "4.2.1")
    with pytest.raises(EnvironmentProblem, match="LS313") as refused:
        installed_pair()
    problem = refused.value.problems[0]
    assert problem.found == "PySpark 4.2.1"
    assert problem.expected == (
        "Spark 4.0.2 with Iceberg 1.10.1, Spark 4.1.1 with Iceberg 1.11.0, Spark 4.1.4 with Iceberg 1.12.0"
    )
    assert problem.hint == (
        "pip install pyspark==4.1.4 or pip install pyspark==4.1.1 or pip install pyspark==4.0.2"
    )


def test_only_pairs_go_without_a_note() -> None:
    assert untested("4.0.2-amzn-1", "1.10.1-amzn-0") is None
    for other in (("4.0.2", "1.12.0"), ("4.1.2", "1.12.0"), ("4.1.4", "1.11.0")):
        said = untested(*other)
        assert said is not None
        assert said.startswith(f"this is Spark {other[0]} with Iceberg {other[1]}")


def test_the_package_takes_each_of_them_and_the_newest_is_developed_on() -> None:
    declared = re.search(r'"pyspark>=([\d.]+),<=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert declared is not None
    assert declared.groups() == (PAIRS[0].spark, PAIRS[-1].spark)
    assert f"\npyspark=={PAIRS[-1].spark}\n" in (ROOT / "constraints.txt").read_text()


def test_a_run_on_versions_that_are_not_tested_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "spark.log"
    warm = SessionHandle(Mock(), 1, log, "direct", ("warm",), lambda: None, lambda: True)
    monkeypatch.setattr(session, "_warm", lambda *_: warm)
    # Tests of Spark may have left a session in this process.
    monkeypatch.setattr(session, "_refuse_second_session", lambda: None)
    settings = SessionSettings({}, log, keep=KeepWarm(tmp_path / "socket"))
    assert start_session(settings).result().notes == ("warm",)
    monkeypatch.setattr(session, "installed_spark", lambda: "4.1.9")
    said, warmth = start_session(settings).result().notes
    assert said.startswith("this is Spark 4.1.9 with Iceberg 1.12.0; lakesmith is tested on ")
    assert warmth == "warm"
