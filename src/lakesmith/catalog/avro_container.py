"""The header of an Avro object container file. Format: https://avro.apache.org/docs/1.12.0/specification/."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import BinaryIO, Final

_MAGIC: Final = b"Obj\x01"
_LARGEST: Final = 64 * 1024 * 1024


class NotAvro(ValueError):
    """A file that is no whole Avro file; ``found`` says what it has instead."""

    def __init__(self, found: str) -> None:
        super().__init__(f"not an Avro file: {found}")
        self.found = found


def read_entries(file: BinaryIO) -> dict[str, bytes]:
    """Returns the header's entries of an open file, up to its sync mark. Raises NotAvro. A negative block
    count is followed by the block's size."""
    if file.read(len(_MAGIC)) != _MAGIC:
        raise NotAvro("other first bytes than Avro's")
    entries: dict[str, bytes] = {}
    while count := read_long(file):
        if count < 0:
            read_long(file)
        for _ in range(abs(count)):
            key = _read_bytes(file).decode("utf-8", "replace")
            entries[key] = _read_bytes(file)
    return entries


def read_long(file: BinaryIO) -> int:
    """A zig-zag number of variable length, at most ten bytes. Raises NotAvro."""
    value = 0
    for shift in range(0, 70, 7):
        byte = file.read(1)
        if not byte:
            raise NotAvro("a header that ends too early")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)
    raise NotAvro("a number of more than ten bytes in its header")


def with_entries(data: bytes, values: Mapping[str, str]) -> bytes:
    """The file with these entries of its header set. Raises NotAvro when it is not an Avro file."""
    file = io.BytesIO(data)
    entries = read_entries(file) | {key: value.encode() for key, value in values.items()}
    pairs = b"".join(_text(key.encode()) + _text(value) for key, value in entries.items())
    return _MAGIC + _long(len(entries)) + pairs + _long(0) + data[file.tell() :]


def _read_bytes(file: BinaryIO) -> bytes:
    size = read_long(file)
    if not 0 <= size <= _LARGEST:
        raise NotAvro(f"a header entry of {size} bytes")
    data = file.read(size)
    if len(data) < size:
        raise NotAvro("a header that ends too early")
    return data


def _text(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    value, out = number << 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
