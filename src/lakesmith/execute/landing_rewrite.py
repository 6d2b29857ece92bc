"""Landing files of which the records of people are taken out, and the ledger that is told of it. No Spark.

A file changes at once, and what it will be is noted before: a call that was killed in between finds out that it is what it made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from lakesmith.execute.lake import Lake
from lakesmith.execute.landing_erase import LandingFile
from lakesmith.project.definitions import TableDefinition, is_object
from lakesmith.sources.identity import stat_file, with_fingerprints
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.model import FileIdentity
from lakesmith.sources.object_client import client_of
from lakesmith.sources.objects import bucket_and_key, object_status
from lakesmith.sources.without_persons import Wanted, names_in_files, why_not, without_persons
from lakesmith.sql.erasure_filter import ErasureFilter
from lakesmith.whole_file import write_whole

_TAKE_FIRST: Final = "its other records are in no table yet: lakesmith run takes them; call this again then"


@dataclass(frozen=True, slots=True)
class Left:
    """A file that is as it was, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Made:
    """What erasures that were begun have made of landing files: their digests, whichever erasure it was. ``note`` keeps another one."""

    digests: frozenset[str]
    note: Callable[[str], None]


def wanted_of(table: TableDefinition, persons: ErasureFilter) -> Wanted:
    """Whose records go out of the files of a table."""
    columns = [(it.name, earlier) for it in table.columns for earlier in (it.earlier or (None,))]
    names = tuple(names_in_files(columns, name) for name in persons.columns)
    return Wanted(names, persons.values, tuple(column.name for column in table.columns))


def rewrite(lake: Lake, file: LandingFile, wanted: Wanted, made: Made) -> FileIdentity | Left:
    """Takes their records out of a file: what it is then. Raises OSError, and what S3 answers."""
    content = content_of(lake, file.path)
    if why_not(file.source) is not None:
        return Left(file.path, f"has {file.records} records of theirs, and {_TAKE_FIRST}")
    new, gone = without_persons(content, PurePosixPath(file.path).suffix, file.source, wanted)
    # Another table may have the same file, and one erasure may have rewritten it for several.
    if gone < file.records and _digest(content) not in made.digests:
        return Left(
            file.path, f"has {file.records} records of theirs, of which {gone} were found: it is as it was"
        )
    if gone:
        made.note(_digest(new))
        _put(lake, file.path, new)
    return identity_of(lake, file.path)


def was_made(lake: Lake, file: LandingFile, made: Made) -> bool:
    """Whether the file is what an erasure made of it that did not come to enter that in the ledger."""
    return bool(made.digests) and _digest(content_of(lake, file.path)) in made.digests


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def content_of(lake: Lake, path: str) -> bytes:
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


def identity_of(lake: Lake, path: str) -> FileIdentity:
    root, store = lake.project.root, lake.project.target.store
    found = object_status(path, store) if is_object(path) else stat_file(path, root)
    if found is None:
        raise FileNotFoundError(f"{path} is gone")
    return with_fingerprints([found], root)[0]
