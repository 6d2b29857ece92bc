"""Why no table is built on a shared catalog: the lake that was there is to be recovered first.

A lake was lost with its catalog if the catalog has none of the project's tables, and the warehouse in S3 has
files of a published one. A run would begin a new lake over it, and ingest every landing file again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from lakesmith.catalog.family import PROJECT
from lakesmith.catalog.lost import is_published
from lakesmith.catalog.metadata import json_of, parse_metadata
from lakesmith.catalog.protocol import Catalog
from lakesmith.errors import Problem
from lakesmith.project.definitions import OBJECT_SCHEME, ObjectStore, Project, TableName, is_object
from lakesmith.sources.objects import bucket_and_key, client_of

RECOVERED: Final = "lakesmith-recovered.json"
"""The object in a warehouse that says what was recovered in it. It is empty until the recovery has ended."""


def not_recovered(project: Project, catalog: Catalog) -> Problem | None:
    """Returns LS529 if a recovery is declared or was begun and has not ended, LS512 if the catalog lost the
    lake; None if tables may be built. Raises what S3 says of a warehouse that is to be recovered."""
    target = project.target
    warehouse = dict(target.catalog).get("warehouse", "").rstrip("/")
    if not is_object(warehouse):
        return None
    own = [table.name for table in project.tables if table.external is None]
    is_empty = not any(name.name in catalog.names(name.layer) for name in own)
    try:
        return _not_recovered(project, warehouse, own if is_empty else ())
    except Exception:
        # These credentials may not look. What a run needs of S3, Spark will say.
        if target.recover_from is None:
            return None
        raise


def _not_recovered(project: Project, warehouse: str, may_be_lost: Iterable[TableName]) -> Problem | None:
    target, marker = project.target, f"{warehouse}/{RECOVERED}"
    store, source = target.store, target.recover_from
    hint = f"lakesmith recover --target {target.name}"
    done = _read(store, marker) if any(_keys(store, marker)) else None
    said = json.loads(done) if done else {}
    # A copy of a lake that was recovered itself has the object of that recovery.
    if done == b"" or (source is not None and said.get("from") != source):
        what = f"no table is built: the lake of target {source or target.name} is not recovered here yet"
        found = f"no recovery of it in {marker}" if done != b"" else "a recovery that has not ended"
        return Problem("LS529", what, target.place, "a recovered lake", found, hint)
    wanted = [name for name in may_be_lost if str(name) not in said.get("broken", ())]
    lost = next(_published(project, warehouse, wanted), None)
    if lost is None:
        return None
    return Problem(
        "LS512",
        "no table is built: the catalog knows none of the project's tables, and their files are there",
        target.place,
        expected=f"tables in the catalog, or none in {warehouse}",
        found=f"{lost[0]} in {lost[1]}, without an entry in the catalog",
        hint=f"'{hint}' enters them again as they were, and runs go on from there; or delete"
        " their files, and the next run builds all tables",
    )


def _published(
    project: Project, warehouse: str, names: Iterable[TableName]
) -> Iterator[tuple[TableName, str]]:
    """Yields tables that the project has published below the warehouse, with their folders."""
    store, naming = project.target.store, project.target.naming
    own = {naming.physical(name): name for name in names}
    bucket, _ = bucket_and_key(warehouse)
    for space in sorted({space for space, _ in own}):
        for ending in ("", ".db"):
            for key in _keys(store, f"{warehouse}/{space}{ending}/", Delimiter="/"):
                name, folder = own.get((space, key.split("/")[-2])), f"{OBJECT_SCHEME}{bucket}/{key}"
                if name is not None and _has_published(project, store, folder):
                    yield name, folder.rstrip("/")


def _has_published(project: Project, store: ObjectStore, folder: str) -> bool:
    keys = [key for key in _keys(store, f"{folder}metadata/") if key.endswith(".metadata.json")]
    if not keys:
        return False
    path = f"{folder}metadata/{max(keys).rpartition('/')[2]}"
    state = parse_metadata(path, path, json_of(_read(store, path)))
    return state.properties.get(PROJECT) == project.name and is_published(state)


def _keys(store: ObjectStore, prefix: str, **more: Any) -> Iterator[str]:
    """Yields keys that begin so; with a delimiter, only those of folders."""
    bucket, key = bucket_and_key(prefix)
    pages = client_of(store).get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key, **more)
    for page in pages:
        yield from (each["Prefix"] for each in page.get("CommonPrefixes", ()))
        yield from (each["Key"] for each in page.get("Contents", ()) if not more)


def _read(store: ObjectStore, path: str) -> bytes:
    bucket, key = bucket_and_key(path)
    return bytes(client_of(store).get_object(Bucket=bucket, Key=key)["Body"].read())
