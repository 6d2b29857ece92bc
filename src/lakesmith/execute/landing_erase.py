"""Landing files that contain rows to erase, and how they are rewritten."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from time import time_ns
from typing import Final

from lakesmith.errors import SourceError, UsageError, listed
from lakesmith.execute.lake import Lake
from lakesmith.project.definitions import OnErase, OnMovedFile, Source, TableDefinition, TableName, is_object
from lakesmith.sources.identity import same_status, stat_file, with_fingerprints
from lakesmith.sources.ledger_view import LedgerView
from lakesmith.sources.listing import absolute_path, list_files
from lakesmith.sources.model import FileAction, FileIdentity
from lakesmith.sources.moved_files import find_moved
from lakesmith.sources.objects import bucket_and_key, client_of, object_status
from lakesmith.sources.without_persons import Wanted, names_in_files, why_not, without_persons
from lakesmith.sql.erasure_filter import ErasureFilter
from lakesmith.whole_file import write_whole

_NO_FOLDER = "LS401"


@dataclass(frozen=True, slots=True)
class LandingFile:
    """A landing file with ``records`` of the persons among ``all_records``, and its ``choice`` (None:
    undeclared). ``taken``: as it was ingested; None: it was not, so its other records are nowhere else."""

    table: TableName
    file: FileIdentity
    source: Source
    taken: FileIdentity | None
    records: int = 0
    all_records: int = 0

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def is_as_taken(self) -> bool:
        """Whether the table has all of its other records."""
        taken, now = self.taken, self.file
        return taken is not None and (
            same_status(taken, now) or (taken.size == now.size and taken.etag == now.etag != "")
        )

    @property
    def is_moved(self) -> bool:
        """Whether it was ingested from another path: its rows and its line in the ledger have that one."""
        return self.taken is not None and self.taken.path != self.file.path

    @property
    def choice(self) -> OnErase | None:
        """What happens to the file. Files that lakesmith wrote itself are removed."""
        if self.source.is_written_here:
            return OnErase.REMOVE
        return self.source.on_erase

    @property
    def goes(self) -> bool:
        """Whether the file is deleted: as declared if its other records are in the table or there are
        none."""
        if not self.records:
            return False
        if self.records == self.all_records:
            return self.choice in (OnErase.REMOVE, OnErase.REWRITE)
        return self.choice is OnErase.REMOVE and self.is_as_taken

    @property
    def is_rewritten(self) -> bool:
        """Whether the persons' records are removed from it."""
        return bool(self.records) and not self.goes and self.choice in (OnErase.REMOVE, OnErase.REWRITE)


def landing_of(lake: Lake, table: TableDefinition) -> list[tuple[Source, list[FileIdentity]]]:
    """The files that lie in the folders of a table's sources, those too that a run would not take yet, or no
    more. Records of topics are none: a topic forgets by its own retention."""
    ledger = lake.ledger(table.name, lake.facts(table.name))
    files = (source for source in table.sources if source.has_files)
    return [(source, _listed(lake, replace(source, since=None), ledger)) for source in files]


def _listed(lake: Lake, source: Source, ledger: LedgerView) -> list[FileIdentity]:
    try:
        listing = list_files(source, lake.project.root, time_ns(), ledger.rows)
    except SourceError as error:
        if [problem.code for problem in error.problems] == [_NO_FOLDER]:
            return []
        raise
    return [*listing.found, *listing.waiting]


def landing_files(
    lake: Lake,
    table: TableDefinition,
    listed: Iterable[tuple[Source, Iterable[FileIdentity]]],
    records: Mapping[str, tuple[int, int]],
) -> Iterator[LandingFile]:
    """Yields the listed files with what the ledger knows, and their records: of the persons, and all."""
    ledger = lake.ledger(table.name, lake.facts(table.name))
    for source, each in listed:
        files = tuple(each)
        moved = _moved(lake, source, files, ledger)
        for file in files:
            entry = ledger.get(file.path)
            taken = entry.file if entry is not None and entry.action is FileAction.TAKEN else None
            taken = moved.get(file.path, taken)
            now = _fingerprinted(lake, file, taken)
            yield LandingFile(table.name, now, source, taken, *records.get(file.path, (0, 0)))


def _moved(
    lake: Lake, source: Source, files: Sequence[FileIdentity], ledger: LedgerView
) -> Mapping[str, FileIdentity]:
    """Returns the files that were ingested from another path and count as the same, as they were then."""
    if source.on_moved_file is not OnMovedFile.SAME:
        return {}
    unknown = [file for file in files if file.path not in ledger]
    found = find_moved(unknown, files, ledger, lake.project.root)
    return {path: taken for path, taken in found.items() if taken.path in ledger.rows}


def _fingerprinted(lake: Lake, file: FileIdentity, taken: FileIdentity | None) -> FileIdentity:
    """Returns the file with its fingerprint if only its content can tell whether it is the ingested one."""
    if taken is None or same_status(taken, file) or taken.size != file.size:
        return file
    return with_fingerprints([file], lake.project.root)[0]


def require_choices(files: Sequence[LandingFile]) -> None:
    """Raises UsageError LS260 for files without a declared choice, LS261 for those that resist."""
    _require_rewritable(files)
    open_ = [file for file in files if file.choice is None]
    if not open_:
        return
    found = listed((file.path for file in open_), 3)
    raise UsageError.of(
        "LS260",
        f"{len(open_)} landing file{'s' if open_[1:] else ''} contain rows to erase, and "
        "nothing declares what happens to them",
        open_[0].source.place,
        "on_erase: rewrite, on_erase: remove (the other rows are in the table) or on_erase: keep",
        found,
        "nothing was erased yet: set on_erase where the files are declared, and call it again",
    )


def _require_rewritable(files: Iterable[LandingFile]) -> None:
    for file in files:
        if file.is_rewritten and file.choice is OnErase.REWRITE and (why := why_not(file.source)) is not None:
            expected = "on_erase: remove (the other rows are in the table) or on_erase: keep"
            what = f"{file.path} contains rows to erase and cannot be rewritten: {why}"
            raise UsageError.of("LS261", what, file.source.place, expected, "on_erase: rewrite")


def remove(lake: Lake, file: LandingFile) -> None:
    """Deletes a file and the folders that are empty then. Raises OSError, and what S3 answers."""
    if is_object(file.path):
        bucket, key = bucket_and_key(file.path)
        client_of(lake.project.target.store).delete_object(Bucket=bucket, Key=key)
        return
    path, top = absolute_path(file.path, lake.project.root), lake.project.root / file.source.path
    path.unlink(missing_ok=True)
    remove_empty(path.parent, top)


def remove_empty(folder: Path, top: Path) -> None:
    """Removes a folder below ``top`` that has nothing in it, and those above it that have nothing else."""
    while top in folder.parents and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


_MOVE_BACK: Final = "move it back, or remove it if its other rows are in the table; then call this again"
_TAKE_FIRST: Final = "its other records are in no table yet: lakesmith run takes them; call this again then"


@dataclass(frozen=True, slots=True)
class Left:
    """A file that is as it was, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Made:
    """Digests of landing files that any begun erasure wrote. ``note`` adds one."""

    digests: frozenset[str]
    note: Callable[[str], None]


def wanted_of(table: TableDefinition, persons: ErasureFilter) -> Wanted:
    columns = [(it.name, earlier) for it in table.columns for earlier in (it.earlier or (None,))]
    names = tuple(names_in_files(columns, name) for name in persons.columns)
    return Wanted(names, persons.values, tuple(column.name for column in table.columns))


def rewrite(lake: Lake, file: LandingFile, wanted: Wanted, made: Made) -> FileIdentity | Left:
    """Takes their records out of a file: what it is then. Raises OSError, and what S3 answers."""
    if file.taken is not None and file.is_moved:
        why = f"has {file.records} records of theirs, and was ingested as {file.taken.path}: {_MOVE_BACK}"
        return Left(file.path, why)
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
