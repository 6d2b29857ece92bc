"""The statistics of a Parquet file's columns, read from its footer without Arrow.

Arrow ends the process for statistics that contradict their column, as one flipped byte of a footer makes
them.

Source: apache/parquet-format, parquet.thrift; apache/thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

_INTEGERS: Final = (1, 2)
"""The physical types INT32 and INT64, whose bytes are little-endian."""
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 1, 2, 3, 7, 8, 9, 10, 11, 12, 13
_FIXED: Final = {_BYTE: 1, _DOUBLE: 8, _UUID: 16}


class Footer:
    """The row groups that a file's footer describes. Raises EOFError for one that goes on behind its end."""

    def __init__(self, file: BinaryIO) -> None:
        end = file.seek(0, 2) - 8
        file.seek(end)
        length = int.from_bytes(file.read(4), "little")
        file.seek(end - length)
        self._groups = _Reader(file.read(length)).struct().get(4, [])

    def largest(self, column: int, width: int) -> int | None:
        """Returns the largest number, its sign and its point left out, that a column of decimals may have;
        None where the statistics do not bound it. ``width``: the bytes of each value, 0 if they differ."""
        try:
            limits = [limit for group in self._groups for limit in _limits(group[1][column][3], width)]
        except (AttributeError, IndexError, KeyError, TypeError):
            # What has another type than it should have, Arrow takes as not there.
            return None
        known = [abs(limit) for limit in limits if limit is not None]
        return max(known, default=0) if len(known) == len(limits) else None


def _limits(chunk: Mapping[int, Any], width: int) -> Iterator[int | None]:
    said, is_integer = chunk.get(12, {}), chunk[1] in _INTEGERS
    if said.get(3) == chunk[5]:
        return  # All of its values are NULL.
    # Of older writers the bounds of byte arrays were those of unsigned bytes.
    bounds = [said.get(new, said.get(old) if is_integer else None) for new, old in ((5, 1), (6, 2))]
    is_whole = said.get(7) is not False and said.get(8) is not False
    for each in bounds:
        is_bound = is_whole and each and (len(each) == width or not width)
        yield int.from_bytes(each, "little" if is_integer else "big", signed=True) if is_bound else None


class _Reader:
    """Thrift's compact protocol: structs as mappings by their fields' numbers."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> dict[int, Any]:
        found, field = {}, 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._number()
            kind = head & 15
            found[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in _FIXED:
            return self._bytes(_FIXED[kind])
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = self._varint() if head >> 4 == 15 else head >> 4
            return [self._element(head & 15) for _ in range(size)]
        if kind == _MAP:
            size = self._varint()
            kinds = self._byte() if size else 0
            return [(self._element(kinds >> 4), self._element(kinds & 15)) for _ in range(size)]
        return self.struct() if kind == _STRUCT else self._number()

    def _element(self, kind: int) -> Any:
        return self._byte() == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind)

    def _byte(self) -> int:
        return self._bytes(1)[0]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._data):
            raise EOFError("the footer goes on behind its end")
        return self._data[self._at - size : self._at]

    def _varint(self) -> int:
        found, shift = 0, 0
        while (byte := self._byte()) & 128 and shift < 70:
            found |= (byte & 127) << shift
            shift += 7
        return found | byte << shift

    def _number(self) -> int:
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)
