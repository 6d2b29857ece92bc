"""A ``delete_when`` that fits no row: reported at its place in the project, and nothing is written."""

import pytest
from harness import Harness

from lakesmith.errors import Problem

pytestmark = pytest.mark.in_turn

ORDERS = """\
source:
  files: {path: landing/orders/, pattern: "*.csv", format: csv}
columns: {id: bigint, day: date, op: string}
"""
QUERY = "SELECT id, day, op FROM bronze.orders"
FILES = {"tables/bronze/orders.yaml": ORDERS, "tables/silver/orders.sql": QUERY}


def declare(shop: Harness, delete_when: str) -> None:
    shop.write({"tables/silver/orders.yaml": f"key: [id]\nlatest_by: [day]\ndelete_when: {delete_when}\n"})


def problem_of(shop: Harness) -> Problem:
    """The one problem of the next run, which an error of quality ended."""
    result = shop.run()
    assert (result.code, len(result.problems)) == (3, 1), result.problems
    return result.problems[0]


@pytest.mark.parametrize(
    ("delete_when", "what", "found"),
    [
        ("day > 5", "cannot be evaluated", "DATATYPE_MISMATCH"),
        ("opp = 'D'", "cannot be evaluated", "`opp` cannot be resolved"),
        ("explode(array(true))", "cannot be evaluated", "UNSUPPORTED_GENERATOR"),
        ("op", "is no condition", "a value of type string"),
        ("id + 1", "is no condition", "a value of type bigint"),
    ],
)
def test_it_is_found_before_a_row_is_written(shop: Harness, delete_when: str, what: str, found: str) -> None:
    declare(shop, delete_when)
    shop.land("landing/orders/1.csv", "id,day,op\n1,2024-01-31,I\n2,2024-01-31,D\n")
    problem = problem_of(shop)
    assert problem.code == "LS804"
    assert problem.what == f"the delete_when of silver.orders, {delete_when}, {what}"
    assert str(problem.place) == "tables/silver/orders.yaml:3"
    assert problem.expected == "a condition over the query's columns: id, day, op"
    assert found in (problem.found or "")
    assert not shop.state("silver.orders").snapshots


@pytest.mark.parametrize(
    ("batch", "delete_when"),
    [
        ("first", "id > 0 and op > 5"),
        ("second", "id > 0 and op > 5"),
        ("first", "id > 0 and to_date(op, 'yyyy') > '2024-01-01'"),
    ],
)
def test_it_fails_on_a_value_of_a_rebuild_or_of_new_rows(shop: Harness, batch: str, delete_when: str) -> None:
    declare(shop, delete_when)
    kept = [] if batch == "first" else [(1, "3")]
    if kept:
        shop.take("landing/orders/1.csv", "id,day,op\n1,2024-01-31,3\n2,2024-01-31,7\n")
    shop.land("landing/orders/2.csv", "id,day,op\n3,2024-01-31,six\n")
    problem = problem_of(shop)
    assert problem.code == "LS804"
    assert problem.what == f"the delete_when of silver.orders, {delete_when}, fails on a value"
    assert str(problem.place) == "tables/silver/orders.yaml:3"
    assert "'six'" in (problem.found or "")
    assert "try_cast" in (problem.hint or "")
    assert shop.rows("silver.orders", "id", "op") == kept

    declare(shop, "id > 0 and try_cast(op AS int) > 5")
    shop.must_run()
    assert shop.rows("silver.orders", "id", "op") == [*kept, (3, "six")]


def test_it_is_told_where_the_folder_declares_it(shop: Harness) -> None:
    shop.write({"tables/silver/_defaults.yaml": "delete_when: op\n"})
    shop.write({"tables/silver/orders.yaml": "key: [id]\n"})
    shop.land("landing/orders/1.csv", "id,day,op\n1,2024-01-31,I\n")
    assert str(problem_of(shop).place) == "tables/silver/_defaults.yaml:1"


def test_a_condition_without_a_value_deletes_nothing(shop: Harness) -> None:
    declare(shop, '"NULL"')
    shop.take("landing/orders/1.csv", "id,day,op\n1,2024-01-31,D\n")
    assert shop.rows("silver.orders", "id", "op") == [(1, "D")]


def test_a_query_that_fails_on_a_value_is_not_taken_for_it(shop: Harness) -> None:
    shop.write({"tables/silver/orders.sql": f"{QUERY} WHERE op > 5"})
    declare(shop, "op > 5")
    shop.land("landing/orders/1.csv", "id,day,op\n1,2024-01-31,six\n")
    result = shop.run()
    assert (result.code, result.problems[0].code) == (1, "LS601")
