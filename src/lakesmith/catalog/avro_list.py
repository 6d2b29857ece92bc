"""The header of a manifest list (an Avro object container file) with other ids in it, and its data as it is.

Format: https://avro.apache.org/docs/1.12.0/specification/#object-container-files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MAGIC: Final = b"Obj\x01"


def with_header(data: bytes, values: Mapping[str, str]) -> bytes:
    """The file with these entries of its header set. Raises ValueError when it is not an Avro file."""
    if not data.startswith(_MAGIC):
        raise ValueError("not an Avro file")
    entries, end = _map(data, len(_MAGIC))
    entries |= {key: value.encode() for key, value in values.items()}
    pairs = b"".join(_text(key.encode()) + _text(value) for key, value in entries.items())
    return _MAGIC + _long(len(entries)) + pairs + _long(0) + data[end:]


def _map(data: bytes, at: int) -> tuple[dict[str, bytes], int]:
    """The header's map, which comes in blocks, and where it ends; a negative count is followed by the block's size."""
    entries: dict[str, bytes] = {}
    while True:
        count, at = _read_long(data, at)
        if count == 0:
            return entries, at
        if count < 0:
            _, at = _read_long(data, at)
        for _ in range(abs(count)):
            key, at = _read_text(data, at)
            entries[key.decode()], at = _read_text(data, at)


def _read_text(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _read_long(data, at)
    if not 0 <= size <= len(data) - at:
        raise ValueError("an Avro header that ends too early")
    return data[at : at + size], at + size


def _read_long(data: bytes, at: int) -> tuple[int, int]:
    """A zig-zag number of variable length."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("an Avro header that ends too early")
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def _text(data: bytes) -> bytes:
    return _long(len(data)) + data


def _long(number: int) -> bytes:
    value, out = number << 1, bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
