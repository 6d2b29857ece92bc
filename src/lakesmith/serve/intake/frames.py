"""Requests in a journal: each a frame that is there as a whole or not at all.

A frame is a mark, the lengths of its three parts and the CRC-32 of all (big-endian), then the parts: what tells its key, what tells its
events, and the events as JSON lines. Where a journal ends within a frame, as it does when the machine stopped, the rest does not count.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from zlib import crc32

MARK_BYTES: Final = 16
"""Keys and ids are known by digests of so many bytes: by chance no two are alike, and however long they are they cost the same memory."""

_HEAD: Final = struct.Struct(">4sIIII")
_MARK: Final = b"LSJ2"


@dataclass(frozen=True, slots=True)
class Request:
    """What came: the events as JSON lines (each ends with a newline). ``key``: what tells the request from others; may be empty.

    ``ids``: the mark of each event, None for one that has none; empty where events have no ids.
    """

    lines: bytes
    key: bytes = b""
    ids: tuple[bytes | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """What is written of a request. ``keyed``: the mark of its key and that of all events that came with it; ``ids``: the marks of the events
    that are in it. Both may have many, one after the other.
    """

    lines: bytes
    keyed: bytes = b""
    ids: bytes = b""

    def as_bytes(self) -> bytes:
        """As it stands in a journal."""
        body = self.keyed + self.ids + self.lines
        return _HEAD.pack(_MARK, len(self.keyed), len(self.ids), len(self.lines), crc32(body)) + body

    def marks(self) -> Iterator[tuple[bytes, bytes]]:
        """What is known by it: of a key the mark of its events, of an id nothing more."""
        keyed, ids = self.keyed, self.ids
        for at in range(0, len(keyed), 2 * MARK_BYTES):
            yield keyed[at : at + MARK_BYTES], keyed[at + MARK_BYTES : at + 2 * MARK_BYTES]
        for at in range(0, len(ids), MARK_BYTES):
            yield ids[at : at + MARK_BYTES], b""


def mark(kind: bytes, content: bytes) -> bytes:
    """The digest of a key, of an event's id or of events; no two ``kind`` have one in common."""
    return blake2b(content, digest_size=MARK_BYTES, person=kind).digest()


def read_frames(journal: bytes) -> Iterator[Frame]:
    """The frames of a journal, up to its end or to where it is torn.

    >>> whole = Frame(b'{"a": 1}\\n', b"k" * 32).as_bytes()
    >>> [frame.lines for frame in read_frames(whole + whole[:-1])]
    [b'{"a": 1}\\n']
    """
    at = 0
    while at + _HEAD.size <= len(journal):
        begins, of_keyed, of_ids, of_lines, checksum = _HEAD.unpack_from(journal, at)
        begin = at + _HEAD.size
        at = begin + of_keyed + of_ids + of_lines
        body = journal[begin:at]
        if begins != _MARK or len(body) < at - begin or crc32(body) != checksum:
            return
        yield Frame(body[of_keyed + of_ids :], body[:of_keyed], body[of_keyed : of_keyed + of_ids])
