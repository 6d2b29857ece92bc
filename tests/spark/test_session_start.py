"""The session: what it is set to, that other readers see its tables, and how it starts, falls back and ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_session_counts_in_utc_and_is_strict(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.sql("SELECT timestamp'2024-01-01 00:00:00' = timestamp_seconds(1704067200) AS same").first()[
        0
    ]
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        spark.sql("SELECT cast('x' AS int)").collect()
