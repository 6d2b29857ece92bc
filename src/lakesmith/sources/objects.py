"""Objects in S3 as landing files: their identity, and their bytes from any offset. ``object_listing`` finds
them.

An object is identified by its ETag and size, which come with the listing. An object rewritten with the same
bytes has the same ETag, unless it was encrypted or uploaded in other parts: then it counts as changed.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Literal, cast

from lakesmith import limits
from lakesmith.project.definitions import OBJECT_SCHEME, ObjectStore
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.object_client import client_of
from lakesmith.sources.object_errors import is_gone, os_error
from lakesmith.sources.shape import UnreadableFile


def bucket_and_key(path: str) -> tuple[str, str]:
    """Returns the bucket and the key, or key prefix, of a path.

    >>> bucket_and_key("s3://shop/landing/a.csv")
    ('shop', 'landing/a.csv')
    """
    bucket, _, key = path.removeprefix(OBJECT_SCHEME).partition("/")
    return bucket, key


def identity_of(bucket: str, entry: dict[str, Any]) -> FileIdentity:
    """Returns the identity in a listing's entry. Its time is in whole seconds, as that of a single object
    is."""
    path = f"{OBJECT_SCHEME}{bucket}/{entry['Key']}"
    modified = int(entry["LastModified"].timestamp()) * 1_000_000_000
    return FileIdentity(path, entry["Size"], modified, etag=entry["ETag"].strip('"'))


def object_status(path: str, store: ObjectStore) -> FileIdentity | None:
    """Returns the object's present identity, None if it is gone. Raises OSError if S3 does not say."""
    bucket, key = bucket_and_key(path)
    try:
        answer = client_of(store).head_object(Bucket=bucket, Key=key)
    except Exception as error:
        if is_gone(error):
            return None
        raise os_error(path, error) from error
    entry = {"Key": key, "Size": answer["ContentLength"], **answer}
    return identity_of(bucket, entry)


def require_one_key(path: str) -> None:
    """Raises UnreadableFile LS408 for a key that Hadoop's paths confuse: to Spark, ``a//b`` is ``a/b``."""
    _, key = bucket_and_key(path)
    if not all(part.strip(".") or len(part) > 2 for part in key.split("/")):
        raise UnreadableFile(
            "LS408",
            "Spark cannot open an object of such a key",
            "a key without an empty part between slashes, and without . and .. as parts",
            key,
            "copy it to another key, and delete this one",
        )


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes, by the name that ``os.stat`` has for them."""

    st_size: int


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """An object as it was listed, with the methods of a ``Path`` that reading a landing file needs."""

    file: FileIdentity
    store: ObjectStore

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.file.path.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The name's ending, with its dot."""
        return PurePosixPath(self.name).suffix

    def stat(self) -> Size:
        """Its size, as it was listed."""
        return Size(self.file.size)

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """Opens the object. Reading raises OSError, also if the object has changed since."""
        return cast("BinaryIO", io.BufferedReader(_Bytes(self), limits.OBJECT_FIRST_BYTES))


class _Bytes(io.RawIOBase):
    """Reads an object by ranges: a small one first, as headers are, then larger ones."""

    def __init__(self, source: ObjectFile) -> None:
        super().__init__()
        self._source = source
        self._at = self._start = 0
        self._block = b""
        self._next = limits.OBJECT_FIRST_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.file.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fills as much of the buffer as one block has."""
        if self._at >= self._source.file.size:
            return 0
        inside = self._at - self._start
        if not 0 <= inside < len(self._block):
            self._fetch(len(buffer))
            inside = 0
        part = self._block[inside : inside + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)

    def _fetch(self, asked: int) -> None:
        file = self._source.file
        bucket, key = bucket_and_key(file.path)
        last = min(file.size, self._at + max(asked, self._next)) - 1
        try:
            answer = client_of(self._source.store).get_object(
                Bucket=bucket, Key=key, Range=f"bytes={self._at}-{last}", IfMatch=f'"{file.etag}"'
            )
            self._block = answer["Body"].read()
        except Exception as error:
            raise os_error(file.path, error) from error
        self._start = self._at
        self._next = min(self._next * 8, limits.FILE_CHUNK_BYTES)
