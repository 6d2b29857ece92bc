"""What is asked of a JVM at the end holds nobody up."""

import threading

import pytest
from py4j.protocol import Py4JNetworkError

from lakesmith.spark.start import stop
from lakesmith.spark.start.stop import asked_of_jvm


def test_one_that_answers_has_done_it() -> None:
    done: list[int] = []
    assert asked_of_jvm(lambda: done.append(1))
    assert done == [1]


@pytest.mark.parametrize("error", [Py4JNetworkError("gone"), ConnectionRefusedError()])
def test_one_that_died_is_told_of(error: Exception) -> None:
    def fail() -> None:
        raise error

    assert not asked_of_jvm(fail)


def test_one_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stop, "STOP_SECONDS", 0.05)
    released = threading.Event()
    try:
        assert not asked_of_jvm(lambda: _wait(released))
    finally:
        released.set()


def _wait(for_it: threading.Event) -> None:
    for_it.wait()
