"""How many objects are under way at once, by what is held of them."""

import threading

import pytest

from lakesmith import limits
from lakesmith.sources.threads import held_of, map_in_threads


def most_at_once(held: int, expected: int) -> int:
    """How many of 64 pieces of work met: each waits until as many are there as are expected."""
    here, most, lock, met = 0, 0, threading.Lock(), threading.Event()

    def work(_: int) -> None:
        nonlocal here, most
        with lock:
            here += 1
            most = max(most, here)
            if here >= expected:
                met.set()
        met.wait(10)
        with lock:
            here -= 1

    map_in_threads(work, range(64), True, held)
    return most


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, limits.OBJECT_THREADS),
        (1_000, limits.OBJECT_THREADS),
        (limits.FILE_CHUNK_BYTES, 4),
        (100 * limits.FILE_CHUNK_BYTES, 4),
    ],
)
def test_what_is_held_of_objects_is_bounded(size: int, expected: int) -> None:
    assert most_at_once(held_of([size, 10]), expected) == expected


def test_results_come_in_order() -> None:
    assert map_in_threads(lambda number: number * 2, range(100), True) == [2 * each for each in range(100)]
