"""Values that can be computed again, kept between processes: one file for each, in one folder.

A file is written at once. A file that is damaged, or that another version wrote, counts as missing. Nothing
depends on a file: all of them may vanish at any time, and a folder that cannot be written only makes the next
command slower.

The body is Python's ``marshal``: 100,000 lines of a ledger load in 0.05 s (JSON 0.15 s, pickle 0.07 s), and
unlike pickle it cannot run code. Its format belongs to one Python version, which is part of the file's name.
"""

from __future__ import annotations

import gc
import hashlib
import marshal
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lakesmith.whole_file import write_whole

_SUFFIX: Final = f".{sys.implementation.cache_tag}.cache"
_DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Cache:
    """Values of one kind.

    Args:
        folder: made when first needed.
        kind: begins the names of the files; no other kind begins with it.
        version: everything that a value depends on besides its key, such as the code that computes it.
        most: how many files are kept, the newest ones; None: all.
    """

    folder: Path
    kind: str
    version: str
    most: int | None = None

    def load(self, key: str) -> Any:
        """Returns the value of ``key``, made of what ``marshal`` can write; None if there is not one."""
        try:
            content = memoryview(self._file(key).read_bytes())
        except OSError:
            return None
        body = content[_DIGEST_BYTES:]
        if content[:_DIGEST_BYTES] != self._digest(body):
            return None
        with without_collection():
            return marshal.loads(body)

    def save(self, key: str, value: Any) -> bool:
        """Keeps a value. Returns False if the folder or the value (too deeply nested) cannot be written."""
        try:
            body = marshal.dumps(value)
            write_whole(self._file(key), self._digest(body) + body)
        except (OSError, ValueError):
            return False
        self._remove_old()
        return True

    def has(self, key: str) -> bool:
        """Returns whether there is a file for ``key``, damaged or not."""
        return self._file(key).exists()

    def renew(self, key: str) -> None:
        """Makes the value of ``key`` the newest, so that it is kept."""
        with suppress(OSError):
            os.utime(self._file(key))

    def _remove_old(self) -> None:
        if self.most is None:
            return
        with suppress(OSError):
            files = sorted(
                self.folder.glob(f"{self.kind}-*.cache"), key=lambda file: -file.stat().st_mtime_ns
            )
            for file in files[self.most :]:
                file.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        name = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
        return self.folder / f"{self.kind}-{name}{_SUFFIX}"

    def _digest(self, body: bytes | memoryview) -> bytes:
        digest = hashlib.blake2b(f"{self.version}\0".encode(), digest_size=_DIGEST_BYTES)
        digest.update(body)
        return digest.digest()


@contextmanager
def without_collection() -> Iterator[None]:
    """Turns Python's cycle collector off in the body: it would walk 100,000 new objects again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
