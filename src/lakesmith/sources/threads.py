"""An ordered map over threads, for many small files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lakesmith import limits

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def held_of(sizes: Iterable[int]) -> int:
    """Returns the bytes held at most of a file of one of these sizes, while it is read from end to end."""
    return min(max(sizes, default=0), limits.FILE_CHUNK_BYTES)


def map_in_threads(
    work: Callable[[_Item], _Result], items: Sequence[_Item], over_network: bool = False, held_bytes: int = 1
) -> list[_Result]:
    """Returns ``work`` of each item, in order. Raises what ``work`` raises first.

    ``over_network``: each waits for an answer, and holds at most ``held_bytes`` of it.

    Threads get portions: a future for each of 10,000 local files would cost more than reading them.
    """
    if over_network and len(items) > 1:
        at_once = min(limits.OBJECT_THREADS, limits.OBJECTS_HELD_BYTES // max(1, held_bytes))
        with ThreadPoolExecutor(max(1, at_once)) as pool:
            return list(pool.map(work, items))
    size = limits.FILES_A_THREAD_TAKES
    portions = [items[start : start + size] for start in range(0, len(items), size)]
    if len(portions) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(limits.FILE_THREADS) as pool:
        done = pool.map(lambda portion: [work(item) for item in portion], portions)
        return [result for results in done for result in results]
