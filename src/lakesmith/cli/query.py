"""``lakesmith query``: Spark SQL on the present or the past, as a table, JSON or CSV."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lakesmith.catalog.history import resolve_as_of
from lakesmith.cli.opening import Opened, open_project
from lakesmith.cli.query_output import FORMATS, write_result
from lakesmith.errors import Problem, UsageError
from lakesmith.execute.size import LITTLE_BYTES, table_bytes
from lakesmith.graph.check_references import nearest_table
from lakesmith.project.definitions import TableName
from lakesmith.project.nearest import did_you_mean
from lakesmith.sql.model import SqlAnalysis

if TYPE_CHECKING:
    from lakesmith.spark.start.session import SessionHandle

TABLE_LIMIT = 100
"""The rows a table shows when no limit was given."""

_SELECTS = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("})


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What the caller of ``query`` asked for. ``limit`` None: all rows, of a table the first hundred; 0: all."""

    sql: str
    as_of: str | None = None
    output: str = "table"
    limit: int | None = None

    @property
    def most(self) -> int | None:
        """The most rows to show; None: all."""
        if self.limit is None:
            return TABLE_LIMIT if self.output == "table" else None
        return self.limit or None


def query_command(root: Path, target: str | None, options: QueryOptions) -> int:
    """Runs the query and prints its rows; 0.

    Raises UsageError LS240 (a table that is not there), LS241 (no SELECT), LS242 (an unknown format), LS243 (SQL that
    cannot be followed to the past), LS244 (SQL that Spark refuses), LS230, LS231 (no such point of the past); RunError with Spark's root cause.
    """
    if options.output not in FORMATS:
        hint = did_you_mean(options.output, FORMATS)
        raise UsageError(
            Problem("LS242", f"there is no format {options.output}", None, ", ".join(FORMATS), hint=hint)
        )
    opened = open_project(root, target)
    sql = sys.stdin.read() if options.sql == "-" else options.sql
    _require_select(sql)
    analysis = _analysed(sql, strict=options.as_of is not None)
    as_of = _resolved(opened, analysis, options.as_of)
    with _session(opened, _is_little(opened, analysis)) as session:
        from lakesmith.spark.ask import run_query

        most = options.most
        # One row more than is shown tells whether there are more.
        limit = None if most is None else most + 1
        with run_query(session, sql, as_of, limit, opened.project.secrets) as result:
            write_result(result, options.output, most, sys.stdout)
    return 0


def _require_select(sql: str) -> None:
    """Tells at once what is plainly no query; what is not so plain, Spark's parser tells."""
    from lakesmith.sql.tokens import SqlParseError, tokenize

    try:
        first = next(iter(tokenize(sql)), None)
    except SqlParseError:
        return
    if first is None:
        raise UsageError(Problem("LS241", "the query is empty", None, "a SELECT"))
    if first.upper not in _SELECTS:
        from lakesmith.spark.ask import not_a_query

        raise not_a_query(first.upper)


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
        raise UsageError(Problem("LS243", what, None, found=found, hint=error.hint)) from error


def _resolved(opened: Opened, analysis: SqlAnalysis | None, as_of: str | None) -> dict[TableName, int] | None:
    """The snapshot of each table that ``as_of`` means, None without one. All tables must be there."""
    found: dict[TableName, int] = {}
    for name in _tables(analysis) if analysis else ():
        state = opened.lake.catalog.table(name.layer, name.name)
        if state is None:
            raise UsageError(_missing(opened, name))
        if as_of is not None:
            found[name] = resolve_as_of(state, as_of, datetime.now(UTC))
    if as_of is not None and analysis and any(reference.time_travel for reference in analysis.references):
        raise UsageError(
            Problem("LS243", "the query travels in time by itself", None, "--as-of, or VERSION AS OF in it")
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
    return table_bytes(opened.lake, _tables(analysis)) <= LITTLE_BYTES


@contextmanager
def _session(opened: Opened, little: bool) -> Iterator[SessionHandle]:
    from lakesmith.spark import open as spark_open

    with _waiting("starting Spark"):
        session = spark_open.open_session(opened.project, little)
    try:
        yield session
    finally:
        session.stop()


def _waiting(text: str) -> AbstractContextManager[object]:
    """A live line on the terminal; on stderr, so that it never mixes with the rows."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)
