"""Rules and rows: which rules each row breaks, when bad rows stop the batch, and rules that do not fit the
rows.

A rule itself fails on no value (see ``quality.predicate``). Two things can go wrong: the rule cannot compare
a column's type, which Spark says before it reads a row; or the author's own SQL, a rule's ``where`` or a
``delete_when``, fails on a value.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NullType

from lakesmith.errors import Problem, QualityError, did_you_mean, listed
from lakesmith.project.definitions import OnBadRow, TableDefinition, is_taken
from lakesmith.quality.model import Rule
from lakesmith.quoting import literal, own
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.batch.quarantine import REASONS
from lakesmith.spark.jvm.failures import explain_failure, full_text, wrong_value


def rule_reasons(rules: Sequence[Rule]) -> SparkColumn:
    """The texts of the rules that a row breaks: an array of strings."""
    broken = [F.when(~F.expr(rule.predicate), F.lit(rule.text)) for rule in rules]
    none = F.array().cast("array<string>")
    if not broken:
        return none
    # Asked first: Spark interprets array_compact, for every row.
    is_broken = reduce(or_, (~F.expr(rule.predicate) for rule in rules))
    return F.when(is_broken, F.array_compact(F.array(*broken))).otherwise(none)


def rule_counts(rules: Sequence[Rule]) -> list[SparkColumn]:
    """Returns an aggregate for each rule, ``rule_0``, ``rule_1``, ...: how many rows break it."""
    return [
        F.expr(f"count_if(array_contains({REASONS}, {literal(rule.text)})) AS rule_{number}")
        for number, rule in enumerate(rules)
    ]


def checks_of(rules: Sequence[Rule], counts: Mapping[str, int | None]) -> dict[str, int]:
    """The counts of ``rule_counts`` by the rules' texts."""
    return {rule.text: int(counts[f"rule_{number}"] or 0) for number, rule in enumerate(rules)}


def stop_if_asked(batch: Batch, bad: int, bad_rows: DataFrame) -> None:
    """Raises QualityError LS801 with the first few reasons if bad rows stop the table's batch."""
    table = batch.step.table
    if not bad or table.on_bad_row is not OnBadRow.FAIL:
        return
    samples = bad_rows.select(F.array_join(REASONS, "; ").alias("why")).distinct().limit(5).collect()
    raise QualityError.of(
        "LS801",
        f"{bad} bad row{'s' if bad > 1 else ''} stopped the batch of {table.name}; nothing was published",
        place=table.place,
        expected="no bad row (on_bad_row: fail)",
        found=" | ".join(sorted(row.why for row in samples)),
        hint="correct the input or the rules, or let bad rows go aside: on_bad_row: quarantine",
    )


_FITTING: Final = {
    '"DOUBLE"': "a column of numbers: of a numeric type, boolean, timestamp, or string",
    '"DATE"': "a column of dates: date, timestamp, timestamp_ntz, or string",
}
"""What a rule can cast to, by Spark's name of the type."""

DELETE: Final = own("delete")
"""True for a row that deletes its key."""

TRY_FUNCTIONS: Final = "try_cast and try_divide give NULL where CAST and / fail"

_SQL_PLACE = re.compile(
    r"== SQL[^\n]*\(line (?P<line>\d+), position (?P<at>\d+)\) ==\n(?P<text>[^\n]*)\n(?P<gap> *)(?P<mark>\^+)"
)
"""The end of Spark's message of a failure on a value: the expression's text, the failed part underlined."""


def add_reasons(batch: Batch, rows: DataFrame, reasons: SparkColumn) -> DataFrame:
    """Adds ``reasons``, made of the table's row rules, to ``rows`` as their column ``_reasons``.

    Raises QualityError LS802 with every rule that does not fit these columns and types.
    """
    batch.checked.append(rows)
    try:
        return rows.withColumn(REASONS, reasons)
    except AnalysisException as error:
        problems = [problem for rule in batch.step.table.checks if (problem := problem_of(rows, rule))]
        if not problems:
            raise
        raise QualityError(problems) from error


def delete_condition(rows: DataFrame, columns: Sequence[str], table: TableDefinition) -> SparkColumn:
    """Returns whether a row of ``rows`` deletes its key, never null. ``columns``: the query's.

    Raises QualityError LS804 if ``delete_when`` is not a condition over these columns and types.
    """
    if table.delete_when is None:
        return F.lit(False)
    expected = f"a condition over the query's columns: {listed(columns)}"
    try:
        condition = F.expr(table.delete_when)
        # Inside a function, as it is used: what may only be alone (explode) has to be refused here as well.
        kind = rows.select(F.coalesce(condition, F.lit(None)).alias("it")).schema["it"].dataType
    except AnalysisException as error:
        raise QualityError(_unfit_delete(table, "cannot be evaluated", expected, _said(error))) from error
    if not isinstance(kind, BooleanType | NullType):
        found, hint = f"a value of type {kind.simpleString()}", "write a comparison, such as op = 'D'"
        raise QualityError(_unfit_delete(table, "is no condition", expected, found, hint))
    return F.coalesce(condition, F.lit(False))


def failed_filter(error: BaseException, batch: Batch, secrets: Iterable[str]) -> Problem | None:
    """Returns LS803 if a rule's ``where`` failed on a value, LS804 if ``delete_when`` did; else None."""
    table, match = batch.step.table, _SQL_PLACE.search(full_text(error))
    if match is None:
        return None if wrong_value(error, ()) is None else _found_filter(batch, secrets)
    if table.delete_when is not None and _is_of(match, table.delete_when):
        return _failed_delete(table, _said(error, secrets))
    for rule in table.rules:
        if rule.wheres and (_is_of(match, rule.predicate) if rule.predicate else _is_in(match, rule.wheres)):
            return filter_problem(rule, _said(error, secrets))
    return None


def filter_problem(rule: Rule, found: str) -> Problem:
    """Returns LS803: a rule's ``where`` fails on a value; ``found``: what Spark says of it."""
    what = f"the `where` of the rule {rule.text} fails on a value"
    expected = "a filter that is true, false or null for each row"
    hint = _try_cast("is not evaluated by this rule")
    return Problem("LS803", what, rule.place, expected, found, hint, rule.text)


def _found_filter(batch: Batch, secrets: Iterable[str]) -> Problem | None:
    """Returns the problem of the condition that fails on a value, found by evaluating each alone: Spark does
    not say what called a function such as ``to_date``. None if the rows themselves fail, or no condition."""
    table = batch.step.table
    rules = [rule for rule in table.checks if rule.wheres]
    if not rules and table.delete_when is None:
        return None
    for checked in batch.checked:
        rows = checked.drop(DELETE)
        if _failure(rows) is not None:
            return None
        if table.delete_when is not None and (error := _failure(rows, table.delete_when)):
            return _failed_delete(table, _said(error, secrets))
        for rule in rules:
            if error := _failure(rows, rule.predicate):
                return filter_problem(rule, _said(error, secrets))
    return None


def _failure(rows: DataFrame, expression: str = "*") -> Exception | None:
    try:
        rows.selectExpr(expression).write.format("noop").mode("overwrite").save()
    except AnalysisException:
        return None
    except (Py4JError, PySparkException) as error:
        return error
    return None


def _is_of(match: re.Match[str], text: str) -> bool:
    """Whether the failed part is at its place in ``text``."""
    part = match["text"][len(match["gap"]) :][: len(match["mark"])]
    line, at, lines = int(match["line"]) - 1, int(match["at"]) - 1, text.split("\n")
    return line < len(lines) and lines[line].startswith(part, at)


def _is_in(match: re.Match[str], texts: Iterable[str]) -> bool:
    """Whether the failed part is somewhere in one of the texts, which are part of larger expressions."""
    part = match["text"][len(match["gap"]) :][: len(match["mark"])]
    return any(part in text for text in texts)


def _try_cast(effect: str) -> str:
    return f"write try_cast(column AS type) in it: what cannot be cast is null then, and the row {effect}"


def _failed_delete(table: TableDefinition, found: str) -> Problem:
    expected, hint = "a condition that is true, false or null for each row", _try_cast("does not delete")
    return _unfit_delete(table, "fails on a value", expected, found, hint)


def _unfit_delete(
    table: TableDefinition, what: str, expected: str, found: str, hint: str | None = None
) -> Problem:
    place = dict(table.settings_from).get("delete_when", table.place)
    text = " ".join((table.delete_when or "").split())
    return Problem("LS804", f"the delete_when of {table.name}, {text}, {what}", place, expected, found, hint)


def problem_of(rows: DataFrame, rule: Rule) -> Problem | None:
    """Returns why Spark cannot evaluate this rule; None if it can."""
    for where in rule.wheres:
        if error := _refused(rows, f"coalesce(({where}), false)"):
            what = f"the `where` of the rule {rule.text} cannot be evaluated"
            expected = "SQL over the row's own columns"
            return Problem("LS802", what, rule.place, expected, _said(error), rule=rule.text)
    if unknown := _unknown_column(rows, rule):
        return unknown
    error = _refused(rows, rule.predicate) if rule.predicate else None
    return None if error is None else _unfit_type(rows, rule, error)


def _refused(rows: DataFrame, expression: str) -> AnalysisException | None:
    try:
        rows.select(F.expr(expression))
    except AnalysisException as error:
        return error
    return None


def _unknown_column(rows: DataFrame, rule: Rule) -> Problem | None:
    shown = [name for name in rows.columns if not is_taken(name)]
    known = {name.lower() for name in rows.columns}
    for column in rule.columns:
        if column.lower() not in known:
            what = f"the rule {rule.text} names the column {column!r}, which the rows do not have"
            expected, hint = f"one of {listed(shown)}", did_you_mean(column, shown)
            return Problem("LS802", what, rule.place, expected, hint=hint, rule=rule.text)
    return None


def _unfit_type(rows: DataFrame, rule: Rule, error: AnalysisException) -> Problem:
    parameters = error.getMessageParameters() or {}
    types = {field.name.lower(): field.dataType.simpleString() for field in rows.schema.fields}
    validated = {column: types[column.lower()] for column in rule.columns}
    source = parameters.get("srcType", "").strip('"').lower()
    unfit = {column: of for column, of in validated.items() if of == source.replace(", ", ",")} or validated
    return Problem(
        "LS802",
        f"the rule {rule.text} cannot be evaluated: it does not fit the type of {', '.join(unfit)}",
        rule.place,
        expected=_FITTING.get(parameters.get("targetType", "")),
        found=", ".join(f"{column} {of}" for column, of in unfit.items()),
        hint="write a rule that fits the type, or give the column another type",
        rule=rule.text,
    )


def _said(error: BaseException, secrets: Iterable[str] = ()) -> str:
    return explain_failure(error, None, secrets).what.removeprefix("Spark failed: ")
