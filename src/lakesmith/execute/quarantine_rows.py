"""The rows of a quarantine, read by PyIceberg as the published record pins them: some seconds, no JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from lakesmith.catalog.family import lost_sidecar
from lakesmith.execute.lake import Lake
from lakesmith.execute.status import QUARANTINE_PIN, quarantine_state
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.steps import BadRows
from lakesmith.project.definitions import TableName

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = (
    "batch",
    "reasons",
    "source_file",
    "source_position",
    "source_modified_at",
    "raw",
    "row",
    "quarantined_at",
)
_ABOUT = ("batch", "reasons", "source_file", "quarantined_at")


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row in quarantine.

    ``position`` is the row's number in ``file``, from 1; ``modified_ms`` when the file was last written. ``raw`` is the text of one that did not parse (a JSON of it where the
    file has types), ``row`` a JSON of one that did. ``found_ms`` is when the batch that found it began, since the epoch.
    """

    batch: int
    reasons: tuple[str, ...]
    file: str | None
    position: int | None
    raw: str | None
    row: str | None
    found_ms: int
    modified_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Bad rows in numbers. ``reasons`` are the texts with the number of rows each is given for, most first; a reason that
    quotes a value counts by what stands before the value. The times are those of the batches, since the epoch."""

    rows: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    oldest_ms: int | None = None
    newest_ms: int | None = None


def read_bad_rows(
    lake: Lake, name: TableName, facts: TableFacts, chosen: BadRows, limit: int | None = None
) -> tuple[BadRow, ...]:
    """The rows of the table's quarantine that are chosen, by file and position; the first ``limit`` that are met.

    Raises StateError LS508 when the version that the record pins is gone.
    """
    found = (row for row in _rows(lake, name, facts, _SHOWN) if fits(row, chosen))
    rows = [_bad_row(row) for row in islice(found, limit)]
    return tuple(sorted(rows, key=lambda row: (row.file or "", row.position or 0, row.row or "")))


def summarize(lake: Lake, name: TableName, facts: TableFacts, chosen: BadRows | None = None) -> Summary:
    """The rows of the table's quarantine (that are chosen) in numbers. Raises StateError LS508."""
    rows = _rows(lake, name, facts, _ABOUT)
    return _summary(row for row in rows if chosen is None or fits(row, chosen))


def fits(row: dict[str, Any], chosen: BadRows) -> bool:
    """Whether a row of a quarantine is chosen: what ``lakesmith.spark.kinds.replay.condition`` says in SQL."""
    file, reasons = row["source_file"], "\n".join(row["reasons"]).lower()
    return (
        (chosen.batch is None or row["batch"] == chosen.batch)
        and (chosen.reason is None or chosen.reason.lower() in reasons)
        and (
            chosen.file is None
            or file == chosen.file
            or (file is not None and file.endswith("/" + chosen.file))
        )
    )


def bad_positions(
    lake: Lake, name: TableName, facts: TableFacts, segments: Collection[str]
) -> dict[str, list[int]]:
    """By the name of a segment the positions of its rows that are in quarantine. Raises StateError LS508."""
    found: dict[str, list[int]] = {}
    for row in _rows(lake, name, facts, ("source_file", "source_position")):
        segment = (row["source_file"] or "").rpartition("/")[2]
        if segment in segments:
            found.setdefault(segment, []).append(row["source_position"])
    return found


def _summary(rows: Iterable[dict[str, Any]]) -> Summary:
    counts: Counter[str] = Counter()
    times: Counter[datetime] = Counter()
    for row in rows:
        counts.update({_kind(reason) for reason in row["reasons"]})
        times[row["quarantined_at"]] += 1
    if not times:
        return Summary()
    reasons = tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
    return Summary(times.total(), reasons, _ms(min(times)), _ms(max(times)))


def _kind(reason: str) -> str:
    """``price: not a bigint: 'x'`` -> ``price: not a bigint``: the value differs from row to row."""
    head, colon, value = reason.partition(": '")
    return head if colon and value.endswith("'") else reason


def _rows(lake: Lake, name: TableName, facts: TableFacts, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    pin = facts.base.pin(QUARANTINE_PIN)
    if pin is None or pin.snapshot is None:
        return
    table = _table(lake, name, pin.uuid, pin.snapshot)
    for batch in table.scan(snapshot_id=pin.snapshot, selected_fields=tuple(columns)).to_arrow_batch_reader():
        yield from batch.to_pylist()


def _table(lake: Lake, name: TableName, uuid: str, snapshot: int) -> Any:
    state = quarantine_state(lake, name)
    if state is None or state.uuid != uuid or snapshot not in state.snapshots:
        raise lost_sidecar(
            name,
            f"the quarantine of {name}",
            "no such table" if state is None else f"no snapshot {snapshot} of it",
        )
    if lake.project.target.type != "local":
        return lake.catalog.writer().load_table(tuple(state.name.split(".")))
    # Of what is on this machine the metadata is enough, and PyIceberg's SQL catalog takes twice as long to import.
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(state.metadata_location)


def _bad_row(row: dict[str, Any]) -> BadRow:
    return BadRow(
        batch=row["batch"],
        reasons=tuple(row["reasons"]),
        file=row["source_file"],
        position=row["source_position"],
        raw=row["raw"],
        row=row["row"],
        found_ms=_ms(row["quarantined_at"]),
        modified_ms=_ms(row["source_modified_at"]) if row["source_modified_at"] else None,
    )


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
