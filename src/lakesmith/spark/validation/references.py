"""Metrics of table rules that read other tables: references, comparisons, and the author's own SQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from pyspark.errors import AnalysisException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType

from lakesmith.errors import Problem, QualityError, did_you_mean, listed
from lakesmith.project.definitions import Project
from lakesmith.quality.metrics import aggregates, metric
from lakesmith.quality.model import Check, Rule
from lakesmith.quality.numbers import Number, finite
from lakesmith.quoting import own, quoted
from lakesmith.spark.iceberg.commits import physical
from lakesmith.spark.jvm.failures import explain_failure
from lakesmith.sql.analysis import analyse
from lakesmith.sql.splice import splice
from lakesmith.sql.tokens import SqlParseError


@dataclass(frozen=True)
class References:
    """The tables that rules of one table may name. ``view``: a name for a temporary view of its own rows."""

    project: Project
    frame: DataFrame
    rows: int
    view: str

    def table(self, rule: Rule, name: str) -> DataFrame:
        """Returns the published rows of a table of the project. Raises QualityError LS802."""
        known = {str(each.name).lower(): each.name for each in self.project.tables}
        found = known.get(name.lower())
        if found is None:
            what = f"the rule {rule.text} names the table {name!r}, which the project does not have"
            raise _unfit(rule, what, f"one of {listed(list(known))}", did_you_mean(name, list(known)))
        try:
            return self.frame.sparkSession.table(physical(found))
        except AnalysisException as error:
            what = f"the rule {rule.text} names the table {found}, which has not been refreshed yet"
            raise _unfit(
                rule, what, "a table with rows", f"refresh it first: lakesmith run {found}"
            ) from error

    def added(self, name: str) -> tuple[str, ...]:
        """Returns the columns that a sourced table of the project has besides those of its source."""
        (table,) = (each for each in self.project.tables if str(each.name).lower() == name.lower())
        return table.added_columns if table.is_sourced else ()

    def column(self, rule: Rule, frame: DataFrame, name: str) -> str:
        """Returns a column's quoted name. Raises QualityError LS802 if it is missing."""
        if name.strip().lower() not in map(str.lower, frame.columns):
            what = f"the rule {rule.text} names the column {name.strip()!r}, which is not there"
            raise _unfit(rule, what, f"one of {listed(frame.columns)}", did_you_mean(name, frame.columns))
        return quoted(name.strip())


def _unreadable(rule: Rule, what: str, expected: str) -> QualityError:
    return _unfit(rule, f"the rule {rule.text} cannot be read: {what}", expected)


def _unfit(rule: Rule, what: str, expected: str, hint: str | None = None) -> QualityError:
    return QualityError(Problem("LS802", what, rule.place, expected, hint=hint, rule=rule.text))


def _row_count_match(at: References, rule: Rule, check: Check) -> Number | None:
    return _ratio(Fraction(at.rows), Fraction(at.table(rule, check.column).count()))


def _ratio(one: Number, other: Number) -> Number:
    if other == 0:
        return Fraction(one == 0)
    return one / other


def _share(part: int, whole: int) -> Number | None:
    return Fraction(part, whole) if whole else None


def _schema_match(at: References, rule: Rule, check: Check) -> Number | None:
    mine, other = at.frame.schema.fields, at.table(rule, check.column)
    theirs = other.drop(*at.added(check.column)).schema.fields
    if len(mine) != len(theirs):
        return Fraction(0)
    kinds = {field.name.lower(): field.dataType for field in theirs}
    return _share(sum(kinds.get(field.name.lower()) == field.dataType for field in mine), len(mine))


_REFERENCE = re.compile(r"(?P<table>.+)\.(?:\{(?P<several>[^{}]+)\}|(?P<one>[^.{}]+))")


def _split_reference(rule: Rule, text: str) -> tuple[str, list[str]]:
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise _unreadable(rule, repr(text), 'a table and its columns: "silver.customers.{id,city}"')
    return match["table"], (match["several"] or match["one"]).split(",")


def _referential_integrity(at: References, rule: Rule, check: Check) -> Number | None:
    mine = [at.column(rule, at.frame, name) for name in check.parameters[0].split(",")]
    table, names = _split_reference(rule, check.parameters[1])
    other = at.table(rule, table)
    theirs = [at.column(rule, other, name) for name in names]
    if len(mine) != len(theirs):
        raise _unreadable(
            rule, f"{len(mine)} columns refer to {len(theirs)}", "as many columns on both sides"
        )
    pairs = _comparable(at.frame, mine, other, theirs)
    keys = other.select(*(name.alias(own(f"k{n}")) for n, (_, name) in enumerate(pairs))).distinct()
    on = [one == F.col(own(f"k{n}")) for n, (one, _) in enumerate(pairs)]
    found = at.frame.select(*mine).join(keys, on, "left_semi").count()
    return _share(found, at.rows)


def _comparable(
    frame: DataFrame, mine: Sequence[str], other: DataFrame, theirs: Sequence[str]
) -> list[tuple[SparkColumn, SparkColumn]]:
    """Returns pairs of columns to compare. A string beside another type is read as that type, or is NULL."""
    kinds, others = (
        {quoted(field.name).lower(): field.dataType for field in each.schema.fields}
        for each in (frame, other)
    )
    return [
        _pair(one, kinds[one.lower()], name, others[name.lower()])
        for one, name in zip(mine, theirs, strict=True)
    ]


def _pair(mine: str, kind: DataType, theirs: str, other: DataType) -> tuple[SparkColumn, SparkColumn]:
    if isinstance(kind, StringType) == isinstance(other, StringType):
        return F.col(mine), F.col(theirs)
    common = other if isinstance(kind, StringType) else kind
    return F.col(mine).try_cast(common), F.col(theirs).try_cast(common)


_AGGREGATES = {"sum": "Sum", "avg": "Mean"}
"""The rule types that measure them."""
_AGGREGATE = re.compile(r"\s*(sum|avg)\s*\((.+)\)\s*", re.IGNORECASE)


def _aggregate_match(at: References, rule: Rule, check: Check) -> Number | None:
    one, other = (_aggregate(at, rule, text) for text in check.parameters)
    return None if one is None or other is None else _ratio(one, other)


def _aggregate(at: References, rule: Rule, text: str) -> Number | None:
    match = _AGGREGATE.fullmatch(text)
    if match is None:
        raise _unreadable(rule, repr(text), "sum(column) or avg(silver.orders.column)")
    named = match[2].strip()
    frame, column = at.frame, named
    if named.lower() not in map(str.lower, at.frame.columns) and "." in named:
        table, names = _split_reference(rule, named)
        frame, column = at.table(rule, table), ",".join(names)
    at.column(rule, frame, column)
    sums = Check(_AGGREGATES[match[1].lower()], (column.strip(),))
    wanted = aggregates(sums, 0, column_kinds(frame))
    return metric(
        sums, frame.agg(*(F.expr(sql).alias(name) for name, sql in wanted.items())).collect()[0].asDict()
    )


def column_kinds(frame: DataFrame) -> dict[str, str]:
    """Returns the types of a frame's columns, as Spark writes them, by their names in lower case."""
    return {field.name.lower(): field.dataType.simpleString() for field in frame.schema.fields}


def _dataset_match(at: References, rule: Rule, check: Check) -> Number | None:
    other = at.table(rule, check.column)
    keys = _mapped(at, rule, other, check.parameters[1])
    if len(check.parameters) > 2:
        compared = _mapped(at, rule, other, check.parameters[2])
    else:
        mapped = {mine.lower() for mine, _ in keys}
        names = [name for name in at.frame.columns if quoted(name).lower() not in mapped]
        compared = [(quoted(name), at.column(rule, other, name)) for name in names]
    named, wanted = zip(*keys, *compared, strict=True)
    pairs = _comparable(at.frame, named, other, wanted)
    renamed = other.select(*(theirs.alias(own(f"o{n}")) for n, (_, theirs) in enumerate(pairs)))
    on = [mine == F.col(own(f"o{n}")) for n, (mine, _) in enumerate(pairs[: len(keys)])]
    on += [mine.eqNullSafe(F.col(own(f"o{n}"))) for n, (mine, _) in enumerate(pairs) if n >= len(keys)]
    found = at.frame.join(renamed, on, "left_semi").count()
    return _share(found, at.rows)


def _mapped(at: References, rule: Rule, other: DataFrame, text: str) -> list[tuple[str, str]]:
    pairs = [part.partition("->") for part in text.split(",")]
    return [
        (at.column(rule, at.frame, mine), at.column(rule, other, theirs or mine)) for mine, _, theirs in pairs
    ]


def _custom_sql(at: References, rule: Rule, check: Check) -> Number | None:
    try:
        analysis = analyse(check.column)
        names = {str(each.name).lower(): physical(each.name) for each in at.project.tables}
        sql = splice(check.column, analysis, {**names, "primary": at.view})
    except SqlParseError as error:
        raise _unreadable(rule, error.message, "a query of `primary`") from error
    except KeyError as error:
        raise _unreadable(rule, f"there is no table {error}", "primary, or a table of the project") from error
    session = at.frame.sparkSession
    at.frame.createOrReplaceTempView(at.view)
    try:
        rows = session.sql(sql)
        if check.condition is None:
            return _share(rows.count(), at.rows)
        found = rows.limit(2).collect()
    except AnalysisException as error:
        said = explain_failure(error, None, ()).what.removeprefix("Spark failed: ")
        raise _unreadable(rule, said, "a query of `primary`") from error
    finally:
        session.catalog.dropTempView(at.view)
    if len(found) != 1 or len(found[0]) != 1:
        raise _unreadable(rule, f"its query gives {len(found) or 'no'} rows", "one row with one number")
    return _number(rule, found[0][0])


def _number(rule: Rule, value: object) -> Number | None:
    if isinstance(value, int | float | Decimal | None):
        return finite(value)
    raise _unreadable(rule, f"its query gives {str(value)[:80]!r}", "one row with one number")


REFERRING: Mapping[str, Callable[[References, Rule, Check], Number | None]] = {
    "RowCountMatch": _row_count_match,
    "SchemaMatch": _schema_match,
    "ReferentialIntegrity": _referential_integrity,
    "AggregateMatch": _aggregate_match,
    "DatasetMatch": _dataset_match,
    "CustomSql": _custom_sql,
}
