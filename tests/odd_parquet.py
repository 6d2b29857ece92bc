"""Parquet files as other writers, broken disks and fuzzers make them: PyArrow's, with a few bytes changed.

The kinds are those of the repositories apache/parquet-testing and apache/arrow-testing.
"""

import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SIX = {"id": [1, 2, 3, 4, 5, 6], "name": ["a", "b", None, "d", "e", "f"]}


def parquet(columns: Any, **options: Any) -> bytes:
    """A file of PyArrow's without its own schema beside Parquet's, uncompressed unless ``options`` say so."""
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    file = io.BytesIO()
    pq.write_table(table, file, **{"store_schema": False, "compression": "none", **options})
    return file.getvalue()


def flipped(data: bytes, at: int, bits: int = 1) -> bytes:
    """The file with some bits of one byte changed."""
    return data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]


def in_footer(data: bytes, old: bytes, new: bytes) -> bytes:
    """The file with bytes of its footer replaced, each time that they are there; its length is set right."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:-8]
    assert old in footer, footer
    footer = footer.replace(old, new)
    return data[:start] + footer + len(footer).to_bytes(4, "little") + data[-4:]


def page(data: bytes, column: int = 0, *, dictionary: bool = False) -> int:
    """Where a column's first page begins, with its header."""
    chunk = pq.read_metadata(io.BytesIO(data)).row_group(0).column(column)
    return int(chunk.dictionary_page_offset if dictionary else chunk.data_page_offset)


def no_rows_in_the_footer() -> bytes:
    """As an old parquet-rs wrote (``repeated_no_annotation``): 6 rows, and the footer says 0."""
    return in_footer(parquet(SIX), b"\x16\x0c\x19", b"\x16\x00\x19")


def too_many_rows_in_the_footer() -> bytes:
    return in_footer(parquet(SIX), b"\x16\x0c\x19", b"\x16\x0e\x19")


def fewer_rows_in_the_row_group() -> bytes:
    """The row group says 5 rows, over columns of 6 values."""
    data = parquet(SIX)
    at = data.rindex(b"\x16\x0c")
    return data[:at] + b"\x16\x0a" + data[at + 2 :]


def wrong_checksum(dictionary: bool = False) -> bytes:
    """As ``datapage_v1-corrupt-checksum``, ``rle-dict-uncompressed-corrupt-checksum``: in column ``name``."""
    data = parquet(SIX, write_page_checksum=True, use_dictionary=dictionary)
    return flipped(data, data.index(b"\x01\x00\x00\x00d") + 4)


def starts_within_a_record() -> bytes:
    """As ``ARROW-GH-45185``: the first repetition level is 1."""
    data = parquet({"x": [[1, 2], [3]]}, use_dictionary=False)
    return flipped(data, data.index(b"\x02\x00\x00\x00\x03") + 5)


def goes_on_with_an_empty_list() -> bytes:
    """The second value of a list is one of an empty list: repetition level 1, definition level 1."""
    data = parquet({"x": [[1, 2], [3]]}, use_dictionary=False)
    levels = b"\x02\x00\x00\x00\x06\x03"
    assert levels in data
    return data.replace(levels, b"\x02\x00\x00\x00\x03\x37", 1)


def too_few_levels() -> bytes:
    """As ``ARROW-RS-GH-6229-LEVELS``: the levels of a page are of fewer values than its header says."""
    data = parquet({"x": [[1]] * 100}, use_dictionary=False)
    return data.replace(b"\xc8\x01\x00", b"\xc6\x01\x00", 1)


def broken_dictionary_header() -> bytes:
    """As ``ARROW-RS-GH-6229-DICTHEADER``: the header of the dictionary is another page's."""
    data = parquet(SIX)
    return flipped(data, page(data, dictionary=True) + 1, 2)


def name_not_utf8() -> bytes:
    return in_footer(parquet(SIX), b"name", b"n\xe1me")


def unknown_encoding() -> bytes:
    data = parquet(SIX, use_dictionary=False)
    at = page(data)
    return data[:at] + data[at:].replace(b"\x15\x00\x15\x06", b"\x15\x30\x15\x06", 1)


def decimal_in_byte_arrays() -> bytes:
    """As ``byte_array_decimal``: 1.00, NULL and -123.45 as numbers of as many bytes as they need."""
    values = pa.array([b"\x64", None, (-12345).to_bytes(2, "big", signed=True)], pa.binary())
    data = parquet({"value": values})
    # Converted type DECIMAL, scale 2, precision 5.
    return in_footer(data, b"\x18\x05value\x00", b"\x18\x05value\x25\x0a\x15\x04\x15\x0a\x00")


def unknown_logical_type() -> bytes:
    """As ``unknown-logical-type``: a text of a logical type with a number that nobody has."""
    return in_footer(parquet({"id": [1, 2], "new": ["a", "b"]}), b"\x1c\x00\x00", b"\x0c\xfe\x01\x00\x00")


def map_without_values() -> bytes:
    """As ``map_no_value``: a MAP whose entries have keys alone."""
    kind = pa.list_(pa.field("key", pa.int32(), nullable=False))
    data = parquet({"id": [1, 2], "m": pa.array([[1, 2], []], kind)})
    # The group is annotated as a MAP in place of a LIST: its converted type and its logical type.
    return in_footer(data, b"\x01m\x15\x02\x15\x06\x4c\x3c", b"\x01m\x15\x02\x15\x02\x4c\x2c")


def map_with_optional_keys() -> bytes:
    """As ``incorrect_map_schema``: the key of a MAP may be NULL."""
    data = parquet(pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))}))
    return in_footer(data, b"\x25\x00\x18\x03key", b"\x25\x02\x18\x03key")


def fewer_values_in_a_column() -> bytes:
    """The column ``name`` says 5 values in a row group of 6."""
    data = parquet(SIX)
    at = data.index(b"\x16\x0c", data.rindex(b"\x04name\x15\x00"))
    return data[:at] + b"\x16\x0a" + data[at + 2 :]


def short_statistics() -> bytes:
    """The largest decimal of a column of three bytes is one of two, for which PyArrow ends the process."""
    prices = pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(5, 2))
    data = parquet({"price": prices})
    return in_footer(data, b"\x03\x00\x00\xfa", b"\x02\x00\xfa")


def another_type_in_a_chunk() -> bytes:
    """The column's chunk is of no type that there is: its statistics end PyArrow's process."""
    prices = pa.array([Decimal("1.25"), Decimal("2.50")], pa.decimal128(5, 2))
    return in_footer(parquet({"price": prices}), b"\x1c\x15\x0e", b"\x1c\x15\x5e")


def encrypted_column() -> bytes:
    """The metadata of the column ``id`` says that it is encrypted with a key of its own."""
    data = parquet({"id": [1, 2, 3]}, use_dictionary=False, write_statistics=False)
    sealed = b"\x5c\x2c\x19\x18\x02id\x00\x00\x18\x01x"
    return in_footer(data, b"\x06\x00\x00\x00\x16", b"\x06\x00\x00" + sealed + b"\x00\x16")
