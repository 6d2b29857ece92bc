"""Parquet and Avro: values of other types than declared are cast without loss, or their row is bad."""

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from landing_files import Columns, landed, rows, source
from pyspark.sql import Row, SparkSession

from lakesmith.project.formats import FileFormat
from lakesmith.sources.columns.reading import ReadGroup
from lakesmith.sources.model import FileIdentity
from lakesmith.spark.jvm.failures import unreadable_file
from lakesmith.spark.read.files import read_files
from lakesmith.spark.read.request import ReadRequest


def parquet(spark: SparkSession, root: Path, sql: str, format_: str = "parquet") -> FileIdentity:
    folder = root / "made"
    spark.sql(sql).coalesce(1).write.format(format_).mode("overwrite").save(str(folder))
    made = next(folder.glob(f"part-*.{format_}"))
    return landed(root, f"landing/a.{format_}", made.read_bytes())


COLUMNAR = """SELECT * FROM VALUES
  (1, 1.5D, 1.25BD, '7', TIMESTAMP '2024-01-02 00:00:00', 1L),
  (2, 2.0D, 1.20BD, 'x', TIMESTAMP '2024-01-02 03:00:00', 99999999999L) AS t(i, f, d, s, t, big)"""
COLUMNAR_COLUMNS: Columns = (
    ("f", "int"), ("i", "bigint"), ("d", "decimal(10,1)"), ("s", "int"), ("t", "date"), ("big", "timestamp"),
    ("gone", "string"),
)  # fmt: skip


def check_columnar(found: list[Row]) -> None:
    assert [list(row._reasons) for row in found] == [
        [
            "f: not an int: '1.5'",
            "d: not a decimal(10,1): '1.25' (it has more than 1 digit after the point)",
            "big: not a timestamp: '1'",
        ],
        ["s: not an int: 'x'", "t: not a date: '2024-01-02 03:00:00'", "big: not a timestamp: '99999999999'"],
    ]
    assert [(row.i, row.gone) for row in found] == [(1, None), (2, None)]
    assert (found[1].f, found[1].d, found[0].s, found[0].t) == (2, Decimal("1.2"), 7, date(2024, 1, 2))
    assert [row._source_position for row in found] == [1, 2]
    assert json.loads(found[0]._raw)["d"] == 1.25


def test_parquet_is_cast_only_where_nothing_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    file = parquet(spark, tmp_path, COLUMNAR)
    request = ReadRequest(source(FileFormat.PARQUET), tmp_path, (ReadGroup((file,)),), COLUMNAR_COLUMNS)
    check_columnar(rows(read_files(spark, request)))


def test_a_corrupt_parquet_file_stops_the_job(spark: SparkSession, tmp_path: Path) -> None:
    file = parquet(spark, tmp_path, "SELECT id, uuid() u FROM range(20000)")
    path = tmp_path / file.path
    data = bytearray(path.read_bytes())
    data[1000:60000] = b"\xaa" * 59000
    path.write_bytes(data)
    group = ReadGroup((file,), ("id", "u"), ("bigint", "string"))
    request = ReadRequest(source(FileFormat.PARQUET), tmp_path, (group,), (("id", "bigint"), ("u", "string")))
    with pytest.raises(Exception) as caught:
        read_files(spark, request).collect()
    assert unreadable_file(caught.value) == str(path)


@pytest.fixture
def avro(spark: SparkSession) -> SparkSession:
    try:
        spark.read.format("avro").schema("a int").load([])
    except Exception as error:
        if "AVRO" in str(error).upper():
            pytest.skip("this session has no spark-avro")
        raise
    return spark


def test_avro(avro: SparkSession, tmp_path: Path) -> None:
    file = parquet(avro, tmp_path, COLUMNAR, "avro")
    request = ReadRequest(source(FileFormat.AVRO), tmp_path, (ReadGroup((file,)),), COLUMNAR_COLUMNS)
    check_columnar(rows(read_files(avro, request)))
