"""Java's packages and classes are looked up once: each question searches all jars for missing ones."""

from typing import Any

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that are sent to the JVM from now on."""
    jvm: Any = spark._jvm
    client, questions = jvm._gateway_client, []

    def send(command: str, *rest: Any, **more: Any) -> Any:
        questions.append(command)
        return client.__class__.send_command(client, command, *rest, **more)

    monkeypatch.setattr(client, "send_command", send)
    return questions


def test_a_class_that_was_found_is_not_asked_for_again(spark: SparkSession, asked: list[str]) -> None:
    jvm: Any = spark._jvm
    first = jvm.org.apache.iceberg.Schema
    asked.clear()
    assert jvm.org.apache.iceberg.Schema is first
    assert asked == []


def test_a_name_that_no_class_has_yet_is_asked_for_each_time(spark: SparkSession, asked: list[str]) -> None:
    jvm: Any = spark._jvm
    assert jvm.org.apache.NoSuchClass is not jvm.org.apache.NoSuchClass
    assert sum("org.apache.NoSuchClass" in question for question in asked) == 2
