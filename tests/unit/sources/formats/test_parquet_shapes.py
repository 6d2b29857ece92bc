"""The schema in a Parquet file's footer, in the types that Spark reads it with."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakesmith.sources.formats.parquet import read_parquet_shape
from lakesmith.sources.shape import UnreadableFile

ZONE = datetime.timezone(datetime.timedelta(hours=2))
INTEGERS = {"store_decimal_as_integer": True}
MOMENT = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
# As Spark 4.1 was seen to read such files, or of ``sources.file_types``; None where it refuses them.
PARQUET = [
    (pa.bool_(), True, "boolean"),
    (pa.int8(), 1, "tinyint"),
    (pa.int16(), 1, "smallint"),
    (pa.int32(), 1, "int"),
    (pa.int64(), 1, "bigint"),
    (pa.uint8(), 1, "smallint"),
    (pa.uint16(), 1, "int"),
    (pa.uint32(), 1, "bigint"),
    (pa.uint64(), 1, "decimal(20,0)"),
    (pa.float32(), 1.0, "float"),
    (pa.float64(), 1.0, "double"),
    (pa.string(), "x", "string"),
    (pa.large_string(), "x", "string"),
    (pa.binary(), b"x", "binary"),
    (pa.binary(4), b"xxxx", "binary"),
    (pa.date32(), MOMENT.date(), "date"),
    (pa.date64(), MOMENT.date(), "date"),
    (pa.timestamp("us", "UTC"), MOMENT.replace(tzinfo=ZONE), "timestamp"),
    (pa.timestamp("ms", "UTC"), MOMENT.replace(microsecond=0, tzinfo=ZONE), "timestamp_ms"),
    (pa.timestamp("us"), MOMENT, "timestamp_ntz"),
    (pa.timestamp("ns"), MOMENT, "timestamp_ntz_ns"),
    (pa.timestamp("ns", "UTC"), MOMENT.replace(tzinfo=ZONE), "timestamp_ns"),
    (pa.time64("ns"), MOMENT.time(), "time_ns"),
    (pa.time32("ms"), MOMENT.time().replace(microsecond=0), "time_ms"),
    (pa.float16(), None, "float16"),
    (pa.uuid(), b"0" * 16, "uuid"),
    (pa.duration("us"), datetime.timedelta(1), "bigint"),
    (pa.time64("us"), MOMENT.time(), "time_us"),
    (pa.null(), None, "void"),
    (pa.decimal256(50, 2), Decimal("1.25"), None),
    (pa.decimal128(9, 2), Decimal("1.25"), "decimal(9,2)"),
    (pa.decimal128(38, 10), Decimal("1.25"), "decimal(38,10)"),
    (pa.dictionary(pa.int32(), pa.string()), "x", "string"),
    (pa.string_view(), "x", "string"),
    (pa.list_(pa.string_view()), ["x"], "array<string>"),
    (pa.binary_view(), b"x", "binary"),
    (pa.json_(), "{}", "string"),
    (pa.list_(pa.int32()), [1], "array<int>"),
    (pa.map_(pa.string(), pa.int64()), [("x", 1)], "map<string,bigint>"),
    (pa.struct([("a", pa.int32()), ("b c", pa.list_(pa.string()))]), {"a": 1, "b c": ["x"]},
     "struct<a:int,`b c`:array<string>>"),
    (pa.struct([("a", pa.timestamp("ns"))]), {"a": MOMENT}, "struct<a:timestamp_ntz_ns>"),
    (pa.list_(pa.time64("us")), [MOMENT.time()], "array<time_us>"),
    (pa.list_(pa.decimal256(50, 2)), [Decimal("1.25")], None),
    (pa.struct([("a", pa.map_(pa.string(), pa.decimal128(9, 2))), ("b", pa.time32("ms"))]), None,
     "struct<a:map<string,decimal(9,2)>,b:time_ms>"),
]  # fmt: skip


@pytest.mark.parametrize(("arrow", "value", "spark"), PARQUET, ids=[str(arrow) for arrow, _, _ in PARQUET])
def test_parquet_types_are_those_spark_reads(
    arrow: pa.DataType, value: Any, spark: str | None, tmp_path: Path
) -> None:
    array = pa.array(["x"]).dictionary_encode() if pa.types.is_dictionary(arrow) else pa.array([value], arrow)
    pq.write_table(pa.table({"x": array}), tmp_path / "a.parquet")
    shape = read_parquet_shape(tmp_path / "a.parquet")
    assert (shape.columns, shape.types, shape.empty) == (("x",), (spark,), False)
    assert shape.unreadable == ((("x", str(arrow).replace("item", "element")),) if spark is None else ())


def test_timestamps_of_96_bits(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([MOMENT], pa.timestamp("ns"))})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    assert read_parquet_shape(tmp_path / "a.parquet").types == ("timestamp_int96",)
    # What Spark wrote has no digits that it does not have, and may be of the Julian calendar.
    by_spark = table.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    pq.write_table(by_spark, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    assert read_parquet_shape(tmp_path / "a.parquet").types == ("timestamp",)
    pq.write_table(by_spark, tmp_path / "a.parquet", coerce_timestamps="ms", allow_truncated_timestamps=True)
    assert read_parquet_shape(tmp_path / "a.parquet").types == ("timestamp_ntz",)


WIDE = [
    ("5 digits in 3 bytes", pa.decimal128(5, 2), {}, ("decimal(5,2)", "wide_decimal(5,2)")),
    ("9 digits in 32 bits", pa.decimal128(9, 2), INTEGERS, ("decimal(9,2)", "wide_decimal(9,2)")),
    ("15 digits in 64 bits", pa.decimal128(15, 2), INTEGERS, ("decimal(15,2)", "wide_decimal(15,2)")),
    ("38 digits in 16 bytes", pa.decimal128(38, 2), {}, ("decimal(38,2)", "bytes_decimal(38,2)")),
]


@pytest.mark.parametrize(("title", "kind", "options", "types"), WIDE, ids=[row[0] for row in WIDE])
def test_a_decimal_is_trusted_where_statistics_say_so(
    title: str, kind: pa.DataType, options: dict[str, bool], types: tuple[str, str], tmp_path: Path
) -> None:
    table = pa.table({"x": pa.array([Decimal("1.25"), None, Decimal("-3.50")], kind)})
    for statistics, expected in zip((True, False), types, strict=True):
        pq.write_table(table, tmp_path / "a.parquet", write_statistics=statistics, **options)
        assert read_parquet_shape(tmp_path / "a.parquet").types == (expected,)
    only_nulls = pa.table({"x": pa.array([None], kind)})
    pq.write_table(only_nulls, tmp_path / "a.parquet", **options)
    assert read_parquet_shape(tmp_path / "a.parquet").types == types[:1]


def test_parquet_without_a_row_is_empty(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"b": pa.array([], pa.int32()), "a": pa.array([], pa.string())}), tmp_path / "a.parquet"
    )
    shape = read_parquet_shape(tmp_path / "a.parquet")
    assert (shape.columns, shape.types, shape.empty) == (("b", "a"), ("int", "string"), True)


@pytest.mark.parametrize(
    ("title", "spoil"),
    [
        ("cut at its end", lambda data: data[:-4]),
        ("cut in the middle", lambda data: data[: len(data) // 2]),
        ("another kind of file", lambda data: b"a,b\n1,2\n3,4\n5,6\n"),
        ("a few bytes", lambda data: b"PAR1"),
        ("another footer", lambda data: data[:-4] + b"PARE"),
    ],
)
def test_what_is_not_whole_parquet(title: str, spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UnreadableFile, match=r"LS422 it is not a whole Parquet file"):
        read_parquet_shape(path)
