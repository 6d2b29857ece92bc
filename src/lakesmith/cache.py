"""Values that can be computed again, kept between processes: one file for each, in one folder. ``Kept`` keeps
values within a process, ``Look`` within a block.

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
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeVar

from lakesmith.whole_file import write_whole

_SUFFIX: Final = f".{sys.implementation.cache_tag}.cache"
_DIGEST_BYTES: Final = 16

T = TypeVar("T")


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


class Kept:
    """Values by name, each right for one version of what it was made of. Threads may share it.

    ``most`` limits the sum of their sizes; a value that does not fit is made each time.
    """

    def __init__(self, most: float = float("inf")) -> None:
        self._most, self._lock = most, threading.Lock()
        self._values: dict[Hashable, tuple[object, int, Any]] = {}
        self.size = 0
        """The sum of the sizes."""

    def get(
        self, name: Hashable, version: object, make: Callable[[], T], size: Callable[[T], int] = lambda _: 1
    ) -> T:
        """Returns the value of a version (None: it has none), made if another one is known. ``size`` is
        called if it is made."""
        known = self._values.get(name)
        if known is not None and version is not None and known[0] == version:
            found: T = known[2]
            return found
        found = make()
        with self._lock:
            self._remove(name)
            if self.size + (needed := size(found)) <= self._most:
                self._values[name] = version, needed, found
                self.size += needed
        return found

    def _remove(self, name: Hashable) -> None:
        known = self._values.pop(name, None)
        self.size -= known[1] if known else 0


class Look:
    """Values that stay, within a block of a thread, as they were first read. Nested blocks share them."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @property
    def known(self) -> dict[Any, Any] | None:
        """The values by name; None outside of a block."""
        known: dict[Any, Any] | None = getattr(self._of_thread, "known", None)
        return known

    @contextmanager
    def one(self) -> Iterator[dict[Any, Any]]:
        """Begins a block, with the values in it."""
        before = self.known
        self._of_thread.known = known = {} if before is None else before
        try:
            yield known
        finally:
            self._of_thread.known = before

    def get(self, name: Hashable, read: Callable[[], T]) -> T:
        """Returns the value that was first read in the block; outside of one it is read each time."""
        known = self.known
        if known is None:
            return read()
        if name not in known:
            known[name] = read()
        found: T = known[name]
        return found


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


def encoded(value: Any) -> Any:
    """Returns frozen data, of dataclasses, enums and tuples, as ``marshal`` can write it."""
    kind = type(value)
    if is_dataclass(value):
        return {"is": kind.__name__, **{f.name: encoded(getattr(value, f.name)) for f in fields(value)}}
    if isinstance(value, Path):
        return {"is": "Path", "value": str(value)}
    if isinstance(value, Enum):
        return {"is": kind.__name__, "value": value.value}
    if isinstance(value, frozenset):
        return {"is": "frozenset", "value": tuple(map(encoded, sorted(value)))}
    return tuple(map(encoded, value)) if isinstance(value, tuple) else value


def decoded(data: Any, kinds: Mapping[str, Any]) -> Any:
    """Returns what was ``encoded``. ``kinds``: its classes by their names. Raises KeyError, TypeError."""
    if isinstance(data, tuple):
        return tuple(decoded(item, kinds) for item in data)
    if not isinstance(data, dict):
        return data
    parts = {name: decoded(part, kinds) for name, part in data.items() if name != "is"}
    kind = kinds[data["is"]]
    has_parts = is_dataclass(kind)
    return kind(**parts) if has_parts else kind(parts["value"])
