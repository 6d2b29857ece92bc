"""Notes in a table's own folder of what became of it, for when the catalog is lost: that it was dropped, or is called otherwise now.

A table's folder keeps the name that the table was made with, and files of a dropped table stay unless they are purged.
"""

from __future__ import annotations

import json
from pathlib import Path

from lakesmith.project.definitions import TableName
from lakesmith.whole_file import write_whole


def mark(folder: Path, uuid: str, name: TableName | None) -> None:
    """Notes the name of the table ``uuid`` in ``folder``; None: it was dropped. Nothing where there is no such folder."""
    file = _file(folder, uuid)
    if file.parent.is_dir():
        write_whole(file, json.dumps({"name": None if name is None else str(name)}))


def unmark(folder: Path, uuid: str) -> None:
    """Takes the note away."""
    _file(folder, uuid).unlink(missing_ok=True)


def marked_name(folder: Path, uuid: str) -> TableName | None:
    """What the table ``uuid`` in ``folder`` is called; None when it was dropped."""
    try:
        name = json.loads(_file(folder, uuid).read_bytes())["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return TableName(folder.parent.name, folder.name)
    return None if name is None else TableName.parse(name)


def _file(folder: Path, uuid: str) -> Path:
    return folder / "metadata" / f"lakesmith-{uuid}.json"
