"""Fewer calls to the JVM: classes are looked up once, and what Python drops is forgotten together."""

import time
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


def test_objects_that_python_drops_are_forgotten_together(spark: SparkSession, asked: list[str]) -> None:
    gateway: Any = spark.sparkContext._gateway
    known = gateway.java_gateway_server.getGateway().getBindings()
    dropped = [gateway.jvm.java.lang.Object() for _ in range(2000)]
    names = [each._get_object_id() for each in dropped]
    assert known.containsKey(names[0]) and known.containsKey(names[-1])
    asked.clear()
    del dropped
    until = time.monotonic() + 30
    while any(map(known.containsKey, (names[0], names[-1]))) and time.monotonic() < until:
        time.sleep(0.2)
    assert not any(map(known.containsKey, names[:10] + names[-10:]))
    assert sum("removeAll" in question for question in asked) < 20
    assert not any(question.startswith("m\nd\n") for question in asked)
