"""Metadata of a shared catalog's tables on the local disk, so that a process asks for none that another one has read.

A metadata file never changes: what is here is right for as long as the catalog names the same file (or, of a REST catalog, answers that
what has this ETag is the newest). One file for each table, which its next version takes the place of; a damaged one counts as missing, and
all may vanish at any time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakesmith.collector import without_collection
from lakesmith.whole_file import write_whole

_MAGIC: Final = b"lakesmith-metadata-1\n"
_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Metadata:
    """Where a table's metadata is, what it says, and the ETag that a server gave with it."""

    location: str
    data: Mapping[str, Any]
    etag: str | None = None


class MetadataCache:
    """Files below ``folder``, which is made when first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, table: str) -> Metadata | None:
        """What is kept of a table, which ``table`` names among those of all catalogs; None when nothing is, or it is damaged."""
        try:
            content = self._file(table).read_bytes()
        except OSError:
            return None
        body = content[len(_MAGIC) + _DIGEST :]
        if content[: len(_MAGIC)] != _MAGIC or content[len(_MAGIC) : -len(body)] != _checksum(body):
            return None
        with without_collection():
            return Metadata(**json.loads(body))

    def save(self, table: str, found: Metadata) -> None:
        """Keeps what was read of a table. A disk that is full or read-only is no reason to fail: the next process asks the catalog."""
        body = json.dumps({"location": found.location, "data": found.data, "etag": found.etag}).encode()
        with suppress(OSError):
            write_whole(self._file(table), _MAGIC + _checksum(body) + body)

    def _file(self, table: str) -> Path:
        return self._folder / f"{hashlib.sha256(table.encode()).hexdigest()[:32]}.json"


def _checksum(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST).digest()
