"""Rules that do not fit the rows: each is reported at its place, with the column and its type."""

import pytest
from harness import Harness

from lakesmith.errors import Problem

pytestmark = pytest.mark.in_turn

ORDERS = """\
source:
  files: {path: landing/orders/, pattern: "*.csv", format: csv}
columns: {id: bigint, name: string, day: date, tags: string}
"""
RULES = """\
rules: |
  Rules = [
    IsComplete "id",
    RULE
  ]
"""
QUERY = "SELECT id, name, day, split(tags, ';') AS tags FROM bronze.orders"
KEYED = "key: [id]\n"


def problems(shop: Harness, table: str, text: str, rule: str) -> tuple[Problem, ...]:
    """What a run says of the table with this rule, whose definition begins with ``text``."""
    file = f"tables/{table.replace('.', '/')}.yaml"
    shop.write({file: text + RULES.replace("RULE", rule)})
    shop.land("landing/orders/1.csv", "id,name,day,tags\n1,7,2024-01-31,a;b\n2,six,2024-02-01,c\n")
    result = shop.run(f"+{table}")
    assert result.code in (0, 3), [line for problem in result.problems for line in problem.lines()]
    assert (result.code == 3) is bool(result.problems)
    return tuple(result.problems)


FILES = {"tables/bronze/orders.yaml": ORDERS, "tables/silver/orders.sql": QUERY}


@pytest.mark.parametrize(
    ("table", "text"),
    [("bronze.orders", ORDERS), ("silver.orders", ""), ("silver.orders", KEYED)],
    ids=["sourced", "plain", "keyed"],
)
def test_a_rule_on_a_column_of_a_type_it_cannot_compare(shop: Harness, table: str, text: str) -> None:
    rule = 'ColumnValues "day" > 5'
    (problem,) = problems(shop, table, text, rule)
    assert problem.code == "LS802"
    # The settings, ``rules: |``, ``Rules = [`` and the first rule stand before it.
    assert str(problem.place) == f"tables/{table.replace('.', '/')}.yaml:{text.count(chr(10)) + 4}"
    assert problem.what == f"the rule {rule} cannot be evaluated: it does not fit the type of day"
    assert problem.found == "day date"
    assert problem.expected == "a column of numbers: of a numeric type, boolean, timestamp, or string"


def test_of_a_rule_of_several_parts_the_column_that_does_not_fit_is_named(shop: Harness) -> None:
    rule = '(ColumnValues "id" > 0) and (ColumnValues "tags" = "2024-01-31")'
    (problem,) = problems(shop, "silver.orders", "", rule)
    assert problem.found == "tags array<string>"
    assert problem.expected == "a column of dates: date, timestamp, timestamp_ntz, or string"


def test_a_value_that_is_no_number_breaks_its_rule_and_not_the_run(shop: Harness) -> None:
    assert problems(shop, "silver.orders", "", 'ColumnValues "name" > 5') == ()
    assert shop.rows("silver.orders", "name") == [("7",)]
    assert [row["reasons"] for row in shop.quarantine("silver.orders")] == [['ColumnValues "name" > 5']]


def test_a_filter_that_names_no_column_of_the_rows(shop: Harness) -> None:
    (problem,) = problems(shop, "silver.orders", "", 'IsComplete "name" where "nme = 1"')
    assert (problem.code, problem.place and problem.place.line) == ("LS802", 4)
    assert "`where` of the rule IsComplete" in problem.what
    assert "`nme` cannot be resolved" in (problem.found or "")


@pytest.mark.parametrize(
    ("table", "text"), [("bronze.orders", ORDERS), ("silver.orders", KEYED)], ids=["sourced", "keyed"]
)
def test_a_filter_that_fails_on_a_value(shop: Harness, table: str, text: str) -> None:
    (problem,) = problems(shop, table, text, 'IsComplete "day" where "id > 0 and name > 5"')
    assert problem.code == "LS803"
    assert problem.place and problem.place.line == text.count("\n") + 4
    assert 'IsComplete "day" where' in problem.what
    assert "'six'" in (problem.found or "")
    assert "try_cast" in (problem.hint or "")


@pytest.mark.parametrize(
    ("table", "text", "where"),
    [
        ("bronze.orders", ORDERS, "to_date(name, 'yyyy') > '2024-01-01'"),
        ("silver.orders", "", "to_timestamp(name, 'HH:mm') IS NOT NULL"),
        ("silver.orders", KEYED, "element_at(tags, int(id) + 5) = 'a'"),
    ],
    ids=["date, sourced", "time, plain", "element, keyed"],
)
def test_a_filter_is_named_where_spark_says_no_place(
    shop: Harness, table: str, text: str, where: str
) -> None:
    rule = f'IsComplete "day" where "{where}"'
    (problem,) = problems(shop, table, text, 'IsComplete "tags" where "id > 0",\n    ' + rule)
    assert (problem.code, problem.rule) == ("LS803", rule)
    assert problem.place and problem.place.line == text.count("\n") + 5
    assert (
        "index" in (problem.found or "") or "'six'" in (problem.found or "") or "'7'" in (problem.found or "")
    )
    assert "try_" in (problem.hint or "")


@pytest.mark.parametrize("condition", ["name > 5", "to_date(name, 'yyyy') > '2024-01-01'"])
def test_a_query_that_fails_on_a_value_is_not_taken_for_a_rule(shop: Harness, condition: str) -> None:
    shop.write({"tables/silver/orders.sql": f"SELECT id, name FROM bronze.orders WHERE {condition}"})
    shop.write({"tables/silver/orders.yaml": RULES.replace("RULE", f'IsComplete "name" where "{condition}"')})
    shop.land("landing/orders/1.csv", "id,name,day,tags\n1,six,2024-01-31,a\n")
    result = shop.run()
    assert (result.code, result.problems[0].code) == (1, "LS601")
