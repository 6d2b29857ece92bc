"""A loaded project, and the cache of it: an idle command imports neither the YAML reader nor the models.

A cached project counts only for the same texts, folder, target and code. One that has problems, or a target
that takes values from the environment, is never cached: secrets are not written to disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lakesmith import limits
from lakesmith.cache import Cache, decoded, encoded
from lakesmith.errors import Place, Problem, ProjectError
from lakesmith.project import definitions
from lakesmith.project.definitions import Project, TableName
from lakesmith.project.files import ProjectFiles
from lakesmith.quality import model


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """A project and its problems.

    With ``problems``, ``project`` has only the valid tables, and ``declared`` the names of all.
    ``uses_environment``: the target takes values from environment variables.
    """

    project: Project
    problems: tuple[Problem, ...]
    declared: frozenset[TableName] = frozenset()
    uses_environment: bool = False


def sorted_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Returns the problems by place and code, each once."""
    return tuple(sorted(dict.fromkeys(problems), key=_by_place))


def _by_place(problem: Problem) -> tuple[str, int, str, str]:
    place = problem.place or Place("")
    return (place.file, place.line or 0, problem.code, problem.what)


_KINDS: Final[dict[str, Any]] = {
    each.__name__: each
    for each in (LoadedProject, frozenset, *vars(definitions).values(), *vars(model).values())
    if isinstance(each, type)
}
"""What a project is made of: what its definitions are, and what they are made of."""

_CODE: Final = (Path(__file__).parent, Path(__file__).parent.parent / "quality")


def load_cached(
    files: ProjectFiles, target: str | None, environ: Mapping[str, str], folder: Path
) -> LoadedProject:
    """Returns what ``loader.parse_project`` returns, from the cache in ``folder`` if nothing has changed
    since.

    If the folder cannot be written, only the next command is slower.
    """
    cache, key = Cache(folder, "project", _code(), limits.PROJECTS_KEPT), f"{files.root}\0{target}"
    found = _kept(cache.load(key), files)
    if found is not None:
        return found
    recorded = _Recorded(files)
    loaded = _parse(recorded, target, environ)
    if not loaded.problems and not loaded.uses_environment:
        texts = recorded.texts
        cache.save(key, (_fingerprint(files, texts), tuple(sorted(texts)), encoded(loaded)))
    return loaded


def _parse(files: ProjectFiles, target: str | None, environ: Mapping[str, str]) -> LoadedProject:
    from lakesmith.project.loader import parse_project

    return parse_project(files, target, environ)


@dataclass
class _Recorded:
    """Files that record which of them were read, because the project depends on these."""

    files: ProjectFiles
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.files.root

    def table_paths(self) -> tuple[str, ...]:
        return self.files.table_paths()

    def exists(self, path: str) -> bool:
        return self.files.exists(path)

    def read(self, path: str) -> str:
        self.texts[path] = self.files.read(path)
        return self.texts[path]


def _kept(value: Any, files: ProjectFiles) -> LoadedProject | None:
    if value is None:
        return None
    fingerprint, names, loaded = value
    try:
        texts = {name: files.read(name) for name in names}
    except ProjectError:
        return None
    found = decoded(loaded, _KINDS) if fingerprint == _fingerprint(files, texts) else None
    return found if isinstance(found, LoadedProject) else None


def _fingerprint(files: ProjectFiles, texts: Mapping[str, str]) -> str:
    """Returns a hash of the project's files: which there are, and what they say."""
    parts = (files.table_paths(), sorted(texts.items()))
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _code() -> str:
    """Returns the state of the code that reads projects."""
    files = (file for folder in _CODE for file in sorted(folder.glob("*.py")))
    return str([(file.name, stat.st_mtime_ns, stat.st_size) for file in files if (stat := file.stat())])
