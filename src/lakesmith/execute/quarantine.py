"""Rows in quarantine, read with PyIceberg at the published record's snapshot, and their replay. No JVM."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from lakesmith import limits
from lakesmith.catalog.family import lost_sidecar
from lakesmith.errors import Problem
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import Lake
from lakesmith.execute.status import QUARANTINE_PIN, quarantine_state, quarantined_rows
from lakesmith.plan.facts import TableFacts, still_refused
from lakesmith.plan.fingerprint import definition_fingerprint
from lakesmith.plan.planner import tampered
from lakesmith.plan.sourced import cut_problem
from lakesmith.plan.steps import BadRows, Decision, InputRange, Refused, Strategy, TableStep, UpToDate
from lakesmith.project.definitions import Source, TableDefinition, TableName
from lakesmith.sources.formats.registry import ColumnsIn, landing_format
from lakesmith.sources.formats.text import unpacked
from lakesmith.sources.inspect import read_shape
from lakesmith.sources.shape import UnreadableFile

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
    """A row in quarantine. ``position`` in ``file`` counts from 1; ``modified_ms`` is the file's. ``raw`` is
    the text of an unparsed row, ``row`` the JSON of a parsed one. ``found_ms``: the start of its batch."""

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
    """Bad rows in numbers. ``reasons`` are the texts with the number of rows each is given for, most first; a
    reason that quotes a value counts by what precedes the value. The times are those of the batches,
    since the epoch."""

    rows: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    oldest_ms: int | None = None
    newest_ms: int | None = None


def read_bad_rows(
    lake: Lake, name: TableName, facts: TableFacts, chosen: BadRows, limit: int | None = None
) -> tuple[BadRow, ...]:
    """Returns the chosen rows of the quarantine, by file and position, at most ``limit``. Raises StateError
    LS508."""
    found = (row for row in _rows(lake, name, facts, _SHOWN) if fits(row, chosen))
    rows = [_bad_row(row) for row in islice(found, limit)]
    return tuple(sorted(rows, key=lambda row: (row.file or "", row.position or 0, row.row or "")))


def summarize(lake: Lake, name: TableName, facts: TableFacts, chosen: BadRows | None = None) -> Summary:
    """The rows of the table's quarantine (that are chosen) in numbers. Raises StateError LS508."""
    rows = _rows(lake, name, facts, _ABOUT)
    return _summary(row for row in rows if chosen is None or fits(row, chosen))


def fits(row: dict[str, Any], chosen: BadRows) -> bool:
    """Returns whether a quarantined row is chosen, as ``spark.kinds.replay.condition`` does in SQL."""
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
    # Of what is on this machine the metadata is enough, and PyIceberg's SQL catalog takes twice as long to
    # import.
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


@dataclass
class QuarantineDecider(Decider):
    """Decides on tables' quarantines instead of their rows. ``strategy`` is REPLAY or DROP."""

    strategy: Strategy = Strategy.REPLAY
    bad_rows: BadRows = field(default_factory=BadRows)

    def decide(self, name: TableName) -> Decision:
        """The step that replays or drops the bad rows that are meant."""
        table, facts = self.graph.node(name).definition, self.lake.facts(name)
        if problem := facts.problem or _disturbed(table, facts):
            return Refused(table, problem)
        if quarantined_rows(self.lake, name, facts) == 0:
            return UpToDate(table, "nothing is in its quarantine")
        return plan_quarantine(table, facts, self.strategy, self.bad_rows)


def _disturbed(table: TableDefinition, facts: TableFacts) -> Problem | None:
    """Returns why a run must come first: another engine changed the table, and this record would hide it."""
    if table.query is None:
        return cut_problem(table, facts)
    if (reason := tampered(facts)) is None:
        return None
    return Problem(
        "LS509",
        f"{table.name} is not as its last batch left it",
        place=table.place,
        found=reason,
        hint=f"run it first, which computes it in full: lakesmith run {table.name}",
    )


def plan_quarantine(
    table: TableDefinition, facts: TableFacts, strategy: Strategy, bad_rows: BadRows
) -> TableStep:
    """Returns the step: a replay uses the present definition, a drop leaves the table as it is."""
    record = facts.base.record
    assert record is not None
    is_replay = strategy is Strategy.REPLAY
    return TableStep(
        table=table,
        strategy=strategy,
        reason=f"bad rows are validated again: {bad_rows}"
        if is_replay
        else f"bad rows are dropped: {bad_rows}",
        base=facts.base,
        fingerprint=definition_fingerprint(table) if is_replay else record.fingerprint,
        inputs=InputRange.unread(record),
        row_wise=True,
        refused=still_refused(record, table.trusts_python),
        bad_rows=bad_rows,
    )


Place = tuple[str, int]
"""A file and a position in it."""


def line_numbers(rows: Iterable[BadRow], table: TableDefinition, root: Path) -> Mapping[Place, int]:
    """The line, from 1, of each of ``rows`` whose line is known, by its file and position."""
    if len(table.sources) != 1 or not landing_format(table.sources[0]).has_lines(table.sources[0]):
        return {}
    wanted: dict[tuple[str, int], set[int]] = defaultdict(set)
    for row in rows:
        if row.file and row.position is not None and row.modified_ms is not None:
            wanted[row.file, row.modified_ms].add(row.position)
    return {
        (file, position): line
        for (file, modified_ms), positions in wanted.items()
        for position, line in _lines_of(root / file, modified_ms, positions, table.sources[0])
    }


def _lines_of(path: Path, modified_ms: int, positions: set[int], source: Source) -> Iterator[tuple[int, int]]:
    try:
        stat = path.stat()
        if stat.st_mtime_ns // 1_000_000 != modified_ms or stat.st_size >= limits.LARGE_FILE_BYTES:
            return
        layout = read_shape(path, source).layout
        if layout.is_stream:
            return
        has_header = landing_format(source).columns_in is ColumnsIn.HEADER
        first = layout.first_record(source.csv) if has_header else 0
        # Of any encoding that has ASCII in it; universal newlines are LF, CRLF and CR, as Hadoop's are.
        with unpacked(path) as stream, io.TextIOWrapper(stream, encoding="latin-1") as lines:
            yield from _numbered(lines, positions, first, source.csv.comment)
    except (OSError, UnreadableFile):
        # The file has gone, or cannot be read now: then the line is unknown.
        return


def _numbered(
    lines: Iterable[str], positions: set[int], first: int, comment: str
) -> Iterator[tuple[int, int]]:
    position, last = 0, max(positions)
    for number, line in enumerate(lines):
        if number < first or not line.strip(" \n") or (comment and line.startswith(comment)):
            continue
        position += 1
        if position in positions:
            yield position, number + 1
        if position >= last:
            return
