"""Finds the files of a source: a recursive listing with each file's identity. No file is read.

Left out are, at every folder level, names that start with ``_`` or ``.``, and names of files that tools are
still writing (``TEMPORARY_ENDINGS``). Symbolic links to files and folders are followed. A real folder is
entered once, so a cycle of links ends and a folder that is reachable twice gives its files once (under their
real place). A link to a file that is listed itself does not count: ``latest.csv -> monday.csv`` does not give
Monday's rows twice.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Protocol

from lakesmith.errors import SourceError
from lakesmith.project.definitions import ObjectStore, Source
from lakesmith.sources.left_out import LeftOut, all_before, is_before, is_left_out
from lakesmith.sources.model import FileIdentity, Found, LandingFile
from lakesmith.sources.names import printable

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_NANOSECONDS = 1_000_000_000
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a source now. ``found`` and ``waiting`` (younger than ``min_age``) are sorted by path.

    ``ignored`` counts the names that were left out, ``notes`` name the unexpected ones, ``summary`` all of
    them.
    """

    found: tuple[FileIdentity, ...]
    waiting: tuple[FileIdentity, ...] = ()
    ignored: int = 0
    notes: tuple[str, ...] = ()
    summary: str | None = None


class FileSystem(Protocol):
    """The origin of a listing: folders of this machine, or a prefix in S3."""

    def walk(self, source: Source, root: Path, known: Collection[str] = ()) -> Found:
        """Finds the files that match the source's pattern. ``known``: paths of earlier files, which make it
        quicker.

        Raises SourceError if the folder does not exist or cannot be read.
        """
        ...


def list_files(source: Source, root: Path, now_ns: int, known: Collection[str] = ()) -> Listing:
    """Lists the files of ``source``.

    ``now_ns`` (nanoseconds since the epoch) decides which files are too young. ``known``: paths that a table
    has ingested; they only make a listing in S3 quicker.


    Raises SourceError: LS401 the folder does not exist, LS402 not a folder, LS403 a kind of path that is not
    supported, LS404 it may not be read, LS405 a file name that is not UTF-8; in S3 LS406 no or wrong
    credentials, LS407 no answer.
    """
    walk = file_system(source).walk(source, root, known)
    once = _without_second_names(walk)
    files = sorted([*walk.files, *once], key=attrgetter("path"))
    _refuse_undecodable(files, source)
    found, waiting = _split_by_age(files, source, now_ns)
    left_out = walk.left_out
    notes, summary = tuple(left_out.notes(source)), left_out.summary(source)
    if summary and not files:
        notes = (*notes, summary)
    return Listing(found, waiting, left_out.total, notes, summary)


def file_system(source: Source) -> FileSystem:
    """Returns the file system of a source's path. Raises SourceError LS403 for a URI other than S3's."""
    if source.is_in_store:
        # Imported here: few projects need it, and an idle command has no time for it.
        from lakesmith.sources.object_listing import ObjectFileSystem

        return ObjectFileSystem()
    if _URI.match(source.path):
        raise SourceError.of(
            "LS403",
            f"source {source.name!r}: paths of this kind are not supported yet",
            source.place,
            expected="a folder, relative to the project or absolute, or s3://bucket/prefix/",
            found=source.path.split("?")[0],
            hint="write s3:// in its place"
            if source.path.startswith(("s3a://", "s3n://"))
            else "bring the files to a local or mounted folder and set `path` to it",
        )
    return LocalFileSystem()


def absolute_path(path: str, root: Path) -> Path:
    """Returns where a listed file is on this machine: the inverse of how ``FileIdentity.path`` is written."""
    return root / path


def opened_file(file: FileIdentity, source: Source, root: Path) -> LandingFile:
    """Returns a listed file, to be read. Raises UnreadableFile LS408 for an object that Spark cannot open."""
    if not source.is_in_store:
        return absolute_path(file.path, root)
    from lakesmith.sources.objects import ObjectFile, require_one_key

    require_one_key(file.path)
    return ObjectFile(file, source.store or ObjectStore())


def _absolute(path: Path) -> str:
    """As ``os.path.abspath``: links are kept, so that a source that is a link keeps its name."""
    return os.path.abspath(path)  # noqa: PTH100


class LocalFileSystem:
    """Folders of this machine, walked with ``os.scandir``: 100,000 files in well under a second."""

    def walk(self, source: Source, root: Path, known: Collection[str] = ()) -> Found:
        folder = _absolute(root / source.path)
        if source.is_written_here and not Path(folder).exists():
            return Found()
        _check_folder(folder, source)
        shown = _shown_path(folder, _absolute(root))
        wanted = _Wanted.by(source, len(shown))
        walk = Found()
        real = [_Folder(folder, shown, False)]
        linked: list[_Folder] = []
        visited: set[tuple[int, int]] = set()
        # Links wait until every real folder is known, so that a file has its real path in any order of
        # scandir.
        while real or linked:
            here = real.pop() if real else linked.pop(0)
            if not _enter(here.path, visited, source):
                _note_again(here, walk.left_out)
                continue
            for below in _read_folder(here, wanted, source, walk):
                (linked if below.link else real).append(below)
        return walk


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to read: where it is, how the paths in it begin, and whether a link led to it."""

    path: str
    shown: str
    link: bool


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The names that a source matches: ``matches`` exactly, ``nearly`` without regard to case; ``since`` is
    the first.

    ``start``: the length of the prefix that all paths share.
    """

    matches: Callable[[str], object]
    nearly: Callable[[str], object]
    since: str | None
    start: int

    @classmethod
    def by(cls, source: Source, start: int) -> _Wanted:
        pattern = fnmatch.translate(source.pattern)
        matches, nearly = re.compile(pattern).match, re.compile(pattern, re.IGNORECASE).match
        return cls(matches, nearly, source.since, start)

    def is_before(self, entry: os.DirEntry[str], shown: str) -> bool:
        """Whether the folder, and all in it, is left out because of its place."""
        if self.since is None:
            return False
        name = (shown + entry.name)[self.start :]
        return all_before(f"{name}/", self.since) if entry.is_dir() else is_before(name, self.since)


def _note_again(folder: _Folder, left_out: LeftOut) -> None:
    if folder.link and Path(folder.path).exists():
        left_out.again.append(folder.shown.rstrip("/"))
    else:
        left_out.odd += 1


def _read_folder(folder: _Folder, wanted: _Wanted, source: Source, walk: Found) -> list[_Folder]:
    """Adds the folder's files to ``walk`` and returns the folders in it."""
    below, left_out = [], walk.left_out
    with _scan(folder.path, source) as entries:
        for entry in entries:
            name = entry.name
            if wanted.is_before(entry, folder.shown):
                continue
            if is_left_out(name):
                left_out.hide(name)
            elif entry.is_dir():
                link = folder.link or entry.is_symlink()
                below.append(_Folder(entry.path, f"{folder.shown}{name}/", link))
            elif not wanted.matches(name):
                left_out.miss(name, folder.shown + name, wanted.nearly)
            elif (file := _identity(entry, folder.shown)) is None:
                _note_odd(entry, folder.shown + name, left_out)
            else:
                (walk.linked if folder.link or entry.is_symlink() else walk.files).append(file)
    return below


def _note_odd(entry: os.DirEntry[str], shown: str, left_out: LeftOut) -> None:
    if entry.is_symlink() and not Path(entry.path).exists():
        left_out.astray.append(shown)
    else:
        left_out.odd += 1


def _identity(entry: os.DirEntry[str], shown: str) -> FileIdentity | None:
    """The file's identity; None for a pipe, a device, a broken link, or a file that disappeared meanwhile."""
    try:
        if not entry.is_file():
            return None
        stat = entry.stat()
    except FileNotFoundError:
        return None
    return FileIdentity.of_local(shown + entry.name, stat)


def _shown_path(folder: str, root: str) -> str:
    """How paths below ``folder`` begin: relative if it is inside the project, which may move."""
    inside = os.path.commonpath((folder, root)) == root
    shown = os.path.relpath(folder, root) if inside else folder
    return "" if shown == "." else Path(shown).as_posix().rstrip("/") + "/"


def _enter(folder: str, visited: set[tuple[int, int]], source: Source) -> bool:
    """Notes the real folder behind ``folder``; False if it has been entered before."""
    try:
        stat = Path(folder).stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unreadable(folder, source, error) from error
    key = (stat.st_dev, stat.st_ino)
    if key in visited:
        return False
    visited.add(key)
    return True


def _scan(folder: str, source: Source) -> os._ScandirIterator[str]:
    try:
        return os.scandir(folder)
    except OSError as error:
        raise _unreadable(folder, source, error) from error


def _unreadable(folder: str, source: Source, error: OSError) -> SourceError:
    return SourceError.of(
        "LS404",
        f"source {source.name!r}: a folder cannot be read",
        source.place,
        expected="a folder this user may list",
        found=f"{printable(folder)}: {error.strerror}",
        hint="give this user the right to read it, or move it out of the source's folder",
    )


def _check_folder(folder: str, source: Source) -> None:
    path = Path(folder)
    if not path.exists():
        code, found, hint = "LS401", "nothing", f"create it (`mkdir -p {source.path}`) or correct `path`"
    elif not path.is_dir():
        code, found = "LS402", "a file"
        hint = f"set `path` to its folder and `pattern: {path.name!r}`"
    else:
        return
    what = f"source {source.name!r}: its folder does not exist" if code == "LS401" else None
    raise SourceError.of(
        code,
        what or f"source {source.name!r}: its path is not a folder",
        source.place,
        expected=f"a folder at {printable(folder)}",
        found=found,
        hint=hint,
    )


def _without_second_names(walk: Found) -> list[FileIdentity]:
    """The linked files that are not listed themselves, each once: the first of its links by name."""
    if not walk.linked:
        return []
    seen = {replace(file, path=""): file.path for file in walk.files}
    once = []
    for file in sorted(walk.linked, key=attrgetter("path")):
        if (known := seen.setdefault(replace(file, path=""), file.path)) is file.path:
            once.append(file)
        else:
            walk.left_out.second.append((file.path, known))
    return once


def _refuse_undecodable(files: list[FileIdentity], source: Source) -> None:
    # Neither the ledger nor a row's _source_file can hold such a name, and Java cannot open it.
    bad = [file.path for file in files if not file.path.isascii() and not _is_utf8(file.path)]
    if bad:
        more = f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
        raise SourceError.of(
            "LS405",
            f"source {source.name!r}: the names of some files are not UTF-8",
            source.place,
            expected="file and folder names in UTF-8",
            found=", ".join(printable(path) for path in bad[:_SHOWN]) + more,
            hint="rename them (`convmv -f latin1 -t utf8 --notest FOLDER` does it for Latin-1 names)",
        )


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _split_by_age(
    files: list[FileIdentity], source: Source, now_ns: int
) -> tuple[tuple[FileIdentity, ...], tuple[FileIdentity, ...]]:
    if source.min_age_seconds <= 0:
        return tuple(files), ()
    newest = now_ns - int(source.min_age_seconds * _NANOSECONDS)
    found: list[FileIdentity] = []
    waiting: list[FileIdentity] = []
    for file in files:
        # A time in the future (a wrong clock elsewhere) must not delay a file for ever: then the local time
        # counts. An object has only one time.
        written = min(file.modified_ns, file.changed_ns or file.modified_ns)
        (found if written <= newest else waiting).append(file)
    return tuple(found), tuple(waiting)
