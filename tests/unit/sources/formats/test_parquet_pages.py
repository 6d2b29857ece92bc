"""Parquet files that are read to their end before Spark reads them: what is refused, and the reason."""

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

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
    (
        odd_parquet.goes_on_with_an_empty_list,
        "its column 'x.list.element' cannot be read",
        "Length spanned by list offsets",
    ),
    (odd_parquet.too_few_levels, "its column 'x.list.element' cannot be read", "levels do not match"),
    (odd_parquet.broken_dictionary_header, "its column 'id' cannot be read", "0 values where row group 0"),
    (odd_parquet.unknown_encoding, "its column 'id' cannot be read", "Unknown encoding type"),
    (odd_parquet.too_many_rows_in_the_footer, COUNTS, "promises 7 rows over row groups of 6"),
    (odd_parquet.fewer_rows_in_the_row_group, COUNTS, "promises 6 rows over row groups of 5"),
    (
        odd_parquet.fewer_values_in_a_column,
        "its column 'name' cannot be read",
        "6 values where it promises 5",
    ),
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


@pytest.mark.parametrize("store_schema", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 40_000])
def test_values_are_counted_at_every_depth(rows: int, store_schema: bool, tmp_path: Path) -> None:
    deep = pa.struct([("a", pa.list_(pa.map_(pa.string(), pa.list_(pa.int32())))), ("b", pa.int64())])
    some: list[Any] = [
        None,
        {"a": None, "b": 1},
        {"a": [], "b": 1},
        {"a": [[("k", [1, None]), ("l", None)], None, []], "b": None},
    ]
    pair = pa.list_(pa.list_(pa.int32()), 2)
    table = pa.table(
        {
            "deep": pa.array([some[at % 4] for at in range(rows)], deep),
            "pair": pa.array([[[at], None] if at % 3 else None for at in range(rows)], pair),
            "tensor": pa.array([[at, at] for at in range(rows)], pa.list_(pa.int32(), 2)),
            "empty": pa.array([None] * rows, pa.null()),
        }
    )
    tensor = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), [2]), table["tensor"].combine_chunks()
    )
    table = table.set_column(2, "tensor", tensor)
    data = odd_parquet.parquet(table, store_schema=store_schema, data_page_size=500)
    assert _check(tmp_path / "a.parquet", data) == rows


def test_a_row_group_may_be_empty(tmp_path: Path) -> None:
    with pq.ParquetWriter(tmp_path / "w.parquet", pa.schema({"a": pa.list_(pa.int64())})) as writer:
        for rows in ([], [[1]], []):
            writer.write_table(pa.table({"a": pa.array(rows, pa.list_(pa.int64()))}))
    assert _check(tmp_path / "a.parquet", (tmp_path / "w.parquet").read_bytes()) == 1
