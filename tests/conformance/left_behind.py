"""Files in which a word stands, whoever names these files: read without Iceberg and without lakesmith."""

from __future__ import annotations

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


def text_of(path: Path) -> str:
    """All that a file says: Parquet's values, Avro's blocks unpacked, other files as they are."""
    if path.suffix == ".parquet":
        return str(pq.read_table(path).to_pydict())
    content = path.read_bytes()
    if path.suffix == ".avro":
        content += b"".join(inflated(content[at:]) for at in range(len(content)))
    return content.decode("latin-1")


def inflated(content: bytes) -> bytes:
    """The deflate stream that begins there, if one does."""
    try:
        return zlib.decompressobj(-15).decompress(content, 1 << 20)
    except zlib.error:
        return b""
