"""A caller's own session on a cluster: a child process, Python tables, upserts, refreshes and replays."""

import json
from pathlib import Path
from typing import Final

import pytest

from cluster_place import Place
from lakesmith.spark.start.find_java import find_java
from lakesmith.spark.start.jars import ensure_jars
from lakesmith.spark.start.versions import installed_pair

# A cluster on one machine takes minutes.
pytestmark = pytest.mark.release

PROJECT: Final = {
    "tables/bronze/orders.yaml": """
source: {files: {path: "BUCKET/orders/", format: csv}}
columns: {id: bigint, city: string, amount: bigint, at: bigint}
rules: |
  Rules = [ ColumnValues "amount" > 0 ]
on_bad_row: quarantine
""",
    "tables/silver/orders.yaml": "key: [id]\nlatest_by: [at]\n",
    "tables/silver/orders.sql": "SELECT id, city, amount, at FROM bronze.orders\n",
    "tables/gold/cities.sql": "SELECT city, sum(amount) AS amount FROM silver.orders GROUP BY city\n",
    "lib/__init__.py": "",
    "lib/names.py": "def shouted(text):\n    return text.upper() + SIGN\n\n\nSIGN = '!'\n",
    "tables/silver/shouts.py": """
from lib.names import shouted
from pyspark.sql import functions as F

shout = F.udf(shouted, "string")


def shouts(silver__orders):
    return silver__orders.select("id", shout("city").alias("city"))
""",
}
PROGRAM: Final = """
import json, sys
import boto3
import lakesmith
from lakesmith import limits
from pyspark.sql import SparkSession

root, bucket, conf = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
builder = SparkSession.builder.config(map=conf)
spark = builder.getOrCreate()
spark.conf.set("spark.sql.ansi.enabled", "false")
spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
before = dict(spark.conf.getAll)
limits.COMPUTED_WHOLE_BELOW_BYTES = 0
limits.COMPUTED_WHOLE_ABOVE_CHANGED_PART = 1e9

def land(name, *rows):
    body = "id,city,amount,at\\n" + "".join(",".join(map(str, row)) + "\\n" for row in rows)
    key = f"orders/{name}.csv"
    boto3.client("s3").put_object(Bucket=bucket.removeprefix("s3://"), Key=key, Body=body.encode())

def rows(shop, table):
    return sorted([list(row.values()) for row in shop.table(table).arrow().to_pylist()])

kinds, found = [], {}
with lakesmith.open(root, "prod", spark=spark) as shop:
    land(1, *[(n, f"c{n % 5}", n + 1, 0) for n in range(200)], (900, "bad", -1, 0))
    shop.run()
    land(2, (3, "c3", 1000, 1), (4, "c4", 1000, 1), (777, "c1", 5, 1))
    done = shop.run()
    kinds = {name: report.record.kind for name, report in done.published.items()}
    for table in ("silver.orders", "gold.cities", "silver.shouts"):
        found[table] = rows(shop, table)
    quarantined = shop.query("SELECT * FROM bronze.orders WHERE id = 900").arrow().num_rows
after = dict(spark.conf.getAll)
alive = spark.range(5).count()
print(json.dumps({
    "kinds": kinds, "rows": found, "quarantined": quarantined, "alive": alive,
    "changed": sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)),
}))
"""


def _conf(place: Place) -> dict[str, str]:
    pair = installed_pair()
    jars = [*ensure_jars(find_java(), pair.local_jars), *ensure_jars(find_java(), pair.aws_jars)]
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    return {**place.cluster.conf, "spark.jars": ",".join(map(str, jars)), "spark.sql.extensions": extensions}


def test_a_given_session_does_the_work_and_stays_as_it_was(place: Place, tmp_path: Path) -> None:
    root = tmp_path / "given"
    for name, text in PROJECT.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("BUCKET", place.bucket))
    target = place.target("given", {})
    (root / "lakesmith.yaml").write_text(f"name: given\ntargets:\n  local: {{}}\n  prod: {target}\n")
    found = place.python(PROGRAM, root, place.bucket, json.dumps(_conf(place)))
    newest = {n: [n, f"c{n % 5}", n + 1, 0] for n in range(200)}
    newest |= {3: [3, "c3", 1000, 1], 4: [4, "c4", 1000, 1], 777: [777, "c1", 5, 1]}
    assert found["rows"]["silver.orders"] == sorted(newest.values())
    cities = {row[1] for row in newest.values()}
    assert found["rows"]["gold.cities"] == [
        [city, sum(row[2] for row in newest.values() if row[1] == city)] for city in sorted(cities)
    ]
    assert found["rows"]["silver.shouts"] == sorted([n, f"{row[1].upper()}!"] for n, row in newest.items())
    assert found["kinds"]["silver.orders"] == "upsert"
    assert found["kinds"]["gold.cities"] in ("keys", "sums")
    assert found["quarantined"] == 0
    assert found["alive"] == 5
    assert not found["changed"]
