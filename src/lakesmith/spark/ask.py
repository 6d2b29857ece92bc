"""Runs one query of a person: Spark SQL over the lake, read-only, on the present or the past."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC
from types import MappingProxyType
from typing import Any, Final

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from lakesmith.catalog.local import Elsewhere
from lakesmith.catalog.protocol import CATALOG_NAME
from lakesmith.errors import LakesmithError, UsageError
from lakesmith.project.definitions import TableName
from lakesmith.quoting import literal, quoted
from lakesmith.spark.catalyst.parsed import Objection, Reach, objection
from lakesmith.spark.frames.python_time import utc_in_python
from lakesmith.spark.iceberg.commits import has_own_names, physical
from lakesmith.spark.iceberg.others import meet
from lakesmith.spark.iceberg.snapshots import as_published
from lakesmith.spark.jvm.failures import explain_failure, explain_in_session, is_interrupt
from lakesmith.spark.query.log_functions import provide
from lakesmith.spark.read.exact_times import out_of_range
from lakesmith.spark.start.session import SessionHandle
from lakesmith.sql.analysis import analyse
from lakesmith.sql.log_functions import used_in_sql
from lakesmith.sql.splice import respelt, splice

_AT_ONCE: Final = 10_000
"""The most rows that are fetched at once."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query's columns with their Spark SQL types, and its rows as tuples. A ``timestamp`` is a datetime in
    UTC, a ``timestamp_ntz`` one without a zone; years outside 1 to 9999 are texts. Structs and maps are
    dicts."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]


@contextmanager
def run_query(
    session: SessionHandle,
    sql: str,
    as_of: Mapping[TableName, int] | None = None,
    limit: int | None = None,
    secrets: Sequence[str] = (),
    others: Mapping[TableName, Elsewhere] = MappingProxyType({}),
    longest: int | None = None,
) -> Iterator[QueryResult]:
    """Runs the SELECT in ``sql`` and gives its rows while the context lasts.

    Args:
        session: a session on the project's lake; its current catalog becomes the lake.
        sql: logical names (``bronze.orders``) mean tables of the lake.
        as_of: the snapshot that each table of the query is read at, with the columns it was published with;
            None: all as they are now.
        limit: the most rows to compute; None: all.
        secrets: values that no error may show.
        others: of the tables of ``as_of`` that are others', where their metadata is.
        longest: the longest text or binary, in characters or bytes; of longer ones as much and one more.

    Raises UsageError LS241 for anything but a query, LS245 for one that calls code or reads files by their
    paths, LS244 for one that Spark refuses, RunError LS60x with Spark's root cause when it fails (while its
    rows are read, too), SqlParseError as ``splice``.
    """
    with _root_cause_told(session, secrets):
        frame = _frame(session, sql, as_of, others)
        with utc_in_python(session.spark):
            yield _result(frame if longest is None else _cut(frame, longest), limit)


@contextmanager
def frame_result(
    session: SessionHandle, frame: DataFrame, limit: int | None, secrets: Sequence[str] = ()
) -> Iterator[QueryResult]:
    """The rows of a frame. Arguments and errors as ``run_query``."""
    with _root_cause_told(session, secrets), utc_in_python(session.spark):
        yield _result(frame, limit)


def query_frame(
    session: SessionHandle,
    sql: str,
    as_of: Mapping[TableName, int] | None,
    secrets: Sequence[str] = (),
    others: Mapping[TableName, Elsewhere] = MappingProxyType({}),
) -> DataFrame:
    """Returns the rows of a SELECT as a frame. Arguments and errors as ``run_query``."""
    with _root_cause_told(session, secrets):
        return _frame(session, sql, as_of, others)


def arrow_table(session: SessionHandle, frame: DataFrame, secrets: Sequence[str] = ()) -> Any:
    """A frame as a ``pyarrow.Table``. Errors as ``run_query``."""
    session.enter()
    with _root_cause_told(session, secrets):
        return frame.toArrow()


def _frame(
    session: SessionHandle,
    sql: str,
    as_of: Mapping[TableName, int] | None,
    others: Mapping[TableName, Elsewhere],
) -> DataFrame:
    session.enter()
    spark = session.spark
    provide(spark, used_in_sql(sql))
    meet(spark, {name: others.get(name) for name in as_of or ()})
    spark.sql(f"USE {CATALOG_NAME}")
    _require_query(spark, sql)
    if as_of is not None:
        return _at(spark, sql, as_of)
    return spark.sql(sql if has_own_names() else _by_names_of_catalog(sql))


def _by_names_of_catalog(sql: str) -> str:
    """Returns the query with the catalog's table names. Raises UsageError LS244 for other names."""
    analysis = analyse(sql)
    names = {".".join(reference.parts): reference.parts for reference in analysis.references}
    for name, parts in names.items():
        if len(parts) != len(fields(TableName)):
            expected = "a layer and a table, as in the project"
            raise UsageError.of("LS244", f"{name} is not a table of the project", None, expected)
    return splice(
        sql, analysis, {name: physical(TableName(*map(str.lower, parts))) for name, parts in names.items()}
    )


@contextmanager
def _root_cause_told(session: SessionHandle, secrets: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except (ParseException, AnalysisException) as error:
        said = explain_failure(error, None, secrets).what.removeprefix("Spark failed: ")
        raise UsageError.of("LS244", f"the query is not right: {said}") from error
    except LakesmithError:
        raise
    except Exception as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from error
        found = explain_in_session(error, session.log_path, session.is_alive, secrets)
        if found is None:
            raise
        raise found from error


def _result(frame: DataFrame, limit: int | None) -> QueryResult:
    fields = frame.schema.fields
    shown = _within_python(frame if limit is None else frame.limit(limit))
    # A large result is brought over part by part: it may be larger than this process.
    is_large = limit is None or limit > _AT_ONCE
    found = shown.toLocalIterator(prefetchPartitions=True) if is_large else iter(shown.collect())
    rows = (tuple(_plain(v, field.dataType) for v, field in zip(row, fields, strict=True)) for row in found)
    names, types = zip(*((field.name, field.dataType.simpleString()) for field in fields), strict=True)
    return QueryResult(names, types, rows)


def _cut(frame: DataFrame, longest: int) -> DataFrame:
    """Returns the frame with the beginnings of its longer values, which need not be brought over."""
    fields = frame.schema.fields
    if not any(isinstance(field.dataType, StringType | BinaryType) for field in fields):
        return frame
    cut = (
        f"substr(c{number}, 1, {longest + 1})"
        if isinstance(field.dataType, StringType | BinaryType)
        else f"c{number}"
        for number, field in enumerate(fields)
    )
    found = frame.toDF(*(f"c{number}" for number in range(len(fields)))).selectExpr(*cut)
    return found.toDF(*(field.name for field in fields))


def _within_python(frame: DataFrame) -> DataFrame:
    """Returns the frame with times that Python cannot hold (years beyond 9999) as text beside NULL."""
    kinds = [field.dataType for field in frame.schema.fields]
    if not any(map(_has_moments, kinds)):
        return frame
    named = frame.toDF(*(f"c{number}" for number in range(len(kinds))))
    return named.selectExpr(
        *(f"{_in_two(f'c{number}', kind)} AS c{number}" for number, kind in enumerate(kinds))
    )


def _has_moments(kind: DataType) -> bool:
    match kind:
        case ArrayType():
            return _has_moments(kind.elementType)
        case MapType():
            return _has_moments(kind.keyType) or _has_moments(kind.valueType)
        case StructType():
            return any(_has_moments(field.dataType) for field in kind.fields)
    return out_of_range("", kind.simpleString()) is not None


def _in_two(value: str, kind: DataType, depth: int = 0) -> str:
    if not _has_moments(kind):
        return value
    each = f"x{depth}"
    match kind:
        case ArrayType():
            return f"transform({value}, {each} -> {_in_two(each, kind.elementType, depth + 1)})"
        case MapType():
            parts = (("key", kind.keyType), ("value", kind.valueType))
            entry = ", ".join(_in_two(f"{each}.{part}", of, depth + 1) for part, of in parts)
            return f"map_from_entries(transform(map_entries({value}), {each} -> struct({entry})))"
        case StructType():
            fields = (
                f"{literal(field.name)}, {_in_two(f'{value}.{quoted(field.name)}', field.dataType, depth)}"
                for field in kind.fields
            )
            return f"IF({value} IS NULL, NULL, named_struct({', '.join(fields)}))"
    beyond = out_of_range(value, kind.simpleString())
    return f"struct(IF({beyond}, NULL, {value}), IF({beyond}, CAST({value} AS STRING), NULL))"


def _plain(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    match kind:
        case TimestampType():
            return value[0].replace(tzinfo=UTC) if value[0] is not None else value[1]
        case DateType() | TimestampNTZType():
            return value[0] if value[0] is not None else value[1]
        case ArrayType():
            return [_plain(item, kind.elementType) for item in value]
        case MapType():
            return {_plain(k, kind.keyType): _plain(v, kind.valueType) for k, v in value.items()}
        case StructType():
            return {
                field.name: _plain(v, field.dataType) for field, v in zip(kind.fields, value, strict=True)
            }
    return value


def _at(spark: SparkSession, sql: str, as_of: Mapping[TableName, int]) -> DataFrame:
    views = {name: f"lakesmith_as_of_{uuid.uuid4().hex}" for name in as_of}
    try:
        columns: list[str] = []
        for name, snapshot in as_of.items():
            rows = as_published(spark, name, snapshot)
            rows.createOrReplaceTempView(views[name])
            columns += rows.columns
        named = {str(name): view for name, view in views.items()}
        return spark.sql(splice(sql, analyse(sql), named, respelt(sql, columns)))
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)


def _require_query(spark: SparkSession, sql: str) -> None:
    """Raises UsageError unless the text is a SELECT. It is only parsed first: Spark runs commands at once."""
    found = objection(spark, sql)
    if found is None:
        return
    raise not_a_query(found.name) if found.reach is Reach.STATEMENT else _reaches_out(found)


def _reaches_out(found: Objection) -> UsageError:
    what, expected = f"the query is refused: {found.reach.value}", "tables, and functions that compute"
    hint = "a table with a source of files reads them" if found.reach is Reach.FILE else None
    return UsageError.of("LS245", what, None, expected, found.name, hint)


def not_a_query(found: str) -> UsageError:
    return UsageError.of(
        "LS241",
        "only a SELECT can be run: tables change by their definitions alone",
        None,
        "SELECT, WITH ... SELECT, FROM ... or VALUES",
        found,
        "to change a table, change its file and run lakesmith run",
    )
