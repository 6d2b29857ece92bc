"""What a snapshot has: its data files, each with the deletes that hold for it.

A table may have tens of thousands of files, and the gateway to Java answers a few thousand calls a second. So the JVM is asked
for all of them at once, as texts, and for one by one only those that something is to be done with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final
from weakref import WeakKeyDictionary

from lakesmith.spark.iceberg.file_difference import DataFile
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
        """Whether the snapshot names a data file more than once, as it never should: its rows are there as often."""
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
        """The scan tasks of some data files."""
        return {location: self.task(location) for location in locations}


class _Getters:
    """Java functions that call a method of Iceberg's, to be used by Java alone: no call comes back here for each element."""

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
