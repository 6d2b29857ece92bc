"""Requests in a journal, each a frame that is complete or does not count.

A frame is a magic number, the lengths of its three parts and the CRC-32 of all (big-endian), then the parts:
marks of its key, marks of its events, and the events as JSON lines. A journal may end within a frame if the
machine stopped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final
from zlib import crc32

MARK_BYTES: Final = 16
"""Bytes of the digests by which keys and ids are known: no two are alike by chance, and memory is bounded."""

_HEAD: Final = struct.Struct(">4sIIII")
_MARK: Final = b"LSJ2"


@dataclass(frozen=True, slots=True)
class Request:
    """A request: its events as JSON lines, each with a newline, and its key, which may be empty.

    ``ids``: the mark of each event, None for one without an id; empty if the source has no ids.
    """

    lines: bytes
    key: bytes = b""
    ids: tuple[bytes | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """What is written of requests.

    ``keyed``: pairs of the mark of a key and the mark of all events that came with it; ``ids``: the marks of
    the events.
    """

    lines: bytes
    keyed: bytes = b""
    ids: bytes = b""

    def as_bytes(self) -> bytes:
        body = self.keyed + self.ids + self.lines
        return _HEAD.pack(_MARK, len(self.keyed), len(self.ids), len(self.lines), crc32(body)) + body

    def marks(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields the marks of keys, each with the mark of its events, and those of ids, with nothing."""
        keyed, ids = self.keyed, self.ids
        for at in range(0, len(keyed), 2 * MARK_BYTES):
            yield keyed[at : at + MARK_BYTES], keyed[at + MARK_BYTES : at + 2 * MARK_BYTES]
        for at in range(0, len(ids), MARK_BYTES):
            yield ids[at : at + MARK_BYTES], b""


def mark(kind: bytes, content: bytes) -> bytes:
    """Returns the digest of a key, of an event's id or of events, which are different ``kind``."""
    return blake2b(content, digest_size=MARK_BYTES, person=kind).digest()


def read_frames(journal: bytes) -> Iterator[Frame]:
    """Yields the frames of a journal, up to its end or to an incomplete frame.

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
