"""Whether a project's tables are in its own warehouse. Iceberg's paths are absolute, so the catalog of a
copied folder names the original's tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from lakesmith.catalog.entries import Entry, all_entries
from lakesmith.catalog.family import PROJECT
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.lock import ProjectLock
from lakesmith.catalog.lost import older_entries, older_problem
from lakesmith.catalog.metadata import local_path, read_metadata
from lakesmith.catalog.open import open_catalog
from lakesmith.errors import Problem, StateError, listed
from lakesmith.project.definitions import Project
from lakesmith.project.layout import RESERVED_LAYER

_PARTS = 4
"""Of a metadata file's path, how many are below the warehouse: layer, table, ``metadata`` and the file."""


@dataclass(frozen=True, slots=True)
class Away:
    """A table whose metadata file is in another warehouse, ``origin``; ``here``: the path of its copy."""

    entry: Entry
    origin: str
    here: Path

    @property
    def home(self) -> Path:
        return self.here.parents[_PARTS - 1]

    @property
    def is_there(self) -> bool:
        """Whether the file that the catalog names exists."""
        return local_path(self.entry.location).is_file()


def require_home(project: Project, may_be_older: bool = False) -> None:
    """Raises StateError LS525 when a table of the project on the embedded catalog is not in its warehouse,
    and LS527 when the catalog is older than that, unless it ``may_be_older``.
    """
    catalog = open_catalog(project) if project.target.is_local else None
    if not isinstance(catalog, LocalCatalog):
        return
    if (problem := away_problem(catalog, project.name)) is not None:
        raise StateError(problem)
    if not may_be_older and (entries := older_entries(catalog)):
        raise StateError(older_problem(catalog, entries))


def away_problem(catalog: LocalCatalog, project: str) -> Problem | None:
    """LS525: what to say of a project that was copied or moved; None for one whose tables are at home."""
    found = away_tables(catalog, project)
    if not found:
        return None
    copied = any(each.is_there for each in found)
    origin = found[0].origin
    return Problem(
        "LS525",
        f"this project was {'copied' if copied else 'moved'}: its catalog names the tables of"
        f" {'the original' if copied else 'the folder it was in'}, so nothing is written",
        expected=f"tables in {catalog.warehouse}",
        found=f"{listed((str(each.entry.name) for each in found), 1)} in {origin}"
        f"{'' if copied else ', which is gone'}",
        hint="'lakesmith relocate' makes the files in this folder its tables"
        + ("; the original is left as it is" if copied else "; or move the folder back"),
    )


def away_tables(catalog: LocalCatalog, project: str) -> tuple[Away, ...]:
    """The project's tables that are not in its warehouse. A third of a millisecond where there are none."""
    outside = [each for each in all_entries(catalog) if not catalog.has_below(each.location)]
    return tuple(_away(catalog, project, outside)) if outside else ()


def _away(catalog: LocalCatalog, project: str, outside: list[Entry]) -> Iterator[Away]:
    for entry in outside:
        path = local_path(entry.location)
        here = catalog.warehouse.joinpath(*path.parts[-_PARTS:])
        # A folder that is reached by another name is the same one. (A copy may have the same files, as hard
        # links.)
        if path.parent.is_dir() and here.parent.is_dir() and path.parent.samefile(here.parent):
            continue
        if _is_ours(entry, path, project) if path.is_file() else here.is_file():
            yield Away(entry, str(PurePosixPath(*path.parts[:-_PARTS])), here)


def _is_ours(entry: Entry, path: Path, project: str) -> bool:
    """Returns whether an entry is the project's. File ledgers have no owner property."""
    if entry.name.layer == RESERVED_LAYER:
        return True
    try:
        owner = read_metadata(path).get("properties", {}).get(PROJECT)
    except (OSError, EOFError, ValueError):
        return True
    return bool(owner == project)


def project_lock(
    project: Project, command: str, *, may_be_older: bool = False, **options: Any
) -> ProjectLock:
    """Returns the lock of all commands that write to the lake. Entering raises as ``require_home`` and
    ``ProjectLock``."""
    return ProjectLock(
        project.state_dir, command, guard=partial(require_home, project, may_be_older), **options
    )
