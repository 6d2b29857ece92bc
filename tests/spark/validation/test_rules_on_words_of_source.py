"""Rules of tables whose columns have the names that the source gives to columns of its own."""

import json
import math
from collections import Counter

import duckdb
import pytest
from harness import MakeShop
from pyspark.sql import SparkSession
from test_metrics import NOW, nothing
from words_of_source import words_of_source

from lakesmith.errors import Place
from lakesmith.project.definitions import ADDED_COLUMNS, is_taken
from lakesmith.quality.dqdl import parse_rules
from lakesmith.quality.verdict import measured
from lakesmith.spark.validation.measure import Measurements, Subject
from lakesmith.spark.validation.references import References

WORDS = {
    *words_of_source("quality"),
    *words_of_source("spark/validation"),
    "n",
    "k0",
    "k1",
    "o0",
    "o1",
    "r0",
    "m0",
}
NAMES = sorted({word.lower() for word in WORDS if not is_taken(word)} - ADDED_COLUMNS.keys())
VALUES = [1, 2, 2, None, 5]
COUNTED = Counter(VALUES)


MEASURED = {
    'IsUnique "{}"': 2 / 4,
    'Entropy "{}" > 0': math.log(4) - 2 * math.log(2) / 4,
    'DistinctValuesCount "{}" > 0': len(COUNTED),
    'UniqueValueRatio "{}" > 0': 2 / 3,
    'Uniqueness "{}" > 0': 2 / 4,
    'DuplicateRowCount "{}" > 0': 2,
    'IsPrimaryKey "{}"': 2 / 5,
    'Mean "{}" > 0': 10 / 4,
    'Completeness "{}" > 0 where "`{}` IS NULL OR `{}` > 1"': 3 / 4,
    "DuplicateRowCount > 0": 2,
}


def test_rules_measure_columns_of_any_name(interpreted: SparkSession) -> None:
    rows = interpreted.createDataFrame(
        [(value,) * len(NAMES) for value in VALUES], ", ".join(f"`{name}` bigint" for name in NAMES)
    )
    expected = {
        rule.replace("{}", name): value
        for rule, value in MEASURED.items()
        # Values of one column are grouped by a job, so those of a few are.
        for name in (NAMES if rule.startswith(("Mean", "Completeness")) else ("n", "k0", "once", "rows"))
    }
    rules = parse_rules(f"Rules = [{', '.join(expected)}]", Place("t.yaml", 1))
    references = References(nothing(), rows, len(VALUES), "named_like_ours")
    metrics = Measurements(Subject(rows, tuple(NAMES), len(VALUES), references), NOW.timestamp())
    checks = {each.text: tuple(measured(each, NOW).values()) for each in rules}
    metrics.take((each, checks[each.text]) for each in rules)
    found = {text: float(metrics(check) or 0) for text, (check,) in checks.items()}
    assert found == {text: pytest.approx(value) for text, value in expected.items()}


RULES = """
Rules = [
  ReferentialIntegrity "k0" "silver.wide.k0" = 1, ReferentialIntegrity "k1,o0" "silver.wide.{k1,o0}" = 1,
  DatasetMatch "silver.wide" "o0" "k0,o1,n" = 1, DatasetMatch "silver.wide" "k0,k1" = 1,
  SchemaMatch "silver.wide" = 1, AggregateMatch "sum(n)" "sum(silver.wide.n)" = 1,
  DuplicateRowCount = 0, IsPrimaryKey "n" "rows", IsUnique "m0", Uniqueness "n" = 1,
  ColumnValues "rule_0" > 0, ColumnValues "n" > 0 where "rows > 0", IsComplete "out",
  ColumnValues "r0" > 0 with threshold > 0.9, CustomSql "SELECT count(n) FROM primary WHERE k0 > 0" > 0
]
"""


def test_a_table_of_such_columns_is_checked_and_exported(make_shop: MakeShop) -> None:
    # Different expressions: Spark compares columns that are one with each other.
    wide = ", ".join(f"id + {n} - {n} AS `{name}`" for n, name in enumerate(NAMES))
    rules = RULES.replace("\n", "\n  ")
    export = "export: {format: parquet, partition_by: [bad, out], order_by: [n]}"
    shop = make_shop(
        {
            "tables/bronze/events.yaml": """
                source: {files: {path: landing/, pattern: "*.csv"}}
                columns: {id: bigint}
                """,
            "tables/silver/wide.sql": f"SELECT {wide} FROM bronze.events",
            "tables/silver/checked.yaml": f"from: silver.wide\nrules: |{rules}\n{export}\n",
        }
    )
    shop.take("landing/1.csv", "id\n1\n2\n3\n")
    gates = shop.record("silver.checked").gates
    assert len(gates) == 12 and {gate.outcome for gate in gates.values()} == {"passed"}
    shop.take("landing/2.csv", "id\n4\n5\n")
    files = [
        each["path"]
        for each in json.loads((shop.root / "exports/silver/checked/manifest.json").read_text())["files"]
    ]
    found = duckdb.read_parquet([str(shop.root / "exports/silver/checked" / each) for each in files])
    assert sorted(found.select("n").fetchall()) == [(n,) for n in range(1, 6)]
