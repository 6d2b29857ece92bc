"""A value that cannot be converted costs its row, with a reason, and not its batch: Parquet and Avro."""

import io
import json
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import Harness, MakeShop
from nested import land_parquet
from out_of_quarantine import out_of_quarantine, replay

from lakesmith.plan.steps import Strategy

pytestmark = pytest.mark.in_turn

TABLE = "source: {{files: {{path: landing/{}/, format: {}, on_new_column: {}}}}}\n{}\n"
NEVER, GOOD = 2**63 - 1, 1_700_000_000_123
FAR = "+292278994-08-17 07:12:55.807"
"""2**63 - 1 milliseconds after 1970, as Java's Instant prints it."""
YEARS = "(the years are 1 to 9999)"


def table(folder: str, format_: str = "parquet", columns: str = "", policy: str = "evolve") -> str:
    return TABLE.format(folder, format_, policy, columns)


def avro(fields: dict[str, Any], *rows: dict[str, Any]) -> bytes:
    made = io.BytesIO()
    schema = {"type": "record", "name": "row", "fields": [{"name": n, "type": t} for n, t in fields.items()]}
    fastavro.writer(made, fastavro.parse_schema(schema), rows)
    return made.getvalue()


def reasons(shop: Harness, name: str) -> list[list[str]]:
    return [row["reasons"] for row in shop.quarantine(name)]


def moments(shop: Harness, name: str) -> list[tuple[Any, ...]]:
    """Instants as texts in UTC, whatever the zone of this process."""
    return [
        tuple(row) for row in shop.frame(name).selectExpr("id", "unix_micros(at)").orderBy("id").collect()
    ]


def test_milliseconds_beyond_all_dates_go_to_quarantine(make_shop: MakeShop) -> None:
    """What means "never expires" in other systems: alone, and in lists, maps and structs."""
    shop = make_shop({"tables/bronze/p.yaml": table("p"), "tables/bronze/a.yaml": table("a", "avro")})
    rows: list[dict[str, Any]] = [
        {"id": 1, "at": GOOD, "many": [GOOD, None], "of": {"here": GOOD}, "by": {"k": GOOD}},
        {"id": 2, "at": NEVER, "many": None, "of": None, "by": None},
        {"id": 3, "at": None, "many": [0, -NEVER - 1], "of": {"here": NEVER}, "by": {"k": 253402300800000}},
    ]
    utc, local = pa.timestamp("ms", "UTC"), pa.timestamp("ms")
    types = {"at": utc, "many": pa.list_(local), "of": pa.struct([("here", utc)])}
    schema = pa.schema({"id": pa.int32(), **types, "by": pa.map_(pa.string(), local)})
    land_parquet(shop, "p/1", [{**row, "by": list((row["by"] or {}).items())} for row in rows], schema)
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    locally = {"type": "long", "logicalType": "local-timestamp-millis"}
    of = {"type": "record", "name": "of", "fields": [{"name": "here", "type": ["null", millis]}]}
    many, by = {"type": "array", "items": ["null", locally]}, {"type": "map", "values": locally}
    fields = {
        "id": "int",
        "at": ["null", millis],
        "many": ["null", many],
        "of": ["null", of],
        "by": ["null", by],
    }
    shop.land("landing/a/1.avro", avro(fields, *rows))
    shop.must_run()
    far = [
        [f"at: not a timestamp: '{FAR}' {YEARS}"],
        [
            f"many.element: not a timestamp_ntz: '-292275055-05-16 16:47:04.192' {YEARS}",
            f"of.here: not a timestamp: '{FAR}' {YEARS}",
            f"by.value: not a timestamp_ntz: '+10000-01-01 00:00:00' {YEARS}",
        ],
    ]
    for name in ("bronze.p", "bronze.a"):
        assert (name, moments(shop, name)) == (name, [(1, GOOD * 1000)])
        (row,) = shop.frame(name).selectExpr("many[0]", "unix_micros(of.here)", "by['k']").collect()
        there = datetime.fromtimestamp(GOOD / 1000, UTC).replace(tzinfo=None)
        assert tuple(row) == (there, GOOD * 1000, there)
        assert reasons(shop, name) == far
        # What is kept of them still says what they were.
        assert out_of_quarantine(shop, name, Strategy.REPLAY).code == 0
        assert reasons(shop, name) == far
    types = [(it.name, it.type) for it in shop.state("bronze.p").columns][1:5]
    assert types == [(it.name, it.type) for it in shop.state("bronze.a").columns][1:5]
    assert dict(types)["by"] == "map<string,timestamp_ntz>"


def test_dates_and_microseconds_beyond_all_dates_go_to_quarantine(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/p.yaml": table("p"), "tables/bronze/a.yaml": table("a", "avro")})
    most = 2**31 - 1
    rows = [
        {"id": 1, "day": 19844, "at": GOOD * 1000, "local": 0},
        {"id": 2, "day": most, "at": None, "local": None},
        {"id": 3, "day": -most - 1, "at": NEVER, "local": -NEVER - 1},
    ]
    days = pa.array([row["day"] for row in rows], pa.int32()).view(pa.date32())
    at = pa.array([row["at"] for row in rows], pa.timestamp("us", "UTC"))
    local = pa.array([row["local"] for row in rows], pa.timestamp("us"))
    pq.write_table(
        pa.table({"id": [1, 2, 3], "day": days, "at": at, "local": local}),
        shop.land("landing/p/1.parquet", b""),
    )
    fields = {
        "id": "int",
        "day": {"type": "int", "logicalType": "date"},
        "at": ["null", {"type": "long", "logicalType": "timestamp-micros"}],
        "local": ["null", {"type": "long", "logicalType": "local-timestamp-micros"}],
    }
    shop.land("landing/a/1.avro", avro(fields, *rows))
    shop.must_run()
    for name in ("bronze.p", "bronze.a"):
        assert (name, moments(shop, name)) == (name, [(1, GOOD * 1000)])
        found = reasons(shop, name)
        assert found[0] == [f"day: not a date: '+5881580-07-11' {YEARS}"]
        assert [reason.split(":")[0] for reason in found[1]] == ["day", "at", "local"]


def test_a_key_twice_in_a_map_of_a_parquet_file(make_shop: MakeShop) -> None:
    columns = (
        "columns: {id: int, attrs: 'map<string,bigint>', codes: 'map<bigint,string>',"
        " deep: 'array<map<string,int>>'}"
    )
    shop = make_shop(
        {"tables/bronze/found.yaml": table("p"), "tables/bronze/typed.yaml": table("p", columns=columns)}
    )
    rows = [
        {
            "id": 1,
            "attrs": [("size", 1), ("Size", 2)],
            "codes": [(1, "a"), (2, "a")],
            "deep": [[("a", 1)], None],
        },
        {"id": 2, "attrs": [("size", 1), ("size", 2)], "codes": None, "deep": None},
        {
            "id": 3,
            "attrs": None,
            "codes": [(7, "a"), (7, "a")],
            "deep": [[("a", 1)], [("b", 1), ("b", None)]],
        },
        {"id": 4, "attrs": [], "codes": None, "deep": [[]]},
    ]
    schema = {
        "id": pa.int32(),
        "attrs": pa.map_(pa.string(), pa.int32()),
        "codes": pa.map_(pa.int32(), pa.string()),
    }
    schema["deep"] = pa.list_(pa.map_(pa.string(), pa.int32()))
    land_parquet(shop, "p/1", rows, pa.schema(schema))
    shop.must_run()
    for name, number in (("bronze.found", "int"), ("bronze.typed", "bigint")):
        good = {row["id"]: row for row in shop.frame(name).collect()}
        assert sorted(good) == [1, 4]
        assert (good[1]["attrs"], good[1]["codes"]) == ({"size": 1, "Size": 2}, {1: "a", 2: "a"})
        twice = [
            [f'attrs: not a map<string,{number}>: \'{{"size":1,"size":2}}\' (a key is given twice)'],
            [
                f'codes: not a map<{number},string>: \'{{"7":"a","7":"a"}}\' (a key is given twice)',
                'deep.element: not a map<string,int>: \'{"b":1,"b":null}\' (a key is given twice)',
            ],
        ]
        assert reasons(shop, name) == twice
        assert out_of_quarantine(shop, name, Strategy.REPLAY).code == 0
        assert reasons(shop, name) == twice


def spoilt(text: pa.Array, logical: int, converted: int) -> bytes:
    """A file of texts ``x``, also in a list, a map and a struct, that says they are something else.

    Format: apache/parquet-format, parquet.thrift, SchemaElement: ``converted_type``, and the field of
    ``LogicalType`` that is set, in Thrift's compact protocol.
    """
    made, n = io.BytesIO(), len(text)
    lists = pa.ListArray.from_arrays(list(range(n + 1)), text)
    maps = pa.MapArray.from_arrays(list(range(n + 1)), text, text)
    table = pa.table({"x": text, "l": lists, "m": maps, "s": pa.StructArray.from_arrays([text], ["y"])})
    pq.write_table(table, made, store_schema=False)
    plain, other = (
        b"\x25\x00\x4c\x1c\x00\x00\x00",
        bytes((0x25, 2 * converted, 0x4C, 16 * logical + 12, 0, 0, 0)),
    )
    assert made.getvalue().count(plain) == 5
    return made.getvalue().replace(plain, other)


def test_an_enum_is_a_string(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/p.yaml": table("p")})
    colours = pa.array(["RED", "BLUE"])
    for number, (name, logical, converted) in enumerate((("ENUM", 4, 4), ("JSON", 12, 19), ("STRING", 1, 0))):
        path = shop.land(f"landing/p/{number}.parquet", spoilt(colours, logical, converted))
        assert pq.read_metadata(path).schema.column(0).logical_type.type == name
        shop.must_run()
    types = [column.type for column in shop.state("bronze.p").columns][:4]
    assert types == ["string", "array<string>", "map<string,string>", "struct<y:string>"]
    rows = [("BLUE", ["BLUE"], {"BLUE": "BLUE"}, ("BLUE",)), ("RED", ["RED"], {"RED": "RED"}, ("RED",))]
    assert shop.rows("bronze.p", "x", "l", "m", "s") == [row for row in rows for _ in range(3)]
    assert shop.quarantine("bronze.p") == []


def test_bytes_stay_bytes_and_take_texts(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/p.yaml": table("p")})
    shop.take("landing/p/1.parquet", spoilt(pa.array(["{}"]), 13, 20))
    land_parquet(shop, "p/2", [{"x": b"\xff"}], pa.schema({"x": pa.binary()}))
    land_parquet(shop, "p/3", [{"x": "text"}], pa.schema({"x": pa.string()}))
    shop.must_run()
    assert shop.state("bronze.p").columns[0].type == "binary"
    assert sorted(bytes(row["x"]) for row in shop.frame("bronze.p").collect()) == [b"text", b"{}", b"\xff"]


def halves(*bits: int) -> pa.Array:
    return pa.array(bits, pa.uint16()).view(pa.float16())


def test_half_floats_widen_without_loss(make_shop: MakeShop) -> None:
    """All 65,536 of them, against PyArrow."""
    typed = "columns: {x: double, n: 'array<float>'}"
    shop = make_shop(
        {"tables/bronze/found.yaml": table("p"), "tables/bronze/typed.yaml": table("p", columns=typed)}
    )
    x = halves(*range(65536))
    lists = pa.ListArray.from_arrays(list(range(65537)), x)
    pq.write_table(pa.table({"id": range(65536), "x": x, "n": lists}), shop.land("landing/p/1.parquet", b""))
    shop.must_run()
    expected = [str(value) for value in x.cast(pa.float32()).to_pylist()]
    for name in ("bronze.found", "bronze.typed"):
        rows = (
            shop.frame(name)
            .selectExpr("x", "n[0] AS n", "_source_position")
            .orderBy("_source_position")
            .collect()
        )
        assert [str(row["x"]) for row in rows] == expected
        assert [str(row["n"]) for row in rows] == expected
    types = {column.name: column.type for column in shop.state("bronze.found").columns}
    assert (types["x"], types["n"]) == ("float", "array<float>")


def test_times_of_day_are_texts_or_microseconds(make_shop: MakeShop) -> None:
    numbers = "columns: {id: int, ms: bigint, us: bigint, ns: bigint, n: 'array<bigint>'}"
    shop = make_shop(
        {"tables/bronze/found.yaml": table("p"), "tables/bronze/numbers.yaml": table("p", columns=numbers)}
    )
    day = 86_400_000_000_000
    nanos = [3_723_000_000_000, 3_723_000_000_001, 0, day, day + 1_000_000, -1_000_000]
    types = {"ms": pa.time32("ms"), "us": pa.time64("us"), "ns": pa.time64("ns")}
    stored = {"ms": (1_000_000, pa.int32()), "us": (1000, pa.int64()), "ns": (1, pa.int64())}
    columns: dict[str, Any] = {"id": pa.array(range(1, 7), pa.int32())}
    for name, (size, kind) in stored.items():
        columns[name] = pa.array([value // size for value in nanos], kind).view(types[name])
    columns["n"] = pa.ListArray.from_arrays(list(range(7)), columns["us"])
    pq.write_table(pa.table(columns), shop.land("landing/p/1.parquet", b""))
    shop.must_run()
    one, midnight = ("01:02:03",) * 3, ("00:00:00",) * 3
    assert shop.rows("bronze.found", "id", "ms", "us", "ns") == [
        (1, *one), (2, *one[:2], "01:02:03.000000001"), (3, *midnight), (4, *("24:00:00",) * 3),
    ]  # fmt: skip
    assert shop.rows("bronze.found", "n")[0] == (["00:00:00"],)
    assert shop.rows("bronze.numbers") == [
        (number, *(nanos[number - 1] // 1000,) * 3, [nanos[number - 1] // 1000]) for number in (1, 3, 4)
    ]
    bad = reasons(shop, "bronze.found")
    assert bad[0][:2] == [
        "ms: not a string: '86400001 milliseconds since midnight'",
        "us: not a string: '86400001000 microseconds since midnight'",
    ]
    assert [len(found) for found in bad] == [4, 4]
    assert reasons(shop, "bronze.numbers")[0] == ["ns: not a bigint: '01:02:03.000000001'"]
    replay(shop, table="bronze.found")
    assert reasons(shop, "bronze.found") == bad


def test_uuids_are_texts_unless_they_are_declared_as_bytes(make_shop: MakeShop) -> None:
    raw = "columns: {uid: binary}"
    shop = make_shop(
        {
            "tables/bronze/found.yaml": table("p"),
            "tables/bronze/raw.yaml": table("p", columns=raw, policy="ignore"),
        }
    )
    one = UUID("01234567-89ab-cdef-0123-456789abcdef")
    storage = pa.array([one.bytes], pa.binary(16))
    uids = pa.ExtensionArray.from_storage(pa.uuid(), storage)
    pq.write_table(
        pa.table({"uid": uids, "n": pa.ListArray.from_arrays([0, 1], uids)}),
        shop.land("landing/p/1.parquet", b""),
    )
    shop.must_run()
    assert shop.rows("bronze.found", "uid", "n") == [(str(one), [str(one)])]
    assert shop.rows("bronze.raw") == [(one.bytes,)]
    # A later file with texts fits.
    land_parquet(shop, "p/2", [{"uid": str(one), "n": None}])
    shop.must_run("bronze.found")
    assert shop.rows("bronze.found", "uid") == [(str(one),)] * 2


def unscaled(numbers: list[int], kind: pa.DataType) -> pa.Array:
    """Decimals of these digits, whatever the type says."""
    data = b"".join(number.to_bytes(16, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(data)])


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("as_integers", [True, False])
def test_decimals_wider_than_their_file_says(
    as_integers: bool, statistics: bool, make_shop: MakeShop
) -> None:
    wide = "columns: {id: int, d: 'decimal(12,2)'}"
    shop = make_shop(
        {
            "tables/bronze/found.yaml": table("p"),
            "tables/bronze/wide.yaml": table("p", columns=wide, policy="ignore"),
        }
    )
    small, large = pa.decimal128(5, 2), pa.decimal128(30, 2)
    columns = {
        "id": [1, 2, 3],
        "d": unscaled([125, 8388607, -100000], small),
        "n": pa.ListArray.from_arrays([0, 1, 2, 3], unscaled([125, -99999, 100000], small)),
        "big": unscaled([125, 10**30, 10**31], large),
    }
    path = shop.land("landing/p/1.parquet", b"")
    pq.write_table(pa.table(columns), path, store_decimal_as_integer=as_integers, write_statistics=statistics)
    shop.must_run()
    assert shop.rows("bronze.found", "id", "d", "n", "big") == [
        (1, Decimal("1.25"), [Decimal("1.25")], Decimal("1.25"))
    ]
    assert reasons(shop, "bronze.found") == [
        ["d: not a decimal(5,2): '83886.07'", f"big: not a decimal(30,2): '1{'0' * 28}.00'"],
        [
            "d: not a decimal(5,2): '-1000.00'",
            "n.element: not a decimal(5,2): '1000.00'",
            f"big: not a decimal(30,2): '1{'0' * 29}.00'",
        ],
    ]
    # A type that is declared wide enough takes them.
    assert shop.rows("bronze.wide") == [
        (1, Decimal("1.25")),
        (2, Decimal("83886.07")),
        (3, Decimal("-1000.00")),
    ]


def of_bytes(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 8) // 8, "big", signed=True)


def test_decimals_wider_than_their_avro_schema_says(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/a.yaml": table("a", "avro")})
    price = {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}
    fixed = {"type": "fixed", "name": "f", "size": 16, "logicalType": "decimal", "precision": 20, "scale": 2}
    rows = [
        {"id": 1, "d": of_bytes(125), "f": (125).to_bytes(16, "big")},
        {"id": 2, "d": of_bytes(-(10**20)), "f": (10**37).to_bytes(16, "big")},
    ]
    shop.land("landing/a/1.avro", avro({"id": "int", "d": price, "f": fixed}, *rows))
    shop.must_run()
    assert shop.rows("bronze.a", "id", "d", "f") == [(1, Decimal("1.25"), Decimal("1.25"))]
    assert reasons(shop, "bronze.a") == [
        [f"d: not a decimal(5,2): '-1{'0' * 18}.00'", f"f: not a decimal(20,2): '1{'0' * 35}.00'"]
    ]
    types = {column.name: column.type for column in shop.state("bronze.a").columns}
    assert (types["d"], types["f"]) == ("decimal(5,2)", "decimal(20,2)")
    # By its last 64 bits it would be 1.25; and no decimal of Spark's has 39 digits.
    more = {"id": "int", "d": price, "f": fixed}
    cut = {"id": 3, "d": of_bytes(2**64 + 125), "f": (125).to_bytes(16, "big")}
    shop.take("landing/a/2.avro", avro(more, cut))
    assert reasons(shop, "bronze.a")[1] == ["d: not a decimal(5,2): '184467440737095517.41'"]
    shop.land("landing/a/3.avro", avro(more, {**cut, "d": of_bytes(10**38)}))
    (problem,) = shop.run().problems
    assert (problem.code, "landing/a/3.avro" in problem.what) == ("LS422", True)


def test_avro_decimals_of_more_than_38_digits_are_refused_by_name(make_shop: MakeShop) -> None:
    columns = "columns: {id: int}"
    files = {
        "tables/bronze/a.yaml": table("a", "avro"),
        "tables/bronze/ids.yaml": table("a", "avro", columns, "ignore"),
    }
    shop = make_shop(files)
    price = {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}
    shop.land("landing/a/1.avro", avro({"id": "int", "d": price}, {"id": 1, "d": of_bytes(125)}))
    result = shop.run()
    (problem,) = result.problems
    assert (problem.code, problem.found) == ("LS436", "decimal(50,2)")
    assert "landing/a/1.avro: column d cannot be read" in problem.what
    assert shop.rows("bronze.ids") == [(1,)]


def test_nanoseconds_of_96_bits_are_kept_or_set_aside(make_shop: MakeShop) -> None:
    """Spark's own files have microseconds; others (Impala, Hive, Arrow) have all digits."""
    shop = make_shop({"tables/bronze/p.yaml": table("p")})
    second = 1_700_000_000_000_000_000
    at = pa.array([second + 123_456_000, -1_000, second + 1, None], pa.timestamp("ns"))
    many = pa.ListArray.from_arrays([0, 1, 2, 4, 4], pa.array([0, 1000, second, -1], pa.timestamp("ns")))
    path = shop.land("landing/p/1.parquet", b"")
    pq.write_table(
        pa.table({"id": [1, 2, 3, 4], "at": at, "many": many}), path, use_deprecated_int96_timestamps=True
    )
    shop.must_run()
    assert moments(shop, "bronze.p") == [(1, second // 1000 + 123_456), (2, -1), (4, None)]
    assert reasons(shop, "bronze.p") == [
        [
            "at: not a timestamp: '2023-11-14 22:13:20.000000001' (it has more than six digits of a second)",
            "many.element: not a timestamp: '1969-12-31 23:59:59.999999999'"
            " (it has more than six digits of a second)",
        ]
    ]
    far = path.read_bytes()
    # Its bytes: nanoseconds of the day, then the day, both of them small ones first.
    value = (second // 86_400_000_000_000 + 2_440_588).to_bytes(4, "little")
    assert far.count(value) > 1
    shop.land("landing/p/2.parquet", far.replace(value, (2**31 - 1).to_bytes(4, "little")))
    shop.must_run()
    assert any("+5874898-06-03" in text for found in reasons(shop, "bronze.p") for text in found)


def test_times_are_iso_texts_of_python(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/p.yaml": table("p")})
    clocks = [time(0), time(1, 2, 3, 4), time(23, 59, 59, 999_999), time(12, 30, 0, 500_000)]
    land_parquet(shop, "p/1", [{"t": clock} for clock in clocks])
    shop.must_run()
    found = [time.fromisoformat(row["t"]) for row in shop.frame("bronze.p").orderBy("t").collect()]
    assert found == sorted(clocks)
    assert json.dumps(None) == "null"
