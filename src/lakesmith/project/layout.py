"""The files of each table, ``tables/<layer>/**/NAME.yaml``, ``.sql``, ``.py`` and ``_defaults.yaml``, and
their settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from lakesmith.errors import Place, Problem
from lakesmith.project.definitions import TableName
from lakesmith.project.files import TABLES, ProjectFiles

if TYPE_CHECKING:
    from lakesmith.project.written import Found, Level

DEFAULTS = "_defaults.yaml"
_SUFFIXES = (".yaml", ".sql", ".py")
_ALMOST = {".yml": ".yaml"}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_LONGEST = 200
"""Most characters of a layer and a table together. Folders of quarantines and ledgers contain both names, and
file systems allow 255."""
RESERVED_LAYER = "lakesmith"
"""The namespace in which a table's own helpers live."""


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The paths of the files of one table. At least one of them exists."""

    name: TableName
    yaml: str | None = None
    sql: str | None = None
    py: str | None = None

    @property
    def main(self) -> str:
        """The main file of the table: its YAML, or else its query."""
        return self.yaml or self.sql or self.py or ""


@dataclass(frozen=True, slots=True)
class Layout:
    """The files below ``tables/`` by their role. ``defaults``: paths of ``_defaults.yaml`` files, outermost
    first."""

    tables: tuple[TableFiles, ...]
    defaults: tuple[str, ...]
    problems: tuple[Problem, ...]

    def defaults_for(self, table: TableFiles) -> tuple[str, ...]:
        """Returns the ``_defaults.yaml`` files above a table, outermost first."""
        folders = {str(folder) for folder in PurePosixPath(table.main).parents}
        return tuple(path for path in self.defaults if str(PurePosixPath(path).parent) in folders)


@dataclass
class _Sorting:
    stems: dict[PurePosixPath, dict[str, str]] = field(default_factory=dict)
    defaults: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def layout(paths: Iterable[str]) -> Layout:
    """Sorts the paths below ``tables/``. Problems: LS110 a misplaced file, LS111 two tables with one name."""
    sorting = _Sorting()
    for path in sorted(paths):
        _sort(PurePosixPath(path), sorting)
    tables = [_table(stem, files) for stem, files in sorted(sorting.stems.items())]
    defaults = sorted(sorting.defaults, key=lambda path: (path.count("/"), path))
    problems = (*sorting.problems, *_twice(tables))
    return Layout(tuple(sorted(tables, key=lambda table: table.name)), tuple(defaults), problems)


def _sort(path: PurePosixPath, sorting: _Sorting) -> None:
    if path.name == DEFAULTS:
        sorting.defaults.append(str(path))
        return
    problem = _misplaced(path)
    if problem is not None:
        sorting.problems.append(problem)
    elif path.suffix in _SUFFIXES and path.name != "__init__.py":
        sorting.stems.setdefault(path.with_suffix(""), {})[path.suffix] = str(path)


def _misplaced(path: PurePosixPath) -> Problem | None:
    place = Place(str(path))
    if path.suffix in _ALMOST:
        right = path.with_suffix(_ALMOST[path.suffix]).name
        return Problem(
            "LS110", f"{path.name} would not be read", place, right, path.name, f"rename it to {right}"
        )
    if path.suffix not in _SUFFIXES or path.name == "__init__.py":
        return None
    parts = path.parts[1:]
    if len(parts) < 2:
        expected = f"{TABLES}/<layer>/{path.name}"
        return Problem("LS110", "a table lies in the folder of its layer", place, expected, str(path))
    wrong = next((name for name in (parts[0], path.stem) if not _NAME.fullmatch(name)), None)
    if wrong is not None:
        expected = "lower-case letters, digits and _, a letter first"
        return Problem("LS110", f"a table cannot be called {parts[0]}.{path.stem}", place, expected, wrong)
    if len(parts[0]) + len(path.stem) > _LONGEST:
        what = f"the name of the table {path.stem[:40]}… is too long"
        found = f"{len(parts[0]) + len(path.stem)} characters"
        return Problem("LS110", what, place, f"at most {_LONGEST} characters, its layer's included", found)
    if parts[0] == RESERVED_LAYER:
        return Problem("LS110", f"the layer {RESERVED_LAYER!r} is lakesmith's own", place, "another folder")
    return None


def _table(stem: PurePosixPath, files: dict[str, str]) -> TableFiles:
    name = TableName(stem.parts[1], stem.name)
    return TableFiles(name, files.get(".yaml"), files.get(".sql"), files.get(".py"))


def _twice(tables: list[TableFiles]) -> Iterable[Problem]:
    first: dict[str, TableFiles] = {}
    for table in tables:
        other = first.setdefault(f"{table.name.layer}__{table.name.name}", table)
        if other.name != table.name:
            what = f"{table.name} and {other.name} would share their quarantines and tombstones"
            yield Problem("LS111", what, Place(table.main), "another name", hint="rename one of them")
        elif other is not table:
            what = f"there are two tables {table.name}"
            hint = "deeper folders only group: rename one of them"
            yield Problem("LS111", what, Place(table.main), "one", f"also {other.main}", hint)
        if table.sql and table.py:
            what = f"{table.name} has two queries"
            yield Problem(
                "LS111", what, Place(table.sql), "one query", f"also {table.py}", "remove one of them"
            )


@dataclass(frozen=True, slots=True)
class Draft:
    """A table whose files were read.

    ``defaults``: the levels above it, nearest first. Without ``complete``, one of them could not be read.
    """

    files: TableFiles
    own: Level
    defaults: tuple[Level, ...]
    complete: bool = True

    @property
    def settings(self) -> Any:
        """The settings in the table's own YAML."""
        return self.own.model

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels in which a shared setting is looked up, nearest first."""
        return (self.own, *self.defaults)

    @property
    def place(self) -> Place:
        return Place(self.files.main, 1)


@dataclass(frozen=True, slots=True)
class DraftReader:
    """Reads settings of one draft. ``problems`` collects what is wrong."""

    draft: Draft
    files: ProjectFiles
    problems: list[Problem]

    def find(self, name: str) -> Found | None:
        """Returns a setting of the table, or the nearest defaults that have it."""
        # Imported here: an idle command reads the names of this module, and no YAML.
        from lakesmith.project.written import find

        return find(self.draft.levels, name)

    def value(self, name: str, default: Any) -> Any:
        """Returns the value of a setting, or the default."""
        setting = self.find(name)
        return default if setting is None else setting.value

    def problem(self, code: str, what: str, place: Place, **parts: str | None) -> None:
        self.problems.append(Problem(code, what, place, **parts))

    def names(self, name: str) -> tuple[str, ...]:
        """Returns the columns that a setting names, each once."""
        setting = self.find(name)
        if setting is None:
            return ()
        columns: list[str] = setting.value
        if not columns:
            self.problem("LS105", f"{name} is empty", setting.place, expected="at least one column")
        for index, column in enumerate(columns):
            if column.lower() in map(str.lower, columns[:index]):
                self.problem("LS105", f"{name} has {column!r} twice", setting.item_place(index))
        return tuple(columns)

    @property
    def is_sourced(self) -> bool:
        return self.draft.settings.source is not None
