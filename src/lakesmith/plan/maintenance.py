"""What maintenance a table needs, decided on what was measured. Pure."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from lakesmith import limits
from lakesmith.catalog.state import TableState
from lakesmith.errors import count
from lakesmith.plan.expiry import HeldBack
from lakesmith.project.definitions import Maintenance, TableName


class Task(StrEnum):
    """A part of the maintenance of a table, in the order in which they are done."""

    COMPACT = "compact"
    DELETES = "deletes"
    MANIFESTS = "manifests"
    EXPIRE = "expire"
    ORPHANS = "orphans"


@dataclass(frozen=True, slots=True)
class Health:
    """What a table's metadata says of its head; sizes are in bytes.

    ``deleted_rows``: rows in data files that position deletes hide. ``equality_deletes``: the number of rows
    of equality-delete files. ``oldest_ms``: commit time of the oldest snapshot since the epoch, or None.
    ``metadata_bytes``: size of the metadata file, None if it is not on this machine.
    """

    data_files: int = 0
    data_bytes: int = 0
    rows: int = 0
    delete_files: int = 0
    deleted_rows: int = 0
    equality_deletes: int = 0
    snapshots: int = 0
    oldest_ms: int | None = None
    metadata_bytes: int | None = None

    @property
    def mean_bytes(self) -> float:
        """Size and rows of a data file."""
        return self.data_bytes / self.data_files if self.data_files else 0.0

    @property
    def deleted_part(self) -> float:
        """The deleted part of the rows in data files, from 0 to 1."""
        return min(1.0, self.deleted_rows / self.rows) if self.rows else 0.0


@dataclass(frozen=True, slots=True)
class ManifestFacts:
    """A manifest: the id of its partition spec, whether it names deletes, and its size in bytes."""

    spec: int
    of_deletes: bool
    size: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the manifests of a head say: sizes of data files in bytes by partition, and the manifests.

    ``sidecars``: those with many small files.
    """

    sizes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    manifests: Sequence[ManifestFacts] = ()
    sidecars: tuple[TableName, ...] = ()


@dataclass(frozen=True, slots=True)
class Small:
    """Data files to compact or to split: how many, and their bytes."""

    files: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Past:
    """What can expire: snapshots of the table and its sidecars, and the readers that hold others back."""

    snapshots: int = 0
    of_sidecars: int = 0
    held_back: tuple[HeldBack, ...] = ()


@dataclass(frozen=True, slots=True)
class Care:
    """Each maintenance task with the reason why the table needs it, or why not."""

    table: TableName
    health: Health
    todo: Mapping[Task, str] = field(default_factory=dict)
    left: Mapping[Task, str] = field(default_factory=dict)
    held_back: tuple[HeldBack, ...] = ()
    small: Small = Small()
    sidecars: tuple[TableName, ...] = ()

    @property
    def bytes_to_rewrite(self) -> int:
        """Data files to rewrite; with deletes to apply it may be any of them."""
        return self.health.data_bytes if Task.DELETES in self.todo else self.small.size


def health_of(state: TableState, metadata_bytes: int | None = None) -> Health:
    """Returns what the head's summary and the snapshots say."""
    head = state.head
    oldest = min((snapshot.committed_ms for snapshot in state.snapshots.values()), default=None)
    if head is None:
        return Health(snapshots=len(state.snapshots), oldest_ms=oldest, metadata_bytes=metadata_bytes)
    return Health(
        data_files=head.count("total-data-files"),
        data_bytes=head.count("total-files-size"),
        rows=head.count("total-records"),
        delete_files=head.count("total-delete-files"),
        deleted_rows=head.count("total-position-deletes"),
        equality_deletes=head.count("total-equality-deletes"),
        snapshots=len(state.snapshots),
        oldest_ms=oldest,
        metadata_bytes=metadata_bytes,
    )


def worth_a_look(health: Health) -> bool:
    """Whether the manifests can show any work; if not, they are not read."""
    return health.data_files >= limits.SMALL_FILES_WORTH or health.delete_files > 0


def small_files(sizes: Mapping[str, Sequence[int]], target: int) -> Small:
    """Returns the files that Iceberg would rewrite: of partitions with enough of them, or too large ones."""
    files = total = 0
    for partition in sizes.values():
        chosen = [
            size
            for size in partition
            if size < limits.SMALL_FILE_PART * target or size > limits.LARGE_FILE_PART * target
        ]
        if _are_enough(chosen, target):
            files, total = files + len(chosen), total + sum(chosen)
    return Small(files, total)


def _are_enough(sizes: Sequence[int], target: int) -> bool:
    together = sum(sizes)
    several = len(sizes) > 1 and (len(sizes) >= limits.SMALL_FILES_WORTH or together > target)
    return several or together > limits.LARGE_FILE_PART * target


def specs_to_rewrite(manifests: Iterable[ManifestFacts]) -> tuple[int, ...]:
    """The partition specs whose manifests are many and small."""
    found: dict[tuple[int, bool], list[int]] = {}
    for manifest in manifests:
        found.setdefault((manifest.spec, manifest.of_deletes), []).append(manifest.size)
    return tuple(sorted({spec for (spec, _), sizes in found.items() if _are_scattered(sizes)}))


def _are_scattered(sizes: Collection[int]) -> bool:
    least = math.ceil(sum(sizes) / limits.MANIFEST_BYTES)
    return len(sizes) >= limits.MANIFESTS_WORTH and len(sizes) > 2 * least


def care_of(
    table: TableName,
    health: Health,
    files: FileFacts,
    past: Past,
    settings: Maintenance,
    orphans: bool = False,
) -> Care:
    """Returns what the table needs. ``orphans``: this call looks for files that no snapshot has."""
    small = small_files(files.sizes, settings.target_file_size)
    compact, manifests = _compact(health, small, files.sidecars), _manifests(files.manifests)
    found = {
        Task.COMPACT: compact,
        Task.DELETES: _deletes(health),
        Task.MANIFESTS: manifests,
        Task.EXPIRE: _expire(past),
        Task.ORPHANS: _orphans(settings, orphans),
    }
    return Care(
        table,
        health,
        todo={task: why for task, (needed, why) in found.items() if needed},
        left={task: why for task, (needed, why) in found.items() if not needed},
        held_back=past.held_back,
        small=small,
        sidecars=files.sidecars,
    )


def signs(health: Health) -> tuple[str, ...]:
    """Returns what the summaries alone show of a table that may need maintenance; nothing if it is fine."""
    return tuple(_signs(health))


def _signs(health: Health) -> Iterator[str]:
    if is_scattered(health):
        yield f"{health.data_files:,} data files"
    is_felt = health.deleted_rows >= limits.DELETED_ROWS_TOLD
    if is_felt and health.deleted_part >= limits.DELETED_PART_WORTH:
        yield f"{health.deleted_part:.0%} of the rows in them are deleted"
    if health.snapshots >= limits.NEWEST_POINTS_KEPT * 5:
        yield f"{health.snapshots:,} snapshots"


def is_scattered(health: Health) -> bool:
    """Whether the summary alone shows that a table, or a sidecar, has many small files."""
    small = limits.SMALL_FILE_PART * Maintenance().target_file_size
    return health.data_files >= limits.FRESH_FILES and health.mean_bytes < small / 2


def _compact(health: Health, small: Small, sidecars: Sequence[TableName]) -> tuple[bool, str]:
    if small.files:
        return True, f"{small.files:,} of {health.data_files:,} data files are not of their size"
    if sidecars:
        return True, f"many small files in {', '.join(map(str, sidecars))}"
    return False, f"{count(health.data_files, 'data file')}, not enough small ones"


def _deletes(health: Health) -> tuple[bool, str]:
    if health.equality_deletes:
        return True, f"{count(health.equality_deletes, 'row')} of equality deletes"
    deleted = f"{health.deleted_part:.0%} of the rows are deleted"
    if health.deleted_part >= limits.DELETED_PART_WORTH:
        return True, deleted
    return False, deleted if health.deleted_rows else "no deletes"


def _manifests(manifests: Sequence[ManifestFacts]) -> tuple[bool, str]:
    return bool(specs_to_rewrite(manifests)), count(len(manifests), "manifest")


def _expire(past: Past) -> tuple[bool, str]:
    found = past.snapshots + past.of_sidecars
    why = f"{count(found, 'snapshot')} can leave"
    if past.of_sidecars:
        why += f", {past.of_sidecars:,} of them of its sidecars"
    return found >= limits.SNAPSHOTS_WORTH, why


def _orphans(settings: Maintenance, asked: bool) -> tuple[bool, str]:
    days = settings.orphans.older_than / 86400
    if asked or settings.orphans.remove:
        return True, f"files of more than {days:g} days that no snapshot has"
    return False, "not asked for: --orphans looks for them"
