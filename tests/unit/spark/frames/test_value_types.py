"""Which types have values that can be compared, and which have fractions inside. Of types alone: no JVM."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from lakesmith.spark.frames.comparable import has_equality
from lakesmith.spark.frames.rounding import has_fractions


def inside(kind: DataType) -> list[DataType]:
    """The type, and types that have it inside."""
    box = StructType([StructField("map<variant", IntegerType()), StructField("x", kind)])
    text = StringType()
    return [
        kind, ArrayType(kind), MapType(text, kind), MapType(kind, text), box, ArrayType(MapType(text, box)),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", inside(VariantType()), ids=str)
def test_a_variant_cannot_be_compared_wherever_it_is(kind: DataType) -> None:
    assert not has_equality(kind)


@pytest.mark.parametrize("kind", inside(DoubleType()), ids=str)
def test_everything_else_can_whatever_its_fields_are_called(kind: DataType) -> None:
    assert has_equality(kind)


@pytest.mark.parametrize("kind", [*inside(DoubleType()), *inside(FloatType())], ids=str)
def test_fractions_are_found_wherever_they_are(kind: DataType) -> None:
    assert has_fractions(kind)


@pytest.mark.parametrize("kind", inside(DecimalType(10, 2)), ids=str)
def test_a_decimal_is_exact(kind: DataType) -> None:
    assert not has_fractions(kind)
