"""What a JVM has is looked at, and what it lacks is done in another way that gives the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harness import Harness
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lakesmith.spark.frames.row_counts import RowCounts, counts_of
from lakesmith.spark.jvm import gateway
from lakesmith.spark.jvm.gateway import Capabilities, capabilities_of
from lakesmith.spark.jvm.growing import ADAPTIVE, COMPILING, PARTITIONS, little_conf, may_grow
from lakesmith.spark.read.sessions import ReadingSessions
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.versions import installed_pair, minor_of

ORDERS = """
source:
  files: {path: landing/, pattern: "*.csv", format: csv}
columns: {id: bigint, price: "decimal(10,2)"}
rules: |
  Rules = [ ColumnValues "price" > 0 ]
"""
NEWEST = "key: [id]\nfrom: bronze.orders\nlatest_by: [price]\n"
SUMS = "SELECT id % 2 AS odd, sum(price) AS total, count(*) AS n FROM bronze.orders GROUP BY id % 2\n"


def _with_less(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, **lacking: bool) -> None:
    found = replace(capabilities_of(spark._jvm), **lacking)
    monkeypatch.setitem(gateway._KNOWN, spark._jvm, found)  # type: ignore[arg-type]


def test_what_each_version_has(spark: SparkSession) -> None:
    is_new = minor_of(installed_pair().spark) != "4.0"
    assert capabilities_of(spark._jvm) == Capabilities(is_new, is_new, is_new)


@pytest.mark.parametrize("rows", ["id >= 0", "id > 1", "false"])
def test_counts_are_the_same_without_being_told(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, rows: str
) -> None:
    def counted() -> Any:
        seen = RowCounts()
        watched = seen.observe(
            spark.range(5).where(rows), F.count(F.lit(1)).alias("n"), F.sum("id").alias("s")
        )
        watched.write.format("noop").mode("overwrite").save()
        found = counts_of(seen)
        return found["n"], found["s"], found["of nothing"]

    told = counted()
    _with_less(spark, monkeypatch, observed_rows=False)
    assert counted() == told == {"id >= 0": (5, 10, 0), "id > 1": (3, 9, 0), "false": (0, 0, 0)}[rows]


def test_a_project_gives_the_same_without(
    tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grown(name: str) -> tuple[Any, ...]:
        files = {
            "tables/bronze/orders.yaml": ORDERS,
            "tables/silver/newest.yaml": NEWEST,
            "tables/gold/sums.sql": SUMS,
        }
        shop = Harness(tmp_path / name, session, files)
        shop.land("landing/1.csv", "id,price\n1,2.50\n2,0.50\nx,1.00\n")
        accounts = [shop.must_run().published]
        # A file without rows is one that Spark leaves the counting out for.
        shop.land("landing/2.csv", "id,price\n")
        accounts.append(shop.must_run().published)
        shop.land("landing/3.csv", "id,price\n1,9.00\n3,-1.00\n")
        accounts.append(shop.must_run().published)
        tables = [shop.rows(table) for table in ("bronze.orders", "silver.newest", "gold.sums")]
        kept = [(row["source_file"], row["reasons"]) for row in shop.quarantine("bronze.orders")]
        return [{table: each.account for table, each in run.items()} for run in accounts], tables, kept

    told = grown("told")
    _with_less(session.spark, monkeypatch, observed_rows=False)
    assert grown("waited") == told
    assert len(told[2]) == 2


def test_local_files_get_their_permissions_without_a_process(spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = spark._jvm
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    ours = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI(tmp_path.as_uri()), conf)
    assert ours.getClass().getName() == "lakesmith.LocalFiles"
    usual = jvm.org.apache.hadoop.fs.LocalFileSystem()
    usual.initialize(jvm.java.net.URI("file:///"), conf)
    made = []
    for name, files in (("ours", ours), ("usual", usual)):
        folder = jvm.org.apache.hadoop.fs.Path((tmp_path / name).as_uri())
        files.mkdirs(folder)
        files.create(jvm.org.apache.hadoop.fs.Path(folder, "a")).close()
        odd = jvm.org.apache.hadoop.fs.permission.FsPermission("1751")
        sticky = jvm.org.apache.hadoop.fs.Path(folder, "sticky")
        files.mkdirs(sticky)
        files.setPermission(sticky, odd)
        there = sorted((tmp_path / name).rglob("*"))
        made.append({str(path.relative_to(tmp_path / name)): path.stat().st_mode for path in there})
    assert made[0] == made[1]
    assert ".a.crc" in made[0]


def test_files_of_tables_have_the_settings_that_somebody_made_and_no_defaults(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    conf.set("fs.file.block.size", "7")
    files = jvm.lakesmith.TableFiles()
    files.setConf(conf)
    kept = files.conf()
    assert (kept.get("fs.file.block.size"), kept.get("fs.file.impl")) == ("7", "lakesmith.LocalFiles")
    assert (conf.get("io.bytes.per.checksum"), kept.get("io.bytes.per.checksum")) == ("512", None)
    assert kept.size() < conf.size() / 10


def test_a_session_that_grows_compiles_all_but_wide_files(spark: SparkSession) -> None:
    little = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    for name, value in little_conf(8, {}).items():
        little.conf.set(name, value)
    sessions = ReadingSessions(little)
    each = (little, sessions._compiled, sessions._interpreted)
    assert [(it.conf.get(ADAPTIVE), it.conf.get(COMPILING)) for it in each] == [("false", "NO_CODEGEN")] * 3
    sessions.grow()
    assert not any(map(may_grow, each))
    assert [it.conf.get(ADAPTIVE) for it in each] == ["true"] * 3
    assert [it.conf.get(COMPILING) for it in each] == ["FALLBACK", "FALLBACK", "NO_CODEGEN"]
    assert [it.conf.get(PARTITIONS) for it in each] == ["8"] * 3
    sessions.close()
