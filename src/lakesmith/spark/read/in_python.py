"""Splits lines of text files into records that are not lines, in Python on Spark's workers.

Spark's own readers take only the first value of a JSON file, and expect all lines of a CSV file to end as its
first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

from pyspark import RDD, cloudpickle
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame

from lakesmith.sources.formats import csv_records, json_values, packed

ToRecords = Callable[[Iterable[str]], Iterator[str]]
"""Splits a file's lines, each without the LF at its end, into its records."""


class Split(NamedTuple):
    """What makes records of what Spark read. ``unpacked_as``: it read whole files of gzip, whose texts have
    this encoding; None: it read lines."""

    to_records: ToRecords
    unpacked_as: str | None = None


RECORDS: Final = "value binary, file string, number bigint, at bigint"
FIRST: Final = "(monotonically_increasing_id() & 8589934591L) = 0"
"""SQL that is true for the first row of a partition."""


def in_python(lines: DataFrame, text: str, file: str, at: str, split: Split) -> DataFrame:
    """Returns the records that ``split`` makes of the lines of each file, as ``RECORDS``, with their numbers
    in it, from 1. ``lines`` has a row for each line or, if it is to be unpacked, for each file.

    ``text``, ``file`` and ``at``: SQL of a line, of its file's path, and of the file's time in microseconds.
    Each file is one partition of ``lines``, in order.
    """
    # Bytes alone, as Python would make an object of each row: a file's first line begins with its path and
    # time.
    head = f"encode(concat(to_json(struct({file} AS file, {at} AS at)), '\\n'), 'UTF-8')"
    plain = lines.selectExpr(f"IF({FIRST}, concat({head}, {text}), {text}) AS line")
    spark, context = lines.sparkSession, lines.sparkSession.sparkContext
    binary = context._jvm.org.apache.spark.sql.Encoders.BINARY()  # type: ignore[union-attr]
    java = getattr(plain._jdf, "as")(binary).toJavaRDD()
    found: RDD[Any] = RDD(java, context, NoOpSerializer()).mapPartitions(for_workers(split))
    return spark.createDataFrame(found, RECORDS, verifySchema=False)


def for_workers(split: Split) -> Callable[[Iterable[Any]], Iterator[tuple[bytes, str, int, int]]]:
    """Returns the function from lines to ``RECORDS``, as sent to workers that lack lakesmith."""
    for module in (csv_records, json_values, packed, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return partial(_split, split=split)


def _split(lines: Iterable[bytes], split: Split) -> Iterator[tuple[bytes, str, int, int]]:
    left = iter(lines)
    for first in left:
        head, _, line = first.partition(b"\n")
        file, at = json.loads(head).values()
        # Bytes that are not text of the encoding stay as they are, for the validation.
        texts: Iterable[str]
        if split.unpacked_as is None:
            texts = (each.decode("utf-8", "surrogateescape") for each in chain((line,), left))
        else:
            texts = packed.unpacked_lines(line, split.unpacked_as)
        for number, value in enumerate(split.to_records(texts), 1):
            yield value.encode("utf-8", "surrogateescape"), file, number, at
