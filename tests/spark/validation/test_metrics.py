"""What each rule type of tables measures on Spark, against plain Python over the same rows."""

import math
import statistics as stats
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakesmith.errors import Place
from lakesmith.project.definitions import Project, Target
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.metrics import anomaly_metric
from lakesmith.quality.verdict import measured, outcome_of
from lakesmith.spark.validation.measure import Measurements, Subject
from lakesmith.spark.validation.references import References

Row = tuple[Any, ...]
NAMES = ("a", "b", "s", "d")
ROWS: Sequence[Row] = [
    (1.0, 2.0, "x", "2026-11-25 11:00:00"),
    (2.0, 4.5, "x", "2026-11-25 10:00:00"),
    (2.0, 4.0, "y", "2026-11-24 11:00:00"),
    (0.0, -1.0, None, "2026-11-25 11:59:00"),
    (None, 3.0, "12", None),
    (7.5, 9.0, "z w", "2020-01-01 00:00:00"),
]
NOW = datetime(2026, 11, 25, 12, 0, 30, tzinfo=UTC)
Oracle = Callable[[Sequence[Row]], float | None]


def values(rows: Sequence[Row], name: str) -> list[Any]:
    return [row[NAMES.index(name)] for row in rows if row[NAMES.index(name)] is not None]


def tuples(rows: Sequence[Row], *names: str) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[NAMES.index(name)] for name in names) for row in rows)


def some(counted: Counter[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    return {key: n for key, n in counted.items() if any(part is not None for part in key)}


def once(counted: dict[tuple[Any, ...], int]) -> int:
    return sum(n == 1 for n in counted.values())


def share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def moment(power: int) -> Oracle:
    def found(rows: Sequence[Row]) -> float | None:
        known = values(rows, "a")
        if not known or stats.pstdev(known) == 0:
            return 0.0 if known else None
        mean, away = stats.fmean(known), stats.pstdev(known)
        return stats.fmean(((each - mean) / away) ** power for each in known) - (3 if power == 4 else 0)

    return found


def quartiles(rows: Sequence[Row]) -> float | None:
    known = values(rows, "a")
    if not known:
        return None
    found = stats.quantiles(known, n=4, method="inclusive") if len(known) > 1 else [0, 0, 0]
    return found[2] - found[0]


def correlation(rows: Sequence[Row]) -> float | None:
    pairs = [(row[0], row[1]) for row in rows if row[0] is not None and row[1] is not None]
    return stats.correlation(*zip(*pairs, strict=True)) if len(pairs) > 1 else None


def entropy(rows: Sequence[Row]) -> float | None:
    counted = some(tuples(rows, "a"))
    total = sum(counted.values())
    return -sum(n / total * math.log(n / total) for n in counted.values()) if total else None


def of_values(name: str, function: Callable[[list[Any]], float]) -> Oracle:
    return lambda rows: function(values(rows, name)) if values(rows, name) else None


ORACLES: dict[str, Oracle] = {
    "RowCount > 0": lambda rows: len(rows),
    "ColumnCount > 0": lambda rows: 4,
    'Completeness "a" > 0': lambda rows: share(len(values(rows, "a")), len(rows)),
    'Mean "a" > 0': of_values("a", stats.fmean),
    'Sum "a" > 0': of_values("a", sum),
    'StandardDeviation "a" > 0': of_values("a", stats.pstdev),
    'Variance "a" > 0': of_values("a", stats.pvariance),
    'Entropy "a" > 0': entropy,
    'DistinctValuesCount "a" > 0': lambda rows: len(tuples(rows, "a")),
    'UniqueValueRatio "a" > 0': lambda rows: share(
        once(some(tuples(rows, "a"))), len(some(tuples(rows, "a")))
    ),
    'Uniqueness "a" "s" > 0': lambda rows: share(
        once(some(tuples(rows, "a", "s"))), sum(some(tuples(rows, "a", "s")).values())
    ),
    'DuplicateRowCount "s" > 0': lambda rows: sum(n for n in some(tuples(rows, "s")).values() if n > 1),
    "DuplicateRowCount >= 0": lambda rows: sum(n for n in some(tuples(rows, *NAMES)).values() if n > 1),
    'ColumnCorrelation "a" "b" > 0': correlation,
    'ZerosCount "a" > 0': lambda rows: sum(each == 0 for each in values(rows, "a")),
    'Range "a" > 0': of_values("a", lambda known: max(known) - min(known)),
    'InterquartileRange "a" > 0': quartiles,
    'Skewness "a" > 0': moment(3),
    'Kurtosis "a" > 0': moment(4),
    'IsUnique "a"': lambda rows: share(once(some(tuples(rows, "a"))), len(values(rows, "a"))),
    'IsPrimaryKey "b" "d"': lambda rows: share(
        sum(n == 1 and None not in key for key, n in tuples(rows, "b", "d").items()), len(rows)
    ),
    'ColumnExists "A"': lambda rows: 1,
    'ColumnExists "q"': lambda rows: 0,
    'ColumnNamesMatchPattern "[a-s]"': lambda rows: 1,
    'ColumnNamesMatchPattern "[a-c]"': lambda rows: 0,
    r'ColumnNamesMatchPattern "^\p{Lower}$"': lambda rows: 1,
    'ColumnNamesMatchPattern "^$|[a-s]"': lambda rows: 1,
    'DataFreshness "d" < 24 hours': lambda rows: share(
        sum(
            (NOW - datetime.fromisoformat(d).replace(tzinfo=UTC)).total_seconds() < 86400
            for d in values(rows, "d")
        ),
        len(rows),
    ),
    'ColumnValues "a" > 1 with threshold > 0.5': lambda rows: share(
        sum(each > 1 for each in values(rows, "a")), len(rows)
    ),
    'ColumnValues "d" > (now() - 25 hours)': lambda rows: share(
        sum(d > "2026-11-24 11:00:00" for d in values(rows, "d")), len(rows)
    ),
    'ColumnValues "d" <= "12:59" with timeZone = "Europe/Amsterdam"': lambda rows: share(
        sum(d <= "2026-11-25 11:59:00" for d in values(rows, "d")), len(rows)
    ),
    'ColumnDataType "s" = "Integer" with threshold > 0': lambda rows: share(
        sum(each.isdigit() for each in values(rows, "s")), len(rows)
    ),
    'ColumnValues "s" in ["X"] with threshold > 0 with ignoreCase = "true"': lambda rows: share(
        values(rows, "s").count("x"), len(rows)
    ),
    'CustomSql "select count(*) + 1 from primary" > 0': lambda rows: len(rows) + 1,
    'CustomSql "select * from primary where a > 1"': lambda rows: share(
        sum(each > 1 for each in values(rows, "a")), len(rows)
    ),
    'DetectAnomalies "Completeness" "s"': lambda rows: share(len(values(rows, "s")), len(rows)),
}
TABLES = {
    "rows": ROWS,
    "rows with a filter": ROWS,
    "an empty table": [],
    "only NULL": [(None, None, None, None)] * 2,
}


def subject(spark: SparkSession, rows: Sequence[Row]) -> Subject:
    frame: DataFrame = spark.createDataFrame(rows, "a double, b double, s string, d string")
    return Subject(frame, NAMES, len(rows), References(nothing(), frame, len(rows), "metrics_of_rules"))


def nothing() -> Project:
    """A project without tables."""
    return Project(Path(), "nothing", Target("local", "local"), ())


@pytest.mark.parametrize("name", TABLES)
def test_each_rule_type_measures_what_python_does(interpreted: SparkSession, name: str) -> None:
    rows, where = TABLES[name], ""
    if name == "rows with a filter":
        where, rows = ' where "b > 2"', [row for row in ROWS if row[1] > 2]
    metrics = Measurements(subject(interpreted, TABLES[name]), NOW.timestamp())
    texts = [text for text in ORACLES if not where or _takes_where(text)]
    rules = parse_rules(
        "Rules = [" + ",\n".join(_with(text, where) for text in texts) + "]", Place("t.yaml", 1)
    )
    metrics.take((rule, tuple(measured(rule, NOW).values())) for rule in rules)
    for text, rule in zip(texts, rules, strict=True):
        found, expected = metrics(next(iter(measured(rule, NOW).values()))), ORACLES[text](rows)
        assert found == (expected if expected is None else pytest.approx(expected)), rule.text


def _with(text: str, where: str) -> str:
    head, with_, tags = text.partition(" with ")
    return f"{head}{where}{with_}{tags}"


def _takes_where(text: str) -> bool:
    return text.split()[0] not in (
        "ColumnCount", "ColumnExists", "ColumnNamesMatchPattern", "CustomSql", "DetectAnomalies",
    )  # fmt: skip


SHARED = {
    "no pass": ("RowCount > 0", "ColumnCount > 0", 'ColumnExists "a"', 'ColumnNamesMatchPattern "a"'),
    "one pass": ('Mean "a" > 0', 'Completeness "a" > 0', 'Range "a" > 0', 'RowCount > 0 where "a > 1"',
                 'ColumnValues "a" > 0 with threshold > 0', 'InterquartileRange "a" > 0',
                  'DataFreshness "a" > 1 days'),
    "one group": ('Uniqueness "a" > 0', 'IsUnique "a"', 'Entropy "a" > 0', 'DistinctValuesCount "a" > 0',
                  'IsPrimaryKey "a"', 'DuplicateRowCount "a" > 0', 'UniqueValueRatio "a" > 0'),
    "another group": ('Uniqueness "a" > 0 where "a > 1"',),
}  # fmt: skip


def test_metrics_that_can_share_a_pass_do(interpreted: SparkSession, tmp_path: Path) -> None:
    read = tmp_path / "read"

    def noted(value: float | None) -> float | None:
        with read.open("a") as file:
            file.write("x")
        return value

    column = F.udf(noted, "double").asNondeterministic()(F.col("b")).alias("a")
    frame = interpreted.createDataFrame([(row[0],) for row in ROWS], "b double").select(column)

    def passes(*kinds: str) -> float:
        read.write_text("")
        rules = parse_rules(
            f"Rules = [ {', '.join(text for kind in kinds for text in SHARED[kind])} ]", Place("t", 1)
        )
        references = References(nothing(), frame, len(ROWS), "shared_metrics")
        metrics = Measurements(Subject(frame, ("a",), len(ROWS), references), NOW.timestamp())
        metrics.take((rule, tuple(measured(rule, NOW).values())) for rule in rules)
        return len(read.read_text()) / len(ROWS)

    assert [passes(kind) for kind in SHARED] == [0, 1, 1, 1]
    assert passes(*SHARED) == 3


def test_an_anomaly_is_far_from_its_history() -> None:
    (rule,) = parse_rules('Rules = [ DetectAnomalies "RowCount" ]', Place("t.yaml", 1))
    assert rule.check is not None
    assert anomaly_metric(rule.check).type == "RowCount"
    known = [100.0, 102.0, 98.0, 101.0]

    def passes(value: float, history: Sequence[float]) -> bool:
        return outcome_of(rule, lambda _: value, lambda _: history).passed

    away = 3 * stats.pstdev(known)
    assert passes(stats.fmean(known) + away - 0.01, known)
    assert not passes(stats.fmean(known) + away + 0.01, known)
    assert passes(1e9, known[:2])
