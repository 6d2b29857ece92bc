"""Publishes a version of an export: new files, then the manifest; then removes versions that nobody reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote

from lakesmith.catalog.protocol import Catalog
from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, Problem, RunError
from lakesmith.exports.due import ExportStep, due
from lakesmith.exports.manifest import ExportedFile, Manifest, Partition
from lakesmith.exports.places import OLD, ExportPlace, FolderPlace, place_of
from lakesmith.project.definitions import MANIFEST, Project, TableDefinition, TableName

NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
_NO_FOLDER: Final = ("Mkdirs failed to create", "File name too long", "Nul character not allowed")
"""How Hadoop and Java say that no folder can have a name."""


@dataclass(frozen=True, slots=True)
class Written:
    """What Spark wrote. ``changed``: the partitions that were written, as text in the order of
    ``partition_by``; None: all, ``why_all`` says why. ``rows``: how many were written."""

    rows: int
    changed: frozenset[tuple[str | None, ...]] | None = None
    why_all: str = ""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """A version that was published. ``files`` and ``bytes`` are those that were written; ``carried`` files
    are the same as in the version before."""

    place: str
    snapshot: int
    files: int
    bytes: int
    carried: int = 0
    notes: tuple[str, ...] = ()


WriteFiles = Callable[[ExportStep, str], Written]
"""Writes the files of a step below a URI."""


def step_of(project: Project, table: TableDefinition, state: TableState | None) -> ExportStep | None:
    """Returns the step of a table's export, None if it has nothing to write. Raises RunError if its place
    cannot be read, or is another's."""
    if table.export is None or state is None:
        return None
    place = place_of(project, table)
    try:
        found = read_manifest(place)
    except OSError as error:
        raise not_exported(table, place, error) from error
    step = due(project, table, state, found)
    if isinstance(step, Problem):
        raise RunError(step)
    return step


def exports_behind(project: Project, catalog: Catalog, names: Iterable[TableName]) -> Mapping[TableName, str]:
    """Returns why exports are behind, in words, by table. What is wrong with a table itself is said
    elsewhere."""
    wanted, found = set(names), {}
    for table in project.tables:
        if table.export is None or table.name not in wanted:
            continue
        try:
            step = step_of(project, table, catalog.table(table.name.layer, table.name.name))
            if step is not None:
                found[table.name] = f"its export is behind: {step.reason}"
        except LakesmithError as error:
            found[table.name] = f"its export is behind: {error.problems[0].found or error.problems[0].what}"
    return found


def read_manifest(place: ExportPlace) -> Manifest | None:
    """Returns the manifest in a place. Raises OSError, StateError LS652."""
    content = place.read(MANIFEST)
    return None if content is None else Manifest.parse(content, f"{place.shown}{MANIFEST}")


def publish(
    project: Project, step: ExportStep, write: WriteFiles, reach: Callable[[str], None]
) -> ExportReport:
    """Writes and publishes a version. Raises RunError LS651; the version in place then stays as it was."""
    place = place_of(project, step.table)
    try:
        version = _unused(place, f"v={step.snapshot}")
        with _taking_no_room(place, version):
            new, written = _write_files(place, version, step, write, reach)
            manifest = _manifest(project, step, version, [*new, *_carried(step, written)])
            if step.export.single_file:
                _put_single(place, new, step.export.single_file)
            if (before := place.read(MANIFEST)) is not None:
                place.write(f"{OLD}/{Manifest.parse(before, place.shown).version}.json", before)
            reach("export-manifest")
        # If a bucket does not answer, the manifest may come to be there.
        with _taking_no_room(place, version) if isinstance(place, FolderPlace) else nullcontext():
            place.write(MANIFEST, manifest.to_json().encode())
    except (OSError, RunError) as error:
        raise not_exported(step.table, place, error) from error
    report = ExportReport(
        f"{place.shown}{MANIFEST}",
        step.snapshot,
        len(new),
        sum(file.size for file in new),
        len(manifest.files) - len(new),
        (written.why_all,) if written.why_all else (),
    )
    return replace(report, notes=(*report.notes, *_tidied(place, manifest, step.export.keep_seconds)))


@contextmanager
def _taking_no_room(place: ExportPlace, version: str) -> Iterator[None]:
    """Removes the files of a version that could not be published, unless its manifest is in place."""
    try:
        yield
    except Exception:
        with suppress(OSError, LakesmithError):
            found = read_manifest(place)
            if found is None or found.version != version:
                place.remove_folder(version)
        raise


def _write_files(
    place: ExportPlace, version: str, step: ExportStep, write: WriteFiles, reach: Callable[[str], None]
) -> tuple[list[ExportedFile], Written]:
    """Writes the files of a version that no manifest names yet."""
    written = write(step, place.uri(version))
    reach("export-written")
    new = _new_files(place, version, step, written)
    place.settle(file.path for file in new)
    return new, written


def not_exported(table: TableDefinition, place: ExportPlace, error: Exception | Problem) -> RunError:
    """Returns LS651: the table was published, its export was not."""
    if isinstance(error, LakesmithError):
        error = error.problems[0]
    if isinstance(error, Problem):
        found = "; ".join(filter(None, (error.what, error.found)))
        hint = error.hint
    else:
        found, hint = error.strerror if isinstance(error, OSError) and error.strerror else str(error), None
        found = f"{found}: {error.filename}" if isinstance(error, OSError) and error.filename else found
    again = "the next run exports it again"
    if table.export and table.export.partition_by and any(each in found for each in _NO_FOLDER):
        hint = (
            "a value of partition_by must be a name that a folder can have: shorter, without NUL characters"
        )
    return RunError.of(
        "LS651",
        f"{table.name} is as it should be, but its export was not written",
        table.place,
        expected=f"files in {place.shown}",
        found=found,
        hint=f"{hint}; then {again}"
        if hint
        else f"make room, or correct the place and its permissions; {again}",
    )


def _put_single(place: ExportPlace, files: list[ExportedFile], name: str) -> None:
    if files:
        place.copy(files[0].path, name)
    else:
        place.write(name, b"")


def _unused(place: ExportPlace, name: str) -> str:
    """Returns the name of a folder that nobody wrote to: a killed writer may still go on in its own."""
    known = {*place.folders()}
    candidates = (name, *(f"{name}.{number}" for number in range(2, len(known) + 3)))
    return next(each for each in candidates if each not in known)


def _new_files(place: ExportPlace, version: str, step: ExportStep, written: Written) -> list[ExportedFile]:
    names = step.export.partition_by
    found = [
        ExportedFile(each.path, each.size, _partition(each.path, names)) for each in place.files(version)
    ]
    if written.rows and not found:
        raise OSError(f"Spark wrote {written.rows:,} rows, and no file can be seen in {place.shown}{version}")
    return found


def _partition(path: str, names: Iterable[str]) -> Partition | None:
    folders = [part.partition("=") for part in path.split("/")[1:-1]]
    values = [unquote(value) for _, _, value in folders]
    found = dict(zip(names, (None if value == NULL_FOLDER else value for value in values), strict=True))
    return found or None


def _carried(step: ExportStep, written: Written) -> list[ExportedFile]:
    """The files of the version before whose partitions did not change."""
    if step.before is None or written.changed is None:
        return []
    changed, names = written.changed, step.export.partition_by

    def key(partition: Mapping[str, str | None]) -> tuple[str | None, ...]:
        return tuple(partition[name] for name in names)

    return [file for file in step.before.files if file.partition and key(file.partition) not in changed]


def _manifest(project: Project, step: ExportStep, version: str, files: list[ExportedFile]) -> Manifest:
    return Manifest(
        project=project.name,
        target=project.target.name,
        table=str(step.name),
        table_uuid=step.uuid,
        snapshot=str(step.snapshot),
        version=version,
        written_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        format=step.export.format.value,
        compression=step.export.codec,
        rows=step.rows,
        settings=step.settings,
        columns=step.columns,
        partition_by=step.export.partition_by,
        files=tuple(sorted(files, key=lambda file: file.path)),
        single_file=step.export.single_file,
    )


def _tidied(place: ExportPlace, current: Manifest, keep_seconds: float) -> list[str]:
    """Removes old versions. What does not work is said: nothing depends on it."""
    try:
        remove_old(place, current, keep_seconds)
    except (OSError, LakesmithError) as error:
        return [f"old versions of its export were not removed: {error}"]
    return []


def remove_old(place: ExportPlace, current: Manifest, keep_seconds: float) -> int:
    """Removes versions that were replaced ``keep_seconds`` ago or earlier, with the single files that only
    they had, and what failed exports left.

    Returns how many files of old versions were removed. Raises OSError, StateError LS652.

    A file belongs to consecutive versions: what the oldest version that is kept does not have, no later one
    has.
    """
    replaced = sorted(place.files(OLD), key=lambda each: each.modified)
    old = [each for each in replaced if time.time() - each.modified >= keep_seconds]
    kept = [read_old(place, each.path) for each in replaced[len(old) :]]
    gone = [read_old(place, each.path) for each in old]
    needed = {file.path for manifest in (*kept[:1], current) for file in manifest.files}
    folders = {each.version for each in (*kept, current)} | {path.partition("/")[0] for path in needed}
    files = {file.path for each in gone for file in each.files} - needed
    place.remove(sorted(path for path in files if path.partition("/")[0] in folders))
    place.remove(sorted(_single_files(gone) - _single_files((*kept, current))))
    for folder in place.folders():
        if folder not in folders:
            place.remove_folder(folder)
    place.remove([each.path for each in old])
    return len(files)


def _single_files(versions: Iterable[Manifest]) -> set[str]:
    return {each.single_file for each in versions if each.single_file}


def read_old(place: ExportPlace, path: str) -> Manifest:
    """Returns the manifest of a replaced version. Raises as ``read_manifest``."""
    return Manifest.parse(place.read(path) or b"", place.shown + path)
