"""Numbers with a point, compared with each other to ten digits (doubles) and five (floats).

The last digits of a sum of doubles depend on the order of its rows, so rounded values are compared. But a
value on the edge of a rounding (123456789.25 has eleven digits) falls to either side of it by those very
digits. So each value is rounded in a second way too, whose edges lie elsewhere: rows that agree in one of the
two agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType

from lakesmith.quoting import quoted
from lakesmith.spark.frames.comparable import comparable, has_fractions, with_sign

_NET: Final = "_lakesmith_net"
_ROW: Final = "_lakesmith_row"
_EXACT: Final = "_lakesmith_exact_"
_APART: Final = 0.886226925452758
"""Half the root of pi: multiplied by it, no edge of a rounding is one again, and no number is too large."""


def rounded(value: str, kind: DataType) -> str:
    """SQL of a double or float as text of so many digits; of every other value as it is."""
    digits = _digits(kind)
    # An addition to nothing: -0.0 is 0.0, to the reader as to a GROUP BY.
    return value if digits is None else f"format_string('%.{digits}e', {value} + 0.0D)"


def rounded_elsewhere(value: str, kind: DataType) -> str:
    """As ``rounded``, with other edges: a text that means nothing by itself."""
    return value if _digits(kind) is None else rounded(f"{value} * {_APART}D", kind)


def grouped_exactly(frame: DataFrame, columns: Sequence[str], *aggregates: SparkColumn) -> DataFrame:
    """The columns, a row for each of their values, and aggregates. A GROUP BY takes 0.0 and -0.0 for one
    value, and gives one of them for both: here they are two.
    """
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    inexact = [name for name in columns if has_fractions(kinds[name])]
    exact = [
        F.expr(comparable(quoted(name), kinds[name], with_sign)).alias(f"{_EXACT}{number}")
        for number, name in enumerate(inexact)
    ]
    plain = [F.col(quoted(name)) for name in columns if name not in inexact]
    values = [F.first(quoted(name)).alias(name) for name in inexact]
    grouped = frame.groupBy(*plain, *exact).agg(*values, *aggregates)
    return grouped.drop(*(f"{_EXACT}{number}" for number in range(len(exact))))


def agreeing_in_neither(
    counted: DataFrame, columns: Sequence[str], other: str, sides: tuple[str, str]
) -> DataFrame:
    """The rows that are there another number of times than expected, whichever way their numbers are rounded.

    Args:
        counted: a row for all that agree in both ways: ``columns`` in the one, the column ``other`` with all
            of the other, and the two counts ``sides``.
        columns: the names of the table's columns.
        other: the name of that column.
        sides: the names of the counts.

    Returns the columns and the counts. Only what differs is shuffled.
    """
    first, second = map(F.col, sides)
    net = F.sum(first - second).over(Window.partitionBy(*map(quoted, columns)))
    left = counted.where(first != second).withColumn(_NET, net).where(F.col(_NET) != 0)
    row = F.first(F.struct(*map(quoted, columns))).alias(_ROW)
    sums = [F.sum(side).alias(side) for side in sides]
    return left.groupBy(other).agg(row, *sums).where(first != second).select(f"{_ROW}.*", *sides)


def as_it_was(value: SparkColumn, kind: DataType) -> SparkColumn:
    """Returns a ``comparable`` and ``rounded`` value for people: numbers as numbers, maps as maps."""
    match kind:
        case DoubleType() | FloatType():
            return value.try_cast("double")
        case ArrayType():
            return F.transform(value, lambda item: as_it_was(item, kind.elementType))
        case StructType():
            fields = [as_it_was(value.getField(f.name), f.dataType).alias(f.name) for f in kind.fields]
            return F.when(value.isNotNull(), F.struct(*fields))
        case MapType() if not has_fractions(kind.keyType):
            return F.map_from_entries(F.transform(value, lambda entry: _entry(entry, kind)))
    return value


def _entry(entry: SparkColumn, kind: MapType) -> SparkColumn:
    key, inner = entry.getField("key"), entry.getField("value")
    return F.struct(as_it_was(key, kind.keyType), as_it_was(inner, kind.valueType))


def _digits(kind: DataType) -> int | None:
    if isinstance(kind, DoubleType):
        return 9
    return 4 if isinstance(kind, FloatType) else None
