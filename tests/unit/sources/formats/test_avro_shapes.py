"""The schema in an Avro file's header, in the types that Spark reads it with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakesmith.project.definitions import TableName
from lakesmith.sources.formats.avro import read_avro_shape
from lakesmith.sources.ledger import LedgerStore
from lakesmith.sources.shape import UnreadableFile

ORDERS = TableName("bronze", "orders")


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
    entries = [packed(key) + packed(value) for key,
        value in ((b"avro.codec", b"null"), (b"avro.schema", json.dumps(schema).encode()))]  # fmt: skip
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
    ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp_ms"),
    ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp"),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, "timestamp_ntz"),
    ({"type": "long", "logicalType": "unheard-of"}, "bigint"),
    ({"type": "string", "logicalType": "uuid"}, "string"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, "wide_decimal(9,2)"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9}, "wide_decimal(9,0)"),
    ({"type": "bytes", "logicalType": "decimal", "precision": 39, "scale": 2}, None),
    ({"type": "fixed", "name": "f", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 4},
     "wide_decimal(18,4)"),
    ({"type": "fixed", "name": "f", "size": 8}, "binary"),
    ({"type": "enum", "name": "e", "symbols": ["A"]}, "string"),
    ({"type": "array", "items": ["null", "int"]}, "array<int>"),
    ({"type": "map", "values": "double"}, "map<string,double>"),
    (POINT, "struct<x:int>"),
    ({"type": POINT}, "struct<x:int>"),
    ({"type": "record", "name": "l",
      "fields": [{"name": "a", "type": POINT}, {"name": "b", "type": "geo.Point"}]},
     "struct<a:struct<x:int>,b:struct<x:int>>"),
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
        "manifest_path": "string", "manifest_length": "bigint", "added_files_count": "int",
    } == dict(zip(shape.columns, shape.types, strict=True))  # fmt: skip


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
