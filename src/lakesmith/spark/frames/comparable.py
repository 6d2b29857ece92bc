"""Values made comparable for Spark, equal for equal values only; frames compared as multisets of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from lakesmith.quoting import own, quoted
from lakesmith.spark.frames.sql_text import all_of, sql_type

Leaf = Callable[[str, DataType], str]
"""What becomes of a value that has none inside, of a given type: SQL of both."""

_ITEM: Final = own("item")


def comparable(value: str, kind: DataType, leaf: Leaf | None = None) -> str:
    """Returns SQL of a value with maps as sorted lists of entries, at any depth; ``leaf`` changes inner
    values. Variants stay."""
    if leaf is None and not holds_maps(kind):
        return value
    match kind:
        case MapType():
            key = comparable(f"{_ITEM}.key", kind.keyType, leaf)
            inner = comparable(f"{_ITEM}.value", kind.valueType, leaf)
            entry = f"struct({key} AS key, {inner} AS value)"
            return f"array_sort(transform(map_entries({value}), {_ITEM} -> {entry}))"
        case ArrayType():
            return f"transform({value}, {_ITEM} -> {comparable(_ITEM, kind.elementType, leaf)})"
        case StructType():
            fields = ", ".join(
                f"{comparable(f'({value}).{quoted(f.name)}', f.dataType, leaf)} AS {quoted(f.name)}"
                for f in kind.fields
            )
            return f"IF({value} IS NULL, NULL, struct({fields}))"
    return value if leaf is None else leaf(value, kind)


def equal_in(
    left: str, right: str, kinds: Mapping[str, DataType], *, with_signs: bool = False
) -> SparkColumn:
    """Returns whether two aliased rows are equal in these columns; False if unknown. ``with_signs``: 0.0 is
    not -0.0."""
    equal = []
    for name, kind in kinds.items():
        leaf = with_sign if with_signs and has_fractions(kind) else None
        one, other = (comparable(f"{side}.{quoted(name)}", kind, leaf) for side in (left, right))
        equal.append(f"{one} <=> {other}" if has_equality(kind) else "false")
    return F.expr(all_of(equal))


def all_true(tests: Iterable[SparkColumn]) -> SparkColumn:
    """Returns the tests joined with AND, in pairs: a chain of some 250 is too deep for Spark's stack."""
    found = list(tests) or [F.lit(True)]
    while len(found) > 1:
        found = [reduce(and_, found[at : at + 2]) for at in range(0, len(found), 2)]
    return found[0]


def has_equality(kind: DataType) -> bool:
    """Returns False for types whose values cannot be compared even with ``comparable``, such as variants."""
    return all(leaf.text != "variant" for leaf in sql_type(kind).leaves())


def has_fractions(kind: DataType) -> bool:
    """Whether there is a double or a float in the type, at any depth."""
    return any(leaf.text in ("double", "float") for leaf in sql_type(kind).leaves())


def with_sign(value: str, kind: DataType) -> str:
    """Returns a double or float as text, which distinguishes 0.0 from -0.0; other values as they are."""
    return f"CAST({value} AS string)" if has_fractions(kind) else value


def holds_maps(kind: DataType) -> bool:
    """Whether values of a type are maps or have some inside: Spark neither joins nor groups by those."""
    return "map<" in kind.simpleString()


def is_collated(kind: str) -> bool:
    """Returns whether texts in values of a Spark type are compared by a collation."""
    return " collate " in kind


WANTED: Final = "_lakesmith_wanted"
THERE: Final = "_lakesmith_there"
SIDES: Final = (WANTED, THERE)
"""The columns that ``side`` adds: one of them is 1."""


def side(rows: DataFrame, which: str) -> DataFrame:
    """Marks rows as wanted (``WANTED``) or existing (``THERE``); their union is grouped by values."""
    return rows.withColumns({name: F.lit(int(name == which)).cast("bigint") for name in SIDES})


def both_counts() -> list[SparkColumn]:
    """Aggregates, named as ``SIDES``: how often equal rows are wanted, and how often they are there."""
    return [F.sum(name).alias(name) for name in SIDES]


def more(there: SparkColumn | None = None) -> SparkColumn:
    """Returns SQL of how many more times a row is wanted than it exists."""
    return F.greatest(F.col(WANTED) - _count(there), F.lit(0))


def less(there: SparkColumn | None = None) -> SparkColumn:
    """How many times too often a row is there."""
    return F.greatest(_count(there) - F.col(WANTED), F.lit(0))


def totals(sums: Sequence[tuple[SparkColumn, str]]) -> list[SparkColumn]:
    """Aggregates: these sums by their names, 0 where there are no rows."""
    return [F.coalesce(F.sum(each), F.lit(0)).alias(name) for each, name in sums]


def repeated(rows: DataFrame, times: SparkColumn) -> DataFrame:
    """Each row so many times; its count of ``WANTED`` means nothing any more."""
    return rows.where(times > 0).withColumn(WANTED, F.explode(F.sequence(F.lit(1), times.cast("int"))))


def _count(there: SparkColumn | None) -> SparkColumn:
    return F.col(THERE) if there is None else there
