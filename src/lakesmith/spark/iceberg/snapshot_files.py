"""The data files of a snapshot with their deletes, and the files whose rows differ between two snapshots.

A table may have tens of thousands of files, and the gateway to Java answers a few thousand calls a second. So
the JVM returns all of them at once as text; single ones are asked for only where something is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from weakref import WeakKeyDictionary

from lakesmith import limits
from lakesmith.spark.jvm.gateway import java_class

_END: Final = "\0"
"""Parts texts from each other: no path has it."""

_NONE: Final = "-"
"""Stands for what is not there."""

_KNOWN: Final[WeakKeyDictionary[Any, dict[tuple[str, str], Any]]] = WeakKeyDictionary()
"""By JVM the functions that were made: to find a method among all of its class takes a hundred calls."""


class SnapshotFiles:
    """The data files of a snapshot by location. ``snapshot`` None: there are none."""

    def __init__(self, table: Any, snapshot: int | None, jvm: Any) -> None:
        lists = jvm.com.google.common.collect.Lists
        self._transformed, self._tasks = lists.transform, lists.newArrayList()
        self._getter = _Getters(jvm)
        self._joiner = jvm.com.google.common.base.Joiner.on(_END).useForNull(_NONE)
        if snapshot is not None:
            planned = table.newScan().useSnapshot(snapshot).planFiles()
            try:
                self._tasks = lists.newArrayList(planned)
            finally:
                planned.close()
        self._data_files = self._transformed(self._tasks, self._getter("ContentScanTask", "file"))
        self._locations = self._texts(self._data_files, "ContentFile", "location")
        self._places = {location: place for place, location in enumerate(self._locations)}

    @property
    def has_doubles(self) -> bool:
        """Returns whether the snapshot names a data file twice: its rows count as often."""
        return len(self._places) < len(self._locations)

    @cached_property
    def files(self) -> Mapping[str, DataFile]:
        """What is known of each, in the order of the scan. Not asked for by who only wants tasks."""
        sizes, first_ids = (
            self._texts(self._data_files, "ContentFile", name) for name in ("fileSizeInBytes", "firstRowId")
        )
        facts = zip(sizes, first_ids, self._texts(self._tasks, "FileScanTask", "deletes"), strict=True)
        described = (DataFile(int(size), first != _NONE, deletes) for size, first, deletes in facts)
        return dict(zip(self._locations, described, strict=True))

    def _texts(self, described: Any, owner: str, name: str) -> list[str]:
        """What a method of Iceberg's says of each, as text."""
        if not described.size():
            return []
        return str(self._joiner.join(self._transformed(described, self._getter(owner, name)))).split(_END)

    def task(self, location: str) -> Any:
        """The FileScanTask of a data file: the whole file with its deletes."""
        return self._tasks.get(self._places[location])

    def tasks(self, locations: Iterable[str]) -> dict[str, Any]:
        return {location: self.task(location) for location in locations}


class _Getters:
    """Iceberg's getters as Java functions: no call crosses the gateway per element."""

    def __init__(self, jvm: Any) -> None:
        self._jvm, self._known = jvm, _KNOWN.setdefault(jvm, {})

    def __call__(self, owner: str, name: str) -> Any:
        if (owner, name) not in self._known:
            self._known[owner, name] = self._made(owner, name)
        return self._known[owner, name]

    def _made(self, owner: str, name: str) -> Any:
        invoke = self._jvm.java.lang.invoke
        function = java_class(self._jvm, "com.google.common.base.Function")
        methods = java_class(self._jvm, f"org.apache.iceberg.{owner}").getMethods()
        method = next(
            each
            for each in methods
            if str(each.getName()) == name and not each.getParameterCount() and not each.isBridge()
        )
        handle = invoke.MethodHandles.publicLookup().unreflect(method)
        return invoke.MethodHandleProxies.asInterfaceInstance(function, handle)


@dataclass(frozen=True, slots=True)
class DataFile:
    """What a snapshot says of one of its data files: its size, whether its rows have ids, and its ``deletes``
    in Iceberg's words (another text: other deletes)."""

    bytes: int
    has_ids: bool = True
    deletes: str = "[]"

    @property
    def is_masked_by_position(self) -> bool:
        """Whether all its deletes name positions, and none values."""
        return "content=equality_deletes" not in self.deletes


Files = Mapping[str, DataFile]
"""The data files of a snapshot by their locations."""


@dataclass(frozen=True)
class Differing:
    """The locations of data files that only the earlier snapshot has (``went``), or only the later one
    (``came``), or both, with other deletes (``masked``: by position before and after; ``rewritten``: not
    so)."""

    went: tuple[str, ...]
    came: tuple[str, ...]
    masked: tuple[str, ...]
    rewritten: tuple[str, ...]


def compare(then: Files, now: Files) -> Differing:
    """How the files of two snapshots differ."""
    changed = [file for file, was in then.items() if file in now and now[file].deletes != was.deletes]
    masked = {
        file for file in changed if then[file].is_masked_by_position and now[file].is_masked_by_position
    }
    return Differing(
        went=tuple(file for file in then if file not in now),
        came=tuple(file for file in now if file not in then),
        masked=tuple(file for file in changed if file in masked),
        rewritten=tuple(file for file in changed if file not in masked),
    )


def have_ids(differing: Differing, then: Files, now: Files) -> bool:
    """Returns whether each row has an id; files from before format version 3 may have none."""
    before = all(then[file].has_ids for file in (*differing.went, *differing.masked, *differing.rewritten))
    return before and all(now[file].has_ids for file in differing.came)


@dataclass(frozen=True, slots=True)
class Bound:
    """What looking at what changed may cost: the ``part`` of what a full refresh reads, which is the later
    snapshot and so many bytes of other inputs ``besides``."""

    part: float
    besides: int = 0


def too_dear(differing: Differing, then: Files, now: Files, bound: Bound) -> str | None:
    """Says that looking at what changed costs more than is within bounds; None: it does not."""
    both = (*differing.went, *differing.masked, *differing.rewritten)
    held = sum(then[file].bytes for file in both) + sum(now[file].bytes for file in differing.came)
    total = sum(file.bytes for file in now.values())
    opened = len(both) + len(differing.came) - len(differing.masked)
    opening = limits.OPENING_A_DATA_FILE_BYTES
    cost = held + opened * opening + len(differing.masked) * limits.COMPARING_DELETES_BYTES
    if cost <= bound.part * (total + len(now) * opening + bound.besides):
        return None
    touched = len(both) + len(differing.came)
    files = "1 file" if touched == 1 else f"{touched:,} files"
    return f"{files} with {held / 1e6:,.1f} MB, and all of it is in {len(now):,} with {total / 1e6:,.1f} MB"
