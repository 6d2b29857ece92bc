"""Files in which a word stands, whoever names these files: read without Iceberg and without lakesmith."""

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq


def mentions(root: Path, words: Iterable[str]) -> list[str]:
    """The files below ``root`` that have one of the words in them, by their paths from there."""
    told = tuple(words)
    return [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*"))
        if path.is_file() and any(word in text for text in [text_of(path)] for word in told)
    ]


def names_and_mentions(root: Path, words: Iterable[str]) -> list[str]:
    """As ``mentions``, and the files and folders whose names have one of the words in them."""
    told = tuple(words)
    named = (str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    return [*(name for name in named if any(word in name for word in told)), *mentions(root, told)]


def text_of(path: Path) -> str:
    """All that a file says: Parquet's values, Avro's blocks unpacked, other files as they are."""
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        return f"{pq.ParquetFile(path).read().to_pydict()} {content.decode('latin-1')}"
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    if content.startswith(b"Obj\x01"):
        content += b"".join(inflated(content[at:]) for at in range(len(content)))
    return content.decode("utf-8", "replace")


def inflated(content: bytes) -> bytes:
    """The deflate stream that begins there, if one does."""
    try:
        return zlib.decompressobj(-15).decompress(content, 1 << 20)
    except zlib.error:
        return b""
