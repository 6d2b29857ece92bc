"""Landing files of which the records of people are taken out, and the ledger that is told of it. No Spark.

A file changes at once, and what it will be is noted before: a call that was killed in between finds out that it is what it made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lakesmith.execute.lake import Lake
from lakesmith.execute.landing_erase import LandingFile
from lakesmith.project.definitions import FileSource, TableDefinition, is_object
from lakesmith.sources.identity import same_status, stat_file, with_fingerprints
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.object_client import client_of
from lakesmith.sources.objects import bucket_and_key, object_status
from lakesmith.sources.without_persons import Wanted, names_in_files, without_persons
from lakesmith.sql.persons import Persons
from lakesmith.whole_file import write_whole


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file without the records of theirs: what it is now, and how many ``records`` it lost."""

    source: FileSource
    file: FileIdentity
    records: int


@dataclass(frozen=True, slots=True)
class Left:
    """A file that is as it was, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to go out of a file: whose records, at least how many, and the digest of what an earlier call made of it, if one did."""

    wanted: Wanted
    records: int
    made: str | None = None


def wanted_of(table: TableDefinition, persons: Persons) -> Wanted:
    """Whose records go out of the files of a table."""
    columns = [(column.name, column.renamed_from) for column in table.columns]
    names = tuple(names_in_files(columns, name) for name in persons.columns)
    return Wanted(names, persons.values, tuple(column.name for column in table.columns))


def rewrite(
    lake: Lake, file: LandingFile, taken: FileIdentity | None, expected: Expected, note: Callable[[str], None]
) -> Rewritten | Left:
    """Takes the records out of a file. ``taken``: what it was when it was taken. ``note`` keeps the digest of what it will be.

    Raises OSError, and what S3 answers.
    """
    content, now = _content(lake, file.path), _identity(lake, file.path)
    if expected.made is not None and _digest(content) == expected.made:
        return Rewritten(file.source, now, 0)
    if taken is None or not _is_same(taken, now):
        return Left(file.path, "was changed since it was taken, and was not rewritten")
    new, gone = without_persons(content, PurePosixPath(file.path).suffix, file.source, expected.wanted)
    if gone < expected.records:
        return Left(
            file.path,
            f"has {expected.records} records of theirs, of which {gone} were found: it is as it was",
        )
    if gone:
        note(_digest(new))
        _put(lake, file.path, new)
    return Rewritten(file.source, _identity(lake, file.path), gone)


def _is_same(taken: FileIdentity, now: FileIdentity) -> bool:
    return same_status(taken, now) or (taken.size == now.size and taken.etag == now.etag)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _content(lake: Lake, path: str) -> bytes:
    if not is_object(path):
        return absolute_path(path, lake.project.root).read_bytes()
    bucket, key = bucket_and_key(path)
    answer = client_of(lake.project.target.store).get_object(Bucket=bucket, Key=key)
    return bytes(answer["Body"].read())


def _put(lake: Lake, path: str, content: bytes) -> None:
    if not is_object(path):
        there = absolute_path(path, lake.project.root)
        mode = there.stat().st_mode
        write_whole(there, content, to_disk=True)
        Path(there).chmod(mode & 0o7777)
        return
    bucket, key = bucket_and_key(path)
    client = client_of(lake.project.target.store)
    before = client.head_object(Bucket=bucket, Key=key)
    kept = {name: before[name] for name in ("ContentType", "ContentEncoding", "Metadata") if before.get(name)}
    client.put_object(Bucket=bucket, Key=key, Body=content, **kept)


def _identity(lake: Lake, path: str) -> FileIdentity:
    root, store = lake.project.root, lake.project.target.store
    found = object_status(path, store) if is_object(path) else stat_file(path, root)
    if found is None:
        raise FileNotFoundError(f"{path} is gone")
    return with_fingerprints([found], root)[0]
