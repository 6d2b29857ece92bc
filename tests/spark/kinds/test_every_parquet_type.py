"""Every type that Arrow, DuckDB and Spark write to Parquet, inferred and declared, has PyArrow's values."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import Harness, MakeShop
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

pytestmark = pytest.mark.in_turn

TABLE = "source: {{files: {{path: landing/p/, format: parquet}}}}\n{}\n"
AT = datetime(2024, 5, 6, 7, 8, 9, 123_456)
MILLIS = AT.replace(microsecond=123_000)
UID = UUID("01234567-89ab-cdef-0123-456789abcdef")
ARROW: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "i8": (pa.int8(), [-128, 127]),
    "i16": (pa.int16(), [-(2**15), 2**15 - 1]),
    "i32": (pa.int32(), [-(2**31), 2**31 - 1]),
    "i64": (pa.int64(), [-(2**63), 2**63 - 1]),
    "u8": (pa.uint8(), [0, 255]),
    "u16": (pa.uint16(), [0, 2**16 - 1]),
    "u32": (pa.uint32(), [0, 2**32 - 1]),
    "u64": (pa.uint64(), [0, 2**64 - 1]),
    "f16": (pa.float16(), [1.5, -0.25]),
    "f32": (pa.float32(), [0.1, float("-inf")]),
    "f64": (pa.float64(), [0.1, float("nan")]),
    "text": (pa.string(), ["", "ä\n"]),
    "large_text": (pa.large_string(), ["a", "b"]),
    "text_view": (pa.string_view(), ["a", "longer than twelve bytes"]),
    "bytes": (pa.binary(), [b"", b"\xff\0"]),
    "large_bytes": (pa.large_binary(), [b"a", b"b"]),
    "fixed_bytes": (pa.binary(3), [b"abc", b"\xff\0\1"]),
    "words": (pa.dictionary(pa.int32(), pa.string()), ["a", "b"]),
    "day": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "day64": (pa.date64(), [date(1969, 12, 31), date(2024, 2, 29)]),
    "clock_ms": (pa.time32("ms"), [time(0), time(1, 2, 3, 4_000)]),
    "clock_s": (pa.time32("s"), [time(0), time(23, 59, 59)]),
    "clock_us": (pa.time64("us"), [time(0), time(23, 59, 59, 999_999)]),
    "clock_ns": (pa.time64("ns"), [time(0), time(1, 2, 3, 500_000)]),
    "at_s": (pa.timestamp("s"), [AT.replace(microsecond=0), datetime(1, 1, 1)]),
    "at_ms": (pa.timestamp("ms"), [MILLIS, datetime(1, 1, 1)]),
    "at_us": (pa.timestamp("us"), [AT, datetime(9999, 12, 31, 23, 59, 59, 999_999)]),
    "at_ns": (pa.timestamp("ns"), [AT, datetime(1969, 12, 31, 23, 59, 59, 999_999)]),
    "utc_ms": (pa.timestamp("ms", "UTC"), [MILLIS, datetime(1969, 12, 31, 23, 59, 59, 999_000)]),
    "utc_us": (pa.timestamp("us", "Europe/Paris"), [AT, datetime(1970, 1, 1)]),
    "utc_ns": (pa.timestamp("ns", "UTC"), [AT, datetime(1970, 1, 1)]),
    "span": (pa.duration("us"), [timedelta(1), timedelta(microseconds=-1)]),
    "d9": (pa.decimal128(9, 2), [Decimal("-9999999.99"), Decimal("0.01")]),
    "d18": (pa.decimal128(18, 0), [Decimal(10**18 - 1), Decimal(0)]),
    "d38": (pa.decimal128(38, 10), [Decimal("-1234567890.0123456789"), Decimal(0)]),
    "uid": (pa.uuid(), [UID.bytes, b"\xff" * 16]),
    "list": (pa.list_(pa.timestamp("ms")), [[MILLIS, None], []]),
    "large_list": (pa.large_list(pa.float16()), [[1.5], [None]]),
    "fixed_list": (pa.list_(pa.int16(), 2), [[1, 2], [3, None]]),
    "map": (pa.map_(pa.string(), pa.time64("us")), [[("a", time(1)), ("b", None)], []]),
    "struct": (
        pa.struct([("t", pa.time32("ms")), ("d", pa.decimal128(5, 2)), ("l", pa.list_(pa.uint64()))]),
        [{"t": time(1), "d": Decimal("1.25"), "l": [2**64 - 1]}, {"t": None, "d": None, "l": None}],
    ),
    "deep": (
        pa.list_(pa.struct([("m", pa.map_(pa.int32(), pa.list_(pa.timestamp("ns", "UTC"))))])),
        [[{"m": [(1, [AT, None])]}, None], [{"m": None}]],
    ),
}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "as usual": {},
    "without dictionaries, pages of version 2": {"use_dictionary": False, "data_page_version": "2.0"},
    "without statistics, decimals as integers": {"write_statistics": False, "store_decimal_as_integer": True},
    "of version 1": {"version": "1.0"},
    "of version 2.4": {"version": "2.4", "compression": "zstd"},
    "without the types of Arrow": {"store_schema": False},
}
DUCKDB = """SELECT 'a'::enum('a','b') e, 1.25::decimal(4,2) d4, 1.25::decimal(9,2) d9,
  -1.25::decimal(18,2) d18,
  1.25::decimal(38,2) d38, time '01:02:03.5' t, '01234567-89ab-cdef-0123-456789abcdef'::uuid u,
  2::hugeint h, 3::uhugeint uh, '101'::bit b, timetz '01:02:03+02' tz, 'a'::blob bb,
  timestamp_ns '2020-01-01 00:00:00.000001' tns, timestamp_ms '2020-01-01 00:00:00.001' tms,
  timestamp_s '2020-01-01 00:00:01' ts, timestamptz '2020-01-01 00:00:00+01' ttz, map{'a': time '01:00'} m,
  [1,2]::utinyint[2] arr, '{}'::json j, interval '1 day' i, {'x': 1::usmallint, 'y': [uuid()]} s,
  1::ubigint ub, -1::tinyint ti, date '2020-02-29' dt, true bo, 1.5::float f, NULL::int n"""
SPARK = """SELECT true b, 1Y i8, 2S i16, 3 i32, 4L i64, 1.5F f, 2.5D d, 1.25BD d3, 12345678901.25BD d13,
  CAST(-1.5 AS decimal(38,18)) d38, 'x' s, X'FF' y, DATE '2024-02-29' dt,
  TIMESTAMP '2024-05-06 07:08:09.123456Z' at, TIMESTAMP_NTZ '2024-05-06 07:08:09.123456' l,
  array(1, NULL) a, map('a', array(DATE '2024-01-01')) m,
  named_struct('t', TIMESTAMP '1900-01-01 00:00:00Z') st"""


def arrow_column(kind: pa.DataType, values: list[Any]) -> pa.Array:
    if isinstance(kind, pa.ExtensionType):
        return pa.ExtensionArray.from_storage(kind, pa.array([*values, None], kind.storage_type))
    if pa.types.is_dictionary(kind):
        return pa.array([*values, None]).dictionary_encode()
    return pa.array([*values, None], kind)


def by_arrow(options: dict[str, Any]) -> Callable[[Harness, Path], None]:
    def write(_: Harness, path: Path) -> None:
        names = [it for it in ARROW if options.get("version") is None or not it.endswith("_ns")]
        columns = {it: arrow_column(*ARROW[it]) for it in names}
        pq.write_table(pa.table(columns), path, **options)

    return write


def by_duckdb(_: Harness, path: Path) -> None:
    duckdb.sql(f"COPY ({DUCKDB}) TO '{path}' (FORMAT parquet)")


def by_spark(shop: Harness, path: Path) -> None:
    for number, kind in enumerate(("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS")):
        shop.spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
        for legacy in ("true", "false"):
            shop.spark.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
            folder = shop.root / "made"
            shop.spark.sql(SPARK).coalesce(1).write.mode("overwrite").parquet(str(folder))
            next(folder.glob("part-*.parquet")).rename(path.with_name(f"{number}{legacy}.parquet"))
    for name in ("outputTimestampType", "writeLegacyFormat"):
        shop.spark.conf.unset(f"spark.sql.parquet.{name}")
    path.unlink()


WRITERS: dict[str, Callable[[Harness, Path], None]] = {
    **{f"Arrow, {name}": by_arrow(options) for name, options in OPTIONS.items()},
    "DuckDB": by_duckdb,
    "Spark": by_spark,
}


def of_spark(value: Any, kind: DataType) -> Any:
    """A value of the table as ``of_arrow`` gives it."""
    match kind:
        case _ if value is None:
            return None
        case ArrayType():
            return [of_spark(item, kind.elementType) for item in value]
        case MapType():
            return {key: of_spark(item, kind.valueType) for key, item in value.items()}
        case StructType():
            return {field.name: of_spark(value[field.name], field.dataType) for field in kind}
        case TimestampType():
            return value.astimezone(UTC).replace(tzinfo=None)
    return plain(value)


def of_arrow(value: Any, kind: pa.DataType) -> Any:
    """A value of PyArrow's in the types that tables have."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: of_arrow(item, kind.item_type) for key, item in value}
    if isinstance(value, list):
        return [of_arrow(item, kind.value_type) for item in value]
    if isinstance(value, dict):
        return {name: of_arrow(item, kind.field(name).type) for name, item in value.items()}
    return plain(value)


def plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        case time():
            text = value.isoformat()
            return text.rstrip("0") if "." in text else text
        case timedelta():
            return value // timedelta(microseconds=1)
        case UUID():
            return str(value)
        case bytearray():
            return bytes(value)
        case float():
            return repr(value)
    return value


def as_arrow_reads(path: Path) -> list[dict[str, Any]]:
    found = pq.read_table(path)
    kinds = {field.name: field.type for field in found.schema}
    return [{name: of_arrow(row[name], kinds[name]) for name in kinds} for row in found.to_pylist()]


@pytest.mark.parametrize("writer", WRITERS)
def test_values_are_those_that_arrow_reads(writer: str, make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/found.yaml": TABLE.format("")})
    path = shop.land("landing/p/a.parquet", b"")
    WRITERS[writer](shop, path)
    shop.must_run()
    assert shop.quarantine("bronze.found") == []
    frame = shop.frame("bronze.found").orderBy("_source_file", "_source_position")
    names = [name for name in frame.columns if not name.startswith("_")]
    kinds = {name: frame.schema[name].dataType for name in names}
    read = [{name: of_spark(row[name], kinds[name]) for name in names} for row in frame.collect()]
    expected = [row for file in sorted(path.parent.iterdir()) for row in as_arrow_reads(file)]
    assert [{name: row[name] for name in names} for row in expected] == read
    assert {name for row in expected for name, value in row.items() if value is not None} <= {*names}

    # Declared as they were inferred, and as texts.
    columns = {
        column.name: column.type for column in shop.state("bronze.found").columns if column.name in names
    }
    texts = {
        name: "string" if "<" not in kind and kind != "binary" else kind for name, kind in columns.items()
    }
    for table, types in (("same", columns), ("texts", texts)):
        lines = "".join(f'  "{name}": "{kind}"\n' for name, kind in types.items())
        shop.write({f"tables/bronze/{table}.yaml": TABLE.format(f"columns:\n{lines}")})
        shop.must_run(f"bronze.{table}")
        assert shop.quarantine(f"bronze.{table}") == []
        cast = [f"CAST(`{name}` AS {kind}) AS `{name}`" for name, kind in types.items()]
        wanted = shop.frame("bronze.found").selectExpr(*cast, "_source_file", "_source_position")
        got = shop.frame(f"bronze.{table}").select(*wanted.columns)
        order = ("_source_file", "_source_position")
        assert str(got.orderBy(*order).collect()) == str(wanted.orderBy(*order).collect())
