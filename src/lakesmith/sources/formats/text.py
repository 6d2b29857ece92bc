"""Files of text, CSV or JSON: how they are opened and decoded, and where their lines end.

A record is a line that is not blank (only spaces). Lines end in LF, CRLF or CR as Hadoop reads them.
"""

from __future__ import annotations

import codecs
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Final

from lakesmith import limits
from lakesmith.project.definitions import CsvOptions
from lakesmith.sources.formats.packed import has_zeros, is_packed, may_end_padded, unpacked_stream
from lakesmith.sources.model import LandingFile
from lakesmith.sources.shape import UnreadableFile

_LINE_END: Final = re.compile(rb"\r\n|\n|\r")
_UNSUPPORTED: Final = (".zip", ".zst", ".xz", ".7z", ".lz4", ".snappy", ".deflate")
_IN_ONE_LINE: Final = str.maketrans("\r\n", "  ")
_STARTS: Final = {
    b"\x1f\x8b": ".gz",
    **{b"BZh%d1AY&SY" % level: ".bz2" for level in range(1, 10)},
    b"\x28\xb5\x2f\xfd": ".zst",
    b"\xfd7zXZ\x00": ".xz",
    b"PK\x03\x04": ".zip",
}
"""How packed files begin, with their endings."""
BOM: Final = b"\xef\xbb\xbf"
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE: Final = ("UTF-16", "UTF-32")


def read_start(path: LandingFile, size: int) -> tuple[bytes, bool]:
    """Returns at most ``size`` bytes of the file's (decompressed) start, and whether that is all of it.

    Raises UnreadableFile LS422 for damaged and LS426 for unknown or unnamed compression, OSError.
    """
    suffix = path.suffix.lower()
    if suffix in _UNSUPPORTED:
        raise UnreadableFile(
            "LS426",
            "its compression is not supported",
            "a plain, .gz or .bz2 file",
            suffix,
            "unpack it, or use gzip",
        )
    try:
        with unpacked(path) as stream:
            data = stream.read(size + 1)
    except (EOFError, zlib.error, OSError) as error:
        raise _damaged(path, error) from error
    if not is_packed(suffix):
        _require_plain(data, path)
    return data[:size], len(data) <= size


def _require_plain(data: bytes, path: LandingFile) -> None:
    ending = next((ending for start, ending in _STARTS.items() if data.startswith(start)), None)
    if ending is not None:
        read = is_packed(ending)
        raise UnreadableFile(
            "LS426",
            "it is compressed, and its name does not say so",
            f"a name ending in {ending}" if read else "a plain, .gz or .bz2 file",
            path.name if read else f"the first bytes of a {ending} file",
            "rename it" if read else "unpack it, or use gzip",
        )


def decode(data: bytes, encoding: str, whole: bool) -> str:
    """Returns the bytes as text, without a byte order mark; undecodable bytes become U+FFFD, as in Spark.

    Raises UnreadableFile LS425 for an unknown encoding, or a UTF-16 mark where another encoding is declared.
    """
    try:
        codec = codecs.lookup(encoding)
    except LookupError as error:
        raise UnreadableFile(
            "LS425", "its encoding is unknown", "such as UTF-8, ISO-8859-1, windows-1252, UTF-16", encoding
        ) from error
    if data[:2] in _UTF16 and not codec.name.startswith(("utf-16", "utf-32")):
        raise UnreadableFile(
            "LS425",
            "it is not in the declared encoding",
            encoding,
            "UTF-16",
            "set `encoding: UTF-16` for this source",
        )
    return codec.incrementaldecoder("replace").decode(data, whole).removeprefix("\ufeff")


def one_line(value: str) -> str:
    """Returns the text of a JSON value in one line. Line ends in it are between its parts: inside a text JSON
    has them escaped."""
    return value.translate(_IN_ONE_LINE)


def needs_stream(csv: CsvOptions) -> bool:
    """Whether only parsing finds lines: line breaks in fields, or an encoding of wide characters."""
    return csv.multiline or is_wide(csv)


def is_wide(csv: CsvOptions) -> bool:
    """Whether an encoding has wide characters: the bytes of a line end are part of other characters, too."""
    return csv.encoding.upper().startswith(_WIDE)


def line_counter(before: int, comment: str = "") -> Callable[[LandingFile], int]:
    """Makes a function that counts the records of a file that are its lines (``count_lines``)."""

    def count(path: LandingFile) -> int:
        with unpacked(path) as stream:
            return count_lines(stream, before, comment.encode())

    return count


def record_counter(
    split: Callable[[Iterable[str]], Iterator[str]], encoding: str
) -> Callable[[LandingFile], int]:
    """Makes a function that counts the records that ``split`` makes of a file's lines, which end in LF."""

    def count(path: LandingFile) -> int:
        with (
            unpacked(path) as stream,
            io.TextIOWrapper(stream, encoding, errors="replace", newline="\n") as lines,
        ):
            return sum(1 for _ in split(line.removesuffix("\n") for line in lines))

    return count


@contextmanager
def unpacked(path: LandingFile) -> Iterator[IO[bytes]]:
    """Opens a file, decompressed as its ending says."""
    with path.open("rb") as raw:
        if not is_packed(path.suffix):
            yield raw
            return
        with unpacked_stream(raw, path.suffix) as stream:
            yield stream


def count_lines(stream: IO[bytes], before: int, comment: bytes = b"") -> int:
    """Counts the lines that are not blank and do not begin with ``comment``, without the first ``before``."""
    total, first = 0, True
    for chunk in whole_lines(stream):
        chunk = chunk.removeprefix(BOM) if first else chunk
        first = False
        while before and chunk:
            chunk, before = _without_first_line(chunk), before - 1
        total += filled_lines(chunk, comment)
    return total


def whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Yields the file in pieces that end where a line does."""
    rest = b""
    while block := stream.read(limits.FILE_CHUNK_BYTES):
        block = rest + block
        cut = block.rfind(b"\n") + 1
        if cut:
            yield block[:cut]
        rest = block[cut:]
    if rest:
        yield rest


def _without_first_line(chunk: bytes) -> bytes:
    end = _LINE_END.search(chunk)
    return chunk[end.end() :] if end else b""


def filled_lines(chunk: bytes, comment: bytes) -> int:
    """Counts the lines of a piece that are not blank and do not begin with ``comment``."""
    plain = chunk.replace(b"\r\n", b"\n") if b"\r" in chunk else chunk
    odd = b"\r" in plain or b"\n\n" in plain or b"\n " in plain or plain.startswith((b"\n", b" "))
    if odd:
        filled = (line for line in _LINE_END.split(plain) if line.strip(b" "))
        return sum(1 for line in filled if not comment or not line.startswith(comment))
    comments = plain.count(b"\n" + comment) + plain.startswith(comment) if comment else 0
    return plain.count(b"\n") + (bool(plain) and not plain.endswith(b"\n")) - comments


def read_packed(path: LandingFile) -> None:
    """Reads a compressed file to its end. Raises UnreadableFile LS422 and OSError."""
    if not is_packed(path.suffix):
        return
    try:
        with unpacked(path) as stream:
            while stream.read(limits.FILE_CHUNK_BYTES):
                pass
    except (EOFError, zlib.error, OSError) as error:
        raise _damaged(path, error) from error


def ends_padded(path: LandingFile) -> bool:
    """Returns whether zeros follow the last member of a file of gzip, where its end lets one expect that.

    Raises UnreadableFile LS422 and OSError.
    """
    if path.suffix.lower() != ".gz":
        return False
    with path.open("rb") as raw:
        return may_end_padded(raw) and is_padded(path)


def is_padded(path: LandingFile) -> bool:
    """Returns whether zeros follow a member of a file of gzip. Raises UnreadableFile LS422 and OSError."""
    try:
        with path.open("rb") as raw:
            return has_zeros(raw)
    except (EOFError, zlib.error, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: LandingFile, error: Exception) -> UnreadableFile:
    """The error of a file that does not unpack. Raises OSErrors that have a number: the system's."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error
    return UnreadableFile("LS422", "it is damaged", f"a whole {path.suffix} file", str(error))
