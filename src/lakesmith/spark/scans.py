"""What a snapshot has: its data files, each with the deletes that hold for it.

A table may have tens of thousands of files, and the gateway to Java answers a few thousand calls a second. So the JVM is asked
for all of them at once, as texts, and for one by one only those that something is to be done with.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from lakesmith.spark.differing import DataFile
from lakesmith.spark.gateway import java_class

_END: Final = "\0"
"""Parts texts from each other: no path has it."""

_NONE: Final = "-"


class Scan:
    """The data files of a snapshot by location. ``snapshot`` None: there are none."""

    def __init__(self, table: Any, snapshot: int | None, jvm: Any) -> None:
        self._tasks: Any = None
        self._places: dict[str, int] = {}
        self.files: dict[str, DataFile] = {}
        """In the order of the scan."""
        if snapshot is not None:
            self._read(table, snapshot, jvm)

    def _read(self, table: Any, snapshot: int, jvm: Any) -> None:
        planned = table.newScan().useSnapshot(snapshot).planFiles()
        lists = jvm.com.google.common.collect.Lists
        try:
            self._tasks = lists.newArrayList(planned)
        finally:
            planned.close()
        if not self._tasks.size():
            return
        getter, joiner = _Getters(jvm), jvm.com.google.common.base.Joiner.on(_END).useForNull(_NONE)
        files = lists.transform(self._tasks, getter("ContentScanTask", "file"))

        def of_files(name: str) -> list[str]:
            return str(joiner.join(lists.transform(files, getter("ContentFile", name)))).split(_END)

        locations = of_files("location")
        deletes = str(joiner.join(lists.transform(self._tasks, getter("FileScanTask", "deletes")))).split(
            _END
        )
        facts = zip(of_files("fileSizeInBytes"), of_files("firstRowId"), deletes, strict=True)
        described = (DataFile(int(size), first != _NONE, text) for size, first, text in facts)
        self.files = dict(zip(locations, described, strict=True))
        self._places = {location: place for place, location in enumerate(locations)}

    def task(self, location: str) -> Any:
        """The FileScanTask of a data file: the whole file with its deletes."""
        return self._tasks.get(self._places[location])

    def tasks(self, locations: Iterable[str]) -> dict[str, Any]:
        """The scan tasks of some data files."""
        return {location: self.task(location) for location in locations}


class _Getters:
    """Java functions that call a method of Iceberg's, to be used by Java alone: no call comes back here for each element."""

    def __init__(self, jvm: Any) -> None:
        invoke = jvm.java.lang.invoke
        self._proxies, self._lookup = invoke.MethodHandleProxies, invoke.MethodHandles.publicLookup()
        self._jvm, self._function = jvm, java_class(jvm, "com.google.common.base.Function")

    def __call__(self, owner: str, name: str) -> Any:
        methods = java_class(self._jvm, f"org.apache.iceberg.{owner}").getMethods()
        method = next(
            each
            for each in methods
            if str(each.getName()) == name and not each.getParameterCount() and not each.isBridge()
        )
        return self._proxies.asInterfaceInstance(self._function, self._lookup.unreflect(method))
