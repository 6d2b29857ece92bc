"""Archives that are the same for the same content, wherever and whenever they are made.

The hash of an archive is that of its files, not of its bytes: compressors differ between machines.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

HASH_LENGTH: Final = 16
_NO_TIME: Final = (1980, 1, 1, 0, 0, 0)
_FILE_MODE: Final = 0o644
_PROGRAM_MODE: Final = 0o755


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of an archive. ``read`` returns its content."""

    name: str
    size: int
    read: Callable[[], bytes]

    @property
    def mode(self) -> int:
        """Its permissions: libraries may be executed, as pip leaves them."""
        return _PROGRAM_MODE if PurePosixPath(self.name).suffix == ".so" else _FILE_MODE


def of_text(name: str, text: str) -> Entry:
    """Returns a file with this text."""
    content = text.encode()
    return Entry(name, len(content), lambda: content)


def of_folder(folder: Path, skips: Callable[[PurePosixPath], bool], below: str = "") -> Iterator[Entry]:
    """Yields the files of a folder, those left out that ``skips``, with names that begin with ``below``."""
    for path in sorted(folder.rglob("*")):
        name = PurePosixPath(path.relative_to(folder).as_posix())
        if path.is_file() and not skips(name):
            yield Entry(f"{below}{name}", path.stat().st_size, path.read_bytes)


def hash_of(entries: Iterable[Entry]) -> str:
    """Returns the hash of the names and contents of files, in any order.

    >>> hash_of([of_text("a", "1"), of_text("b", "2")]) == hash_of([of_text("b", "2"), of_text("a", "1")])
    True
    """
    lines = (f"{hashlib.sha256(each.read()).hexdigest()} {each.name}\n" for each in _sorted(entries))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:HASH_LENGTH]


def write_tar(entries: Iterable[Entry], to: BinaryIO) -> None:
    """Writes a ``.tar.gz``."""
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=to, compresslevel=6, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for each in _sorted(entries):
            member = tarfile.TarInfo(each.name)
            member.size, member.mode = each.size, each.mode
            archive.addfile(member, io.BytesIO(each.read()))


def write_zip(entries: Iterable[Entry], to: BinaryIO) -> None:
    """Writes a ``.zip``. Wheels in it are not compressed again."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for each in _sorted(entries):
            member = zipfile.ZipInfo(each.name, _NO_TIME)
            member.external_attr = each.mode << 16
            member.compress_type = zipfile.ZIP_STORED if each.name.endswith(".whl") else zipfile.ZIP_DEFLATED
            archive.writestr(member, each.read())


def of_wheel(wheel: Path) -> Iterator[Entry]:
    """Yields the files of a wheel as an installation has them: without scripts, which name a Python.

    The format: https://packaging.python.org/en/latest/specifications/binary-distribution-format/
    """
    # Open as long as its entries are: reading its table of contents for each file would take minutes.
    archive = zipfile.ZipFile(wheel)
    for each in archive.infolist():
        name = _installed(each.filename)
        if name is not None and not each.is_dir():
            yield Entry(name, each.file_size, partial(archive.read, each))


def _installed(name: str) -> str | None:
    """Returns where a wheel's file is installed, None for scripts and other data.

    >>> _installed("a/b.py"), _installed("a-1.data/purelib/a.py"), _installed("a-1.data/scripts/a")
    ('a/b.py', 'a.py', None)
    """
    first, _, rest = name.partition("/")
    if not first.endswith(".data"):
        return name
    kind, _, inside = rest.partition("/")
    return inside if kind in ("purelib", "platlib") else None


def _sorted(entries: Iterable[Entry]) -> Sequence[Entry]:
    return sorted(entries, key=lambda each: each.name)
