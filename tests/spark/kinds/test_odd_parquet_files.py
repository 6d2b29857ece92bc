"""Parquet files that other writers, broken disks and fuzzers make: all of their rows are read, or none."""

from collections.abc import Callable
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import MakeShop

import odd_parquet

pytestmark = pytest.mark.in_turn

TABLE = """
    source:
      files: {{path: landing/{0}/, format: {1}, on_bad_file: {2}}}
    columns: {{id: bigint, name: string}}
    """
BAD: dict[str, Callable[[], bytes]] = {
    "no-byte": bytes,
    "wrong-checksum": odd_parquet.wrong_checksum,
    "starts-within-a-record": odd_parquet.starts_within_a_record,
    "too-few-levels": odd_parquet.too_few_levels,
    "broken-dictionary": odd_parquet.broken_dictionary_header,
    "unknown-encoding": odd_parquet.unknown_encoding,
    "too-many-rows": odd_parquet.too_many_rows_in_the_footer,
    "fewer-rows": odd_parquet.fewer_rows_in_the_row_group,
    "name-not-utf8": odd_parquet.name_not_utf8,
    "optional-keys": odd_parquet.map_with_optional_keys,
    "encrypted": odd_parquet.encrypted_column,
    "goes-on": odd_parquet.goes_on_with_an_empty_list,
}
SIX = [(at, name) for at, name in zip(*odd_parquet.SIX.values(), strict=True)]


def test_bad_files_are_left_out_with_their_reasons(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/a.yaml": TABLE.format("a", "parquet", "skip")})
    shop.land("landing/a/good.parquet", odd_parquet.parquet(odd_parquet.SIX, write_page_checksum=True))
    for name, made in BAD.items():
        shop.land(f"landing/a/{name}.parquet", made())
    notes = shop.must_run().published["bronze.a"].notes
    assert shop.rows("bronze.a") == SIX
    for name in BAD:
        assert any(f"landing/a/{name}.parquet was left out" in note for note in notes), name


@pytest.mark.parametrize("format_", ["parquet", "avro"])
def test_a_file_without_a_byte_stops_its_table(format_: str, make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/a.yaml": TABLE.format("a", format_, "fail")})
    shop.land(f"landing/a/1.{format_}", b"")
    result = shop.run()
    (problem,) = result.problems
    assert (result.code, problem.code) == (1, "LS422")
    assert "on_bad_file: skip" in (problem.hint or "")


def test_rows_are_read_where_the_footer_says_that_there_are_none(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/a.yaml": TABLE.format("a", "parquet", "fail")})
    shop.land("landing/a/1.parquet", odd_parquet.no_rows_in_the_footer())
    record = shop.must_run().published["bronze.a"]
    assert (record.account.read, shop.rows("bronze.a")) == (6, SIX)


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i32": (pa.int32(), [1, None, -(2**31)]),
    "i64": (pa.int64(), [2**62, None, -1]),
    "f32": (pa.float32(), [0.5, None, -1.25]),
    "f64": (pa.float64(), [0.1, None, -1e300]),
    "text": (pa.string(), ["a", None, "abc"]),
    "some": (pa.binary(), [b"a", None, b"ab\x00"]),
    "four": (pa.binary(4), [b"abcd", None, b"abce"]),
    "price": (pa.decimal128(12, 2), [Decimal("1.25"), None, Decimal("-7.00")]),
    "flag": (pa.bool_(), [True, None, False]),
    "at": (pa.timestamp("us"), [1_700_000_000_000_000, None, -1]),
    "many": (pa.list_(pa.float32()), [[0.5, None], None, []]),
}
ENCODINGS = {
    "BYTE_STREAM_SPLIT": ("i32", "i64", "f32", "f64", "four", "price", "at", "many"),
    "DELTA_BINARY_PACKED": ("i32", "i64", "at"),
    "DELTA_LENGTH_BYTE_ARRAY": ("text", "some"),
    "DELTA_BYTE_ARRAY": ("text", "some", "four", "price"),
    "RLE": ("flag",),
    "PLAIN": tuple(VALUES),
}


def test_every_encoding_of_todays_writers_is_read(make_shop: MakeShop) -> None:
    files = {}
    for encoding, version in product(ENCODINGS, ("1.0", "2.0")):
        table = pa.table({name: pa.array(values, kind) for name, (kind, values) in VALUES.items()})
        table = table.select(ENCODINGS[encoding]).append_column("n", pa.array([1, 2, 3]))
        named = {name: encoding for name in ENCODINGS[encoding] if name != "many"}
        if "many" in ENCODINGS[encoding]:
            named["many.list.element"] = encoding
        options = {"column_encoding": named, "data_page_version": version, "use_dictionary": False}
        files[f"{encoding.lower()}_{version[0]}"] = (table, odd_parquet.parquet(table, **options))
    source = "source:\n  files: {{path: landing/{0}/, format: parquet}}\n"
    shop = make_shop({f"tables/bronze/{name}.yaml": source.format(name) for name in files})
    for name, (_, data) in files.items():
        shop.land(f"landing/{name}/1.parquet", data)
    published = shop.must_run().published
    for name, (table, _) in files.items():
        rows = shop.frame(f"bronze.{name}").orderBy("n").select(table.column_names).toArrow().to_pylist()
        assert rows == table.to_pylist(), name
        by_rows = any("read row by row" in note for note in published[f"bronze.{name}"].notes)
        assert by_rows is name.startswith("byte_stream_split"), name


def test_decimals_of_varying_length_are_read(make_shop: MakeShop) -> None:
    source = "source:\n  files: {path: landing/a/, format: parquet}\n"
    shop = make_shop({"tables/bronze/a.yaml": source})
    shop.land("landing/a/1.parquet", odd_parquet.decimal_in_byte_arrays())
    (note,) = shop.must_run().published["bronze.a"].notes
    assert shop.rows("bronze.a") == [(None,), (Decimal("-123.45"),), (Decimal("1.00"),)]
    assert "decimals of varying length (landing/a/1.parquet)" in note


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (odd_parquet.map_without_values, "Invalid Spark read type"),
        (odd_parquet.unknown_logical_type, "NullPointerException"),
    ],
)
def test_what_only_arrow_reads_is_refused_with_a_way_on(
    made: Callable[[], bytes], found: str, make_shop: MakeShop
) -> None:
    source = "source:\n  files: {{path: landing/a/, format: parquet, on_bad_file: {0}}}\n"
    shop = make_shop({"tables/bronze/a.yaml": source.format("fail")})
    shop.land("landing/a/1.parquet", made())
    (problem,) = shop.run().problems
    assert (problem.code, problem.what.rpartition(": ")[2]) == ("LS422", "Spark cannot read it")
    assert found in (problem.found or "")
    path = shop.root / "landing/a/1.parquet"
    shop.land("landing/a/2.parquet", odd_parquet.parquet(pq.read_table(path)))
    shop.write({"tables/bronze/a.yaml": source.format("skip")})
    assert shop.must_run().published["bronze.a"].account.read == 2
