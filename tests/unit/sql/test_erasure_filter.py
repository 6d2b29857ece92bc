"""Whose rows are meant, as people write it."""

import pytest

from lakesmith.errors import UsageError
from lakesmith.sql.erasure_filter import ErasureFilter
from lakesmith.sql.parse_erasure_filter import parse_erasure_filter


@pytest.mark.parametrize(
    ("text", "columns", "values"),
    [
        ("email = 'a@b.c'", ("email",), (("a@b.c",),)),
        ("id IN (1, -2, 1)", ("id",), (("1",), ("-2",))),
        ("id IN (1, 2) AND region = 'N'", ("id", "region"), (("1", "N"), ("2", "N"))),
        (
            "(born = DATE '1970-01-02') AND `odd name` = 'it\\'s'",
            ("born", "odd name"),
            (("1970-01-02", "it's"),),
        ),
    ],
)
def test_values_of_columns(text: str, columns: tuple[str, ...], values: tuple[tuple[str, ...], ...]) -> None:
    assert parse_erasure_filter(text) == ErasureFilter(columns, values)


@pytest.mark.parametrize(
    "text",
    ["", "id > 1", "id = 1 OR id = 2", "id = other", "lower(email) = 'a'", "id = 1 AND id = 2", "t.id = 1",
     "id IN (SELECT 1)", "NOT id = 1", "1 = id", "id = NULL", "email LIKE 'a%'", "id = 1; DROP TABLE x"],
)  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_erasure_filter(text)
    assert refused.value.problems[0].code == "LS258"


def test_values_go_to_spark_as_texts() -> None:
    persons = parse_erasure_filter(r"name = 'O\'Hara'")
    assert persons.condition() == r"(CAST(`name` AS STRING) = 'O\'Hara')"
