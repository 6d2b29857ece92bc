"""Infers the columns of a source that declares none, from the texts in a sample of its first rows.

A column gets a type only if every text of the sample is exactly of it, else it is a string. Stricter than
Spark's inference on purpose: ``007`` or ``+49`` stay text, because a number would lose them, and so do
numbers of more digits than a double holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lakesmith import limits
from lakesmith.project.definitions import Column
from lakesmith.spark.read.exact_text import TextFormats, exact_from_text, plain_number, whole_loses_digits
from lakesmith.spark.read.request import ReadRequest

_MOST_DIGITS = 17  # programs write a double with these, so that it can be read back
_LOOKS = {
    "boolean": r"(?i)^(true|false)$",
    "bigint": r"^-?(0|[1-9]\\d*)$",
    "double": r"^-?(0|[1-9]\\d*)([.]\\d+)?([eE][+-]?\\d+)?$",
    "date": r"^\\d{4}-\\d{2}-\\d{2}$",
    "timestamp": r"^\\d{4}-\\d{2}-\\d{2}[ T]\\d{2}:\\d{2}.*$",
}
_FIRST_TO_LAST = ("boolean", "bigint", "double", "date", "timestamp")


def first_files(request: ReadRequest) -> ReadRequest:
    most = limits.SAMPLED_FILES
    few = (replace(group, files=group.files[:most]) for group in request.groups[:most])
    return replace(request, groups=tuple(few))


def as_columns(types: Mapping[str, str]) -> tuple[Column, ...]:
    return tuple(Column(column, kind, is_inferred=True) for column, kind in types.items())


def text_types(sample: DataFrame, texts: list[str], dates: TextFormats) -> list[str]:
    """Returns the narrowest type that fits every text of a column, for each column; in one pass over the
    sample.

    ``texts``: SQL of an array of the texts that a column has in a row. The texts of all columns become rows,
    so that the plan does not grow with the columns.
    """
    if not texts:
        return []
    rows = sample.selectExpr(f"posexplode(array({', '.join(texts)})) AS (place, texts)")
    below = rows.selectExpr("place", "explode(texts) AS text")
    checks = [f"coalesce(bool_and({_is('text', kind, dates)}), false) AS {kind}" for kind in _FIRST_TO_LAST]
    found = {row.place: row for row in below.groupBy("place").agg(*map(F.expr, checks)).collect()}
    fits = (found[i].asDict() if i in found else {} for i in range(len(texts)))
    return [next((kind for kind in _FIRST_TO_LAST if of.get(kind)), "string") for of in fits]


def _is(text: str, kind: str, dates: TextFormats) -> str:
    declared = (kind == "date" and dates.date) or (kind == "timestamp" and dates.timestamp)
    given, text = text, plain_number(text, kind, dates)
    looks = "true" if declared else f"{text} RLIKE '{_LOOKS[kind]}'"
    if kind == "double":
        looks = f"{looks} AND (octet_length({text}) <= {_MOST_DIGITS} OR {_few_digits(text)})"
        looks = f"{looks} AND NOT ({whole_loses_digits(text, f'try_cast({text} AS double)')})"
    fits = f"{looks} AND {exact_from_text(given, kind, dates)} IS NOT NULL"
    return f"IF({given} IS NULL, NULL, coalesce({fits}, false))"


def _few_digits(text: str) -> str:
    digits = f"regexp_replace({text}, '[eE].*$|[-.]', '')"
    return f"octet_length(trim(LEADING '0' FROM {digits})) <= {_MOST_DIGITS}"
