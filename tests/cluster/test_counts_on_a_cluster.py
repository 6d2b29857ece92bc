"""Rows counted while they are written are counted once each, also where executors are lost in between."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from processes import kill, wait_until

import spark_cluster_server
from lakesmith.spark.start.find_java import find_java

# A cluster on one machine takes minutes.
pytestmark = pytest.mark.release

PROGRAM: Final = """
import json, sys, time
from pathlib import Path
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from lakesmith.spark.frames.row_counts import RowCounts, counts_of

conf, begun = json.loads(sys.argv[1]), sys.argv[2]
spark = SparkSession.builder.config(map={**conf, "spark.sql.shuffle.partitions": "4"}).getOrCreate()

@F.udf("long")
def slow(number):
    Path(begun).touch()
    time.sleep(0.3)
    return number

seen = RowCounts()
some = F.collect_list(F.col("id") % 250).alias("some")
counts = (F.count(F.lit(1)).alias("rows"), F.sum("id").alias("sum"), some)
rows = seen.observe(spark.range(0, 1000, 1, 4).toDF("id"), *counts)
groups = rows.groupBy((F.col("id") % 50).alias("part")).count()
found = groups.select(slow("part").alias("part"), "count").collect()
print(json.dumps({
    "rows": sum(row["count"] for row in found),
    "by spark": seen._seen.get["rows"],
    "counted": dict(counts_of(seen)),
    "listed": seen.listed("some").size(),
}))
"""
"""Counts before a shuffle, and takes its time after it."""


def test_what_lost_executors_had_counted_counts_once(
    cluster: spark_cluster_server.Cluster, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    java = find_java()
    environ = {**os.environ, "JAVA_HOME": str(java.home), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-c", PROGRAM, json.dumps(cluster.conf), str(begun)]
    with subprocess.Popen(
        command, env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        wait_until(begun.exists, "what was shuffled is read")
        for pid in cluster.executors():
            kill(pid)
        output, problems = program.communicate(timeout=120)
    assert program.returncode == 0, problems
    found = json.loads(output.splitlines()[-1])
    assert found["by spark"] > found["rows"] == 1000, "Spark has counted rows twice, or this shows nothing"
    assert found["counted"] == {"rows": 1000, "sum": 499_500}
    assert found["listed"] == 1000
