"""Parquet files that other writers, broken disks and fuzzers make: all of their rows are read, or none."""

from collections.abc import Callable

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
