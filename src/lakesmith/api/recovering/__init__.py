"""Recovers a lake from the copies of its buckets, or enters its tables again in a catalog that was lost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.results import Change, Heads, heads_of
from lakesmith.catalog.family import SIDECARS, sidecar_of
from lakesmith.catalog.progress import most_live_rows
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.errors import EnvironmentProblem, ProjectError, StateError
from lakesmith.execute.lost_lake import RECOVERED
from lakesmith.execute.opened import Opened
from lakesmith.execute.relocate import Paths
from lakesmith.project.definitions import (
    OBJECT_SCHEME,
    Project,
    Source,
    TableDefinition,
    TableName,
    is_object,
)
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project
from lakesmith.recovery.objects import Warehouse
from lakesmith.recovery.recover import Recovery
from lakesmith.recovery.states import Chosen, Found, choose
from lakesmith.recovery.versions import replicas_of
from lakesmith.sources.moved import Moved
from lakesmith.sources.objects import bucket_and_key, client_of


@dataclass(frozen=True, slots=True)
class RecoveredTable:
    """A table of which a whole state is in the copy.

    Attributes:
        batch: the newest batch of that state; None if it has none.
        published_ms: when the state was published, in milliseconds since the epoch.
        lost_batches: how many later batches are known whose files are not all there.
        dropped_snapshots: older snapshots that lack files, and are left out.
    """

    table: TableName
    batch: int | None
    published_ms: int
    rows: int | None
    lost_batches: int
    dropped_snapshots: int
    metadata: str

    def to_dict(self) -> dict[str, Any]:
        published = datetime.fromtimestamp(self.published_ms / 1000, UTC).isoformat()
        names = ("batch", "rows", "lost_batches", "dropped_snapshots", "metadata")
        return {"table": str(self.table), "published": published, **{it: getattr(self, it) for it in names}}


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a recovery would do, or has done.

    Attributes:
        source: the target whose lake it is; the target itself if its catalog was lost.
        warehouse: where the files are.
        there: tables that the catalog has already.
        absent: tables without files in the copy: the next run builds them.
        broken: tables of which no state is whole, with a file that is missing.
        files: how many metadata files were written.
        seconds: how long the recovery took; None if it was only prepared.
    """

    source: str
    warehouse: str
    tables: tuple[RecoveredTable, ...]
    there: tuple[TableName, ...] = ()
    absent: tuple[TableName, ...] = ()
    broken: tuple[tuple[TableName, str], ...] = ()
    files: int = 0
    seconds: float | None = None

    @property
    def point_ms(self) -> int | None:
        """The recovery point, in milliseconds since the epoch: all that is known to be published until then
        is recovered. None if no table is."""
        lacking = [each.published_ms for each in self.tables if each.lost_batches]
        every = [each.published_ms for each in self.tables]
        return min(lacking) if lacking else max(every, default=None)

    def to_dict(self) -> dict[str, Any]:
        point = self.point_ms
        at = None if point is None else datetime.fromtimestamp(point / 1000, UTC).isoformat()
        return {
            "from": self.source,
            "warehouse": self.warehouse,
            "recovery_point": at,
            "tables": [each.to_dict() for each in self.tables],
            "there": list(map(str, self.there)),
            "absent": list(map(str, self.absent)),
            "broken": {str(name): lost for name, lost in self.broken},
            "files": self.files,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class _Plan:
    opened: Opened
    catalog: RemoteCatalog
    lost: Project
    warehouse: Warehouse
    paths: Paths
    found: Found
    there: tuple[TableName, ...]

    @property
    def own(self) -> Iterator[TableDefinition]:
        return (table for table in self.opened.project.tables if table.external is None)

    def preview(self) -> Recovered:
        tables = tuple(_described(each) for name, each in self.found.chosen.items() if self._is_own(name))
        known = {*self.there, *self.found.chosen, *self.found.broken}
        return Recovered(
            self.lost.target.name,
            self.warehouse.path,
            tables,
            self.there,
            tuple(table.name for table in self.own if table.name not in known),
            tuple((name, lost) for name, lost in self.found.broken.items() if self._is_own(name)),
        )

    def _is_own(self, name: TableName) -> bool:
        return any(table.name == name for table in self.own)


def recover(access: Access, on_event: Callable[[str], None]) -> Change[Recovered, Recovered]:
    plan = _plan(access, on_event)
    opened, preview = plan.opened, plan.preview()
    names = [each.table for each in preview.tables]
    change = Change(
        preview,
        _heads(plan, names),
        lambda: access.alone(opened, "recover"),
        lambda: _heads(plan, names),
        lambda _: _recover(plan, on_event),
    )
    return access.noted(change, opened.project, "recover", f"recover from {preview.source}", names)


def _heads(plan: _Plan, names: list[TableName]) -> Heads:
    return heads_of(plan.catalog, names)


def _plan(access: Access, on_event: Callable[[str], None]) -> _Plan:
    opened = access.opened()
    project, catalog = opened.project, opened.lake.catalog
    if not isinstance(catalog, RemoteCatalog) or not is_object(_warehouse_of(project)):
        raise EnvironmentProblem.of(
            "LS348",
            f"target {project.target.name} cannot be recovered this way",
            project.target.place,
            "a catalog of type glue, rest or jdbc whose `warehouse` is in S3",
            project.target.type,
            "'lakesmith register' finds the tables of an embedded lake; S3 Tables recovers its own",
        )
    lost = _lost(opened, project)
    warehouse = Warehouse.listed(_warehouse_of(project), project.target.store)
    origin = _warehouse_of(lost).rstrip("/")
    if origin != warehouse.path:
        _require_cut_off(project, origin, warehouse.path)
    paths = Paths(warehouse.path, frozenset({origin}))
    own = [table.name for table in project.tables if table.external is None]
    there = tuple(name for name in own if catalog.table(name.layer, name.name) is not None)
    wanted = [name for name in own if name not in there]
    found = choose(warehouse, paths, wanted, lost.target.naming, on_event)
    return _Plan(opened, catalog, lost, warehouse, paths, found, there)


def _lost(opened: Opened, project: Project) -> Project:
    """The project on the target that was lost."""
    name = project.target.recover_from
    if name is None:
        return project
    loaded = parse_project(FolderFiles(opened.project.root), name)
    if loaded.problems:
        raise ProjectError(loaded.problems)
    return loaded.project


def _warehouse_of(project: Project) -> str:
    return dict(project.target.catalog).get("warehouse", "")


def _require_cut_off(project: Project, origin: str, here: str) -> None:
    """Raises StateError LS528 while S3 still copies the lost bucket here: what is deleted there would be
    deleted in the recovered lake."""
    source, copy = (bucket_and_key(path)[0] for path in (origin, here))
    try:
        replicas = replicas_of(client_of(project.target.store), source)
    except Exception:  # noqa: BLE001 - a bucket that does not answer copies nothing
        return
    if replicas.get(copy):
        raise StateError.of(
            "LS528",
            f"S3 still copies {OBJECT_SCHEME}{source} to {OBJECT_SCHEME}{copy}, so it is not used",
            project.target.place,
            "a copy that nothing else writes to: a lake would lose files that the other one deletes",
            "an enabled replication rule",
            "disable the rule first, or try recovery on a copy of the copy",
        )


def _described(chosen: Chosen) -> RecoveredTable:
    state, head = chosen.state, chosen.state.head
    record = chosen.record
    return RecoveredTable(
        chosen.name,
        record.batch if record else None,
        head.committed_ms if head else chosen.version.updated_ms,
        most_live_rows(head) if head else 0,
        chosen.lost_batches,
        len(state.snapshots) - len(chosen.whole),
        state.metadata_location,
    )


def _recover(plan: _Plan, on_event: Callable[[str], None]) -> Recovered:
    begun, marker = time.monotonic(), f"{plan.warehouse.path}/{RECOVERED}"
    plan.warehouse.write(marker, b"")
    recovery = Recovery(plan.warehouse, plan.paths, plan.catalog.register)
    for table in plan.own:
        # A table without its sidecars would be read wrongly: they come first, and a killed recovery goes on.
        for name in (*(sidecar_of(table.name, kind) for kind in SIDECARS), table.name):
            chosen = plan.found.chosen.get(name)
            if chosen is None or plan.catalog.table(name.layer, name.name) is not None:
                continue
            recovery.table(chosen, _moved(plan, table) if name == table.name else ())
            on_event(f"{name}: recovered")
    preview = plan.preview()
    said = json.dumps({**preview.to_dict(), "at": datetime.now(UTC).isoformat(timespec="seconds")})
    plan.warehouse.write(marker, said.encode())
    return replace(preview, files=recovery.files, seconds=round(time.monotonic() - begun, 3))


def _moved(plan: _Plan, table: TableDefinition) -> Moved:
    """Where the landing files of a table are now and were, if they are elsewhere."""
    if not any(each.name == table.name for each in plan.lost.tables):
        return ()
    before: Mapping[str, Source] = {each.name: each for each in plan.lost.table(table.name).sources}
    pairs = [
        (_folder(source.path), _folder(before[source.name].path))
        for source in table.sources
        if source.has_files and source.name in before
    ]
    return tuple(pair for pair in pairs if pair[0] != pair[1])


def _folder(path: str) -> str:
    return f"{path.rstrip('/')}/"
