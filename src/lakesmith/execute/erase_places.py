"""Places beside tables that may have a person's values: each is cleaned, then checked. No Spark. A new place
is a function in ``PLACES``; ``spark.erase_proof`` checks tables."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lakesmith.catalog.family import foreign_owner
from lakesmith.errors import LakesmithError
from lakesmith.execute.erase import Receipts, columns_of
from lakesmith.execute.lake import Lake
from lakesmith.execute.landing_erase import landing_of, remove_empty
from lakesmith.exports.dropped import dropped_exports
from lakesmith.exports.erasing import clean_exports
from lakesmith.project.definitions import Source, TableDefinition, TableName, is_object
from lakesmith.project.files import scratch_folder
from lakesmith.project.formats import FORMATS
from lakesmith.sources.listing import absolute_path
from lakesmith.sources.names import printable
from lakesmith.sources.without_persons import Wanted, stand_in_file
from lakesmith.sql.erasure_filter import ErasureFilter
from lakesmith.whole_file import left_by_killed

_PACKED_INSIDE: Final = (*(each.packed for each in FORMATS.values() if each.packed), b"ORC")
"""How files begin whose values do not stand in them as they are, ORC of other tools among them."""
_FRESH_SECONDS: Final = 5.0
_OF_TABLES: Final = ("warehouse", "catalog.db", "catalog.db-wal", "catalog.db-shm")


@dataclass(frozen=True)
class Looked:
    """What is looked for, and where: the files of ``tables`` in the project of ``lake``, and the exports of
    those that they were ``erased`` from."""

    lake: Lake
    persons: ErasureFilter
    tables: tuple[TableDefinition, ...]
    erased: tuple[TableName, ...] = ()

    @property
    def root(self) -> Path:
        return self.lake.project.root

    @property
    def scratch(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((scratch_folder(self.root), self.lake.project.state_dir)))

    @property
    def folders(self) -> dict[Path, Source]:
        """The landing folders on this machine, once each."""
        sources = (source for table in self.tables for source in table.sources)
        here = (source for source in sources if source.has_files and not source.is_in_store)
        return {absolute_path(source.path, self.root): source for source in here}

    def wanted(self) -> Wanted:
        """The persons' values, wherever they stand."""
        return Wanted((), self.persons.values)


Place = Callable[[Looked], Iterable[str]]
"""Cleans a place, and says what is left there."""


def copies(looked: Looked) -> Iterator[str]:
    """Copies that were on their way when an erasure or another writer was killed: they go."""
    for folder in (*looked.folders, looked.lake.project.state_dir, *looked.scratch):
        for path in left_by_killed(folder):
            path.unlink(missing_ok=True)
    return iter(())


def left_out(looked: Looked) -> Iterator[str]:
    """Yields files in landing folders that no table ingests: hidden, temporary or unmatched ones."""
    listed = {each for table in looked.lake.project.tables for each in _listed(looked, table)}
    for folder, source in looked.folders.items():
        how = "remove it"
        if source.is_written_here:
            # Events that wait to be put into a file; which keys were read of a table in PostgreSQL.
            how = "call this again once a run has taken what waits, or the source has it no more"
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.resolve() not in listed and (why := _why_left(looked, path)):
                yield f"{_shown(looked, path)}, which no table takes, {why}: {how}"


def names(looked: Looked) -> Iterator[str]:
    """Files and folders whose names tell of them. Folders that are empty go."""
    for folder, source in looked.folders.items():
        if source.on_erase == "keep":
            continue
        for path in sorted(folder.rglob("*"), reverse=True):
            if not looked.persons.are_named_in(path.name, surely=True):
                continue
            if path.is_dir():
                remove_empty(path, folder)
            if path.exists():
                yield (
                    f"{_shown(looked, path)} tells of them by its name: rename it before it is taken, "
                    "or remove it"
                    " once it is, its rows are in the table"
                )


def caches(looked: Looked) -> Iterator[str]:
    """What can be made again goes."""
    for folder in looked.scratch:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        if any((folder / "cache").glob("**/*.*")):
            yield f"{folder / 'cache'} could not be removed: remove it"


def logs(looked: Looked) -> Iterator[str]:
    """Lines that tell of them leave the logs."""
    for folder in looked.scratch:
        for path in sorted((folder / "logs").glob("**/*")):
            if path.is_file():
                _without_lines(looked, path)
                if _tells(looked, path):
                    yield f"{path} has values of theirs: remove it"


def notes(looked: Looked) -> Iterator[str]:
    """What commands and ``up`` keep in the project's folder."""
    state = looked.lake.project.state_dir
    kept = (
        path
        for path in state.rglob("*")
        if path.is_file() and path.relative_to(state).parts[0] not in _NOT_NOTES
    )
    for path in sorted(kept):
        if not _tells(looked, path):
            continue
        if path.suffix == ".jsonl":
            # The journal, whose messages may repeat a value.
            _without_lines(looked, path)
            continue
        if path.name == "up.json" and time.time() - path.stat().st_mtime > _FRESH_SECONDS:
            path.unlink()
            continue
        yield f"{path} has values of theirs: end what writes it (lakesmith up does some), and remove it"


def empty_folders(looked: Looked) -> Iterator[str]:
    """Folders of partitions that have no file any more."""
    warehouse = looked.lake.project.state_dir / "warehouse"
    for path, _, _ in os.walk(warehouse, topdown=False):
        folder = Path(path)
        if "data" in folder.relative_to(warehouse).parts[:-1] and not any(folder.iterdir()):
            with suppress(OSError):
                folder.rmdir()
    for path, _, _ in os.walk(warehouse):
        if looked.persons.are_named_in(Path(path).name, surely=True):
            yield f"{path} tells of them by its name"


def receipts(looked: Looked) -> Iterator[str]:
    """Receipts of earlier erasures, which had the names of files."""
    Receipts(looked.lake.project.state_dir).hide_names(looked.persons)
    return iter(())


def exports(looked: Looked) -> Iterator[str]:
    """Old versions of exports go. One that does not have what its table has may still tell of them."""
    project = looked.lake.project
    for table in project.tables:
        state = looked.lake.catalog.table(table.name.layer, table.name.name)
        if state is not None and table.name in looked.erased:
            yield from clean_exports(project, table, state)


def exports_of_dropped(looked: Looked) -> Iterator[str]:
    """Yields exports that ``drop`` left, and that may have rows of theirs."""
    for gone in dropped_exports(looked.lake.project):
        place = looked.root / gone.place
        here = sorted(place.rglob("*")) if not is_object(gone.place) else []
        if is_object(gone.place) or any(path.is_file() and _why_left(looked, path) for path in here):
            yield (
                f"{gone.place} has an export of {gone.table}, which was dropped, and may have rows of theirs:"
                " remove it"
            )


def undeclared(looked: Looked) -> Iterator[str]:
    """Yields tables that no file of the project declares any more: nothing is erased from them."""
    project, catalog = looked.lake.project, looked.lake.catalog
    declared = {table.name for table in project.tables}
    for layer in sorted({name.layer for name in declared}):
        for each in catalog.names(layer):
            name = TableName(layer, each)
            state = None if name in declared else catalog.table(layer, each)
            if state is None or foreign_owner(state, project.name) is not None:
                continue
            if looked.persons.within(columns_of(state)):
                yield (
                    f"{name}, which no file declares, may have rows of theirs: declare it again and call this"
                    f" again, or lakesmith drop {name} --purge"
                )


_NOT_NOTES: Final = (*_OF_TABLES, "cache", "logs")
PLACES: Final[tuple[Place, ...]] = (
    copies,
    left_out,
    names,
    caches,
    logs,
    receipts,
    notes,
    exports,
    exports_of_dropped,
    undeclared,
    empty_folders,
)


def clean(looked: Looked) -> tuple[str, ...]:
    """Cleans every place; what is left, in words."""
    return tuple(line for place in PLACES for line in place(looked))


def _listed(looked: Looked, table: TableDefinition) -> Iterator[Path]:
    # A folder that cannot be listed has files that nobody takes.
    with suppress(LakesmithError):
        for _, files in landing_of(looked.lake, table):
            yield from (absolute_path(file.path, looked.root).resolve() for file in files)


def _why_left(looked: Looked, path: Path) -> str | None:
    content = path.read_bytes()
    if content.startswith(_PACKED_INSIDE):
        return "cannot be looked into"
    return "has values of theirs" if stand_in_file(looked.wanted(), content) else None


def _tells(looked: Looked, path: Path) -> bool:
    return looked.persons.are_named_in(path.read_bytes().decode("utf-8", "replace"), surely=True)


def _without_lines(looked: Looked, path: Path) -> None:
    """Removes lines of a file in place: a process may be appending to it."""
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [
        line
        for line in lines
        if not looked.persons.are_named_in(line.decode("utf-8", "replace"), surely=True)
    ]
    if len(kept) < len(lines):
        path.write_bytes(b"".join(kept))


def _shown(looked: Looked, path: Path) -> str:
    inside = path.is_relative_to(looked.root)
    return printable(str(path.relative_to(looked.root) if inside else path))
