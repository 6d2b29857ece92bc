"""Rows of a table at a point of its past, without a JVM: filtered, sorted, a page at a time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lakesmith import limits
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.progress import live_rows
from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, Problem, StateError
from lakesmith.execute.opened import Opened
from lakesmith.execute.rollback import never_written
from lakesmith.page.row_filters import (
    OPERATORS,
    ROWS_A_PAGE,
    Column,
    Filter,
    Wanted,
    address_of,
    columns_of,
    command_of,
    misfit,
    require_fit,
    value_of,
    wanted_by,
)
from lakesmith.project.definitions import TableName

if TYPE_CHECKING:
    import pyarrow as pa

    from lakesmith.page.app import Pages

POINTS: Final = 30
"""Points of the past from which one can be chosen."""
CELL: Final = 200
"""Characters of a value that are shown."""
_KERNELS: Final = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"
}  # fmt: skip
_READERS: Final = Semaphore(2)
"""So many views read rows at a time; the others wait."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in words: ``kind`` is null, number or text; ``length``: its characters if not all are shown."""

    text: str
    kind: str = "text"
    length: int = 0


@dataclass(frozen=True, slots=True)
class Shown:
    """A page of rows at a snapshot.

    Attributes:
        total: the rows of the table; None if its metadata does not say.
        found: the rows that match among those that were ``looked`` at; without a filter the total.
        is_whole: whether all rows were looked at, or need not be.
        command: the same question for the command line.
    """

    snapshot: int
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    page: int
    has_more: bool
    total: int | None
    found: int | None
    looked: int
    is_whole: bool
    command: str


@dataclass(frozen=True)
class _Scan:
    """A table's rows at a snapshot, read file by file until the bounds."""

    table: Any
    snapshot: int
    kinds: Mapping[str, str]
    schema: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema", self.table.scan(snapshot_id=self.snapshot).projection())

    def tasks(self, filters: Sequence[Filter]) -> list[Any]:
        """Returns the files that can have matching rows."""
        scan = self.table.scan(row_filter=self._pruning(filters), snapshot_id=self.snapshot)
        return list(scan.plan_files())

    def batches(self, task: Any, limit: int) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a file that are not deleted, at most ``limit``."""
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        scan = ArrowScan(self.table.metadata, self.table.io, self.schema, AlwaysTrue(), limit=limit)
        return scan.to_record_batches([task])

    def _pruning(self, filters: Sequence[Filter]) -> Any:
        """Returns a condition by which PyIceberg leaves files out, in the names of the present schema."""
        from pyiceberg import expressions

        found: Any = expressions.AlwaysTrue()
        now = {each.field_id: each for each in self.table.schema().fields}
        for each in filters:
            column = self.schema.find_field(each.column)
            present = now.get(column.field_id)
            if present is None or present.field_type != column.field_type or each.operator not in _KERNELS:
                continue
            if str(column.field_type).startswith(("decimal", "float", "double")):
                # PyIceberg takes literals of exactly a decimal's scale alone. Statistics of files have -0.0
                # below 0.0, and leave NaN out.
                continue
            kind = {"eq": "EqualTo", "lt": "LessThan", "le": "LessThanOrEqual", "gt": "GreaterThan",
                    "ge": "GreaterThanOrEqual"}.get(each.operator)  # fmt: skip
            if kind is not None:
                found = expressions.And(
                    found, getattr(expressions, kind)(present.name, value_of(self.kinds[each.column], each))
                )
        return found


def read_rows(opened: Opened, name: TableName, wanted: Wanted) -> Shown:
    """Returns a page of rows.

    Raises UsageError LS255 (never written), LS230, LS231 (no such point), LS276 (the filter does not fit),
    StateError LS533 (PyIceberg cannot read the table).
    """
    state = opened.lake.catalog.table(name.layer, name.name)
    if state is None or state.head_id is None:
        raise never_written(name)
    snapshot = resolve_as_of(state, wanted.as_of, datetime.now(UTC)) if wanted.as_of else state.head_id
    command = command_of(name, wanted, snapshot if wanted.as_of else None)
    try:
        with _READERS:
            kinds = {column: kind for column, kind, _ in columns_of(state, snapshot)}
            scan = _Scan(_table(opened, name, state), snapshot, kinds)
            return _page(scan, state, wanted, command)
    except LakesmithError:
        raise
    except Exception as error:
        # What PyIceberg does not know of the format it says in many ways.
        raise StateError.of(
            "LS533",
            f"rows of {name} cannot be read without Spark",
            expected="a table that PyIceberg reads: without equality deletes, and with types that it knows",
            found=f"{type(error).__name__}: {' '.join(str(error).split())[:300]}",
            hint=command,
        ) from error


def _table(opened: Opened, name: TableName, state: TableState) -> Any:
    if not isinstance(opened.lake.catalog, LocalCatalog):
        return opened.lake.catalog.reader().load_table((name.layer, name.name))
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(state.metadata_location)


def _page(scan: _Scan, state: TableState, wanted: Wanted, command: str) -> Shown:
    columns = columns_of(state, scan.snapshot)
    for each in wanted.filters:
        require_fit(columns, each)
    if wanted.sort and not any(name == wanted.sort.lstrip("-") and simple for name, _, simple in columns):
        raise misfit(f"rows cannot be sorted by {wanted.sort.lstrip('-')!r}", columns)
    total = live_rows(state.snapshots[scan.snapshot])
    tasks = scan.tasks(wanted.filters)
    offset = (wanted.page - 1) * ROWS_A_PAGE
    if wanted.is_plain:
        skipped, rest = _skipped(tasks, offset)
        kept, looked, is_whole = _read(scan, rest, wanted, offset - skipped + ROWS_A_PAGE + 1)
        shown = kept.slice(offset - skipped, ROWS_A_PAGE)
        has_more = kept.num_rows > offset - skipped + ROWS_A_PAGE
        # More rows than a page needs are not looked at.
        is_whole, found = is_whole or has_more or shown.num_rows == ROWS_A_PAGE, total
    else:
        kept, looked, is_whole = _read(scan, tasks, wanted, None)
        if wanted.sort:
            kept = _sorted(kept, wanted.sort)
        shown, found = kept.slice(offset, ROWS_A_PAGE), kept.num_rows
        has_more = kept.num_rows > offset + ROWS_A_PAGE
    rows = tuple(
        tuple(map(cell, row)) for row in zip(*(each.to_pylist() for each in shown.columns), strict=True)
    )
    return Shown(scan.snapshot, columns, rows, wanted.page, has_more, total, found, looked, is_whole, command)


def _skipped(tasks: Sequence[Any], offset: int) -> tuple[int, Sequence[Any]]:
    """Returns how many rows before a page are in files that need not be opened, and the other files."""
    skipped = 0
    for number, task in enumerate(tasks):
        rows = task.file.record_count
        if task.delete_files or skipped + rows > offset:
            return skipped, tasks[number:]
        skipped += rows
    return skipped, ()


def _read(
    scan: _Scan, tasks: Sequence[Any], wanted: Wanted, enough: int | None
) -> tuple[pa.Table, int, bool]:
    """Returns the matching rows, how many were looked at, and whether none was left out for the bounds."""
    import pyarrow as pa
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    kept: list[pa.Table] = []
    looked = held = found = 0
    most = min(limits.PAGE_ROWS_LOOKED_AT, enough or limits.PAGE_ROWS_LOOKED_AT)
    is_whole = True
    for task in tasks:
        if looked >= most or held >= limits.PAGE_BYTES_LOOKED_AT:
            is_whole = False
            break
        for batch in scan.batches(task, most - looked):
            table = _matching(pa.Table.from_batches([batch]), scan.kinds, wanted.filters)
            kept.append(table)
            looked, held, found = looked + batch.num_rows, held + table.nbytes, found + table.num_rows
            if held >= limits.PAGE_BYTES_LOOKED_AT:
                break
        if looked >= most:
            # The file may have ended just here; then nothing was left out.
            is_whole = looked == sum(each.file.record_count for each in tasks)
    if not kept:
        return schema_to_pyarrow(scan.schema, include_field_ids=False).empty_table(), looked, is_whole
    return pa.concat_tables(kept, promote_options="permissive"), looked, is_whole


def _matching(rows: pa.Table, kinds: Mapping[str, str], filters: Sequence[Filter]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    for each in filters:
        column = rows.column(each.column)
        match each.operator:
            case "null":
                mask = pc.is_null(column)
            case "some":
                mask = pc.is_valid(column)
            case "has":
                mask = pc.match_substring(column, each.value, ignore_case=True)
            case kernel:
                value = value_of(kinds[each.column], each)
                fits = not isinstance(value, int | float | Decimal)
                scalar = pa.scalar(value, column.type) if fits else pa.scalar(value)
                if pa.types.is_floating(column.type):
                    column, scalar = _ordered(column), _ordered(pa.chunked_array([[float(value)]]))[0]
                mask = getattr(pc, _KERNELS[kernel])(column, scalar)
        rows = rows.filter(mask)
    return rows


def _ordered(floats: pa.ChunkedArray) -> pa.Array:
    """Returns integers that compare as Spark compares floats: -0.0 equals 0.0, NaN equals NaN and is greater
    than any number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    doubles = pc.add(pc.cast(floats.combine_chunks(), pa.float64()), 0.0)
    bits = pc.if_else(pc.is_nan(doubles), math.nan, doubles).view(pa.int64())
    return pc.if_else(pc.less(bits, 0), pc.bit_wise_xor(bits, 2**63 - 1), bits)


def _sorted(rows: pa.Table, sort: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    order = "descending" if sort.startswith("-") else "ascending"
    column = rows.column(sort.removeprefix("-"))
    key = _ordered(column) if pa.types.is_floating(column.type) else column.combine_chunks()
    return rows.take(pc.array_sort_indices(key, order=order, null_placement="at_end"))


def cell(value: Any) -> Cell:
    """Returns a value in words, of a long one the beginning."""
    if value is None:
        return Cell("NULL", "null")
    if value == "":
        return Cell("empty", "null")
    kind = "number" if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else "text"
    text = _text(value)
    return Cell(text, kind) if len(text) <= CELL else Cell(text[:CELL], kind, len(text))


def _text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return value.isoformat(sep=" ").removesuffix("+00:00") + (" UTC" if value.tzinfo else "")
        case Decimal():
            return format(value, "f")
        case float() if not math.isfinite(value):
            return str(value)
        case bytes():
            return "0x" + value[:CELL].hex()
        case list() | dict() | tuple():
            return json.dumps(value, ensure_ascii=False, default=_text)
    return str(value)


def link_of(name: str, wanted: Wanted | None = None) -> Callable[[Any], str]:
    """Returns a function that gives the address of the rows at a point of the past."""

    def link(point: Any) -> str:
        as_of = None if point.is_head else str(point.snapshot_id)
        return address_of(name, wanted or Wanted(), as_of=as_of, page=1)

    return link


def _without(name: str, wanted: Wanted, number: int) -> str:
    """Returns the address without one of the conditions."""
    left = tuple(each for at, each in enumerate(wanted.filters) if at != number)
    return address_of(name, wanted, filters=left, page=1)


def routes(pages: Pages) -> list[Route]:
    """Returns the routes of the rows' page."""

    def show(request: Request) -> Response:
        version, wanted = pages.watch.version(0), wanted_by(request.query_params.multi_items())
        try:
            opened = pages.lake.access.opened()
            name = opened.one(request.path_params["name"])
            history = pages.lake.history(str(name), limit=POINTS)
        except LakesmithError as error:
            return pages.problems(error, version)
        problems: Sequence[Problem] = ()
        shown: Shown | None = None
        columns: tuple[Column, ...] = ()
        try:
            shown = read_rows(opened, name, wanted)
            columns = shown.columns
        except LakesmithError as error:
            problems = error.problems
            state = opened.lake.catalog.table(name.layer, name.name)
            columns = columns_of(state, None) if state else ()
        values = {"name": str(name), "history": history, "shown": shown, "problems": problems}
        values |= {"columns": columns}
        values |= {"wanted": wanted, "again": partial(address_of, str(name), wanted), "operators": OPERATORS}
        values |= {"size": ROWS_A_PAGE, "without": partial(_without, str(name), wanted)}
        values["point_link"] = link_of(str(name), wanted)
        return pages.page("rows.html", values, version, 200 if shown else 400)

    return [Route("/t/{name}/rows", show)]
