"""A session for rules on small frames."""

import pytest
from harness import INTERPRETED
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> SparkSession:
    """A session that interprets expressions, as those of projects in tests do."""
    session = spark.newSession()
    for key, value in INTERPRETED.items():
        session.conf.set(key, value)
    return session
