"""A project that gets its first topic while Spark runs starts Spark anew: a running JVM gets no jars."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lakesmith import Lakehouse
from lakesmith.spark import open as spark_open


def test_spark_is_started_anew_for_the_first_topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []
    stopped: list[Any] = []

    def open_engine(*_: object, **__: object) -> Any:
        number = len(started)
        started.append(number)
        handle = SimpleNamespace(
            stop=lambda: stopped.append(number),
            is_alive=lambda: True,
            jvm_pid=number,
            spark=None,
            warm=False,
            leave=None,
        )
        return SimpleNamespace(session=handle)

    monkeypatch.setattr(spark_open, "open_engine", open_engine)
    monkeypatch.setattr("lakesmith.spark.engine.SparkEngine", lambda *_, **__: None)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\n")
    lakehouse: Any = Lakehouse(tmp_path)
    lock = SimpleNamespace(note_jvm=lambda _: None)
    for has_topics in (False, False, True, True, False, True):
        opened = SimpleNamespace(lake=None, project=SimpleNamespace(has_topics=has_topics))
        lakehouse.access.engine(opened, lock, None, True)
    assert (started, stopped) == ([0, 1], [0])
