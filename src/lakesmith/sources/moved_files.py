"""Files that were ingested under another path: moved ones, and second names (hard links) of the same file.

A new path is an ingested file

- if its inode, size and modification time are those of an ingested file: it was moved, or is a hard link; or
- if its whole content is (by ETag in S3; by a hash and the modification time in a folder, up to 4 MiB), and
  the source does not have the path any more that it was ingested from.

A large file that came to another file system has another inode, and only samples of its content are known:
that proves nothing, so it is new. So is a file that was moved and then changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from lakesmith.errors import SourceError
from lakesmith.project.definitions import OnMovedFile, Source, TableName, is_object
from lakesmith.sources.choose import FileChoice, choose_files, uncertain_files
from lakesmith.sources.identity import WHOLE_UP_TO, fingerprints, with_fingerprints
from lakesmith.sources.ledger_view import LedgerView, entry_of
from lakesmith.sources.listing import Listing
from lakesmith.sources.model import FileAction, FileIdentity
from lakesmith.sources.names import printable

MOVED_FILE: Final = "LS413"
_SHOWN: Final = 3


def chosen_files(
    source: Source, listing: Listing, ledger: LedgerView, root: Path, table: TableName | None = None
) -> FileChoice:
    """Returns what a batch does with a source's files, once it has read what decides. Raises SourceError
    LS421."""
    uncertain = uncertain_files(listing, ledger)
    known = fingerprints(uncertain, root) if uncertain else {}
    choice = choose_files(source, listing, ledger, known, table)
    if not choice.take or source.is_growing or source.on_moved_file is OnMovedFile.NEW:
        return choice
    there = (*listing.found, *listing.waiting)
    # Rows that this batch deletes are nowhere else.
    going = {ledger.known_as(file.path) for file in choice.replace}
    moved = find_moved(choice.take, there, ledger.without(going) if going else ledger, root)
    if source.on_moved_file is OnMovedFile.SAME:
        return replace(choice, take=tuple(file for file in choice.take if file.path not in moved))
    return replace(choice, notes=(*choice.notes, _note(source, moved))) if moved else choice


def find_moved(
    new: Sequence[FileIdentity], there: Iterable[FileIdentity], ledger: LedgerView, root: Path
) -> dict[str, FileIdentity]:
    """Maps paths of ``new`` files to the ingested files that they are, or to the first of them that has the
    same content by another name. ``there``: all files of the source."""
    known = _Known.of(new, there, ledger)
    found: dict[str, FileIdentity] = {}
    for file in new:
        if (same := known.with_inode(file)) is not None:
            found[file.path] = same
    for file in new:
        if file.path not in found and (same := known.with_content(file, root)) is not None:
            found[file.path] = same
    return found


_Key = tuple[int, int | str]


def _key(file: FileIdentity) -> _Key:
    return (file.size, file.etag if is_object(file.path) else file.modified_ns)


@dataclass
class _Known:
    """The ingested files of the same size and time, or ETag, as new ones. ``gone``: those that the source
    does not have any more, each of which can be one new file."""

    by_key: dict[_Key, list[FileIdentity]]
    gone: set[str]
    first: dict[tuple[_Key, int], FileIdentity] = field(default_factory=dict)

    @classmethod
    def of(cls, new: Sequence[FileIdentity], there: Iterable[FileIdentity], ledger: LedgerView) -> _Known:
        wanted = {_key(file) for file in new}
        by_key: dict[_Key, list[FileIdentity]] = defaultdict(list)
        for path, row in ledger.rows.items():
            key = (row[2], row[6] if is_object(path) else row[3])
            if key in wanted and row[1] == FileAction.TAKEN:
                by_key[key].append(entry_of(path, row).file)
        here = {ledger.known_as(file.path) for file in there}
        gone = {file.path for files in by_key.values() for file in files} - here
        return cls(by_key, gone)

    def with_inode(self, file: FileIdentity) -> FileIdentity | None:
        """Returns the file, ingested or to be, that this one is by its inode."""
        if not file.inode:
            return None
        for each in self._like(file):
            if each.inode == file.inode:
                self.gone.discard(each.path)
                return each
        first = self.first.setdefault((_key(file), file.inode), file)
        return None if first is file else first

    def with_content(self, file: FileIdentity, root: Path) -> FileIdentity | None:
        """Returns the file that had the same content and is gone."""
        gone = [each for each in self._like(file) if each.path in self.gone and each.etag]
        if not gone or (file.size > WHOLE_UP_TO and not is_object(file.path)):
            return None
        etag = _fingerprint(file, root)
        for each in gone:
            if each.etag == etag:
                self.gone.discard(each.path)
                return each
        return None

    def _like(self, file: FileIdentity) -> Iterator[FileIdentity]:
        yield from self.by_key.get(_key(file), ())


def _fingerprint(file: FileIdentity, root: Path) -> str | None:
    # A file that cannot be read is for those who read it to say.
    with suppress(SourceError):
        return with_fingerprints([file], root)[0].etag
    return None


def _note(source: Source, moved: dict[str, FileIdentity]) -> str:
    names = [f"{printable(path)} (as {printable(was.path)})" for path, was in sorted(moved.items())]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    files = "1 file was" if len(names) == 1 else f"{len(names)} files were"
    return (
        f"{MOVED_FILE} source {source.name!r}: {files} ingested under another path, and are ingested again: "
        f"{', '.join(names[:_SHOWN])}{more}; `on_moved_file: same` leaves out moved files and hard links, "
        "`on_moved_file: new` says that they are new files"
    )
