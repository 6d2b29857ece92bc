"""Objects in S3 as landing files: found by listing, and opened to be read from any place on.

boto3 does the talking. What an object is, is told by its ETag and size: both come with the listing, and an object that is
written anew with the same bytes has the same ETag (unless it was encrypted, or put together from other parts: then it counts as changed).
"""

from __future__ import annotations

import fnmatch
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final, Literal, cast

from lakesmith import limits
from lakesmith.errors import EnvironmentProblem, Problem, SourceError
from lakesmith.project.aws import as_here
from lakesmith.project.definitions import OBJECT_SCHEME, FileSource, ObjectStore
from lakesmith.sources.left_out import TEMPORARY_ENDINGS, LeftOut
from lakesmith.sources.model import FileIdentity, Found
from lakesmith.sources.names import printable
from lakesmith.sources.threads import map_in_threads

_GONE: Final = ("404", "NoSuchKey", "NotFound")
_NO_BUCKET: Final = ("NoSuchBucket",)
_CHANGED: Final = ("412", "PreconditionFailed")
_FOLDER: Final = "/"


def bucket_and_key(path: str) -> tuple[str, str]:
    """The bucket and the key, or the beginning of keys, that a path names.

    >>> bucket_and_key("s3://shop/landing/a.csv")
    ('shop', 'landing/a.csv')
    """
    bucket, _, key = path.removeprefix(OBJECT_SCHEME).partition("/")
    return bucket, key


def client_of(store: ObjectStore) -> Any:
    """A client for the store, which threads may share. Raises EnvironmentProblem LS330 without boto3."""
    return _client(as_here(store))


@lru_cache(maxsize=8)
def _client(store: ObjectStore) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise EnvironmentProblem(
            Problem(
                "LS330",
                "the package that reads S3 is not installed",
                expected="boto3",
                hint="pip install 'lakesmith[aws]'",
            )
        ) from error
    config = Config(
        max_pool_connections=limits.OBJECT_THREADS, retries={"mode": "standard", "max_attempts": 5}
    )
    return boto3.session.Session().client(
        "s3",
        endpoint_url=store.endpoint,
        region_name=store.region,
        aws_access_key_id=store.key_id,
        aws_secret_access_key=store.secret,
        aws_session_token=store.token,
        config=config,
    )


class ObjectFileSystem:
    """Objects below a source's path. Folders are what keys have up to a slash; each below the first is listed by itself, side by side."""

    def walk(self, source: FileSource, root: Path) -> Found:
        """As ``FileSystem.walk`` of ``listing``: LS401 no such bucket, LS404 it may not be listed, LS330."""
        bucket, beginning = bucket_and_key(source.path)
        start = beginning if not beginning or beginning.endswith(_FOLDER) else f"{beginning}{_FOLDER}"
        found = Found()
        chosen = _Chosen(bucket, start, source, found)
        try:
            top = list(_pages(source, bucket, start, _FOLDER))
            folders = [folder["Prefix"] for page in top for folder in page.get("CommonPrefixes", ())]
            inside = [folder for folder in folders if chosen.enters(folder)]
            below = map_in_threads(
                lambda folder: list(_pages(source, bucket, folder, "")), inside, over_network=True
            )
        except Exception as error:
            raise _not_listed(source, error) from error
        for page in (page for pages in (top, *below) for page in pages):
            for entry in page.get("Contents", ()):
                chosen.take(entry)
        return found


def _pages(source: FileSource, bucket: str, prefix: str, delimiter: str) -> Iterator[dict[str, Any]]:
    pages = client_of(source.store or ObjectStore()).get_paginator("list_objects_v2")
    yield from pages.paginate(Bucket=bucket, Prefix=prefix, Delimiter=delimiter)


class _Chosen:
    """Takes what a source's pattern takes, and counts the rest."""

    def __init__(self, bucket: str, start: str, source: FileSource, found: Found) -> None:
        self._bucket, self._start, self._found = bucket, start, found
        pattern = fnmatch.translate(source.pattern)
        self._matches = re.compile(pattern).match
        self._nearly = re.compile(pattern, re.IGNORECASE).match

    def enters(self, folder: str) -> bool:
        """Whether the objects of a folder may count; one that is left out is counted once."""
        return not _is_left_out(PurePosixPath(folder).name, self._found.left_out)

    def take(self, entry: dict[str, Any]) -> None:
        """Adds an object of a listing, or counts it as left out."""
        key, left_out = str(entry["Key"]), self._found.left_out
        parts = key.removeprefix(self._start).split("/")
        if not parts[-1]:
            left_out.odd += key != self._start
        elif any(_is_left_out(part, left_out) for part in parts):
            return
        elif not self._matches(parts[-1]):
            left_out.miss(parts[-1], f"{OBJECT_SCHEME}{self._bucket}/{key}", self._nearly)
        else:
            self._found.files.append(_identity(self._bucket, entry))


def _is_left_out(name: str, left_out: LeftOut) -> bool:
    if name[:1] not in "._" or not name:
        if not name.lower().endswith(TEMPORARY_ENDINGS):
            return False
        left_out.unfinished += 1
        return True
    left_out.dots += name[0] == "."
    left_out.unfinished += name[0] != "."
    return True


def _identity(bucket: str, entry: dict[str, Any]) -> FileIdentity:
    path = f"{OBJECT_SCHEME}{bucket}/{entry['Key']}"
    return FileIdentity(
        path, entry["Size"], _nanoseconds(entry["LastModified"]), etag=entry["ETag"].strip('"')
    )


def _nanoseconds(moment: Any) -> int:
    return int(moment.timestamp()) * 1_000_000_000


def object_status(path: str, store: ObjectStore) -> FileIdentity | None:
    """The object as it is now, None when it is gone. Raises OSError where it cannot be asked."""
    bucket, key = bucket_and_key(path)
    try:
        answer = client_of(store).head_object(Bucket=bucket, Key=key)
    except Exception as error:
        if _code(error) in _GONE:
            return None
        raise _os_error(path, error) from error
    entry = {"Key": key, "Size": answer["ContentLength"], **answer}
    return _identity(bucket, entry)


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes, by the name that ``os.stat`` has for them."""

    st_size: int


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """An object as it was listed, with as much of a ``Path`` as reading a landing file takes."""

    file: FileIdentity
    store: ObjectStore

    @property
    def name(self) -> str:
        """What the key ends in."""
        return self.file.path.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The name's ending, with its dot."""
        return PurePosixPath(self.name).suffix

    def stat(self) -> Size:
        """Its size, as it was listed."""
        return Size(self.file.size)

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """The object's bytes. Reading raises OSError, also where the object is another by now."""
        return cast("BinaryIO", io.BufferedReader(_Bytes(self), limits.OBJECT_FIRST_BYTES))


class _Bytes(io.RawIOBase):
    """Reads an object by ranges: a small one first, as headers are, and larger ones from there on."""

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
            raise _os_error(file.path, error) from error
        self._start = self._at
        self._next = min(self._next * 8, limits.FILE_CHUNK_BYTES)


def _code(error: Exception) -> str:
    return str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))


def _os_error(path: str, error: Exception) -> OSError:
    code = _code(error)
    if code in _GONE:
        return FileNotFoundError(2, "no such object", path)
    if code in _CHANGED:
        return OSError(116, "it is another object by now", path)
    return OSError(5, _in_words(error), path)


def _in_words(error: Exception) -> str:
    return f"{_code(error) or type(error).__name__}: {error}".splitlines()[0]


def _not_listed(source: FileSource, error: Exception) -> Exception:
    """What is said of a source that cannot be listed; what is no answer of S3 is of the environment."""
    if isinstance(error, EnvironmentProblem):
        return error
    no_bucket = _code(error) in _NO_BUCKET
    return SourceError(
        Problem(
            "LS401" if no_bucket else "LS404",
            f"source {source.name!r}: its bucket does not exist"
            if no_bucket
            else f"source {source.name!r}: it cannot be listed",
            source.place,
            expected=f"{printable(source.path)}, which these credentials may list",
            found=_in_words(error),
            hint="check the bucket's name, the target's region and endpoint, and the credentials in the environment"
            " (s3:ListBucket, s3:GetObject)",
        )
    )
