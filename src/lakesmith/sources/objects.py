"""Objects in S3 as landing files: their identity, and their bytes from any offset. ``object_listing`` finds
them.

An object is identified by its ETag and size, which come with the listing. An object rewritten with the same
bytes has the same ETag, unless it was encrypted or uploaded in other parts: then it counts as changed.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final, Literal, cast
from xml.etree import ElementTree

from lakesmith import limits
from lakesmith.errors import EnvironmentProblem
from lakesmith.project.definitions import OBJECT_SCHEME, ObjectStore
from lakesmith.project.file_options import as_here
from lakesmith.redaction import secrets_in
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.object_errors import is_gone, os_error
from lakesmith.sources.shape import UnreadableFile

_CONNECT_SECONDS: Final = 5
_READ_SECONDS: Final = 20
_ATTEMPTS: Final = 5
"""Tries in all, with growing pauses. An unreachable server is abandoned after about half a minute; one
that accepts the connection and does not answer, after two."""


def client_of(store: ObjectStore) -> Any:
    """Makes a client for the store, which threads may share.

    Raises EnvironmentProblem LS330 without boto3, LS339 for an endpoint that is not a URL.
    """
    here = as_here(store)
    if here.endpoint and not (here.endpoint.startswith("http") and secrets_in(here.endpoint) == ()):
        expected = "a URL such as http://127.0.0.1:9000, without a user or password"
        hint = "correct s3.endpoint of the target's catalog, or AWS_ENDPOINT_URL"
        raise EnvironmentProblem.of("LS339", "the endpoint of S3 cannot be used", None, expected, hint=hint)
    return _client(here)


def boto3_for(use: str) -> Any:
    """Returns the module ``boto3``. Raises EnvironmentProblem LS330 without it; ``use``: what it does."""
    try:
        import boto3
    except ImportError as error:
        what, hint = f"the package that {use} is not installed", "pip install 'lakesmith[aws]'"
        raise EnvironmentProblem.of("LS330", what, expected="boto3", hint=hint) from error
    return boto3


@lru_cache(maxsize=8)
def _client(store: ObjectStore) -> Any:
    boto3 = boto3_for("reads S3")
    from botocore.config import Config

    config = Config(
        max_pool_connections=limits.OBJECT_THREADS,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_READ_SECONDS,
    )
    client = boto3.Session().client(
        "s3",
        endpoint_url=store.endpoint,
        region_name=store.region,
        aws_access_key_id=store.key_id,
        aws_secret_access_key=store.secret,
        aws_session_token=store.token,
        config=config,
    )
    client.meta.events.register_first("before-parse.s3.ListObjectsV2", _read_contents)
    return client


def _read_contents(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Reads a listing's objects itself: four times as fast as botocore, which reads the rest."""
    body = response_dict["body"]
    if response_dict["status_code"] != 200 or b"<Contents>" not in body:
        return
    root = ElementTree.fromstring(body)
    space = root.tag.rpartition("}")[0] + "}" if "}" in root.tag else ""
    contents = f"{space}Contents"
    customized_response_dict["Contents"] = [_entry(each, space) for each in root.iterfind(contents)]
    root[:] = [each for each in root if each.tag != contents]
    response_dict["body"] = ElementTree.tostring(root)


def _entry(element: ElementTree.Element, space: str) -> dict[str, Any]:
    found = {name: element.findtext(space + name, "") for name in ("Key", "ETag", "Size", "LastModified")}
    return {
        **found,
        "Size": int(found["Size"]),
        "LastModified": datetime.fromisoformat(found["LastModified"]),
    }


def bucket_and_key(path: str) -> tuple[str, str]:
    """Returns the bucket and the key, or key prefix, of a path.

    >>> bucket_and_key("s3://shop/landing/a.csv")
    ('shop', 'landing/a.csv')
    """
    bucket, _, key = path.removeprefix(OBJECT_SCHEME).partition("/")
    return bucket, key


def identity_of(bucket: str, entry: dict[str, Any]) -> FileIdentity:
    """Returns the identity in a listing's entry. Times are in whole seconds, as of single objects."""
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
        return PurePosixPath(self.name).suffix

    def stat(self) -> Size:
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
