"""Unpacks files of gzip and bzip2: members one after the other, each of any size, and zeros after a member.

Zeros are the padding of tapes and mainframes. Any other byte after a member is a fault: Python's and Hadoop's
readers of bzip2 leave out what follows it without a word.

Uses the standard library only, as ``csv_records``.
"""

from __future__ import annotations

import bz2
import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, Any, Final, Protocol, cast

_CHUNK: Final = 64 * 1024
_SIZE_BYTES: Final = 4
"""A member of gzip ends with its size, unpacked, the lowest byte first (RFC 1952)."""


class _Member(Protocol):
    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _GzipMember:
    """A decompressor of zlib with the interface of bz2's."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(31)
        self.eof, self.needs_input, self.unused_data = False, True, b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        found = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self.eof, self.unused_data = self._zlib.eof, self._zlib.unused_data
        self.needs_input = not self._zlib.unconsumed_tail
        return found


@dataclass(frozen=True)
class _Packing:
    """One kind of compression. ``start``: how each of its members begins."""

    name: str
    start: bytes
    member: Callable[[], _Member]


_PACKINGS: Final[Mapping[str, _Packing]] = {
    ".gz": _Packing("gzip", b"\x1f\x8b", _GzipMember),
    ".bz2": _Packing("bzip2", b"BZh", cast("Callable[[], _Member]", bz2.BZ2Decompressor)),
}


def is_packed(suffix: str) -> bool:
    """Returns whether a file of this ending, such as ``.gz``, is unpacked."""
    return suffix.lower() in _PACKINGS


def unpacked_stream(raw: IO[bytes], suffix: str) -> io.BufferedReader:
    """Returns the content of a packed file as a stream; an empty file is empty.

    Reading raises EOFError if the file is cut, zlib.error or OSError without a number if it is damaged, or
    if anything but zeros and members follows a member.
    """
    return io.BufferedReader(_Members(raw, _PACKINGS[suffix.lower()]), _CHUNK)


def unpacked_bytes(content: bytes, suffix: str) -> bytes:
    """Returns the content of a file, unpacked as its ending says. Raises as reading its stream does."""
    if not is_packed(suffix):
        return content
    with unpacked_stream(io.BytesIO(content), suffix) as stream:
        return stream.read()


def unpacked_lines(content: bytes, encoding: str) -> Iterator[str]:
    """Yields the texts between two LF of a file of gzip. Bytes that are not UTF-8 become surrogates."""
    errors = "surrogateescape" if encoding == "UTF-8" else "replace"
    stream = unpacked_stream(io.BytesIO(content), ".gz")
    with io.TextIOWrapper(stream, encoding, errors, newline="\n") as lines:
        yield from (line.removesuffix("\n") for line in lines)


def has_zeros(raw: IO[bytes]) -> bool:
    """Returns whether zeros follow a member of a file of gzip. Raises as reading its stream does."""
    members = _Members(raw, _PACKINGS[".gz"])
    with io.BufferedReader(members, _CHUNK) as stream:
        while stream.read(_CHUNK * 16):
            pass
    return members.has_zeros


def may_end_padded(raw: IO[bytes]) -> bool:
    """Returns whether the zeros at the end are more than the high bytes of the last member's size.

    A member is hardly larger than what is in it. So a size much smaller than the file is that of the last of
    several members, or its bytes are not where a file without padding has them.
    """
    size = raw.seek(0, io.SEEK_END)
    raw.seek(max(0, size - _SIZE_BYTES))
    last = raw.read(_SIZE_BYTES)
    unpacked = int.from_bytes(last, "little")
    return last.endswith(b"\0") and (not unpacked or size > unpacked * 1.01 + 1024)


class _Members(io.RawIOBase):
    """The unpacked content of a file's members. ``has_zeros``: zeros were found after one of them."""

    def __init__(self, raw: IO[bytes], packing: _Packing) -> None:
        super().__init__()
        self._raw, self._packing = raw, packing
        self._member: _Member | None = None
        self._rest, self._ended = b"", 0
        self.has_zeros = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while self._member is not None or self._begins():
            if found := self._unpack(len(buffer)):
                buffer[: len(found)] = found
                return len(found)
        return 0

    def _unpack(self, size: int) -> bytes:
        """The next bytes of the member; none at its end. Raises EOFError if the file ends before."""
        member = self._member
        assert member is not None
        while not member.eof:
            packed = self._block() if member.needs_input else b""
            found = member.decompress(packed, size)
            if member.eof:
                break
            if found:
                return found
            if not packed and member.needs_input:
                raise EOFError(f"it ended before the end of a member of {self._packing.name}")
        else:
            found = b""
        self._rest, self._member = member.unused_data, None
        self._ended += 1
        return found

    def _block(self) -> bytes:
        block, self._rest = self._rest, b""
        return block or self._raw.read(_CHUNK)

    def _begins(self) -> bool:
        """Begins the next member; False at the file's end. Raises OSError for other bytes."""
        zeros = self._skip_zeros() if self._ended else 0
        start = self._packing.start
        while len(self._rest) < len(start) and (more := self._raw.read(_CHUNK)):
            self._rest += more
        if not self._rest:
            return False
        if not self._rest.startswith(start):
            raise self._no_member(zeros)
        self._member = self._packing.member()
        return True

    def _skip_zeros(self) -> int:
        """Skips the zeros after a member, and returns their number."""
        zeros = 0
        while block := self._block():
            self._rest = block.lstrip(b"\0")
            zeros += len(block) - len(self._rest)
            if self._rest:
                break
        self.has_zeros = self.has_zeros or zeros > 0
        return zeros

    def _no_member(self, zeros: int) -> OSError:
        name = self._packing.name
        if not self._ended:
            return OSError(f"no {name}: it begins with the bytes {self._rest[:4].hex(' ')}")
        after = zeros + len(self._rest)
        while block := self._raw.read(_CHUNK):
            after += len(block)
        return OSError(f"complete, followed by {after:,} byte{'' if after == 1 else 's'} that are no {name}")
