from __future__ import annotations

import datetime
import gzip
import json
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakesmith.errors import SourceError
from lakesmith.project.definitions import FileFormat, FileSource, TableName
from lakesmith.sources.avro_header import read_avro_shape
from lakesmith.sources.headers import group_by_shape
from lakesmith.sources.ledger import LedgerStore
from lakesmith.sources.listing import list_files
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.parquet_schema import read_parquet_shape
from lakesmith.sources.shape import UnreadableFile

Make = Callable[..., FileSource]
Put = Callable[..., Path]
ORDERS = TableName("bronze", "orders")


def listed(root: Path, source: FileSource) -> tuple[FileIdentity, ...]:
    return list_files(source, root, time.time_ns()).found


def groups(root: Path, source: FileSource) -> list[tuple[list[str], bool, list[str]]]:
    found = group_by_shape(listed(root, source), source, root, ORDERS)
    return [
        (list(group.shape.columns), group.shape.empty, [Path(file.path).name for file in group.files])
        for group in found
    ]


def test_files_are_grouped_by_the_order_of_their_columns(tmp_path: Path, make_source: Make, put: Put) -> None:
    put("landing/orders/1.csv", "a,b\n1,2\n")
    put("landing/orders/2.csv", "b,a\n1,2\n")
    put("landing/orders/3.csv", "a,b\n1,2\n")
    put("landing/orders/4.csv", "a,b\n")
    put("landing/orders/5.csv", "")
    put("landing/orders/6.csv.gz", gzip.compress(b"a,b\n1,2\n"))
    assert groups(tmp_path, make_source()) == [
        (["a", "b"], False, ["1.csv", "3.csv", "6.csv.gz"]),
        (["b", "a"], False, ["2.csv"]),
        (["a", "b"], True, ["4.csv"]),
        ([], True, ["5.csv"]),
    ]


def test_many_files_keep_their_order(tmp_path: Path, make_source: Make, put: Put) -> None:
    for number in range(1000):
        put(f"landing/orders/{number:04}.csv", "a,b\n1,2\n" if number % 2 else "b,a\n1,2\n")
    even, odd = groups(tmp_path, make_source())
    assert even == (["b", "a"], False, [f"{number:04}.csv" for number in range(0, 1000, 2)])
    assert odd == (["a", "b"], False, [f"{number:04}.csv" for number in range(1, 1000, 2)])


def test_no_files_no_groups(tmp_path: Path, make_source: Make) -> None:
    assert group_by_shape((), make_source(), tmp_path) == ()


def test_every_file_that_cannot_be_read_is_named_with_its_way_out(
    tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("landing/orders/good.csv")
    put("landing/orders/twice.csv", "a,a\n")
    put("landing/orders/cut.csv.gz", gzip.compress(b"a,b\n" * 100)[:20])
    with pytest.raises(SourceError) as caught:
        groups(tmp_path, make_source())
    cut, twice = caught.value.problems
    assert (cut.code, twice.code) == ("LS422", "LS423")
    assert twice.what == "source 'orders': landing/orders/twice.csv: two columns have one name"
    assert str(twice.place) == "tables/bronze/orders.yaml:2"
    assert "`lakesmith files bronze.orders --skip landing/orders/twice.csv`" in (twice.hint or "")
    assert "`lakesmith files bronze.orders --skip landing/orders/cut.csv.gz`" in (cut.hint or "")


def test_hundreds_of_bad_files_do_not_fill_the_screen(tmp_path: Path, make_source: Make, put: Put) -> None:
    for number in range(30):
        put(f"landing/orders/{number:02}.csv", "a,a\n")
    with pytest.raises(SourceError) as caught:
        groups(tmp_path, make_source())
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1].what.endswith("10 more files cannot be read")


@pytest.mark.parametrize("format", list(FileFormat))
def test_a_file_that_went_away_is_named(format: FileFormat, tmp_path: Path, make_source: Make) -> None:
    with pytest.raises(SourceError, match=r"LS421(.|\n)*landing/gone\.x"):
        group_by_shape([FileIdentity("landing/gone.x", 1, 1)], make_source(format=format), tmp_path)


@pytest.mark.parametrize("format", list(FileFormat))
def test_a_file_without_a_byte_is_empty_in_every_format(
    format: FileFormat, tmp_path: Path, make_source: Make, put: Put
) -> None:
    put("landing/orders/nothing", b"")
    assert groups(tmp_path, make_source(format=format)) == [([], True, ["nothing"])]


ZONE = datetime.timezone(datetime.timedelta(hours=2))
MOMENT = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
# As Spark 4.1 was seen to read such files; None where it refuses them.
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
    (pa.timestamp("ms", "UTC"), MOMENT.replace(microsecond=0, tzinfo=ZONE), "timestamp"),
    (pa.timestamp("us"), MOMENT, "timestamp_ntz"),
    (pa.timestamp("ns"), MOMENT, "timestamp_ntz_ns"),
    (pa.timestamp("ns", "UTC"), MOMENT.replace(tzinfo=ZONE), "timestamp_ns"),
    (pa.time64("ns"), MOMENT.time(), None),
    (pa.time32("ms"), MOMENT.time().replace(microsecond=0), None),
    (pa.float16(), None, None),
    (pa.uuid(), b"0" * 16, None),
    (pa.duration("us"), datetime.timedelta(1), "bigint"),
    (pa.time64("us"), MOMENT.time(), None),
    (pa.null(), None, "int"),
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
    (pa.struct([("a", pa.int32()), ("b c", pa.list_(pa.string()))]), {"a": 1, "b c": ["x"]}, "struct<a:int,`b c`:array<string>>"),
    (pa.struct([("a", pa.timestamp("ns"))]), {"a": MOMENT}, "struct<a:timestamp_ntz_ns>"),
    (pa.list_(pa.time64("us")), [MOMENT.time()], None),
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
    assert read_parquet_shape(tmp_path / "a.parquet").types == ("timestamp",)


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
        ("footer overwritten", lambda data: data[:-60] + b"\xff" * 52 + data[-8:]),
    ],
)
def test_what_is_not_whole_parquet(title: str, spoil: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(UnreadableFile, match=r"LS422 it is not a whole Parquet file"):
        read_parquet_shape(path)


def zigzag(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


def packed(data: bytes) -> bytes:
    return zigzag(len(data)) + data


def avro(schema: Any, block: bytes = b"\x02\x02\x00" + b"S" * 16, *, sized: bool = False) -> bytes:
    """An Avro container file; ``sized``: its metadata in blocks that say their size, one entry each."""
    entries = [packed(key) + packed(value) for key, value in ((b"avro.codec", b"null"), (b"avro.schema", json.dumps(schema).encode()))]  # fmt: skip
    if sized:
        metadata = b"".join(zigzag(-1) + zigzag(len(entry)) + entry for entry in entries)
    else:
        metadata = zigzag(2) + b"".join(entries)
    return b"Obj\x01" + metadata + b"\0" + b"S" * 16 + block


def record(**fields: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": kind} for name, kind in fields.items()],
    }


POINT = {"type": "record", "name": "Point", "namespace": "geo", "fields": [{"name": "x", "type": "int"}]}
AVRO = [
    ("boolean", "boolean"),
    ("int", "int"),
    ("long", "bigint"),
    ("float", "float"),
    ("double", "double"),
    ("bytes", "binary"),
    ("string", "string"),
    (["null", "string"], "string"),
    (["long", "null"], "bigint"),
    (["int", "long"], "bigint"),
    (["null", "float", "double"], "double"),
    (["int", "string"], "struct<member0:int,member1:string>"),
    ({"type": "string", "avro.java.string": "String"}, "string"),
    ({"type": "int", "logicalType": "date"}, "date"),
    ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp"),
    ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp_ntz"),
    ({"type": "long", "logicalType": "unheard-of"}, "bigint"),
    ({"type": "string", "logicalType": "uuid"}, "string"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "decimal(9,2)"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9}, "decimal(9,0)"),
    ({"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4}, "decimal(18,4)"),
    ({"type": "fixed", "name": "f", "size": 8}, "binary"),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, "string"),
    ({"type": "array", "items": ["null", "int"]}, "array<int>"),
    ({"type": "map", "values": "double"}, "map<string,double>"),
    (POINT, "struct<x:int>"),
    ({"type": POINT}, "struct<x:int>"),
    ({"type": "record", "name": "l", "fields": [{"name": "a", "type": POINT}, {"name": "b", "type": "geo.Point"}]}, "struct<a:struct<x:int>,b:struct<x:int>>"),
    ({"type": "record", "name": "node", "fields": [{"name": "next", "type": ["null", "node"]}]}, None),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "spark"), AVRO, ids=[json.dumps(schema)[:60] for schema, _ in AVRO])
def test_avro_types_are_those_spark_reads(schema: Any, spark: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.avro").write_bytes(avro(record(x=schema)))
    shape = read_avro_shape(tmp_path / "a.avro")
    assert (shape.columns, shape.types, shape.empty) == (("x",), (spark,), False)


def test_avro_metadata_in_blocks_that_say_their_size(tmp_path: Path) -> None:
    (tmp_path / "a.avro").write_bytes(avro(record(b="int", a="string"), sized=True))
    assert read_avro_shape(tmp_path / "a.avro").columns == ("b", "a")


def test_avro_without_a_block_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.avro").write_bytes(avro(record(a="int"), block=b""))
    shape = read_avro_shape(tmp_path / "a.avro")
    assert (shape.columns, shape.empty) == (("a",), True)


def test_avro_as_another_writer_makes_it(catalog: Any, tmp_path: Path, entry: Callable[..., Any]) -> None:
    LedgerStore(catalog, tmp_path / "cache").append(ORDERS, None, [entry("a")])
    path = next((tmp_path / "warehouse").rglob("snap-*.avro"))
    shape = read_avro_shape(path)
    assert dict(zip(shape.columns, shape.types, strict=True)) | {
        "manifest_path": "string",
        "manifest_length": "bigint",
        "added_files_count": "int",
    } == dict(zip(shape.columns, shape.types, strict=True))


WHOLE = avro(record(a="int", b={"type": "long", "logicalType": "timestamp-micros"}))


@pytest.mark.parametrize("length", [*range(1, 60, 3), WHOLE.index(b"S" * 16) + 15])
def test_avro_cut_in_its_header(length: int, tmp_path: Path) -> None:
    (tmp_path / "a.avro").write_bytes(WHOLE[:length])
    with pytest.raises(UnreadableFile, match=r"LS422 it is not a whole Avro file"):
        read_avro_shape(tmp_path / "a.avro")


@pytest.mark.parametrize(
    ("title", "data", "says"),
    [
        ("another kind of file", b"a,b\n1,2\n", "other first bytes"),
        ("a huge entry", b"Obj\x01\x02" + zigzag(2**40), "entry of"),
        ("an endless number", b"Obj\x01" + b"\xff" * 20, "more than ten bytes"),
        ("no schema", b"Obj\x01\x00" + b"S" * 16, "no schema"),
        ("not a record", avro("int"), "not a record"),
        ("a name that is not defined", avro(record(x="nowhere")), "not Avro"),
        (
            "a field without a type",
            avro({"type": "record", "name": "r", "fields": [{"name": "x"}]}),
            "not Avro",
        ),
        ("no fields", avro({"type": "record", "name": "r"}), "not Avro"),
    ],
)
def test_avro_that_cannot_be_used(title: str, data: bytes, says: str, tmp_path: Path) -> None:
    (tmp_path / "a.avro").write_bytes(data)
    with pytest.raises(UnreadableFile, match="LS422") as caught:
        read_avro_shape(tmp_path / "a.avro")
    assert says in caught.value.found
