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
