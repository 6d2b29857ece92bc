"""Spark SQL types as projects write them."""

from __future__ import annotations

import doctest

import pytest

from lakesmith.project import durations, partitions, spark_types
from lakesmith.project.spark_types import TypeProblem, normal_type


@pytest.mark.parametrize("module", [spark_types, partitions, durations])
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
    ],
)
def test_types_have_one_spelling(written: str, normal: str) -> None:
    assert normal_type(written) == normal


@pytest.mark.parametrize(
    "written",
    [
        "",
        "in",
        "int int",
        "decimal(39)",
        "decimal(0)",
        "decimal(2,3)",
        "decimal(a)",
        "map<int>",
        "array",
        "struct<>",
        "int)",
        "a;b",
    ],
)
def test_what_is_no_type(written: str) -> None:
    with pytest.raises(TypeProblem):
        normal_type(written)


@pytest.mark.parametrize(("written", "hint"), [("short", "write int"), ("char(3)", "write string")])
def test_types_that_iceberg_lacks(written: str, hint: str) -> None:
    with pytest.raises(TypeProblem) as caught:
        normal_type(written)

    assert caught.value.hint == hint
