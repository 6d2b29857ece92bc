"""Lines of text files -> records that are no lines, by Python on Spark's workers.

Spark's own readers take the first value of a JSON file alone, and all lines of a CSV file to end as its first ones do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any, Final

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from lakesmith.sources.formats import csv_records, json_values

Split = Callable[[Iterable[str]], Iterator[str]]
"""A file's lines, each without the LF at its end -> its records."""

RECORDS: Final = "value binary, file string, number bigint, at bigint"


def in_python(lines: DataFrame, split: Split) -> DataFrame:
    """The records of ``RECORDS``, which ``split`` makes of the lines of each file, with their numbers in it, from 1.

    ``lines``: (bytes, file, microseconds), those of a file in one partition, in order.
    """
    # Workers need not have lakesmith: they get the functions themselves.
    for module in (csv_records, json_values, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    # As bytes: those that are no text of the encoding are judged later. As microseconds: times of Python have zones.
    records = lines.rdd.mapPartitions(partial(_split, split=split))
    return lines.sparkSession.createDataFrame(records, RECORDS, verifySchema=False)


def _split(rows: Iterable[Any], split: Split) -> Iterator[tuple[bytes, str, int, int]]:
    for (file, at), lines in groupby(rows, key=lambda row: (row[1], row[2])):
        texts = (bytes(row[0]).decode("utf-8", "surrogateescape") for row in lines)
        for number, value in enumerate(split(texts), 1):
            yield value.encode("utf-8", "surrogateescape"), file, number, at
