"""Has a copied or moved warehouse be a project's own: every path in its files is rewritten, and then the
catalog's entries.

What has paths in it, by Iceberg's specification and its own ``RewriteTablePathUtil`` (which needs a table
that can be loaded, and a JVM): metadata files (JSON), manifest lists and manifests (Avro), Puffin files of
deletion vectors and Parquet files of deleted positions. Each file is replaced by one that has only
its paths changed. Sizes that others have of it follow: of delete files in manifests, of manifests in their
lists. So the order is from the leaves up, the catalog's entries come last, in one transaction, and until then
the project is refused as before. Killed in between, the next call finds fewer paths to rewrite. Files outside
the warehouse are not touched.
"""

from __future__ import annotations

import copy
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lakesmith.catalog.entries import Entry, change_entries
from lakesmith.catalog.home import Away
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import GZIP_MAGIC, json_of, local_path
from lakesmith.errors import StateError
from lakesmith.execute.faults import reach
from lakesmith.whole_file import write_whole

DELETED: Final = 2
DATA: Final = 0
_FILE_PATH_FIELD: Final = 2147483546
_PUFFIN: Final = b"PFA1"


@dataclass(frozen=True)
class Paths:
    """Maps paths below the warehouses ``origins`` to ``home``, with or without the scheme ``file:``."""

    home: Path | str
    origins: frozenset[str]
    pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        origins = "|".join(map(re.escape, sorted(self.origins)))
        object.__setattr__(self, "pattern", re.compile(rf"((?:file:(?://)?)?)(?:{origins})(?=/|$)"))

    def __call__(self, text: str) -> str:
        """The path as it is here; a text that is none of these paths, as it is."""
        found = self.pattern.match(text)
        return f"{found[1]}{self.home}{text[found.end() :]}" if found else text

    def of_bytes(self, text: bytes) -> bytes:
        return self(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def relocate(catalog: LocalCatalog, away: tuple[Away, ...], say: Callable[[str], None]) -> int:
    """Makes the files in the warehouse the tables that the catalog names; returns how many were rewritten.
    Raises StateError LS526 if a file is missing; the catalog is unchanged then."""
    paths = Paths(catalog.warehouse, frozenset(each.origin for each in away))
    rewritten = 0
    for folder in sorted(catalog.warehouse.glob("*/*/metadata")):
        say(f"rewriting the paths of {folder.parent.parent.name}.{folder.parent.name}")
        rewritten += sum(_rewrite(folder, paths))
        reach("relocate-table", f"{folder.parent.parent.name}.{folder.parent.name}")
    for each in away:
        _require_whole(each)
    reach("relocate-entries", "")
    entries = [Entry(each.entry.name, paths(each.entry.location)) for each in away]
    change_entries(catalog, [each.entry for each in away], entries)
    return rewritten


def _rewrite(folder: Path, paths: Paths) -> Iterator[bool]:
    """Yields for each file with paths of a table whether it was rewritten."""
    manifests, lists = list[Path](), list[Path]()
    for path in sorted(folder.glob("*.avro")):
        (lists if _read_avro(path).schema["name"] == "manifest_file" else manifests).append(path)
    for path in manifests:
        for entry in _read_avro(path).records:
            yield from _rewrite_deletes(entry, paths)
    for path in manifests:
        yield _rewrite_avro(path, lambda record: entry_here(record, paths, _size))
    for path in lists:
        yield _rewrite_avro(path, lambda record: manifest_here(record, paths, _size))
    for path in sorted(folder.glob("*.metadata.json")):
        yield _rewrite_json(path, paths)


@dataclass(frozen=True)
class Avro:
    """A manifest or a manifest list: its records, and all that its header says."""

    records: list[dict[str, Any]]
    schema: dict[str, Any]
    codec: str
    entries: dict[str, str]

    @classmethod
    def of(cls, content: bytes) -> Avro:
        """Raises EOFError, ValueError, LookupError or zlib.error if the content is not whole."""
        import fastavro

        reader: Any = fastavro.reader(io.BytesIO(content))
        entries = {key: text for key, text in reader.metadata.items() if not key.startswith("avro.")}
        return cls(list(reader), reader.writer_schema, reader.codec, entries)

    def changed(self, change: Callable[[dict[str, Any]], None]) -> bytes | None:
        """Returns the file with its records changed; None if that changes none."""
        import fastavro

        before = copy.deepcopy(self.records)
        for record in self.records:
            change(record)
        if self.records == before:
            return None
        out = io.BytesIO()
        fastavro.writer(out, self.schema, self.records, codec=self.codec, metadata=self.entries)
        return out.getvalue()


def _read_avro(path: Path) -> Avro:
    try:
        return Avro.of(path.read_bytes())
    except (OSError, EOFError, ValueError, LookupError, zlib.error) as error:
        raise _not_whole(path, str(error)) from error


def _rewrite_avro(path: Path, change: Callable[[dict[str, Any]], None]) -> bool:
    changed = _read_avro(path).changed(change)
    if changed is not None:
        _replace(path, changed)
    return changed is not None


SizeOf = Callable[[str], int | None]
"""Returns the size of the file at a path, None if it does not exist."""


def _size(location: str) -> int | None:
    path = local_path(location)
    return path.stat().st_size if path.is_file() else None


def entry_here(entry: dict[str, Any], paths: Paths, size_of: SizeOf) -> None:
    """Sets the paths here in a manifest's entry; of a delete file also its size and data files."""
    file = entry["data_file"]
    file["file_path"] = paths(file["file_path"])
    if file.get("content", DATA) == DATA:
        return
    if (size := size_of(file["file_path"])) is not None:
        file["file_size_in_bytes"] = size
    if referenced := file.get("referenced_data_file"):
        file["referenced_data_file"] = paths(referenced)
    for name in ("lower_bounds", "upper_bounds"):
        for bound in file[name] or ():
            if bound["key"] == _FILE_PATH_FIELD:
                bound["value"] = paths.of_bytes(bound["value"])


def manifest_here(manifest: dict[str, Any], paths: Paths, size_of: SizeOf) -> None:
    """Sets the path here, and the size there is, in an entry of a manifest list."""
    manifest["manifest_path"] = paths(manifest["manifest_path"])
    if (size := size_of(manifest["manifest_path"])) is not None:
        manifest["manifest_length"] = size


def _rewrite_deletes(entry: Mapping[str, Any], paths: Paths) -> Iterator[bool]:
    """Rewrites data file paths in delete files; equality deletes have none."""
    file = entry["data_file"]
    path = local_path(paths(file["file_path"]))
    if file.get("content", DATA) != 1 or not path.is_file():
        return
    changed = deletes_here(path.read_bytes(), paths)
    if changed is not None:
        _replace(path, changed)
    yield changed is not None


def deletes_here(content: bytes, paths: Paths) -> bytes | None:
    """Returns a file of deletion vectors or of deleted positions with paths here, None if unchanged."""
    return _puffin_here(content, paths) if content.startswith(_PUFFIN) else _positions_here(content, paths)


def _puffin_here(content: bytes, paths: Paths) -> bytes | None:
    """Returns a Puffin file with paths here, None if unchanged (https://iceberg.apache.org/puffin-spec/)."""
    size = int.from_bytes(content[-12:-8], "little")
    start, flags = len(content) - 12 - size, content[-8:-4]
    footer = json.loads(content[start:-12])
    here = json_here(footer, paths)
    if here == footer:
        return None
    said = json.dumps(here, separators=(",", ":")).encode()
    return content[:start] + said + len(said).to_bytes(4, "little") + flags + _PUFFIN


def _positions_here(content: bytes, paths: Paths) -> bytes | None:
    """Returns a position-delete file with paths here, None if unchanged. Row order and column ids stay."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    there = table.column("file_path").to_pylist()
    here = [paths(path) for path in there]
    if here == there:
        return None
    at = table.schema.get_field_index("file_path")
    out = io.BytesIO()
    pq.write_table(
        table.set_column(at, table.schema.field(at), pa.array(here, table.schema.field(at).type)), out
    )
    return out.getvalue()


def _rewrite_json(path: Path, paths: Paths) -> bool:
    try:
        content = path.read_bytes()
        there = json_of(content)
    except (OSError, EOFError, ValueError):
        # It was not written whole, and so was never a table's state.
        return False
    here = json_here(there, paths)
    if here == there:
        return False
    said = json.dumps(here).encode()
    _replace(path, gzip.compress(said) if content.startswith(GZIP_MAGIC) else said)
    return True


def json_here(value: Any, paths: Paths) -> Any:
    """Returns JSON data with paths here."""
    match value:
        case str():
            return paths(value)
        case dict():
            return {key: json_here(each, paths) for key, each in value.items()}
        case list():
            return [json_here(each, paths) for each in value]
    return value


def _replace(path: Path, content: bytes) -> None:
    """Replaces a file, after Hadoop's checksum beside it."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    write_whole(path, content, to_disk=True)


def _require_whole(table: Away) -> None:
    """Raises StateError LS526 if a file is in the original and not here: it was copied during a run."""
    lost = _Lost(table)
    if lost(table.here):
        raise _not_whole(table.here, "no such file")
    seen: set[Path] = set()
    for snapshot in json_of(table.here.read_bytes()).get("snapshots") or ():
        _require_files(local_path(snapshot["manifest-list"]), lost, seen)


def _require_files(path: Path, lost: _Lost, seen: set[Path]) -> None:
    """Raises StateError LS526 for a manifest list, a manifest or a file in it that is lost."""
    if path in seen:
        return
    seen.add(path)
    if lost(path):
        raise _not_whole(path, "no such file")
    if path.suffix != ".avro" or not path.is_file():
        return
    for record in _read_avro(path).records:
        if "manifest_path" in record:
            _require_files(local_path(record["manifest_path"]), lost, seen)
        elif record["status"] != DELETED:
            _require_files(local_path(record["data_file"]["file_path"]), lost, seen)


@dataclass(frozen=True, slots=True)
class _Lost:
    """Whether a file is missing here though it exists in the original."""

    table: Away

    def __call__(self, path: Path) -> bool:
        home = self.table.home
        return not path.is_file() and (
            not path.is_relative_to(home) or Path(self.table.origin, path.relative_to(home)).is_file()
        )


def _not_whole(path: Path, found: str) -> StateError:
    return StateError.of(
        "LS526",
        "the files in this folder are not a whole copy of the project's tables, so the catalog was "
        "left as it was",
        expected=str(path),
        found=found,
        hint="copy the project's folder again, while no run and no maintenance is at work in the original",
    )
