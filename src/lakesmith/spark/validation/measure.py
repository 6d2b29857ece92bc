"""Metrics of table rules: one aggregate pass for all that can share it, one per set of grouped columns, and
none for what the table's metadata says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.errors import Problem, QualityError
from lakesmith.quality.metrics import GROUP_SIZE, Groups, aggregates, group_aggregates, groups_of, metric
from lakesmith.quality.model import Check, Rule
from lakesmith.quality.numbers import Number
from lakesmith.quoting import quoted
from lakesmith.spark.jvm.failures import explain_failure, wrong_value
from lakesmith.spark.validation.references import REFERRING, References, column_kinds
from lakesmith.spark.validation.rules import TRY_FUNCTIONS, filter_problem, problem_of


@dataclass(frozen=True)
class Subject:
    """The table to measure: its rows in its own ``columns``, and how many they are, by its metadata."""

    frame: DataFrame
    columns: tuple[str, ...]
    rows: int
    references: References

    @property
    def spark(self) -> SparkSession:
        return self.frame.sparkSession


@dataclass
class Measurements:
    """The metrics of ``checks``, computed together. ``now``: seconds since the epoch."""

    subject: Subject
    now: float
    _found: dict[Check, Number | None] = field(default_factory=dict)

    def __call__(self, check: Check) -> Number | None:
        return self._found[check]

    def take(self, rules: Iterable[tuple[Rule, Sequence[Check]]]) -> None:
        """Computes the metrics of rules. Raises QualityError LS802 for rules that do not fit the table."""
        rules = list(rules)
        problems = [each for rule, _ in rules if (each := problem_of(self.subject.frame, rule))]
        if problems:
            raise QualityError(problems)
        every = list(dict.fromkeys(check for _, checks in rules for check in checks))
        try:
            self._by_aggregates(every)
            self._by_groups(every)
        except (Py4JJavaError, PySparkException) as error:
            if unfit := list(self._unfit(rules)):
                raise QualityError(unfit) from error
            raise
        for rule, checks in rules:
            for check in set(checks) - self._found.keys():
                self._found[check] = self._alone(rule, check)

    def _alone(self, rule: Rule, check: Check) -> Number | None:
        try:
            if check.type in REFERRING:
                return REFERRING[check.type](self.subject.references, rule, check)
            return _BY_METADATA[check.type](self.subject, check)
        except (Py4JJavaError, PySparkException) as error:
            if "PatternSyntaxException" in str(error):
                what = f"the regular expression of the rule {rule.text} is not one of Java"
                unfit = Problem("LS802", what, rule.place, found=check.column, rule=rule.text)
                raise QualityError(unfit) from error
            if problem := self._problem(rule, error):
                raise QualityError(problem) from error
            raise

    def _by_aggregates(self, checks: Sequence[Check]) -> None:
        kinds = column_kinds(self.subject.frame)
        wanted = {check: found for check in checks if (found := aggregates(check, self.now, kinds))}
        every = [sql for found in wanted.values() for sql in found.values()]
        if not every:
            return
        names = {sql: f"m{at}" for at, sql in enumerate(dict.fromkeys(every))}
        row = self.subject.frame.agg(*(F.expr(sql).alias(name) for sql, name in names.items())).collect()[0]
        for check, found in wanted.items():
            self._found[check] = metric(check, {key: row[names[sql]] for key, sql in found.items()})

    def _by_groups(self, checks: Sequence[Check]) -> None:
        wanted = {check: groups for check in checks if (groups := groups_of(check, self.subject.columns))}
        stats = {groups: self._stats(groups) for groups in dict.fromkeys(wanted.values())}
        for check, groups in wanted.items():
            self._found[check] = metric(check, stats[groups])

    def _stats(self, groups: Groups) -> Mapping[str, Any]:
        frame = self.subject.frame if groups.where is None else self.subject.frame.where(f"({groups.where})")
        grouped = frame.groupBy(*map(quoted, groups.columns)).agg(F.count(F.lit(1)).alias(GROUP_SIZE))
        wanted = group_aggregates(groups)
        row = grouped.agg(*(F.expr(sql).alias(name) for name, sql in wanted.items())).collect()[0]
        return dict(row.asDict())

    def _unfit(self, rules: Sequence[tuple[Rule, Sequence[Check]]]) -> Iterator[Problem]:
        """Yields the problems of the rules that Spark cannot compute, found by computing each alone."""
        for rule, checks in rules:
            try:
                self._by_aggregates(checks)
                self._by_groups(checks)
            except (Py4JJavaError, PySparkException) as error:
                if problem := self._problem(rule, error):
                    yield problem

    def _problem(self, rule: Rule, error: Exception) -> Problem | None:
        """Returns what is wrong with a rule; None if Spark failed for another reason."""
        secrets = self.subject.references.project.secrets
        if isinstance(error, AnalysisException):
            said = explain_failure(error, None, secrets).what.removeprefix("Spark failed: ")
            hint = "write a rule that fits the type, or give the column another type"
            what = f"the rule {rule.text} cannot be evaluated"
            return Problem("LS802", what, rule.place, found=said, hint=hint, rule=rule.text)
        if (value := wrong_value(error, secrets)) is None:
            return None
        if rule.wheres:
            return filter_problem(rule, value)
        what, hint = (
            f"the rule {rule.text} fails on a value",
            "write it so that it gives a value for all rows",
        )
        return Problem("LS802", what, rule.place, "a number", value, f"{hint}: {TRY_FUNCTIONS}", rule.text)


def _exists(subject: Subject, check: Check) -> Fraction:
    return Fraction(check.column.lower() in map(str.lower, subject.columns))


def _match(subject: Subject, check: Check) -> Fraction:
    pattern: Any = subject.spark._jvm.java.util.regex.Pattern  # type: ignore[union-attr]
    compiled = pattern.compile(check.column)
    return Fraction(all(compiled.matcher(name).find() for name in subject.columns))


_BY_METADATA: Mapping[str, Callable[[Subject, Check], Fraction]] = {
    "RowCount": lambda subject, _: Fraction(subject.rows),
    "ColumnCount": lambda subject, _: Fraction(len(subject.columns)),
    "ColumnExists": _exists,
    "ColumnNamesMatchPattern": _match,
}
