"""A session that somebody else started: what has to be there, and what the child is set to."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakesmith.errors import EnvironmentProblem
from lakesmith.spark.start import given
from lakesmith.spark.start.given import over_given, runtime_conf
from lakesmith.spark.start.settings import SessionSettings, local_catalog_conf


def _settings(folder: Path) -> SessionSettings:
    return SessionSettings(local_catalog_conf(folder / "catalog.db", folder / "warehouse"), folder / "log")


def test_the_child_has_our_settings_and_the_parent_keeps_its_own(spark: SparkSession, tmp_path: Path) -> None:
    parent = spark.newSession()
    parent.conf.set("spark.sql.ansi.enabled", "false")
    handle = over_given(parent, _settings(tmp_path))
    assert handle.spark.conf.get("spark.sql.ansi.enabled") == "true"
    assert handle.spark.conf.get("spark.sql.catalog.lake.warehouse") == f"file://{tmp_path / 'warehouse'}"
    assert parent.conf.get("spark.sql.ansi.enabled") == "false"
    handle.stop()
    assert parent.range(3).count() == 3
    assert handle.is_alive()


def test_only_jobs_of_ours_are_cancelled(spark: SparkSession, tmp_path: Path) -> None:
    handle = over_given(spark.newSession(), _settings(tmp_path))
    try:
        handle.enter()
        (tag,) = (each for each in spark.sparkContext.getJobTags() if each.startswith("lakesmith-"))
    finally:
        spark.sparkContext.clearJobTags()
    assert tag
    handle.cancel()


def test_a_jar_that_is_missing_is_named(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The suite's session has every jar that there is: one that there is not is looked for the same way.
    monkeypatch.setitem(given._CLASSES, "com.example:absent", "com.example.Absent")
    settings = replace(_settings(tmp_path), more_coordinates=("com.example:absent:1.0",))
    with pytest.raises(EnvironmentProblem, match="LS334") as refused:
        over_given(spark, settings)
    assert "--packages com.example:absent:1.0" in (refused.value.problems[0].hint or "")


@pytest.mark.parametrize("what", ["Spark", "Iceberg"])
def test_a_version_that_is_too_old_or_too_new_is_refused_with_the_choices(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    # The suite's session is of a version that is known: here none is.
    if what == "Spark":
        monkeypatch.setattr(given, "pair_of", lambda _: None)
    else:
        monkeypatch.setattr(given, "PAIRS", ())
    with pytest.raises(EnvironmentProblem, match="LS337") as refused:
        over_given(spark, _settings(tmp_path))
    problem = refused.value.problems[0]
    assert (problem.found or "").startswith(f"{what} {spark.version if what == 'Spark' else ''}")
    assert "Spark 4.0.2 with Iceberg 1.10.1" in (problem.expected or "")


def test_a_setting_that_only_a_new_spark_can_have_is_told(spark: SparkSession, tmp_path: Path) -> None:
    settings = replace(_settings(tmp_path), conf={"spark.executor.memory": "9g"})
    assert "spark.executor.memory" in " ".join(over_given(spark, settings).notes)


def test_readers_of_s3_that_are_there_stay(tmp_path: Path) -> None:
    catalogs = {"spark.hadoop.fs.s3.impl": "ours", "spark.hadoop.fs.s3a.endpoint": "http://here"}
    settings = SessionSettings(catalogs, tmp_path / "log")
    assert "fs.s3.impl" not in runtime_conf(settings, reaches_s3=True)
    assert runtime_conf(settings, reaches_s3=False)["fs.s3a.endpoint"] == "http://here"


SOMEBODY_ELSES = """
import json, sys
import lakesmith
from pyspark.sql import SparkSession
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars
from lakesmith.spark.start.versions import installed_pair

jars = ",".join(map(str, ensure_jars(find_java(), installed_pair().local_jars)))
extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
conf = {"spark.jars": jars, "spark.sql.extensions": extensions, "spark.ui.enabled": "false"}
spark = SparkSession.builder.master("local[1]").config(map=conf).getOrCreate()
with lakesmith.open(sys.argv[1], spark=spark) as shop:
    shop.run()
    rows = shop.query("SELECT id FROM silver.a WHERE x = 0 ORDER BY id").arrow().to_pydict()
print(json.dumps(rows))
"""


def test_a_session_without_our_jar_has_our_classes(tmp_path: Path) -> None:
    """Comparisons of floats, and drafts, are classes that such a session gets by a loader of its own."""
    for name, text in {
        "lakesmith.yaml": "name: shop\n",
        "tables/bronze/a.yaml": (
            "source: {files: {path: landing/, format: csv}}\ncolumns: {id: bigint, x: double}\n"
        ),
        "tables/silver/a.yaml": "key: [id]\nquery: SELECT id, x FROM bronze.a\n",
        "landing/1.csv": "id,x\n1,-0.0\n2,0.0\n3,1.5\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", SOMEBODY_ELSES, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"id": [1, 2]}
    metadata = (tmp_path / ".lakesmith/warehouse/silver/a/metadata").glob("*.metadata.json")
    assert len(list(metadata)) == 2, "one made the table, one published its rows"
