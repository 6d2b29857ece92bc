"""What is known of a query before Spark is there: that it is one, its tables, and where in the past they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lakesmith import limits
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.local import Elsewhere
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem, UsageError
from lakesmith.execute.lake import table_bytes
from lakesmith.execute.opened import Opened
from lakesmith.graph.check_references import nearest_table
from lakesmith.project.definitions import TableName
from lakesmith.sql.model import SqlAnalysis

_SELECTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})


@dataclass(frozen=True, slots=True)
class Question:
    """A query's text; ``as_of``: the snapshot of each of its tables, None: as they are now; ``little``: so is what it reads.

    ``others``: where the metadata is of tables that are others'.
    """

    sql: str
    as_of: Mapping[TableName, int] | None
    little: bool
    others: Mapping[TableName, Elsewhere] = field(default_factory=dict)


def ask(opened: Opened, sql: str, as_of: str | None) -> Question:
    """The query, looked at.

    Raises UsageError LS240 (a table that is not there), LS241 (no SELECT), LS245 (one that calls code), LS243 (SQL that cannot be followed
    to the past), LS244 (no SQL), LS230, LS231 (no such point of the past).
    """
    _require_select(sql)
    analysis = _analysed(sql, strict=as_of is not None)
    states = _states(opened, analysis)
    external = {table.name: table.external.catalog for table in opened.project.tables if table.external}
    others = {
        name: Elsewhere(state.metadata_location, external[name])
        for name, state in states.items()
        if name in external
    }
    if others and as_of is None:
        # What Spark's catalog does not name is read as any table of the past is.
        analysis = _analysed(sql, strict=True)
        snapshots = {name: _head(opened, name, state) for name, state in states.items()}
        return Question(sql, snapshots, _is_little(opened, analysis), others)
    return Question(sql, _resolved(states, analysis, as_of), _is_little(opened, analysis), others)


def _head(opened: Opened, name: TableName, state: TableState) -> int:
    if state.head is None:
        raise UsageError(_missing(opened, name))
    return state.head.snapshot_id


def _require_select(sql: str) -> None:
    """Tells at once what is plainly no query; what is not so plain, Spark's parser tells."""
    from lakesmith.sql.functions import calls_code
    from lakesmith.sql.tokens import SqlParseError, tokenize

    try:
        tokens = tokenize(sql)
    except SqlParseError as error:
        what = f"the query is not right: {error.message}, at line {error.line}"
        raise UsageError.of("LS244", what, None, found=error.near or None, hint=error.hint) from error
    first = next(iter(tokens), None)
    if first is None:
        raise UsageError.of("LS241", "the query is empty", None, "a SELECT")
    if first.upper not in _SELECTS:
        from lakesmith.spark.ask import not_a_query

        raise not_a_query(first.upper)
    if (use := calls_code(sql, tokens)) is not None:
        what = f"the query is refused: at line {use.line} it calls code, or reads a file by its path"
        raise UsageError.of("LS245", what, None, "tables, and functions that compute", use.name)


def _analysed(sql: str, strict: bool) -> SqlAnalysis | None:
    """What the text says of its tables. Without ``strict``, None for what cannot be followed: Spark sees to it."""
    from lakesmith.sql.analysis import analyse
    from lakesmith.sql.tokens import SqlParseError

    try:
        return analyse(sql)
    except SqlParseError as error:
        if not strict:
            return None
        found = f"{error.message}, near {error.near!r}" if error.near else error.message
        what = f"the query cannot be read as of another time, at line {error.line}"
        raise UsageError.of("LS243", what, None, found=found, hint=error.hint) from error


def _states(opened: Opened, analysis: SqlAnalysis | None) -> dict[TableName, TableState]:
    """The tables of the query. Raises UsageError LS240 unless all are there."""
    found: dict[TableName, TableState] = {}
    for name in _tables(analysis) if analysis else ():
        state = opened.lake.catalog.table(name.layer, name.name)
        if state is None:
            raise UsageError(_missing(opened, name))
        found[name] = state
    return found


def _resolved(
    states: Mapping[TableName, TableState], analysis: SqlAnalysis | None, as_of: str | None
) -> dict[TableName, int] | None:
    """The snapshot of each table that ``as_of`` means, None without one."""
    found = {
        name: resolve_as_of(state, as_of, datetime.now(UTC))
        for name, state in states.items()
        if as_of is not None
    }
    if as_of is not None and analysis and any(reference.time_travel for reference in analysis.references):
        raise UsageError.of(
            "LS243", "the query names a point in time itself", None, "--as-of, or VERSION AS OF in it"
        )
    return None if as_of is None else found


def _tables(analysis: SqlAnalysis) -> Iterator[TableName]:
    """The tables of the lake that the query names; metadata tables (``bronze.orders.files``) are left to Spark."""
    for reference in analysis.references:
        parts = reference.parts
        if len(parts) == 2:
            yield TableName(*(part.lower() for part in parts))


def _missing(opened: Opened, name: TableName) -> Problem:
    known = set(opened.graph.order)
    if name in known:
        what, hint = f"{name} has not been built yet", f"lakesmith run +{name} builds it"
    else:
        what, hint = f"there is no table {name}", nearest_table(str(name), known)
    return Problem("LS240", what, None, "a table of the lake, by its logical name layer.name", hint=hint)


def _is_little(opened: Opened, analysis: SqlAnalysis | None) -> bool:
    """Whether starting Spark costs more than the query itself can."""
    if analysis is None or any(len(reference.parts) != 2 for reference in analysis.references):
        return False
    return table_bytes(opened.lake, _tables(analysis)) <= limits.LITTLE_DATA_BYTES
