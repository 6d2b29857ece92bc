"""Is it still the same file? The identity again after reading, and a fingerprint of the content for when stat cannot tell.

Size, modification time, inode and change time together never miss a change, but they see one where there is none: after
``chmod``, or when a folder was copied or restored from a backup, size and modification time are equal and the rest is
not. The fingerprint settles that: it is kept in ``FileIdentity.etag`` when a file is taken and compared only then.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lakesmith.errors import Problem, SourceError
from lakesmith.project.definitions import ObjectStore, is_object
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.names import printable
from lakesmith.sources.threads import map_in_threads

WHOLE_UP_TO = 4 * 1024 * 1024
"""Bytes. A file up to this size is hashed whole; of a larger one, ``SAMPLES`` evenly spread blocks are."""

SAMPLES = 64
_BLOCK = WHOLE_UP_TO // SAMPLES


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that is not what was listed any more. ``now`` is what it is by now, None when it is gone."""

    file: FileIdentity
    now: FileIdentity | None

    @property
    def reason(self) -> str:
        """What happened to it, in words."""
        if self.now is None:
            return "is gone"
        if self.now.size != self.file.size:
            return f"has {self.now.size} bytes, had {self.file.size}"
        if self.now.modified_ns != self.file.modified_ns:
            return "was written to"
        return "was replaced or its status was changed"


def changed_files(
    files: Iterable[FileIdentity], root: Path, store: ObjectStore | None = None
) -> tuple[ChangedFile, ...]:
    """Looks at each file again and returns those that are gone or not the same any more. ``store``: how objects are reached.

    Raises OSError when a file cannot be looked at for another reason than that it is gone.
    """
    listed = tuple(files)
    objects = [file for file in listed if is_object(file.path)]
    checked = ((file, stat_file(file.path, root)) for file in listed if not is_object(file.path))
    found = [*checked, *_objects_now(objects, store or ObjectStore())]
    return tuple(ChangedFile(file, now) for file, now in found if now is None or not same_status(file, now))


def _objects_now(
    objects: Sequence[FileIdentity], store: ObjectStore
) -> list[tuple[FileIdentity, FileIdentity | None]]:
    if not objects:
        return []
    from lakesmith.sources.objects import object_status

    now = map_in_threads(lambda file: object_status(file.path, store), objects, over_network=True)
    return list(zip(objects, now, strict=True))


def stat_file(path: str, root: Path) -> FileIdentity | None:
    """The identity (without a fingerprint) of the file at ``path`` as listings write it; None when it is gone."""
    try:
        stat = absolute_path(path, root).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return FileIdentity.of_local(path, stat)


def same_status(one: FileIdentity, other: FileIdentity) -> bool:
    """Whether all that ``stat`` tells is equal (the fingerprint is not looked at), and of objects the ETag."""
    return (
        one.size == other.size
        and one.modified_ns == other.modified_ns
        and one.inode == other.inode
        and one.changed_ns == other.changed_ns
        and (not is_object(one.path) or one.etag == other.etag)
    )


def with_fingerprints(files: Iterable[FileIdentity], root: Path) -> tuple[FileIdentity, ...]:
    """The files with ``etag`` set to the fingerprint of their content, in the order given. At most 4 MiB a file is read, of objects nothing:
    S3 has given them one.

    Raises SourceError LS421 for a file that is gone or cannot be read.
    """
    listed = tuple(files)
    etags = map_in_threads(lambda file: _fingerprint(file, root), listed)
    return tuple(replace(file, etag=etag) for file, etag in zip(listed, etags, strict=True))


def fingerprints(files: Iterable[FileIdentity], root: Path) -> dict[str, str]:
    """Path -> fingerprint, for ``choose_files``. Raises as ``with_fingerprints`` does."""
    return {file.path: file.etag for file in with_fingerprints(files, root)}


def _fingerprint(file: FileIdentity, root: Path) -> str:
    if is_object(file.path):
        return file.etag
    path = absolute_path(file.path, root)
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            return _hash(descriptor, file.size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SourceError(unreadable_file(file, error)) from error


def _hash(descriptor: int, size: int) -> str:
    digest = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    if size <= WHOLE_UP_TO:
        digest.update(os.pread(descriptor, size, 0))
        return digest.hexdigest()
    for sample in range(SAMPLES):
        digest.update(os.pread(descriptor, _BLOCK, (size - _BLOCK) * sample // (SAMPLES - 1)))
    return digest.hexdigest()


def unreadable_file(file: FileIdentity, error: OSError) -> Problem:
    """The problem of a listed file that cannot be opened."""
    return Problem(
        "LS421",
        "a file that was listed cannot be read",
        expected=f"{printable(file.path)}, as it was listed",
        found=error.strerror or str(error),
        hint="give this user the right to read it"
        if isinstance(error, PermissionError)
        else "run again: what is there then is listed anew",
    )
