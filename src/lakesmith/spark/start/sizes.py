"""What a session on one machine is set to by the size of its work: memory pages, compilers, collectors.

Spark's memory comes in pages. Of a large heap it makes pages of 64 MB, and each sort, hash map and broadcast
takes at least one: memory that is touched for the first time costs more than the work of a small change.
A task has a table of 8,192 pages. When the table is full the task fails, though there may be memory left, so
Spark's memory must end first: then tasks write to disk. (A sort of 3.3 GB in one task with a heap of 10 GB
failed with pages of 256 kB alone, and spilled with the share of the heap set here.)
"""

from collections.abc import Mapping
from typing import Final

from lakesmith.plan.cost import DataSize

LITTLE_OPTIONS: Final = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""The first compiler alone: half the processor time of a short run (12.7 s against 23.5 s), several times
that of a heavy query. With it Java would hold a fifth of the compiled code that it usually does, and after
some hundred queries nothing is compiled any more, or fails ("Out of space in CodeCache")."""

_LESS_PROFILED: Final = "-XX:Tier3DelayOn=0"
"""While the second compiler has anything to do, the first one makes code that counts less of what it does.
That code is faster, and smaller: of a method that reads 25 columns of texts the usual one is more than the
512 kB that Java's compilers allow. They find out in the end, and interpret the method for ever (13 s of
processor time for what takes 3 s)."""

MIXED_OPTIONS: Final = (
    "-XX:TieredStopAtLevel=4",
    _LESS_PROFILED,
    "-XX:Tier4InvocationThreshold=200000",
    "-XX:Tier4MinInvocationThreshold=24000",
    "-XX:Tier4CompileThreshold=600000",
    "-XX:Tier4BackEdgeThreshold=400000",
    "-XX:ReservedCodeCacheSize=240m",
)
"""The second compiler, which waits forty times as long as usual: only loops over millions of rows come to
it. (A change of a table of 5 million rows with two golds computed in full: 25 to 31 seconds of processor time
became 13 to 18. Batches of ten rows take half a second more.)"""

LITTLE_COLLECTOR: Final = ("-XX:+UseSerialGC", "-Xmn128m")
"""Memory that is touched for the first time costs more than memory that is collected and used again: Java's
usual collector spreads over all of a large heap, and the system spent a third of a short run on handing it
pages."""

LARGE_OPTIONS: Final = (
    _LESS_PROFILED,
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
    "-XX:MetaspaceSize=256m",
)
"""The second compiler waits four times as long as usual: most of what it compiled ran for seconds. (20
seconds of processor time became 14 in a first load of 5 million rows.)"""

LARGE_COLLECTOR: Final = ("-XX:+UseParallelGC", "-XX:+UseTransparentHugePages")
YOUNG_MB_PER_CORE: Final = 300
LARGE_HEAP_MB: Final = 3072
"""The heap that a large session begins with: a smaller one is collected more often while it grows."""

COMPILED_CLASSES: Final = 2000
"""Generated classes that are kept: Spark's 100 are fewer than one change of three tables needs, so a warm JVM
compiled all of them again."""

_PAGES: Final = 8192
_LITTLE_PAGE_KB, _LARGE_PAGE_KB = 256, 2048
_RESERVED_MB: Final = 300
_FRACTION: Final = 0.6
"""Spark's part of the heap beyond its reserve, by default."""
_MARGIN: Final = 0.95
"""Not every page is full size: arrays of pointers begin small."""


def compiler(size: DataSize) -> tuple[str, ...]:
    """Returns the options of Java's compilers."""
    options = {DataSize.LITTLE: LITTLE_OPTIONS, DataSize.MIXED: MIXED_OPTIONS}
    return options.get(size, LARGE_OPTIONS)


def collector(size: DataSize, cores: int, memory_mb: int) -> tuple[str, ...]:
    """Returns the options of the collector and of its heap."""
    if not size.is_large:
        return LITTLE_COLLECTOR
    young = min(YOUNG_MB_PER_CORE * cores, memory_mb // 3)
    return (*LARGE_COLLECTOR, f"-Xmn{young}m", f"-Xms{min(LARGE_HEAP_MB, memory_mb // 2)}m")


def memory_conf(size: DataSize, memory_mb: int, given: Mapping[str, str]) -> dict[str, str]:
    """Returns Spark's page size, and its part of the heap, which never has more pages than a task can have.

    ``given``: the project's settings. If it sets one of these, Spark decides on the others.
    """
    cache = {"spark.sql.codegen.cache.maxEntries": str(COMPILED_CLASSES)}
    if given.keys() & {"spark.buffer.pageSize", "spark.memory.fraction", "spark.memory.offHeap.enabled"}:
        return cache
    heap_kb = max(1, memory_mb - _RESERVED_MB) * 1024
    if not size.is_large:
        fraction = min(_FRACTION, _PAGES * _LITTLE_PAGE_KB / heap_kb * _MARGIN)
        return {**cache, **_pages(_LITTLE_PAGE_KB), "spark.memory.fraction": f"{fraction:.4f}"}
    page = _LARGE_PAGE_KB
    while page * _PAGES < heap_kb * _FRACTION:
        page *= 2
    return {**cache, **_pages(page)}


def _pages(kb: int) -> dict[str, str]:
    return {"spark.buffer.pageSize": f"{kb}k"}
