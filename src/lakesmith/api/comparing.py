"""Calls that compute rows in Spark and compare: two points of a table's past, or a table with its rebuild."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from lakesmith.api.access import Access
from lakesmith.api.frames import exact
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.state import MAIN
from lakesmith.execute.events import EngineStarting
from lakesmith.execute.lake import planned_bytes, table_bytes
from lakesmith.execute.opened import Opened
from lakesmith.execute.rollback import never_written
from lakesmith.execute.verify import Verdict, Verification, VerifyStarted, as_dict, verification_of
from lakesmith.plan.cost import DataSize
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import TableName

if TYPE_CHECKING:
    from lakesmith.spark.diff import Counts, Span
    from lakesmith.spark.start.session import SessionHandle


VerifyListener = Callable[[VerifyStarted | EngineStarting], None]
"""Receives what ``verify`` is doing."""

_CHANGE: Final = "_change"


@dataclass(frozen=True)
class Diff:
    """The rows that changed in a table between two snapshots.

    Attributes:
        counts: the rows inserted, deleted and updated; of the updated ones, in how many a column differs.
        columns: the columns of ``rows``, which are the first ones, and their Spark SQL ``types``.
        is_cut: whether there are more rows.
    """

    table: TableName
    from_snapshot: int
    to_snapshot: int
    counts: Counts
    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool

    @property
    def is_empty(self) -> bool:
        """Whether no row changed."""
        return not (self.counts.inserted or self.counts.deleted or self.counts.updated)

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": str(self.table),
            "from_snapshot": self.from_snapshot,
            "to_snapshot": self.to_snapshot,
            **asdict(self.counts),
            "rows": [dict(zip(self.columns, map(exact, row), strict=True)) for row in self.rows],
        }


@dataclass(frozen=True, slots=True)
class Verified:
    """What verifying the selected tables found."""

    tables: tuple[Verification, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether a table differs from its rebuild, or could not be computed."""
        return any(each.verdict in (Verdict.DIFFERS, Verdict.FAILED) for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        return {"tables": list(map(as_dict, self.tables))}


def diff(access: Access, table: str, begin: str, end: str | None, limit: int | None) -> Diff:
    opened = access.opened()
    name = opened.one_of_ours(table)
    span = _span(opened, name, begin, end)
    size = DataSize.of(table_bytes(opened.lake, [name]))
    session = access.do(lambda: access.session(opened, size, reads=True))
    return access.do_in_spark(session, lambda: _diff(session, span, limit, opened.project.secrets))


def _span(opened: Opened, name: TableName, begin: str, end: str | None) -> Span:
    from lakesmith.spark.diff import Span

    state = opened.lake.catalog.table(name.layer, name.name)
    if state is None or state.head is None:
        raise never_written(name)
    now, definition = datetime.now(UTC), opened.graph.node(name).definition
    start = resolve_as_of(state, begin, now)
    stop = state.refs[MAIN] if end is None else resolve_as_of(state, end, now)
    return Span(name, start, stop, () if definition.keeps_versions else tuple(definition.key))


def _diff(session: SessionHandle, span: Span, limit: int | None, secrets: Sequence[str]) -> Diff:
    from lakesmith.spark.ask import frame_result
    from lakesmith.spark.diff import difference

    # One row more than is wanted tells whether there are more.
    computed = None if limit is None else limit + 1
    with (
        difference(session, span, secrets) as found,
        frame_result(session, found.rows, computed, secrets) as result,
    ):
        rows = tuple(islice(result.rows, limit))
        is_cut = next(iter(result.rows), None) is not None
        names = _for_people(result.columns)
        return Diff(span.name, span.start, span.end, found.counts, names, result.types, rows, is_cut)


def _for_people(names: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the columns of a difference, the first of them ``_change`` unless the table has one like it."""
    change, *others = names
    return (change if _CHANGE in map(str.lower, others) else _CHANGE, *others)


def verify(access: Access, select: Sequence[str], on_event: VerifyListener) -> Verified:
    opened = access.opened()
    decider = opened.decider()
    planned = [verification_of(decider, name) for name in opened.names(select)]
    steps = [each for each in planned if isinstance(each, TableStep)]
    done = _verified(access, opened, steps, on_event) if steps else {}
    return Verified(tuple(done[each.name] if isinstance(each, TableStep) else each for each in planned))


def _verified(
    access: Access, opened: Opened, steps: Sequence[TableStep], on_event: VerifyListener
) -> dict[TableName, Verification]:
    on_event(EngineStarting())
    size = DataSize.of(planned_bytes(opened.lake, steps))
    session = access.do(lambda: access.session(opened, size, reads=True))
    from lakesmith.spark.verify import verify_steps

    return access.do_in_spark(session, lambda: verify_steps(session, opened.lake, steps, on_event))
