"""The identity of files: checked again after reading, and fingerprints of the content where stat is not
enough.

Size, modification time, inode and change time together never miss a change, but report some that are none:
after ``chmod``, or when a folder was copied or restored, size and modification time are equal and the others
are not. The fingerprint settles that. It is kept in ``FileIdentity.etag`` when a file is ingested, and
compared only then.
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
"""Bytes. A file up to this size is hashed in full; of a larger one, ``SAMPLES`` evenly spread blocks are."""

SAMPLES = 64
_BLOCK = WHOLE_UP_TO // SAMPLES


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs from what was listed. ``now`` is its present identity, None if it is gone."""

    file: FileIdentity
    now: FileIdentity | None

    @property
    def reason(self) -> str:
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
    """Returns the files that are gone or have changed. ``store``: how objects are reached.

    Raises OSError if a file cannot be examined for another reason than that it is gone.
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
    """Returns the identity, without a fingerprint, of the file at a listing's ``path``; None if gone."""
    try:
        stat = absolute_path(path, root).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return FileIdentity.of_local(path, stat)


def same_status(one: FileIdentity, other: FileIdentity) -> bool:
    """Whether all of ``stat`` is equal (the fingerprint does not count), and the ETag of objects."""
    return (
        one.size == other.size
        and one.modified_ns == other.modified_ns
        and one.inode == other.inode
        and one.changed_ns == other.changed_ns
        and (not is_object(one.path) or one.etag == other.etag)
    )


def with_fingerprints(files: Iterable[FileIdentity], root: Path) -> tuple[FileIdentity, ...]:
    """Returns the files with ``etag`` set to the fingerprint of their content, in the order given.

    Reads at most 4 MiB of a file, and nothing of objects: S3 has their ETags.


    Raises SourceError LS421 for a file that is gone or cannot be read.
    """
    listed = tuple(files)
    etags = map_in_threads(lambda file: _fingerprint(file, root), listed)
    return tuple(replace(file, etag=etag) for file, etag in zip(listed, etags, strict=True))


def fingerprints(files: Iterable[FileIdentity], root: Path) -> dict[str, str]:
    """Maps paths to fingerprints, for ``choose_files``. Raises as ``with_fingerprints`` does."""
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
        else "run again: the folder is listed again",
    )
