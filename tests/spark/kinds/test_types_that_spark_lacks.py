"""Types that Spark lacks: nanoseconds are read exactly or set aside, other columns are refused by name."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from harness import MakeShop
from nested import land_parquet
from out_of_quarantine import out_of_quarantine

from lakesmith.plan.steps import Strategy

pytestmark = pytest.mark.in_turn

SOURCE = """
    source:
      files: {{path: landing/{0}/, format: {1}, on_new_column: {2}}}
    {3}
    """
COLUMNS = """columns:
      id: int
      utc: timestamp
      local: timestamp_ntz
      words: string
      day: date
      many: array<timestamp>
      deep: "struct<At:timestamp_ntz,n:int>"
      named: map<string,timestamp>
"""
SECOND = 1_700_000_000_000_000_000
"""2023-11-14 22:13:20, in nanoseconds since 1970."""


def _row(id_: int, nanos: int | None, **other: Any) -> dict[str, Any]:
    whole = {"utc": nanos, "local": nanos, "words": nanos, "day": None}
    nested = {"many": [nanos, None], "deep": {"at": nanos, "n": id_}, "named": [("a", nanos)]}
    return {"id": id_, **whole, **nested, **other}


def _arrow_schema() -> Any:
    import pyarrow as pa

    utc, local = pa.timestamp("ns", "UTC"), pa.timestamp("ns")
    return pa.schema(
        {
            "id": pa.int32(), "utc": utc, "local": local, "words": local, "day": local, "many": pa.list_(utc),
            "deep": pa.struct([("at", local), ("n", pa.int32())]), "named": pa.map_(pa.string(), utc),
        }
    )  # fmt: skip


def _values(*moment: int) -> tuple[datetime, datetime]:
    """As Spark's Python gives them: a timestamp in the process's zone, and one without a zone."""
    local = datetime(*moment)
    return datetime.fromtimestamp(local.replace(tzinfo=UTC).timestamp()), local


def test_nanoseconds(make_shop: MakeShop) -> None:
    files = {
        "tables/bronze/typed.yaml": SOURCE.format("typed", "parquet", "fail", COLUMNS),
        "tables/bronze/found.yaml": SOURCE.format("found", "parquet", "evolve", ""),
        "tables/bronze/grown.yaml": SOURCE.format("grown", "parquet", "evolve", "columns: {id: int}"),
    }
    shop = make_shop(files)
    rows = [
        _row(1, SECOND + 123_456_000, day=SECOND - SECOND % 86_400_000_000_000),
        _row(2, -1_000),
        _row(3, None, many=None, deep=None, named=None),
        _row(4, SECOND, utc=SECOND + 123_456_789),
        _row(5, SECOND, local=-1, many=[None, SECOND + 1], deep={"at": 1, "n": 5}, named=[("a", 1)], day=1),
        _row(6, -(2**63), utc=None, local=None, many=None, deep=None, named=None),
    ]
    for name in ("typed", "found", "grown"):
        land_parquet(shop, f"{name}/1", rows, _arrow_schema())
    shop.must_run()

    good = {row["id"]: row.asDict(recursive=True) for row in shop.frame("bronze.typed").collect()}
    utc, local = _values(2023, 11, 14, 22, 13, 20, 123_456)
    assert [good[1][name] for name in ("utc", "local", "words", "many")] == [
        utc, local, "2023-11-14 22:13:20.123456", [utc, None]
    ]  # fmt: skip
    assert (good[1]["deep"], good[1]["named"]) == ({"At": local, "n": 1}, {"a": utc})
    assert good[1]["day"] == datetime(2023, 11, 14).date()
    utc, local = _values(1969, 12, 31, 23, 59, 59, 999_999)
    assert [good[2][name] for name in ("utc", "local")] == [utc, local]
    assert (good[3]["utc"], good[3]["many"], good[3]["words"]) == (None, None, None)
    assert good[6]["words"] == "1677-09-21 00:12:43.145224192"

    more = "(it has more than six digits of a second)"
    reasons = [
        [f"utc: not a timestamp: '2023-11-14 22:13:20.123456789' {more}"],
        [
            f"local: not a timestamp_ntz: '1969-12-31 23:59:59.999999999' {more}",
            "day: not a date: '1970-01-01 00:00:00.000000001'",
            f"many.element: not a timestamp: '2023-11-14 22:13:20.000000001' {more}",
            f"deep.At: not a timestamp_ntz: '1970-01-01 00:00:00.000000001' {more}",
            f"named.value: not a timestamp: '1970-01-01 00:00:00.000000001' {more}",
        ],
    ]
    assert [row["reasons"] for row in shop.quarantine("bronze.typed")] == reasons
    # What is kept of them still says what they were.
    assert out_of_quarantine(shop, "bronze.typed", Strategy.REPLAY).code == 0
    assert [row["reasons"] for row in shop.quarantine("bronze.typed")] == reasons

    for name in ("found", "grown"):
        types = {column.name: column.type for column in shop.state(f"bronze.{name}").columns}
        assert (types["utc"], types["local"], types["deep"]) == (
            "timestamp", "timestamp_ntz", "struct<at:timestamp_ntz,n:int>"
        )  # fmt: skip
        # Nobody declared that the words are a text, which has room for all digits.
        assert (shop.count(f"bronze.{name}"), len(shop.quarantine(f"bronze.{name}"))) == (3, 3)


def test_columns_that_cannot_be_read_are_named(make_shop: MakeShop) -> None:
    import pyarrow as pa

    wide, huge = pa.decimal256(50, 2), pa.decimal256(76, 0)
    odd = {"at": None, "inner": {"t": [1]}, "by": [None]}
    types = {"at": wide, "inner": pa.struct([("t", pa.list_(huge))]), "by": pa.list_(wide)}
    schema = pa.schema({"id": pa.int32(), **types})
    files = {
        f"tables/bronze/{name}.yaml": SOURCE.format("odd", "parquet", policy, columns)
        for name, policy, columns in (
            ("ignored", "ignore", "columns: {id: int}"),
            ("declared", "ignore", "columns: {id: int, AT: string, by: string}"),
            ("evolved", "evolve", "columns: {id: int}"),
            ("found", "evolve", ""),
        )
    }
    shop = make_shop(files)
    land_parquet(shop, "odd/1", [{"id": 1, **odd}], schema)
    land_parquet(shop, "odd/2", [{"id": 2}], pa.schema({"id": pa.int32()}))
    result = shop.run()
    assert shop.rows("bronze.ignored") == [(1,), (2,)]
    problems = {
        (problem.code, problem.what.rpartition("landing/")[2], problem.found) for problem in result.problems
    }
    assert problems == {
        ("LS436", "odd/1.parquet: column at cannot be read", "decimal256(50, 2)"),
        (
            "LS436",
            "odd/1.parquet: column inner cannot be read",
            "struct<t: list<element: decimal256(76, 0)>>",
        ),
        ("LS436", "odd/1.parquet: column by cannot be read", "list<element: decimal256(50, 2)>"),
    }
    assert {str(problem.place) for problem in result.problems if "column at" in problem.what} == {
        "tables/bronze/declared.yaml:3", "tables/bronze/evolved.yaml:2", "tables/bronze/found.yaml:2"
    }  # fmt: skip


def test_strings_that_are_no_text(make_shop: MakeShop) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = {"tables/bronze/a.yaml": SOURCE.format("a", "parquet", "evolve", "columns: {id: int, b: string}")}
    shop = make_shop(files)
    latin = pa.array([b"gut", b"\xe4", None, b"gut", b"gut"]).view(pa.string())
    many = pa.ListArray.from_arrays([0, 1, 2, 2, 3, 3], pa.array([b"x", b"y", b"\xff"]).view(pa.string()))
    named = pa.StructArray.from_arrays([latin.slice(1).take([2, 3, 1, 2, 3])], ["s"])
    binary = pa.array([b"\xc3\xa4", b"", None, b"", b"\x80"])
    table = pa.table({"id": [1, 2, 3, 4, 5], "s": latin, "many": many, "named": named, "b": binary})
    pq.write_table(table, shop.land("landing/a/1.parquet", b""))
    shop.must_run()
    assert [(row["id"], row["b"], row["s"]) for row in shop.frame("bronze.a").orderBy("id").collect()] == [
        (1, "ä", "gut"), (3, None, None)
    ]  # fmt: skip
    reasons = [["s: not valid UTF-8"], ["many.element: not valid UTF-8"], ["b: not a string: '\ufffd'"]]
    assert [row["reasons"] for row in shop.quarantine("bronze.a")] == reasons
    # The bytes are not in quarantine, so nothing can be made of them.
    out_of_quarantine(shop, "bronze.a", Strategy.REPLAY)
    assert (shop.count("bronze.a"), len(shop.quarantine("bronze.a"))) == (2, 3)


def test_nanoseconds_of_avro(make_shop: MakeShop) -> None:
    table = SOURCE.format("a", "avro", "fail", "columns: {at: timestamp}")
    shop = make_shop({"tables/bronze/a.yaml": table})
    schema = {"type": "record", "name": "r", "fields": [{"name": "at",
        "type": {"type": "long", "logicalType": "timestamp-nanos"}}]}  # fmt: skip
    text = json.dumps(schema).encode()

    def number(value: int) -> bytes:
        value, out = (value << 1) ^ (value >> 63), bytearray()
        while value > 0x7F:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([*out, value])

    def sized(data: bytes) -> bytes:
        return number(len(data)) + data

    block = number(SECOND + 5_000) + number(SECOND + 5)
    sync = bytes(range(16))
    head = b"Obj\x01" + number(1) + sized(b"avro.schema") + sized(text) + number(0) + sync
    shop.take("landing/a/1.avro", head + number(2) + sized(block) + sync)
    assert shop.rows("bronze.a") == [(_values(2023, 11, 14, 22, 13, 20, 5)[0],)]
    assert [row["reasons"] for row in shop.quarantine("bronze.a")] == [
        ["at: not a timestamp: '2023-11-14 22:13:20.000000005' (it has more than six digits of a second)"]
    ]
    shop.write({"tables/bronze/a.yaml": table.replace("format: avro", "format: avro, on_inexact: round")})
    assert out_of_quarantine(shop, "bronze.a", Strategy.REPLAY).code == 0
    assert (shop.record("bronze.a").account.rounded, shop.quarantine("bronze.a")) == (1, [])
    assert shop.rows("bronze.a") == [(_values(2023, 11, 14, 22, 13, 20, micros)[0],) for micros in (0, 5)]
