"""The manifest of an export: the file that says which files are the table's rows now. It is written last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from lakesmith.errors import StateError

FORMAT = 1
"""The version of the manifest's JSON."""

Partition = Mapping[str, str | None]
"""The values of a file's folders by column, as text; None for NULL."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of a version. ``path`` is relative to the export's folder; ``size`` in bytes."""

    path: str
    size: int
    partition: Partition | None = None


@dataclass(frozen=True, slots=True)
class ExportedColumn:
    """A column in Spark's type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A version of an export.

    ``snapshot`` is the Iceberg snapshot whose rows it has, as text: JavaScript's numbers would round it.
    ``settings``: a hash of what decides the files. ``written_at``: in UTC. ``rows`` None: not known.
    """

    project: str
    target: str
    table: str
    table_uuid: str
    snapshot: str
    version: str
    written_at: str
    format: str
    compression: str
    rows: int | None
    settings: str
    columns: tuple[ExportedColumn, ...]
    partition_by: tuple[str, ...]
    files: tuple[ExportedFile, ...]
    single_file: str | None = None

    def to_json(self) -> str:
        """The manifest as the text of its file."""
        return json.dumps({"format_version": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def parse(cls, text: str | bytes, place: str) -> Manifest:
        """Reads a manifest. Raises StateError LS652 for any other text, and for a newer version."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data.pop("format_version") != FORMAT:
                raise ValueError("a version that this lakesmith does not know")
            data["columns"] = tuple(ExportedColumn(**each) for each in data["columns"])
            data["files"] = tuple(ExportedFile(**each) for each in data["files"])
            data["partition_by"] = tuple(data["partition_by"])
            return cls(**{each.name: data[each.name] for each in fields(cls)})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StateError.of(
                "LS652",
                f"{place} is not a manifest that lakesmith can read",
                expected="the manifest of the table's export, or no such file",
                found=f"{type(error).__name__}: {error}",
                hint="choose another folder for the export, or remove the file: all rows are exported again",
            ) from error
