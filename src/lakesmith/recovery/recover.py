"""Makes the objects of a copy the tables of a catalog: rewrites the paths in metadata, and registers them.

No data file is read, copied or changed. Lists, manifests and delete files are replaced by ones in which only
paths differ (``execute.relocate``), from the leaves up. The metadata file is a new one. Killed in between,
the next call finds fewer paths to rewrite and fewer tables to register.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Final, TypeVar

from lakesmith.execute.faults import reach
from lakesmith.execute.relocate import (
    DELETED,
    Avro,
    Paths,
    deletes_here,
    entry_here,
    json_here,
    manifest_here,
)
from lakesmith.project.definitions import TableName
from lakesmith.recovery.objects import Warehouse
from lakesmith.recovery.states import Chosen
from lakesmith.sources.moved import MOVED, Moved
from lakesmith.sources.threads import map_in_threads

T = TypeVar("T")
U = TypeVar("U")
_POSITIONS: Final = 1


@dataclass
class Recovery:
    """Recovers tables of ``warehouse``. ``register`` enters a table's metadata file in the catalog."""

    warehouse: Warehouse
    paths: Paths
    register: Callable[[TableName, str], None]
    files: int = 0
    _done: set[str] = field(default_factory=set)

    def table(self, chosen: Chosen, moved: Moved = ()) -> None:
        """Recovers one table. ``moved``: where its landing files were, and are."""
        lists = [self.paths(chosen.state.snapshots[number].manifest_list) for number in sorted(chosen.whole)]
        if self.paths(chosen.state.location) != chosen.state.location:
            self._rewrite(lists)
        reach("recover-table", str(chosen.name))
        self.register(chosen.name, self._metadata(chosen, moved))

    def _rewrite(self, lists: list[str]) -> None:
        """Rewrites lists, and before them the manifests that they name."""
        contents = [Avro.of(content) for content in self.warehouse.read_all(lists)]
        records = [each for content in contents for each in content.records]
        kinds = {self.paths(each["manifest_path"]): each.get("content", 0) for each in records}
        new = [path for path in kinds if path not in self._done]
        self._done |= set(new)
        # Manifests have the sizes of delete files, and several may name the same one.
        with_deletes = [path for path in new if kinds[path]]
        deletes = {path: None for found in self._each(self._deletes_in, with_deletes) for path in found}
        self.files += sum(self._each(self._delete_file, deletes))
        self.files += sum(self._each(self._manifest, new))
        self.files += sum(self._each(self._list, zip(lists, contents, strict=True)))

    @staticmethod
    def _each(step: Callable[[T], U], over: Iterable[T]) -> list[U]:
        return map_in_threads(step, list(over), over_network=True)

    def _list(self, pair: tuple[str, Avro]) -> int:
        path, content = pair
        here = content.changed(lambda each: manifest_here(each, self.paths, self.warehouse.sizes.get))
        return self._replace(path, here)

    def _deletes_in(self, manifest: str) -> list[str]:
        files = (each["data_file"] for each in self._live(manifest))
        return [self.paths(file["file_path"]) for file in files if file.get("content", 0) == _POSITIONS]

    def _live(self, manifest: str) -> Iterator[dict[str, Any]]:
        records = Avro.of(self.warehouse.read(manifest)).records
        return (each for each in records if each["status"] != DELETED)

    def _delete_file(self, path: str) -> int:
        return self._replace(path, deletes_here(self.warehouse.read(path), self.paths))

    def _manifest(self, path: str) -> int:
        content = Avro.of(self.warehouse.read(path))
        here = content.changed(lambda each: entry_here(each, self.paths, self.warehouse.sizes.get))
        return self._replace(path, here)

    def _replace(self, path: str, content: bytes | None) -> int:
        """Returns how many files were written."""
        if content is None:
            return 0
        self.warehouse.write(path, content)
        return 1

    def _metadata(self, chosen: Chosen, moved: Moved) -> str:
        """Returns the metadata file to register: the one that is there if it is right as it is."""
        location = chosen.state.metadata_location
        data = _without(json_here(chosen.data, self.paths), chosen.whole, self.warehouse.sizes)
        if moved:
            properties = data.get("properties", {})
            known = json.loads(properties.get(MOVED, "[]"))
            data["properties"] = {**properties, MOVED: json.dumps(_chained(moved, known))}
        if data == chosen.data:
            return location
        now = max(time.time_ns() // 1_000_000, data["last-updated-ms"])
        entry = {"timestamp-ms": data["last-updated-ms"], "metadata-file": location}
        data |= {"metadata-log": [*data.get("metadata-log", ()), entry], "last-updated-ms": now}
        folder, _, name = location.rpartition("/")
        number = PurePosixPath(name).name.partition("-")[0]
        version = int(number) + 1 if number.isdigit() else 0
        path = f"{folder}/{version:05}-{uuid.uuid4()}.metadata.json"
        self.files += self._replace(path, json.dumps(data).encode())
        return path


def _chained(moved: Moved, known: list[list[str]]) -> list[list[str]]:
    """The pairs, and those of an earlier recovery by where their files are now."""
    again = [[here, earlier] for here, before in moved for there, earlier in known if there == before]
    return [*map(list, moved), *again, *known]


def _without(data: Any, whole: frozenset[int], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Returns metadata without the snapshots whose files are not there, and what refers to them."""
    log = list(data.get("snapshot-log", ()))
    gaps = [at for at, each in enumerate(log) if each["snapshot-id"] not in whole]
    found = {
        **data,
        "snapshots": [each for each in data.get("snapshots", ()) if each["snapshot-id"] in whole],
        # Iceberg's history has no gaps: what was before one is left out.
        "snapshot-log": log[gaps[-1] + 1 :] if gaps else log,
        "refs": {name: ref for name, ref in data.get("refs", {}).items() if ref["snapshot-id"] in whole},
    }
    for name, path in (("statistics", "statistics-path"), ("partition-statistics", "statistics-path")):
        if name in data:
            found[name] = [
                each for each in data[name] if each["snapshot-id"] in whole and each[path] in sizes
            ]
    absent = [key for key in ("snapshots", "snapshot-log", "refs") if key not in data]
    return {key: value for key, value in found.items() if key not in absent}
