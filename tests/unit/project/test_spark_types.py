"""Spark SQL types as projects write them."""

import doctest

import pytest

from lakesmith.catalog.metadata import spark_type
from lakesmith.project import declaring, free_names, spark_types, table_parts
from lakesmith.project.spark_types import TypeProblem, normal_type


@pytest.mark.parametrize("module", [spark_types, table_parts, declaring, free_names])
def test_examples_in_the_documentation(module: object) -> None:
    found = doctest.testmod(module)  # type: ignore[arg-type]

    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("INT", "int"),
        ("integer", "int"),
        ("long", "bigint"),
        ("real", "float"),
        ("decimal", "decimal(10,0)"),
        ("numeric(5)", "decimal(5,0)"),
        ("Decimal( 38 , 18 )", "decimal(38,18)"),
        ("timestamp_ltz", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("map<string, array<long>>", "map<string,array<bigint>>"),
        ("struct<a int, `b c`: date>", "struct<a:int,`b c`:date>"),
        ("struct<`a`: int, `_B2` date>", "struct<a:int,_B2:date>"),
        ("struct<`größe`: int, `2nd`: int, `a.b`: int>", "struct<`größe`:int,`2nd`:int,`a.b`:int>"),
        ("struct<`c``d`: int, `e```: struct<`f`: long>>", "struct<`c``d`:int,`e```:struct<f:bigint>>"),
        (
            "map<string, struct<`order`: array<struct<`x`: int>>>>",
            "map<string,struct<order:array<struct<x:int>>>>",
        ),
    ],
)
def test_types_have_one_spelling(written: str, normal: str) -> None:
    assert normal_type(written) == normal


@pytest.mark.parametrize(
    "name", ["a", "A_1", "b c", "größe", "2nd", "a.b", "c`d", "``", "order", "e:f", "g, <h"]
)
def test_a_field_is_spelt_as_the_lake_tells_its_columns(name: str) -> None:
    """Where the two differed, a run would see a change of type that is none."""
    there = spark_type({"type": "struct", "fields": [{"name": name, "type": "int"}]})
    assert normal_type("struct<`" + name.replace("`", "``") + "`: int>") == there


@pytest.mark.parametrize(
    "written",
    [
        "", "in", "int int", "decimal(39)", "decimal(0)", "decimal(2,3)", "decimal(a)", "map<int>", "array",
        "struct<>", "int)", "a;b",
    ],
)  # fmt: skip
def test_what_is_no_type(written: str) -> None:
    with pytest.raises(TypeProblem):
        normal_type(written)


@pytest.mark.parametrize(("written", "hint"), [("short", "write int"), ("char(3)", "write string")])
def test_types_that_iceberg_lacks(written: str, hint: str) -> None:
    with pytest.raises(TypeProblem) as caught:
        normal_type(written)

    assert caught.value.hint == hint
