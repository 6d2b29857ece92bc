"""The cost of a step: what it reads and replaces, from the snapshots' summaries. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lakesmith import limits
from lakesmith.catalog.progress import AppendRange, append_only_since, live_rows
from lakesmith.catalog.state import Snapshot, TableState
from lakesmith.plan.steps import InputRange, Strategy, TableStep
from lakesmith.project.definitions import TableName


class DataSize(StrEnum):
    """How much a Spark session has to read, by which its JVM is set up."""

    LITTLE = "little"
    """Its start costs more than the work."""
    MIXED = "mixed"
    """Little is new, but tables of many rows may be computed in full."""
    LARGE = "large"

    @classmethod
    def of(cls, size: int, rows_in_full: int = 0, stays: bool = False) -> DataSize:
        """Returns the class of so many bytes, and of so many rows of inputs that may be read in full.
        ``stays``: the session does more work after this."""
        if size > limits.LITTLE_DATA_BYTES:
            return cls.LARGE
        worth = limits.ROWS_WORTH_COMPILING_WELL if stays else limits.ROWS_WORTH_COMPILING_WELL_ONCE
        return cls.MIXED if rows_in_full >= worth else cls.LITTLE

    @property
    def is_large(self) -> bool:
        """Whether the work is more than the start: then memory and shuffles are set up for it."""
        return self is DataSize.LARGE

    @property
    def served_by(self) -> tuple[DataSize, ...]:
        """The classes of warm JVMs in which such work may be done; the own one first."""
        return (self, DataSize.MIXED) if self is DataSize.LITTLE else (self,)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of rows and bytes of data files; None if no summary has it."""

    rows: int | None = 0
    bytes: int | None = 0

    def __add__(self, other: Amount) -> Amount:
        """Returns the sum: unknown if one of them is."""
        return Amount(_sum((self.rows, other.rows)), _sum((self.bytes, other.bytes)))


UNKNOWN = Amount(None, None)


@dataclass(frozen=True, slots=True)
class Cost:
    """What a batch reads and replaces.

    ``files``: number of landing files; their bytes are in ``reads``, their rows are not counted.
    ``reads``: what is read of the inputs; for recomputed keys, what changed in them.
    ``at_most``: for recomputed keys, the changes and all rows of the inputs. The actual cost lies in between.
    ``replaces``: the table's own rows if all are replaced, else None.
    The scan for keys in the table itself is not included.
    """

    files: int = 0
    reads: Amount = Amount()
    at_most: Amount | None = None
    replaces: Amount | None = None


def cost_of(step: TableStep, states: Mapping[TableName, TableState]) -> Cost:
    """Returns the cost of a step. ``states`` has the step's inputs, and the table itself if it exists."""
    match step.strategy:
        case Strategy.FILES:
            return _of_files(step)
        case Strategy.APPEND | Strategy.UPSERT:
            return Cost(reads=_total(_added(item, states) for item in step.inputs))
        case Strategy.KEYS:
            changed = _total(_changed(item, states) for item in step.inputs)
            whole = _total(_whole(item, states) for item in step.inputs)
            return Cost(reads=changed, at_most=changed + whole)
        case Strategy.FULL:
            read = _total(_whole(item, states) for item in step.inputs)
            return Cost(reads=read, replaces=held(states.get(step.name), step.base.snapshot))
    return Cost()


def held(state: TableState | None, snapshot_id: int | None) -> Amount | None:
    """Returns what a table holds at a snapshot; None if it has no row to lose."""
    snapshot = state.snapshots.get(snapshot_id) if state and snapshot_id is not None else None
    if snapshot is None:
        return None
    found = _at(snapshot)
    return None if found.rows == 0 else found


def whole_below_bytes(warm: bool) -> int:
    """Returns the size of inputs below which a full refresh is cheaper, less in a ``warm`` session of little
    data: others compile what computes in full well."""
    worth = limits.COMPUTED_WHOLE_WARM_BELOW_BYTES if warm else limits.COMPUTED_WHOLE_BELOW_BYTES
    return min(worth, limits.COMPUTED_WHOLE_BELOW_BYTES)


def is_small_part(added: AppendRange, end: Snapshot, besides: int) -> bool:
    """Whether appended rows certainly cost less to read than a part of a full refresh.

    The part is ``COMPUTED_WHOLE_ABOVE_CHANGED_PART``. A full refresh reads the table at ``end`` and
    ``besides`` bytes of other inputs. False if the snapshots do not say.
    """
    new = _cost(
        (it.known_count("added-files-size"), it.known_count("added-data-files")) for it in added.appends
    )
    whole = _cost([(end.known_count("total-files-size"), end.known_count("total-data-files"))])
    if new is None or whole is None:
        return False
    return new <= limits.COMPUTED_WHOLE_ABOVE_CHANGED_PART * (whole + besides)


def _cost(files: Iterable[tuple[int | None, int | None]]) -> int | None:
    """The bytes of files, and the time to open them."""
    found = list(files)
    sizes, counts = _sum(size for size, _ in found), _sum(count for _, count in found)
    return None if sizes is None or counts is None else sizes + counts * limits.OPENING_A_DATA_FILE_BYTES


def _of_files(step: TableStep) -> Cost:
    size = sum(intake.size for intake in step.intakes)
    deletes = any(intake.replace or intake.forget for intake in step.intakes)
    files, records = step.file_count, sum(file.size for intake in step.intakes for file in intake.files)
    return Cost(files, Amount(None if files else records, size), replaces=UNKNOWN if deletes else None)


def _at(snapshot: Snapshot) -> Amount:
    return Amount(live_rows(snapshot), snapshot.known_count("total-files-size"))


def _whole(item: InputRange, states: Mapping[TableName, TableState]) -> Amount:
    if item.end is None:
        return Amount()
    snapshot = states[item.table].snapshots.get(item.end)
    return _at(snapshot) if snapshot else UNKNOWN


def _added(item: InputRange, states: Mapping[TableName, TableState]) -> Amount:
    if item.end is None:
        return Amount()
    found = append_only_since(states[item.table], item.start, item.end)
    if not isinstance(found, AppendRange):
        return Amount(item.rows, None)
    return Amount(item.rows, _sum(snapshot.known_count("added-files-size") for snapshot in found.appends))


def _changed(item: InputRange, states: Mapping[TableName, TableState]) -> Amount:
    """Counts the rows removed and added between two positions; rows moved by a compaction do not count."""
    rows = size = 0
    for snapshot in states[item.table].ancestors(item.end):
        if snapshot.snapshot_id == item.start:
            return Amount(rows, size)
        if snapshot.operation != "replace":
            rows += snapshot.count("added-records") + snapshot.count("deleted-records")
            rows += snapshot.count("added-position-deletes")
            size += snapshot.count("added-files-size") + snapshot.count("removed-files-size")
    return Amount(rows, size) if item.start is None else UNKNOWN


def _total(amounts: Iterable[Amount]) -> Amount:
    return sum(amounts, Amount())


def _sum(numbers: Iterable[int | None]) -> int | None:
    found = list(numbers)
    return None if None in found else sum(number or 0 for number in found)
