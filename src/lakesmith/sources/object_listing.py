"""Finds the objects of a source in S3, by listing its prefix in pieces, side by side.

S3 returns keys in the order of their bytes, a thousand an answer, after any given key. So a prefix can be cut
at any keys, and the pieces listed at once. The cuts decide how long that takes, never what is found. The keys
that a table has ingested before give good cuts, whatever the folders; without them the first folders do.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from lakesmith import limits
from lakesmith.errors import SourceError
from lakesmith.project.definitions import OBJECT_SCHEME, ObjectStore, Source
from lakesmith.sources.left_out import is_before, is_left_out
from lakesmith.sources.model import FileIdentity, Found
from lakesmith.sources.names import printable
from lakesmith.sources.object_errors import not_listed
from lakesmith.sources.objects import bucket_and_key, client_of, identity_of
from lakesmith.sources.threads import map_in_threads

_FOLDER: Final = "/"
_LAST: Final = "\U0010ffff"
_DEEPEST: Final = 8
"""Levels of folders, each the only one, that are searched for a place to cut."""
_UNORDERED: Final = "--x-s3"
"""The ending of directory buckets, which return their keys in no order."""


class ObjectFileSystem:
    """Objects below a source's path, which ends where a folder does."""

    def walk(self, source: Source, root: Path, known: Collection[str] = ()) -> Found:
        """As ``FileSystem.walk`` of ``listing``: LS401 no such bucket, LS402 an object, LS404 no
        permission, LS406, LS407, LS330."""
        prefix = _Prefix.of(source)
        try:
            files = prefix.listed(known)
            if not files:
                _refuse_an_object(source, prefix)
        except Exception as error:
            raise not_listed(source, error) from error
        chosen = _Chosen(prefix.path, source)
        for file in files:
            chosen.take(file)
        return chosen.found


class _Prefix:
    """The beginning of a source's keys, and the requests to S3 about them."""

    def __init__(self, bucket: str, start: str, source: Source) -> None:
        self.bucket, self.start = bucket, start
        self.path = f"{OBJECT_SCHEME}{bucket}/{start}"
        self._begin = _before(f"{start}{source.since}") if source.since else ""
        self._client = client_of(source.store or ObjectStore())

    @classmethod
    def of(cls, source: Source) -> _Prefix:
        bucket, beginning = bucket_and_key(source.path)
        start = beginning if not beginning or beginning.endswith(_FOLDER) else f"{beginning}{_FOLDER}"
        return cls(bucket, start, source)

    def page(self, **more: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._client.list_objects_v2(
            **{"Bucket": self.bucket, "Prefix": self.start, **more}
        )
        return found

    def listed(self, known: Collection[str]) -> list[FileIdentity]:
        """Returns all objects with such keys, in any order. ``known``: paths that may be among them."""
        if self.bucket.endswith(_UNORDERED):
            return list(self._piece((None, None)))
        bucket = f"{OBJECT_SCHEME}{self.bucket}/"
        cuts = [cut.removeprefix(bucket) for cut in cuts_among(known, self.path)]
        return self._in_pieces(self._begin, cuts) if cuts else self._unknown()

    def _unknown(self) -> list[FileIdentity]:
        page = self.page(**_starting(self._begin))
        first = self._files(page)
        if not page.get("IsTruncated"):
            return first
        return first + self._in_pieces(_last_key(page), self._folders())

    def _in_pieces(self, begin: str, cuts: Sequence[str]) -> list[FileIdentity]:
        pieces = list(pairwise([begin, *(cut for cut in cuts if cut > begin), None]))
        found = map_in_threads(lambda piece: list(self._piece(piece)), pieces, over_network=True)
        return [file for part in found for file in part]

    def _folders(self) -> list[str]:
        """Some of the first folders, to cut at; if there is only one, those in it."""
        start, deep = self.start, 0
        while True:
            page = self.page(Prefix=start, Delimiter=_FOLDER, **_starting(self._begin))
            folders = [str(each["Prefix"]) for each in page.get("CommonPrefixes", ())]
            if len(folders) != 1 or deep == _DEEPEST:
                return folders[:: max(1, len(folders) // limits.OBJECT_THREADS)]
            start, deep = folders[0], deep + 1

    def _piece(self, piece: tuple[str | None, str | None]) -> Iterator[FileIdentity]:
        """The objects after the first key, up to the second."""
        after, end = piece
        more = _starting(after or "")
        while True:
            page = self.page(**more)
            files = self._files(page)
            if end is not None and page.get("Contents") and _last_key(page) > end:
                last = f"{OBJECT_SCHEME}{self.bucket}/{end}"
                yield from (file for file in files if file.path <= last)
                return
            yield from files
            if not page.get("IsTruncated"):
                return
            more = self._next(page)

    def _next(self, page: dict[str, Any]) -> dict[str, str]:
        """Where the listing continues: behind a folder that is left out, else behind the answer."""
        hidden = _hidden_folder(_last_key(page), len(self.start)) if page.get("Contents") else None
        if hidden is None or self.bucket.endswith(_UNORDERED):
            return {"ContinuationToken": page["NextContinuationToken"]}
        return _starting(hidden + _LAST)

    def _files(self, page: dict[str, Any]) -> list[FileIdentity]:
        return [identity_of(self.bucket, entry) for entry in page.get("Contents", ())]


def cuts_among(known: Collection[str], start: str) -> list[str]:
    """Returns paths that cut keys with the prefix ``start`` into pieces of as many known ones; none if there
    are few.

    >>> cuts_among(["a/1", "a/2", "b/1"], "a/")
    []
    """
    if len(known) < 2 * limits.OBJECTS_A_PIECE:
        return []
    paths = sorted(path for path in known if path.startswith(start))
    step = max(limits.OBJECTS_A_PIECE, -(-len(paths) // limits.OBJECT_THREADS))
    return paths[step - 1 : len(paths) - step // 2 : step]


def _last_key(page: dict[str, Any]) -> str:
    return str(page["Contents"][-1]["Key"])


def _starting(after: str) -> dict[str, str]:
    return {"StartAfter": after} if after else {}


def _before(key: str) -> str:
    """The key just before ``key``."""
    last = ord(key[-1])
    # No character is before the first, nor any that can be sent before the first after the surrogates.
    return key[:-1] if last in (0, 0xE000) else f"{key[:-1]}{chr(last - 1)}{_LAST}"


def _hidden_folder(key: str, start: int) -> str | None:
    """The first folder of a key, from ``start`` on, that is left out, with its slash; or None."""
    at = key.find(_FOLDER, start)
    while at >= 0:
        if is_left_out(key[start:at]):
            return key[: at + 1]
        start, at = at + 1, key.find(_FOLDER, at + 1)
    return None


class _Chosen:
    """Collects the objects that a source's pattern matches, and counts the others."""

    def __init__(self, start: str, source: Source) -> None:
        self.found = Found()
        self._start, self._since = len(start), source.since
        pattern = fnmatch.translate(source.pattern)
        self._matches = re.compile(pattern).match
        self._nearly = re.compile(pattern, re.IGNORECASE).match
        self._hidden: set[str] = set()

    def take(self, file: FileIdentity) -> None:
        path, left_out = file.path, self.found.left_out
        name = path.rpartition(_FOLDER)[2]
        if is_before(path[self._start :], self._since):
            return
        if (hidden := _hidden_folder(path, self._start)) is not None:
            if hidden not in self._hidden:
                self._hidden.add(hidden)
                left_out.hide(hidden[:-1].rpartition(_FOLDER)[2])
        elif not name:
            left_out.odd += bool(file.size)
        elif is_left_out(name):
            left_out.hide(name)
        elif not self._matches(name):
            left_out.miss(name, path, self._nearly)
        else:
            self.found.files.append(file)


def _refuse_an_object(source: Source, prefix: _Prefix) -> None:
    """Raises SourceError LS402 if the path is an object's. A prefix without keys may get some later."""
    key = prefix.start.rstrip(_FOLDER)
    page = prefix.page(Prefix=key, MaxKeys=1) if key and not source.path.endswith(_FOLDER) else {}
    if any(entry["Key"] == key for entry in page.get("Contents", ())):
        name = printable(key.rpartition(_FOLDER)[2])
        raise SourceError.of(
            "LS402",
            f"source {source.name!r}: its path is not a folder",
            source.place,
            expected=f"what keys begin with, up to a slash: {printable(prefix.path)}",
            found="an object",
            hint=f"set `path` to its folder and `pattern: {name!r}`",
        )
