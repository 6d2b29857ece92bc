"""What every call begins with: the project, its graph and its lake, as they are now."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lakesmith.cache import Kept
from lakesmith.errors import Problem, ProjectError, UsageError, listed
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import SETTLED_NS, Lake
from lakesmith.graph.graph import Graph, load, load_project, select
from lakesmith.project.definitions import Project, TableName
from lakesmith.project.files import FolderFiles


@dataclass(frozen=True)
class Opened:
    """A project that was read without a problem. ``version``: what its files are known by, if it is kept;
    ``broken``: what is wrong with them, if it is the project as it was before."""

    project: Project
    graph: Graph
    lake: Lake
    version: str = ""
    broken: tuple[Problem, ...] = ()

    def names(self, patterns: Sequence[str]) -> tuple[TableName, ...]:
        """Returns the selected tables in the graph's order, all without a pattern. Raises UsageError."""
        return tuple(select(self.graph, patterns)) if patterns else self.graph.order

    def one(self, text: str) -> TableName:
        """Returns the table that ``text`` names. Raises UsageError LS201, LS205."""
        found = select(self.graph, [text])
        if len(found) == 1:
            return found[0]
        names = listed(map(str, found))
        raise UsageError.of("LS205", f"{text} is more than one table", None, "one table", names)

    def one_of_ours(self, text: str) -> TableName:
        """As ``one``. Raises UsageError LS221 for a table of others, which is only read."""
        name = self.one(text)
        definition = self.graph.node(name).definition
        if definition.external is not None:
            what = f"{name} is a table of others: it is read, and left as it is"
            raise UsageError.of("LS221", what, definition.place, "a table of this project")
        return name

    def decider(
        self, full: Sequence[TableName] = (), warm: bool = False, approved: Sequence[TableName] = ()
    ) -> Decider:
        """Decides on this project's tables. ``warm``: for a session that has worked already, and stays."""
        return Decider(self.graph, self.lake, frozenset(full), frozenset(approved), warm=warm)

    def to_run(
        self,
        select: Sequence[str],
        full_refresh: Sequence[str],
        warm: bool = False,
        approve: Sequence[str] = (),
    ) -> tuple[tuple[TableName, ...], Decider]:
        """Returns the tables of a run and their decider: the selected ones, else all, or those of
        ``full_refresh`` with their readers. ``approve``: tables that may lose something. Raises UsageError
        LS220."""
        full = self.names(full_refresh) if full_refresh else ()
        for name in full:
            self._require_derived(name)
        names = self.names((*select, *full_refresh) if select else ())
        if full and not select:
            names = tuple(
                name
                for name in self.graph.order
                if name in full or any(up in full for up in self.graph.upstream(name))
            )
        return names, self.decider(full, warm, self.names(approve) if approve else ())

    def _require_derived(self, name: TableName) -> None:
        definition = self.graph.node(name).definition
        if definition.external is not None:
            what = f"{name} cannot be rebuilt: it is a table of others"
            raise UsageError.of("LS220", what, definition.place, "a derived table", "a table of others")
        if definition.is_sourced:
            of_topic = definition.has_topics
            origin = "records of a topic, and they" if of_topic else "files, and files"
            again = f"to take files again, forget them: lakesmith files {name} --forget FILE"
            afresh = f"lakesmith drop {name} has the next run take what the topic still has"
            raise UsageError.of(
                "LS220",
                f"{name} cannot be rebuilt: its rows came from {origin} may be gone by now",
                place=definition.place,
                expected="a derived table",
                found="a table with a source",
                hint=afresh if of_topic else again,
            )


_MOST_LINES: Final = 30_000
"""Snapshots of tables and lines of ledgers that stay in memory, at most some 4 KB each."""


@dataclass(frozen=True)
class _Noted(FolderFiles):
    """Files that note which of them were asked for."""

    asked: set[str] = field(default_factory=set)

    def exists(self, path: str) -> bool:
        self.asked.add(path)
        return super().exists(path)

    def read(self, path: str) -> str:
        self.asked.add(path)
        return super().read(path)


@dataclass(frozen=True)
class _Read:
    """A project as it was read, or what is wrong with it. ``names``: the files that decided it; ``seen``:
    what they were known by, None if one may have changed meanwhile; ``kept``: what was read of its lake."""

    names: tuple[str, ...]
    seen: object
    version: str
    found: tuple[Project, Graph] | ProjectError
    kept: Kept


class KeptProject:
    """Reads a project again only once one of its files is another one, for a process that reads it often.

    Files are known by their times, sizes and inodes. Threads may share it.
    """

    def __init__(self, root: Path, target: str | None) -> None:
        self._root, self._target = root.resolve(), target
        self._read: _Read | None = None
        self._good: _Read | None = None
        self.broken: Project | None = None
        """What could be read of the project when it was found broken: how its page is served, its secrets."""

    def opened(self) -> Opened:
        """Returns the project and a new look at its lake. Raises ProjectError with every problem found."""
        read = self._read
        if read is None or read.seen != self._seen(FolderFiles(self._root).table_paths(), read.names):
            self._read = read = self._read_again()
        if isinstance(read.found, ProjectError):
            raise read.found.with_traceback(None)
        self._good = read
        project, graph = read.found
        return Opened(project, graph, Lake.open(project, read.kept), read.version)

    def opened_or_before(self) -> Opened:
        """As ``opened``; of a project that was broken since it was read, what it was before."""
        try:
            return self.opened()
        except ProjectError as error:
            read, good = self._read, self._good
            if read is None or good is None or isinstance(good.found, ProjectError):
                raise
            project, graph = good.found
            return Opened(project, graph, Lake.open(project, good.kept), read.version, error.problems)

    def _read_again(self) -> _Read:
        files, settled_ns = _Noted(self._root), time.time_ns() - SETTLED_NS
        paths = files.table_paths()
        found: tuple[Project, Graph] | ProjectError
        try:
            found = load(self._root, self._target, files=files)
        except ProjectError as error:
            found = error
            self.broken = load_project(self._root, self._target, files=files).project
        names = tuple(sorted(files.asked))
        seen = self._seen(paths, names)
        # A file that may have changed while it was read is read again the next time.
        is_settled = all(each is None or each[0] < settled_ns for each in seen[1:])
        version = hashlib.sha256(repr(seen).encode()).hexdigest()
        return _Read(names, seen if is_settled else None, version, found, Kept(_MOST_LINES))

    def _seen(self, paths: tuple[str, ...], names: Sequence[str]) -> tuple[Any, ...]:
        return paths, *(_as_it_is(f"{self._root}/{name}") for name in names)


def _as_it_is(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - of hundreds of files, for each view of a page
    except OSError:
        return None
    return found.st_ctime_ns, found.st_mtime_ns, found.st_size, found.st_ino


def read_project(root: Path, target: str | None) -> Opened:
    """Reads the project. Raises ProjectError with every problem found."""
    project, graph = load(root.resolve(), target)
    return Opened(project, graph, Lake.open(project))
