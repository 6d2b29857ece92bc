"""Parquet files that are read to their end before Spark reads them: what is refused, and the reason."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import odd_parquet
from lakesmith.sources.formats.parquet import count_parquet_rows, read_parquet_shape
from lakesmith.sources.formats.parquet_pages import read_parquet_pages
from lakesmith.sources.shape import UnreadableFile

CHECKSUM = "could not verify page integrity, CRC checksum verification failed for page_ordinal 0"
COUNTS = "its counts of rows contradict each other"
REFUSED: list[tuple[Callable[[], bytes], str, str]] = [
    (lambda: b"", "it is not a whole Parquet file", "0 bytes"),
    (lambda: b"PAR1", "it is not a whole Parquet file", "4 bytes that begin with b'PAR1'"),
    (odd_parquet.wrong_checksum, "its column 'name' cannot be read", CHECKSUM),
    (partial(odd_parquet.wrong_checksum, dictionary=True), "its column 'name' cannot be read", CHECKSUM),
    (odd_parquet.starts_within_a_record, "its column 'x.list.element' cannot be read", "must be 0 but got 1"),
    (odd_parquet.too_few_levels, "its column 'x.list.element' cannot be read", "levels do not match"),
    (odd_parquet.broken_dictionary_header, "its column 'id' cannot be read", "0 values where row group 0"),
    (odd_parquet.unknown_encoding, "its column 'id' cannot be read", "Unknown encoding type"),
    (odd_parquet.too_many_rows_in_the_footer, COUNTS, "promises 7 rows over row groups of 6"),
    (odd_parquet.fewer_rows_in_the_row_group, COUNTS, "promises 6 rows over row groups of 5"),
    (odd_parquet.fewer_values_in_a_column, "its column 'name' cannot be read", "5 values where row group 0"),
    (odd_parquet.name_not_utf8, "its footer cannot be read", "a text that is not UTF-8: b'n\\xe1me'"),
    (
        odd_parquet.map_with_optional_keys,
        "its footer cannot be read",
        "Map keys must be annotated as required",
    ),
]


def _check(path: Path, data: bytes) -> int:
    path.write_bytes(data)
    read_parquet_shape(path)
    read_parquet_pages(path)
    return count_parquet_rows(path)


@pytest.mark.parametrize(("made", "what", "found"), REFUSED)
def test_a_file_that_contradicts_itself_is_refused_with_what_does(
    made: Callable[[], bytes], what: str, found: str, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableFile) as caught:
        _check(tmp_path / "a.parquet", made())
    assert (caught.value.code, caught.value.what) == ("LS422", what)
    assert found in caught.value.found


def test_row_groups_count_where_the_footer_says_no_rows(tmp_path: Path) -> None:
    assert _check(tmp_path / "a.parquet", odd_parquet.no_rows_in_the_footer()) == 6
    assert not read_parquet_shape(tmp_path / "a.parquet").empty


def test_an_encrypted_column_does_not_end_the_process(tmp_path: Path) -> None:
    # A fuzzed file has such a column by chance: Arrow's metadata of it ends the process.
    data = odd_parquet.encrypted_column()
    with pytest.raises(UnreadableFile, match=r"its column 'id' cannot be read"):
        _check(tmp_path / "a.parquet", data)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_every_page_with_a_checksum_is_checked(compression: str, version: str, tmp_path: Path) -> None:
    rows = {"a": list(range(300)), "b": [f"text {at}" for at in range(300)], "c": [[at] for at in range(300)]}
    data = odd_parquet.parquet(
        rows, compression=compression, data_page_version=version, write_page_checksum=True, row_group_size=100
    )
    assert _check(tmp_path / "a.parquet", data) == 300
    footer = pq.read_metadata(io.BytesIO(data))
    chunks = [footer.row_group(group).column(at) for group in range(3) for at in range(3)]
    for chunk in chunks:
        at = chunk.dictionary_page_offset + chunk.total_compressed_size - 1
        with pytest.raises(UnreadableFile, match=rf"its column '{chunk.path_in_schema}'.*checksum"):
            _check(tmp_path / "a.parquet", odd_parquet.flipped(data, at))


def test_a_file_larger_than_what_is_held_of_it_is_read_in_parts(tmp_path: Path) -> None:
    values = pa.array(range(1_000_000), pa.int64())
    data = odd_parquet.parquet({"a": values}, use_dictionary=False, write_page_checksum=True)
    assert _check(tmp_path / "a.parquet", data) == 1_000_000
    with pytest.raises(UnreadableFile, match="its column 'a' cannot be read"):
        _check(tmp_path / "a.parquet", odd_parquet.flipped(data, 7_000_000))


def test_a_file_without_columns_has_its_rows(tmp_path: Path) -> None:
    assert _check(tmp_path / "a.parquet", odd_parquet.parquet(pa.table({}))) == 0
