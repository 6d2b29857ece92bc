"""Requests in a journal: each a frame that is there as a whole or not at all.

A frame is a mark, the length of its key and of its lines, and the CRC-32 of both (big-endian), then the key and the lines, which are
the request's events as JSON lines. Where a journal ends within a frame, as it does when the machine stopped, the rest does not count.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from zlib import crc32

_HEAD: Final = struct.Struct(">4sIII")
_MARK: Final = b"LSJ1"


@dataclass(frozen=True, slots=True)
class Request:
    """The events of one request, as JSON lines (each ends with a newline). ``key``: what tells it from others; may be empty."""

    lines: bytes
    key: bytes = b""

    def frame(self) -> bytes:
        """Its bytes in a journal."""
        body = self.key + self.lines
        return _HEAD.pack(_MARK, len(self.key), len(self.lines), crc32(body)) + body


def read_frames(journal: bytes) -> Iterator[Request]:
    """The requests of a journal, up to its end or to where it is torn.

    >>> whole = Request(b'{"a": 1}\\n', b"k").frame()
    >>> [request.key for request in read_frames(whole + whole[:-1])]
    [b'k']
    """
    at = 0
    while at + _HEAD.size <= len(journal):
        mark, of_key, of_lines, checksum = _HEAD.unpack_from(journal, at)
        begin = at + _HEAD.size
        at = begin + of_key + of_lines
        body = journal[begin:at]
        if mark != _MARK or len(body) < of_key + of_lines or crc32(body) != checksum:
            return
        yield Request(body[of_key:], body[:of_key])
