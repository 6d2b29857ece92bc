"""What is seen in the text of a Python query, because Spark's plan of its result cannot show it."""

from __future__ import annotations

import pytest

from lakesmith.plan.python_shape import why_not_row_wise


@pytest.mark.parametrize(
    "body",
    [
        "orders.where('amount > 10').select('id')",
        "orders.withColumn('more', F.col('amount') + 1)",
        "clean(orders)",
    ],
)
def test_nothing_speaks_against_it(body: str) -> None:
    assert why_not_row_wise(f"def big(orders):\n    return {body}\n") is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "orders.where(F.col('at') == orders.agg(F.max('at')).first()[0])",
            "it uses first at line 2, which looks at more than one row",
        ),
        (
            "orders.limit(0) if orders.isEmpty() else orders",
            "it uses isEmpty at line 2, which looks at more than one row",
        ),
        (
            "orders.sparkSession.table('lake.bronze.others')",
            "it uses sparkSession at line 2, through which it can read other tables",
        ),
        (
            "SparkSession.getActiveSession().table('x')",
            "it uses getActiveSession at line 2, through which it can read other tables",
        ),
    ],
)
def test_what_was_computed_on_the_way(body: str, reason: str) -> None:
    assert why_not_row_wise(f"def big(orders):\n    return {body}\n") == reason


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        (
            "from pyspark.sql import functions as F",
            "orders.groupBy('city').agg(F.count('*').alias('n'), F.first('id'))",
        ),
        ("from pyspark.sql import functions", "orders.groupBy('city').agg(functions.corr('a', 'b'))"),
        ("import pyspark.sql.functions as f", "orders.groupBy('city').agg(f.count('id'))"),
        ("import pyspark.sql.functions", "orders.groupBy('city').agg(pyspark.sql.functions.count('id'))"),
        ("", "orders.groupBy('city').count()"),
        ("", "orders.groupBy('city').pivot('kind').count()"),
    ],
)
def test_what_only_says_what_is_to_be_computed(imports: str, body: str) -> None:
    assert why_not_row_wise(f"{imports}\ndef big(orders):\n    return {body}\n") is None


@pytest.mark.parametrize(
    ("imports", "body"),
    [
        ("from pyspark.sql import functions as F", "orders.limit(orders.count())"),
        ("from pyspark.sql import functions as F", "[F := orders, F.count()][0]"),
        ("from mine import functions as F", "orders.limit(F.count())"),
        ("from pyspark.sql import functions as F\nfrom mine import F", "orders.limit(F.count())"),
        ("from pyspark.sql import functions as F", "(lambda F: F.limit(F.count()))(orders)"),
        ("import pyspark.sql.functions\nclass pyspark: pass", "pyspark.sql.functions.count()"),
        ("from pyspark.sql import functions as F", "orders\n    match orders:\n        case F: F.count()"),
        ("", "orders.groupBy('city').agg({'id': 'max'}).count()"),
        ("", "orders.groupBy('city').first()"),
    ],
)
def test_what_goes_by_such_a_name_and_computes(imports: str, body: str) -> None:
    assert "which looks at more than one row" in str(
        why_not_row_wise(f"{imports}\ndef big(orders):\n    return {body}\n")
    )
