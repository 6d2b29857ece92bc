"""Where an export is: a folder, or a prefix in S3. Raises OSError for whatever does not work."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol

from lakesmith.project.definitions import (
    OBJECT_SCHEME,
    ObjectStore,
    Project,
    TableDefinition,
    place_of_export,
)
from lakesmith.sources.object_errors import is_gone, is_overtaken, os_error
from lakesmith.whole_file import write_whole

OLD: Final = "_manifests"
"""The folder of the manifests of replaced versions. Readers of folders skip its name."""
_DELETED_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of a place. ``size`` in bytes; ``modified`` in seconds since the epoch."""

    path: str
    size: int
    modified: float


class ExportPlace(Protocol):
    """A place by names relative to it."""

    @property
    def shown(self) -> str:
        """The place's name for people, with a slash at its end."""

    def uri(self, folder: str) -> str:
        """Returns what Spark calls a folder."""

    def read(self, name: str) -> bytes | None:
        """Returns a file's content, None if there is no such file."""

    def has(self, name: str) -> bool:
        """Returns whether there is such a file."""

    def write(self, name: str, content: bytes) -> None:
        """Puts a whole file in place."""

    def copy(self, source: str, name: str) -> None:
        """Puts a copy of a file in place at once."""

    def folders(self) -> list[str]:
        """Returns the names of the folders of versions."""

    def files(self, folder: str) -> list[PlacedFile]:
        """Returns the files below a folder, sorted by path."""

    def settle(self, names: Iterable[str]) -> None:
        """Makes sure that files survive a crash of the machine."""

    def remove(self, names: Iterable[str]) -> None:
        """Removes files."""

    def remove_folder(self, folder: str) -> None:
        """Removes a folder with all that is in it."""


def place_of(project: Project, table: TableDefinition) -> ExportPlace:
    """Returns the place of a table's export."""
    return place_at(project, place_of_export(table))


def place_at(project: Project, path: str) -> ExportPlace:
    """Returns the place of a folder or a prefix, with a slash at its end."""
    if path.startswith(OBJECT_SCHEME):
        return BucketPlace(path, project.target.store)
    return FolderPlace(project.root / path, path)


@dataclass(frozen=True)
class FolderPlace:
    """A folder on this machine."""

    folder: Path
    shown: str

    def uri(self, folder: str) -> str:
        return f"file://{self.folder.absolute() / folder}"

    def read(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def has(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def write(self, name: str, content: bytes) -> None:
        write_whole(self.folder / name, content, to_disk=True)

    def copy(self, source: str, name: str) -> None:
        beside = self.folder / f".{name}.tmp"
        try:
            shutil.copyfile(self.folder / source, beside)
            _to_disk(beside)
            beside.replace(self.folder / name)
        finally:
            beside.unlink(missing_ok=True)

    def folders(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        return sorted(each.name for each in self.folder.iterdir() if each.name.startswith("v="))

    def files(self, folder: str) -> list[PlacedFile]:
        found = []
        for path, _, names in os.walk(self.folder / folder):
            for name in names:
                each = Path(path, name)
                if not _is_hidden(each.relative_to(self.folder / folder)):
                    stat = each.stat()
                    found.append(
                        PlacedFile(each.relative_to(self.folder).as_posix(), stat.st_size, stat.st_mtime)
                    )
        return sorted(found, key=attrgetter("path"))

    def settle(self, names: Iterable[str]) -> None:
        """Writes files to the disk itself; removes the checksums that Hadoop puts beside them."""
        folders = {(self.folder / name).parent for name in names}
        for folder in folders:
            for path in folder.iterdir():
                if path.name.endswith(".crc"):
                    path.unlink()
                elif path.is_file():
                    _to_disk(path)
            _to_disk(folder)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            path = self.folder / name
            path.unlink(missing_ok=True)
            for above in path.relative_to(self.folder).parents[:-1]:
                if any((self.folder / above).iterdir()):
                    break
                (self.folder / above).rmdir()

    def remove_folder(self, folder: str) -> None:
        shutil.rmtree(self.folder / folder)


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_hidden(path: Path) -> bool:
    """Returns whether readers of folders skip a path: not for the folder of a partition, such as ``_x=1``."""
    *folders, name = path.parts
    return name.startswith(("_", ".")) or any(each[0] in "_." and "=" not in each for each in folders)


@dataclass(frozen=True)
class BucketPlace:
    """A prefix in a bucket. An object is put at once, and seen by all at once."""

    shown: str
    store: ObjectStore

    def uri(self, folder: str) -> str:
        return self.shown + folder

    def read(self, name: str) -> bytes | None:
        return self.read_version(name)[0]

    def has(self, name: str) -> bool:
        try:
            self._client.head_object(**self._at(name))
        except Exception as error:
            if is_gone(error):
                return False
            raise os_error(self.shown + name, error) from error
        return True

    def read_version(self, name: str) -> tuple[bytes | None, str]:
        """Returns a file's content and its version, None and "" if there is no such file."""
        try:
            answer = self._client.get_object(**self._at(name))
            return answer["Body"].read(), answer["ETag"]
        except Exception as error:
            if is_gone(error):
                return None, ""
            raise os_error(self.shown + name, error) from error

    def write(self, name: str, content: bytes) -> None:
        self._put(name, content)

    def write_version(self, name: str, content: bytes, version: str) -> bool:
        """Puts a file in place if it still has this version; returns whether it had."""
        try:
            self._put(name, content, **({"IfMatch": version} if version else {"IfNoneMatch": "*"}))
        except OSError as error:
            if error.__cause__ is not None and is_overtaken(error.__cause__):
                return False
            raise
        return True

    def _put(self, name: str, content: bytes, **only: str) -> None:
        kind = "application/json" if name.endswith(".json") else "application/octet-stream"
        given = {"Body": content, "ContentType": kind, "CacheControl": "no-cache"}
        self._do(name, "put_object", **self._at(name), **given, **only)

    def copy(self, source: str, name: str) -> None:
        # In parts where it is too large for one request, and put in place at once all the same.
        self._do(name, "copy", self._at(source), *self._at(name).values())

    def folders(self) -> list[str]:
        prefix = f"{self._prefix}v="
        pages = self._pages(prefix, Delimiter="/")
        found = (each["Prefix"] for page in pages for each in page.get("CommonPrefixes", ()))
        return sorted(each.removeprefix(self._prefix).rstrip("/") for each in found)

    def files(self, folder: str) -> list[PlacedFile]:
        found = [
            PlacedFile(
                each["Key"].removeprefix(self._prefix), int(each["Size"]), each["LastModified"].timestamp()
            )
            for page in self._pages(f"{self._prefix}{folder}/")
            for each in page.get("Contents", ())
            if not each["Key"].endswith("/")
        ]
        return sorted(
            (each for each in found if not _is_hidden(Path(each.path).relative_to(folder))),
            key=attrgetter("path"),
        )

    def settle(self, names: Iterable[str]) -> None:
        """Does nothing: an object that can be listed is there."""

    def remove(self, names: Iterable[str]) -> None:
        keys = [{"Key": self._prefix + name} for name in names]
        for start in range(0, len(keys), _DELETED_AT_ONCE):
            some = {"Objects": keys[start : start + _DELETED_AT_ONCE], "Quiet": True}
            answer = self._do("", "delete_objects", Bucket=self._bucket, Delete=some)
            if errors := answer.get("Errors"):
                raise PermissionError(f"{errors[0]['Key']}: {errors[0].get('Code')}")

    def remove_folder(self, folder: str) -> None:
        pages = self._pages(f"{self._prefix}{folder}/")
        self.remove(
            [each["Key"].removeprefix(self._prefix) for page in pages for each in page.get("Contents", ())]
        )

    @property
    def _client(self) -> Any:
        from lakesmith.sources.objects import client_of

        return client_of(self.store)

    @property
    def _bucket(self) -> str:
        return self.shown.removeprefix(OBJECT_SCHEME).partition("/")[0]

    @property
    def _prefix(self) -> str:
        return self.shown.removeprefix(OBJECT_SCHEME).partition("/")[2]

    def _at(self, name: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._prefix + name}

    def _pages(self, prefix: str, **more: str) -> Iterator[Any]:
        pages = self._client.get_paginator("list_objects_v2")
        try:
            yield from pages.paginate(Bucket=self._bucket, Prefix=prefix, **more)
        except Exception as error:
            raise os_error(self.shown, error) from error

    def _do(self, name: str, call: str, *given: Any, **named: Any) -> Any:
        try:
            return getattr(self._client, call)(*given, **named)
        except Exception as error:
            raise os_error(self.shown + name, error) from error
