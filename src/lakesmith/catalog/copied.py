"""Copies of tables to try something on: each begins at the table's snapshots, and what is written to it goes
to another folder. Only a metadata file is written for each, so a copy takes milliseconds."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from lakesmith.catalog import busy
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import read_metadata
from lakesmith.catalog.protocol import CATALOG_NAME

_INSERT: Final = "INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, 'TABLE')"
_OWN_PLACES: Final = frozenset(
    {
        "write.data.path",
        "write.metadata.path",
        "write.folder-storage.path",
        "write.object-storage.enabled",
        "write.object-storage.path",
    }
)
"""Properties of a table that send new files to another place than its folder."""


def copy_tables(origin: LocalCatalog, copy: LocalCatalog, tables: Iterable[tuple[str, str]]) -> None:
    """Enters copies of those of the tables (layer, name) that exist in an empty catalog.

    Files of the originals are read and never deleted: a copy knows no older metadata files, and Iceberg does
    not expire or purge a table whose ``gc.enabled`` is false.
    """
    copy.prepare()
    wanted = set(tables)
    entries = [each for each in origin.entries() if each[:2] in wanted]
    with closing(busy.connect(copy.db, copy.busy_seconds)) as connection:
        for layer, name, location in entries:
            place = _write(copy.warehouse / layer / name, read_metadata(location))
            connection.execute(_INSERT, (CATALOG_NAME, layer, name, f"file://{place}"))


def _write(folder: Path, data: dict[str, Any]) -> Path:
    properties = {key: text for key, text in data.get("properties", {}).items() if key not in _OWN_PLACES}
    here = {"location": f"file://{folder}", "metadata-log": []}
    place = folder / "metadata" / f"00000-{uuid.uuid4()}.metadata.json"
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({**data, **here, "properties": {**properties, "gc.enabled": "false"}}))
    return place
