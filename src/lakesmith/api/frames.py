"""Queries: what is known of one before Spark starts, and its rows as frames of Spark, Arrow or pandas."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakesmith.api.access import Access
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.local import Elsewhere
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem, UsageError
from lakesmith.execute.lake import table_bytes
from lakesmith.execute.opened import Opened
from lakesmith.graph.check_references import nearest_table
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import TableName
from lakesmith.sql.model import SqlAnalysis

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from pyspark.sql import DataFrame

    from lakesmith.spark.ask import QueryResult as QueryResult
    from lakesmith.spark.start.session import SessionHandle


_SELECTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})


@dataclass(frozen=True, slots=True)
class Question:
    """A query's text; ``as_of``: the snapshot of each of its tables, None: as they are now; ``size``: what
    it reads.

    ``others``: where the metadata is of tables that are others'.
    """

    sql: str
    as_of: Mapping[TableName, int] | None
    size: DataSize
    others: Mapping[TableName, Elsewhere] = field(default_factory=dict)


def ask(opened: Opened, sql: str, as_of: str | None) -> Question:
    """The query, looked at.

    Raises UsageError LS240 (a table that is not there), LS241 (no SELECT), LS245 (one that calls code), LS243
    (SQL that cannot be followed to the past), LS244 (no SQL), LS230, LS231 (no such point of the past).
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
        return Question(sql, snapshots, _size(opened, analysis), others)
    return Question(sql, _resolved(states, analysis, as_of), _size(opened, analysis), others)


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
    """Analyses the text. Without ``strict``, returns None for what cannot be followed: Spark parses it."""
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
    """The tables that the query names, except metadata tables (``bronze.orders.files``)."""
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


def _size(opened: Opened, analysis: SqlAnalysis | None) -> DataSize:
    if analysis is None or any(len(reference.parts) != 2 for reference in analysis.references):
        return DataSize.LARGE
    return DataSize.of(table_bytes(opened.lake, _tables(analysis)))


@dataclass(frozen=True)
class Rows:
    """The rows of a query, read when one of the methods is called.

    Each raises UsageError LS244 for a query that Spark refuses, RunError with the root cause if it fails.
    """

    _session: SessionHandle
    _question: Question
    _secrets: tuple[str, ...]
    _access: Access

    def spark(self) -> DataFrame:
        """As a frame of Spark's, which is computed where it is used."""
        return self._access.do(self._frame)

    def arrow(self, limit: int | None = None) -> pyarrow.Table:
        """As a table of Arrow's, in this process' memory; at most ``limit`` rows, None: all."""
        return self._access.do_in_spark(self._session, lambda: self._computed(limit))

    def pandas(self) -> pandas.DataFrame:
        """As a frame of pandas', in this process' memory. Asks for pandas to be installed."""
        return self.arrow().to_pandas()

    @contextmanager
    def stream(self, limit: int | None = None, *, longest: int | None = None) -> Iterator[QueryResult]:
        """Gives the rows one after the other while the context lasts; at most ``limit``, None: all.

        ``longest``: of a longer text or binary, as many characters or bytes, and one more.
        """
        from lakesmith.spark.ask import run_query

        asked = self._question
        where = asked.as_of, limit, self._secrets, asked.others
        with run_query(self._session, asked.sql, *where, longest) as result:
            yield result

    def to_dict(self) -> list[dict[str, Any]]:
        """All rows as JSON data without loss, an object each."""
        with self.stream() as result:
            return [dict(zip(result.columns, map(exact, row), strict=True)) for row in result.rows]

    def _frame(self) -> DataFrame:
        from lakesmith.spark.ask import query_frame

        asked = self._question
        return query_frame(self._session, asked.sql, asked.as_of, self._secrets, asked.others)

    def _computed(self, limit: int | None) -> pyarrow.Table:
        from lakesmith.spark.ask import arrow_table

        frame = self._frame()
        return arrow_table(self._session, frame if limit is None else frame.limit(limit), self._secrets)


def exact(value: Any) -> Any:
    """A value as JSON data without loss."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime():
            return value.isoformat().removesuffix("+00:00") + ("Z" if value.tzinfo else "")
        case Decimal():
            return format(value, "f")
        case date():
            return value.isoformat()
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case dict():
            return {_key(key): exact(item) for key, item in value.items()}
        case list():
            return [exact(item) for item in value]
    # Intervals, variants: as Python writes them.
    return str(value)


def exact_text(value: Any) -> str:
    """A value as text without loss: a text as it is, all else as JSON."""
    found = exact(value)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _key(key: Any) -> str:
    found = exact(key)
    return found if isinstance(found, str) else json.dumps(found)


def csv_line(values: Iterable[Any]) -> str:
    """A row as a line of CSV. NULL is empty, an empty text ``""``; what is nested is JSON."""
    return ",".join(map(_csv_cell, values)) + "\n"


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    text = exact_text(value)
    needs = not text or text != text.strip() or any(each in text for each in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if needs else text
