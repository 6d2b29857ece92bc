"""Runs that are the same are done once: cases of a module that begin alike share their beginning.

A run depends on the project's files, its lake, its session's settings, and on what a test has patched. If a
run of the same module began with all of that the same, the lake that it left is put back in place of running
again: byte for byte, with the files' times. Nothing is kept from one module to the next.

A run is not shared if anything else decides it: a fault that is arranged, a patch of more than ``limits``, a
source that is no folder of the project, a table of others, a disk of its own for the lake.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import pytest

from lakesmith import limits
from lakesmith.execute import faults
from lakesmith.project.definitions import FileSource, Project

if TYPE_CHECKING:
    from harness import Harness, RunResult

STATE: Final = ".lakesmith"
_PASSING: Final = ("logs", "cache", "locks")
"""Folders in the state folder whose content decides nothing."""
_CATALOG: Final = "catalog.db"
_LARGE_BYTES: Final = 5_000_000
"""Runs on larger files are done again: to compare and copy these takes as long."""
_patches: WeakSet[pytest.MonkeyPatch] = WeakSet()


def watch_patches() -> None:
    """Has each ``MonkeyPatch`` known here from now on."""
    plain = pytest.MonkeyPatch.__init__

    def init(self: pytest.MonkeyPatch, *args: Any, **named: Any) -> None:
        plain(self, *args, **named)
        _patches.add(self)

    pytest.MonkeyPatch.__init__ = init  # type: ignore[method-assign]


@dataclass(frozen=True)
class Kept:
    """A project as a run left it: copies of the state folder and of the other files, and the result."""

    folder: Path
    rest: frozenset[str]
    result: RunResult


class Prefixes:
    """The runs of the present module. ``asked`` and ``found`` count them."""

    def __init__(self) -> None:
        self._kept: dict[str, Kept] = {}
        self._place: Path | None = None
        self._module, self._folder = Path(), Path()
        self.asked = self.found = 0

    def folder_of(self, module: Path, factory: pytest.TempPathFactory) -> Path:
        """Returns the folder that the cases of a module have one after the other, empty. With another module
        all runs are forgotten."""
        if module != self._module:
            self.forget()
            self._module, self._folder = module, factory.mktemp("case")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        return self._folder

    def forget(self) -> None:
        """Forgets all runs, and removes their copies."""
        self._kept.clear()
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
            self._place = None

    def find(self, key: str, shop: Harness) -> RunResult | None:
        """Puts back what the same run left; None: there was none."""
        self.asked += 1
        kept = self._kept.get(key)
        if kept is None:
            return None
        self.found += 1
        state = shop.root / STATE
        for path in state.iterdir():
            if path.name.startswith(_CATALOG) or path.name in _PASSING:
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(kept.folder / STATE, state, ignore=_without_catalog, dirs_exist_ok=True)
        copy_catalog(kept.folder / STATE / _CATALOG, state / _CATALOG)
        for name, path in list(_files(shop.root)):
            if not _is_state(name) and name not in kept.rest:
                path.unlink()
        for name in kept.rest:
            _put(kept.folder / name, shop.root / name)
        return kept.result

    def keep(self, key: str, shop: Harness, result: RunResult) -> None:
        if self._place is None:
            self._place = Path(tempfile.mkdtemp(prefix="lakesmith-runs-"))
        folder, state = self._place / key, shop.root / STATE
        shutil.copytree(state, folder / STATE, ignore=_without_catalog)
        copy_catalog(state / _CATALOG, folder / STATE / _CATALOG)
        rest = {name: path for name, path in _files(shop.root) if not _is_state(name)}
        for name, path in rest.items():
            _put(path, folder / name)
        self._kept[key] = Kept(folder, frozenset(rest), result)


PREFIXES: Final = Prefixes()
atexit.register(PREFIXES.forget)


def key_of(shop: Harness, project: Project, *asked: object) -> str | None:
    """Returns what a run is known by; None: it depends on more than can be seen here."""
    if faults._in_process or any(map(_is_more, _patches)) or not all(map(_is_alone, project.tables)):
        return None
    if any(os.path.ismount(shop.root / name) for name in (STATE, f"{STATE}/warehouse")):
        return None
    key = hashlib.sha256(repr((str(shop.root), shop.target, shop.compiled, shop.approves, asked)).encode())
    known = sorted((name, value) for name, value in vars(limits).items() if name.isupper())
    key.update(repr(known).encode())
    settings = shop.spark._jsparkSession.sessionState().conf().settings().toString()
    key.update(repr(sorted(settings[1:-1].split(", "))).encode())
    for name, path in _files(shop.root):
        stat = path.stat()
        if stat.st_size > _LARGE_BYTES:
            return None
        # Only times that a test has set decide anything.
        is_set = _is_state(name) or abs(stat.st_mtime_ns - stat.st_ctime_ns) > 1_000_000_000
        key.update(repr((name, stat.st_size, stat.st_mtime_ns if is_set else 0, stat.st_mode)).encode())
        if not name.startswith(f"{STATE}/warehouse/"):
            key.update(path.read_bytes())
    with closing(sqlite3.connect(shop.root / STATE / _CATALOG)) as catalog:
        for (table,) in catalog.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1"):
            rows = catalog.execute(f"SELECT * FROM {table}").fetchall()
            key.update(repr((table, sorted(map(repr, rows)))).encode())
    return key.hexdigest()


def _is_more(patch: pytest.MonkeyPatch) -> bool:
    """Whether something else than a limit is patched; pytest patches its own configuration."""
    return bool(patch._setitem or patch._savesyspath or patch._cwd) or any(
        target is not limits and not isinstance(target, pytest.Config) for target, _, _ in patch._setattr
    )


def _is_alone(table: Any) -> bool:
    """Whether the table's rows come from files of the project alone."""
    sources = [not isinstance(each, FileSource) or each.is_in_store or Path(each.path).is_absolute()
               or ".." in Path(each.path).parts for each in table.sources]  # fmt: skip
    return table.external is None and not any(sources)


def _is_state(name: str) -> bool:
    return name.startswith(f"{STATE}/")


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """The files that decide something, sorted, by their names in the project."""
    passing = {f"{STATE}/{name}" for name in _PASSING}
    for folder, names, files in os.walk(root):
        below = Path(folder).relative_to(root).as_posix()
        names[:] = sorted(name for name in names if f"{below}/{name}" not in passing)
        for name in sorted(files):
            full = name if below == "." else f"{below}/{name}"
            if not full.startswith(f"{STATE}/{_CATALOG}"):
                yield full, Path(folder) / name


def _put(path: Path, to: Path) -> None:
    """Copies a file with its time; one of the same content stays, with another time."""
    if to.is_file() and to.read_bytes() == path.read_bytes():
        time = path.stat().st_mtime_ns
        os.utime(to, ns=(time, time))
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, to)


def _without_catalog(folder: str, names: list[str]) -> list[str]:
    at_top = Path(folder).name == STATE
    return [name for name in names if at_top and (name.startswith(_CATALOG) or name in _PASSING)]


def copy_catalog(path: Path, to: Path) -> None:
    """Copies a catalog into the file that is there, which a session may have open."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
