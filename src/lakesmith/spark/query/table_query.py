"""The rows of a derived table: its query over the planned ranges of its inputs, and nothing else of them."""

import re
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.errors import LakesmithError, RunError
from lakesmith.execute.engine import NeverIncremental
from lakesmith.graph.inputs import line_of
from lakesmith.plan.steps import InputRange, Strategy
from lakesmith.project.definitions import PythonQuery, SqlQuery, TableDefinition, TableName
from lakesmith.quoting import composed
from lakesmith.redaction import redacted
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.catalyst.arrival import ARRIVAL
from lakesmith.spark.catalyst.arrival import with_arrival as with_arrival_of
from lakesmith.spark.catalyst.key_columns import Keys, key_columns
from lakesmith.spark.catalyst.proofs import NO_PROOFS, Proofs, proofs_of
from lakesmith.spark.catalyst.tree import (
    Occurrence,
    Occurrences,
    analysed,
    as_arguments,
    items,
    node_kind,
    occurrence_of,
    occurrences_of,
    require_pure,
)
from lakesmith.spark.iceberg.commits import name_in_plans
from lakesmith.spark.iceberg.snapshots import read_appended, read_version
from lakesmith.spark.jvm.failures import explain_failure
from lakesmith.spark.query.kept_queries import Names, Views, query_again
from lakesmith.spark.query.log_functions import provide
from lakesmith.spark.query.python_modules import load_function
from lakesmith.spark.query.python_watch import watched
from lakesmith.sql.analysis import analyse
from lakesmith.sql.log_functions import Used, used
from lakesmith.sql.model import SqlAnalysis
from lakesmith.sql.splice import mark_projection, respelt, splice

_SPARK_LINE: Final = re.compile(r";? ?\(?line (?P<line>\d+),? pos \d+\)?")
"""The end of Spark's messages about a text."""

_HIDDEN: Final = "_hidden"
"""The prefix of carried columns, so that they differ from the query's own."""

_MARK: Final = "_lakesmith_known_"
"""The prefix of the columns that mark rows of lookups as present."""

_MADE_HERE: Final = frozenset(
    {"LocalRelation", "OneRowRelation", "Range", "LogicalRDD", "Scan", "CTERelationRef"}
)
"""Leaves of a plan that read nothing: rows that a program makes."""

_MOST_SHOWN: Final = 20
"""How many columns of a leaf are shown."""

_ROW_WISE_NODES: Final = frozenset({"Project", "Filter", "SubqueryAlias", "View"})
_LOOKUP_NODES: Final = _ROW_WISE_NODES | {"Join"}
"""A table's lookups are joined by all columns of their keys, as checked on its text."""


@dataclass(frozen=True, slots=True)
class Retyped:
    """A column whose type changes: it is written under the name ``stand_in`` until the publish."""

    name: str
    stand_in: str
    old_type: str


@dataclass(frozen=True)
class QueryRows:
    """The rows of a query.

    ``hidden``: the columns of a row's arrival, if known; not part of the table. ``marks``: columns by lookup,
    NULL if a row found none there; not part of the table either.
    ``occurrences``: the inputs as the frame reads them. ``keys``: the key columns, if the step is incremental
    by key.
    ``acted``: a Python function made Spark compute something while it was called. ``proofs``: earlier proofs.
    """

    frame: DataFrame
    hidden: tuple[str, ...] = ()
    retyped: tuple[Retyped, ...] = ()
    occurrences: Occurrences = field(default_factory=dict)
    keys: Keys | None = None
    acted: bool = False
    marks: tuple[tuple[str, str], ...] = ()
    proofs: Proofs = NO_PROOFS

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's own columns, in order."""
        return tuple(name for name in self.frame.columns if name not in self.hidden and _MARK not in name)

    def stored(self, rows: DataFrame) -> DataFrame:
        """Returns rows with the table's columns as they must be written until the publish changes them."""
        for change in self.retyped:
            rows = rows.withColumnRenamed(change.name, change.stand_in)
            rows = rows.withColumn(change.name, F.lit(None).cast(change.old_type))
        return rows


def read_range(spark: SparkSession, input_range: InputRange) -> DataFrame:
    """The rows of an input in a planned range, and no newer ones."""
    if input_range.start is None or input_range.end is None:
        return read_version(spark, input_range.table, input_range.end)
    return read_appended(spark, input_range.table, input_range.start, input_range.end)


def query_rows(batch: Batch, with_arrival: bool) -> QueryRows:
    """Runs the table's query (lazily) over the step's input ranges.

    ``with_arrival``: with the column of a row's arrival, if known (see ``catalyst.arrival``). Raises
    NeverIncremental if Spark does not confirm that an incremental step's query is row-wise, or has key
    columns.
    """
    if batch.step.snapshot_ranges:
        return _rows_by_snapshot_ranges(batch, with_arrival)
    whole = {item.table: _read(batch, item) for item in batch.step.inputs}
    rows = rows_over(batch, at_occurrences(batch, whole), by_kept_plan=True)
    if rows.acted and batch.step.strategy is not Strategy.FULL:
        raise NeverIncremental("its function has Spark compute something while it is called")
    proved = _proved(batch, replace(rows, proofs=proofs_of(batch.spark, batch.step.table.query, whole)))
    return _arriving(batch, proved) if with_arrival and not batch.step.strategy.is_by_keys else proved


def _proved(batch: Batch, rows: QueryRows) -> QueryRows:
    """Returns the rows with the facts for an incremental step. Raises NeverIncremental as ``query_rows``."""
    table = batch.step.table
    if batch.step.strategy in (Strategy.APPEND, Strategy.UPSERT):
        looked_up = ", ".join(map(str, table.lookups))
        rows.proofs.once(f"row-wise {looked_up}", lambda: _require_row_wise(rows, table))
    elif batch.step.strategy.is_by_keys:
        keys = rows.proofs.once(
            "keys", lambda: key_columns(rows.frame, rows.occurrences, table.trusts_python)
        )
        return replace(rows, keys=keys)
    return rows


def _rows_by_snapshot_ranges(batch: Batch, with_arrival: bool) -> QueryRows:
    """Runs the query over each snapshot range, with the lookups that were current then."""
    parts = []
    for ranges in batch.step.snapshot_ranges:
        whole = {item.table: read_range(batch.spark, item) for item in ranges}
        parts.append(rows_over(batch, at_occurrences(batch, whole), with_arrival))
    frame = parts[0].frame
    for part in parts[1:]:
        frame = frame.unionByName(part.frame)
    return replace(parts[0], frame=frame)


def _read(batch: Batch, item: InputRange) -> DataFrame:
    """Returns the rows of an input that the query reads: all, if the step is incremental by key."""
    if batch.step.strategy.is_by_keys:
        return read_version(batch.spark, item.table, item.end)
    return read_range(batch.spark, item)


def at_occurrences(batch: Batch, rows: Mapping[TableName, DataFrame]) -> dict[Occurrence, DataFrame]:
    """Of each input the same rows wherever the query of the step reads it."""
    return {occurrence: rows[occurrence.table] for occurrence in occurrences_of(batch.step)}


def rows_over(
    batch: Batch, views: Views, with_arrival: bool = False, by_kept_plan: bool = False
) -> QueryRows:
    """Runs the table's query (lazily) over these rows of its inputs. ``by_kept_plan``: by that of an earlier
    batch, whose columns Spark takes for these; so once in a batch."""
    query = batch.step.table.query
    provide(batch.spark, used(query))
    names: Names = {occurrence: batch.view(str(number)) for number, occurrence in enumerate(views)}
    if isinstance(query, SqlQuery):
        rows, names = _sql_rows(batch, query, views, names, by_kept_plan and used(query) == Used())
    elif isinstance(query, PythonQuery):
        apart = {occurrence: _apart(rows, occurrence) for occurrence, rows in views.items()}
        rows = _python_rows(batch, query, _named(apart, names))
    else:
        raise TypeError(f"{batch.name} has no query")
    rows = replace(rows, occurrences={name: occurrence for occurrence, name in names.items()})
    if isinstance(query, PythonQuery):
        _require_own_inputs(batch, rows)
    return _arriving(batch, rows) if with_arrival else rows


def _arriving(batch: Batch, rows: QueryRows) -> QueryRows:
    """Returns the rows with the column of their arrival, if it is known."""
    driving = tuple(item.table for item in batch.step.driving)
    found = with_arrival_of(rows.frame, rows.occurrences, driving)
    return rows if found is None else replace(rows, frame=found, hidden=(ARRIVAL,))


def _apart(rows: DataFrame, occurrence: Occurrence) -> DataFrame:
    """The rows with columns of their own: those of a DataFrame used twice would be ambiguous."""
    return rows.toDF(*rows.columns) if occurrence.number else rows


def _named(views: Views, names: Names) -> dict[Occurrence, DataFrame]:
    return {occurrence: rows.alias(names[occurrence]) for occurrence, rows in views.items()}


def _sql_rows(
    batch: Batch, query: SqlQuery, views: Views, names: Names, by_kept_plan: bool
) -> tuple[QueryRows, Names]:
    marked = {str(name): f"{_MARK}{number}" for number, name in enumerate(batch.step.table.lookups)}

    def planned() -> DataFrame:
        return _planned(batch, query, _named(views, names), marked)

    if by_kept_plan:
        frame, names = query_again(batch.spark, (query.text, *marked.items()), views, names, planned)
    else:
        frame = planned()
    given = tuple((name, _HIDDEN + mark) for name, mark in marked.items() if _HIDDEN + mark in frame.columns)
    return QueryRows(frame, marks=given), names


def _planned(batch: Batch, query: SqlQuery, views: Views, marked: Mapping[str, str]) -> DataFrame:
    """Returns the query over views of these rows. ``marked``: the column that marks a lookup's rows."""
    names: dict[str, tuple[str, ...]] = {}
    for number, (occurrence, frame) in enumerate(views.items()):
        view, mark = batch.view(str(number)), marked.get(str(occurrence.table))
        (frame.withColumn(mark, F.lit(True)) if mark else frame).createOrReplaceTempView(view)
        names[str(occurrence.table)] = (*names.get(str(occurrence.table), ()), view)
    analysis = analyse(query.text)
    columns = chain.from_iterable(frame.columns for frame in views.values())
    respellings = respelt(query.text, columns)
    edits = (*mark_projection(analysis, marked, _HIDDEN), *respellings)
    try:
        rows = batch.spark.sql(splice(query.text, analysis, names, edits))
        return _named_as_written(rows, analysis) if respellings else rows
    except AnalysisException as error:
        raise _refused(batch, query, error) from error
    finally:
        for view in chain.from_iterable(names.values()):
            batch.spark.catalog.dropTempView(view)


def _named_as_written(rows: DataFrame, analysis: SqlAnalysis) -> DataFrame:
    """Returns the rows with the names that the text of the query gives its columns."""
    for name in [output.name for output in analysis.outputs if output.name]:
        wanted = composed(name).lower()
        there = [column for column in rows.columns if composed(column).lower() == wanted]
        if len(there) == 1 and there[0].lower() != name.lower():
            rows = rows.withColumnRenamed(there[0], name)
    return rows


def _refused(batch: Batch, query: SqlQuery, error: AnalysisException) -> RunError:
    """Returns LS614: Spark refuses a query, at its line. (Spliced text has the lines of the author's.)"""
    said = explain_failure(error, None, batch.project.secrets).what.removeprefix("Spark failed: ")
    line = _SPARK_LINE.search(said)
    return RunError.of(
        "LS614",
        f"Spark refuses the query of {batch.name}",
        place=line_of(query, int(line["line"])) if line else query.place,
        found=_SPARK_LINE.sub("", said).strip(),
        hint="try it out with `lakesmith query`",
    )


def _python_rows(batch: Batch, query: PythonQuery, views: Mapping[Occurrence, DataFrame]) -> QueryRows:
    arguments = {name: views[occurrence] for name, occurrence in as_arguments(query).items()}
    try:
        frame, acts = watched(batch.spark, lambda: _function_of(batch, query)(**arguments))
    except (LakesmithError, Py4JError, KeyboardInterrupt):
        raise
    except BaseException as error:
        said = _said(batch, error)
        if said is None:
            raise
        raise _failed(batch, query, error, said) from error
    if not isinstance(frame, DataFrame):
        raise RunError.of(
            "LS607",
            f"{query.function} of {batch.name} did not return a DataFrame",
            place=query.place,
            expected="a pyspark.sql.DataFrame",
            found=type(frame).__name__,
            hint="return the DataFrame that holds the table's rows",
        )
    if others := acts.read - {name_in_plans(table) for _, table in query.arguments}:
        raise _reads_more(batch, ", ".join(sorted(others)))
    if acts.settings:
        raise _sets(batch, query, acts.settings)
    return QueryRows(frame, acted=acts.computed)


def _function_of(batch: Batch, query: PythonQuery) -> Any:
    return load_function(query, batch.project.root, f"lakesmith_project_{batch.name.layer}_{batch.name.name}")


def _said(batch: Batch, error: BaseException) -> str | None:
    """Returns the message of an exception in the author's Python; None if Spark itself failed."""
    if isinstance(error, PySparkException):
        problem = explain_failure(error, None, batch.project.secrets)
        return problem.what.removeprefix("Spark failed: ") if problem.code == "LS601" else None
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return redacted(text, batch.project.secrets)


def _failed(batch: Batch, query: PythonQuery, error: BaseException, said: str) -> RunError:
    """Returns LS617: an exception in the author's Python, at the last line of the table's file."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(query.file) and frame.lineno]
    return RunError.of(
        "LS617",
        f"{query.function} of {batch.name} failed",
        place=replace(query.place, line=lines[-1]) if lines else query.place,
        expected="a DataFrame",
        found=said,
        hint="correct it, and run again; other tables are not affected",
    )


def _sets(batch: Batch, query: PythonQuery, names: tuple[str, ...]) -> RunError:
    return RunError.of(
        "LS618",
        f"{query.function} of {batch.name} changes settings of Spark, which all tables share",
        place=query.place,
        expected="settings as they are",
        found=", ".join(names),
        hint="use expressions of the function, or set it for all tables in lakesmith.yaml, under spark of"
        " the target",
    )


def _require_own_inputs(batch: Batch, rows: QueryRows) -> None:
    """Raises RunError LS616 if a Python table reads what is not its parameter."""
    waiting = [analysed(rows.frame)]
    while waiting:
        node = waiting.pop()
        if occurrence_of(node, rows.occurrences) is not None:
            continue
        children = [*items(node.children()), *items(node.subqueries())]
        if not children and node_kind(node) not in _MADE_HERE:
            raise _reads_more(batch, str(node.simpleString(_MOST_SHOWN)))
        waiting.extend(children)


def _reads_more(batch: Batch, found: str) -> RunError:
    query = batch.step.table.query
    return RunError.of(
        "LS616",
        f"{batch.name} reads a table or files that are none of its parameters",
        place=query.place if query else None,
        expected="only the DataFrames that it is given, and rows that it makes itself",
        found=found,
        hint="take the table as a parameter (layer__name, or inputs:), so that a change of it is seen",
    )


def _require_row_wise(rows: QueryRows, table: TableDefinition) -> None:
    """Raises NeverIncremental unless the analysed plan is row-wise.

    Only deterministic projections and filters over one input are, and joins of the table's lookups to it.
    """
    waiting, inputs = [analysed(rows.frame)], 0
    while waiting:
        node = waiting.pop()
        if (found := occurrence_of(node, rows.occurrences)) is not None:
            inputs += found.table not in table.lookups
            continue
        if node.nodeName() not in (_LOOKUP_NODES if table.lookups else _ROW_WISE_NODES):
            raise NeverIncremental(
                f"Spark's plan of the query has a {node.nodeName()}, which is not row by row"
            )
        require_pure(node, table.trusts_python)
        waiting.extend(items(node.children()))
    if inputs != 1:
        raise NeverIncremental("Spark's plan of the query reads more than one table")
