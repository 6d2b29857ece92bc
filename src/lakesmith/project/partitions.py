"""Iceberg partition fields as a project writes them (Spark DDL's spelling; the Iceberg specification's transforms)."""

from __future__ import annotations

import re
from typing import Final

from lakesmith.project.nearest import did_you_mean
from lakesmith.quoting import quoted_if_odd

TRANSFORMS: Final = ("years", "months", "days", "hours", "bucket", "truncate")
_FIELD: Final = re.compile(r"\s*(?:(\w+)\s*\(\s*(?:(\d+)\s*,\s*)?([^(),]+?)\s*\)|([^(),]+?))\s*")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SINGULAR: Final = {"year": "years", "month": "months", "day": "days", "date": "days", "hour": "hours"}


class PartitionProblem(ValueError):
    """A partition field that cannot be read; ``hint`` says what to write."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.hint = hint


def partition_field(text: str) -> tuple[str, str]:
    """The field in Spark's spelling, and the column it is made from.

    Raises PartitionProblem.

    >>> partition_field("bucket( 16,customer_id )")
    ('bucket(16, customer_id)', 'customer_id')
    >>> partition_field("`order city`")
    ('`order city`', 'order city')
    """
    found = _FIELD.fullmatch(text)
    if found is None:
        raise PartitionProblem(f"{text!r} is no partition field")
    transform, number, inner, plain = found.groups()
    column = _unquoted(inner or plain)
    if transform is None:
        return quoted_if_odd(column), column
    name = _SINGULAR.get(transform.lower(), transform.lower())
    if name not in TRANSFORMS:
        raise PartitionProblem(f"there is no transform {transform!r}", did_you_mean(transform, TRANSFORMS))
    return _with_number(name, number, column, text), column


def _with_number(name: str, number: str | None, column: str, text: str) -> str:
    needs = name in {"bucket", "truncate"}
    if needs and (number is None or int(number) == 0):
        raise PartitionProblem(f"{text!r} lacks a number", f"write {name}(16, {column})")
    if not needs and number is not None:
        raise PartitionProblem(f"{text!r} has a number", f"write {name}({column})")
    return f"{name}({number}, {quoted_if_odd(column)})" if needs else f"{name}({quoted_if_odd(column)})"


def _unquoted(column: str) -> str:
    return column[1:-1].replace("``", "`") if len(column) > 2 and column[0] == column[-1] == "`" else column
