"""Columns of an input that change between two refreshes, and whether they affect earlier rows."""

from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.catalog.state import ColumnState
from lakesmith.plan.facts import Query
from lakesmith.plan.input_columns import columns_that_count, how_they_differ
from lakesmith.project.definitions import Place, TableDefinition, TableName
from lakesmith.sql.used_columns import computed_columns, named_columns

TABLE = TableDefinition(TableName("silver", "orders"), Place(Path("orders.yaml"), 1))
BEFORE = (
    ColumnState(1, "id", "int", False),
    ColumnState(2, "Price", "float", False),
    ColumnState(3, "address", "struct<city:string>", False),
)
WIDER = (replace(BEFORE[0], type="bigint"), *BEFORE[1:])
PRECISE = (BEFORE[0], replace(BEFORE[1], type="double"), BEFORE[2])
DEEPER = (*BEFORE[:2], replace(BEFORE[2], type="struct<city:string,zip:string>"))
MORE = (*BEFORE, ColumnState(4, "tip", "int", False))
RENAMED = (replace(BEFORE[0], name="number"), *BEFORE[1:])
ANOTHER = (replace(BEFORE[0], field_id=9), *BEFORE[1:])


def counting(
    query: str, now: tuple[ColumnState, ...], table: TableDefinition = TABLE, row_wise: bool = True
) -> tuple[str, ...]:
    from sqlglot import exp, parse_one

    tree = parse_one(query, read="spark")
    assert isinstance(tree, exp.Query)
    computed = computed_columns(tree) if row_wise else named_columns(tree)
    known = Query((), row_wise, "f", computed=computed, named=named_columns(tree))
    return columns_that_count(table, known, BEFORE, now)


@pytest.mark.parametrize("now", [WIDER, PRECISE, DEEPER, MORE])
@pytest.mark.parametrize(
    "query", ["SELECT * FROM o", "SELECT id, Price AS p, address FROM o", "SELECT address.city FROM o"]
)
def test_what_is_only_passed_on_makes_no_difference(query: str, now: tuple[ColumnState, ...]) -> None:
    assert counting(query, now) == ()


@pytest.mark.parametrize(
    ("query", "now", "found"),
    [
        ("SELECT CAST(price AS string) AS p FROM o", PRECISE, ("Price",)),
        ("SELECT id FROM o WHERE price > 0.1", PRECISE, ("Price",)),
        ("SELECT to_json(address) AS a FROM o", DEEPER, ("address",)),
        ("SELECT to_json(struct(*)) AS a FROM o", MORE, ("tip",)),
        ("SELECT a AS z FROM o AS t(a, b, c, d)", MORE, ("tip",)),
        ("SELECT hash(o.*) AS a FROM o", MORE, ("tip",)),
        ("SELECT id + 1 AS a FROM o", RENAMED, ("id",)),
        ("SELECT id FROM o", RENAMED, ("id",)),
        ("SELECT number AS a FROM o", RENAMED, ("number",)),
        ("SELECT price * 2 AS a FROM o", RENAMED, ()),
        ("SELECT price * 2 AS a FROM o", ANOTHER, ()),
        ("SELECT id + 1 AS a FROM o", ANOTHER, ("id",)),
        ("SELECT p FROM (SELECT price AS p FROM o)", PRECISE, ("Price",)),
        ("SELECT id + 1 AS a FROM o", PRECISE, ()),
        ("SELECT upper(address.city) AS a FROM o", MORE, ()),
    ],
)
def test_what_is_computed_with_does(query: str, now: tuple[ColumnState, ...], found: tuple[str, ...]) -> None:
    assert counting(query, now) == found


@pytest.mark.parametrize("query", ["SELECT * FROM o", "SELECT id, price, address FROM o"])
def test_a_name_that_means_another_column_now_does_too(query: str) -> None:
    """Dropped and added again, its values are null; two that swapped names have other values."""
    again = (BEFORE[0], replace(BEFORE[1], field_id=4, name="price"), BEFORE[2])
    assert counting(query, again) == ("price",)
    swapped = (replace(BEFORE[1], name="id"), replace(BEFORE[0], name="Price"), BEFORE[2])
    assert counting(query, swapped) == ("id", "Price")


def test_deletes_and_rules_judge_by_values_whatever_they_are_called(tmp_path: Path) -> None:
    deleting = replace(TABLE, delete_when="p < 0")
    assert counting("SELECT id, price AS p FROM o", PRECISE, deleting) == ("Price",)
    assert counting("SELECT id, price AS p FROM o", MORE, deleting) == ()
    assert counting("SELECT id AS p FROM o", PRECISE, deleting) == ()


def test_of_a_python_table_nothing_is_known() -> None:
    python = Query((), None, "f")
    assert columns_that_count(TABLE, python, BEFORE, MORE) == ("tip",)
    assert columns_that_count(TABLE, python, BEFORE, BEFORE) == ()


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT id, price * 2 AS tip, tip + 1 AS more FROM o", ("tip",)),
        ("SELECT id, price * 2 AS tip, tip AS more FROM o", ("tip",)),
        ("SELECT id, price * 2 AS tip FROM o", ()),
    ],
)
def test_a_column_that_comes_takes_a_name_over_from_the_query(query: str, found: tuple[str, ...]) -> None:
    assert counting(query, MORE) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT id, count(*) AS n FROM o GROUP BY id", ()),
        ("SELECT id FROM o UNION ALL SELECT price FROM o", ()),
        ("SELECT count(*) AS n FROM (SELECT * FROM o)", ("tip",)),
        ("SELECT DISTINCT * FROM o", ("tip",)),
        ("SELECT count(*) AS n FROM o NATURAL JOIN p", ("tip",)),
        ("SELECT * FROM o PIVOT (sum(price) FOR id IN (1, 2))", ("tip",)),
        ("SELECT count(*) AS n FROM o JOIN p USING (tip)", ("tip",)),
        ("SELECT a FROM o AS t(a, b, c) GROUP BY a", ("tip",)),
    ],
)
def test_of_queries_over_several_rows_a_column_that_comes_counts_where_it_is_named_or_a_star_stands(
    query: str, found: tuple[str, ...]
) -> None:
    assert counting(query, MORE, row_wise=False) == found


@pytest.mark.parametrize(
    ("query", "row_wise", "found"),
    [
        ("SELECT * FROM o", True, ()),
        ("SELECT concat_ws('-', *) AS a FROM o", True, ("Price", "id")),
        ("SELECT * FROM o UNION ALL SELECT * FROM o", False, ("Price", "id")),
        ("SELECT id, count(*) AS n FROM o GROUP BY id", False, ()),
    ],
)
def test_the_order_of_columns_counts_where_they_are_known_by_it(
    query: str, row_wise: bool, found: tuple[str, ...]
) -> None:
    moved = (BEFORE[1], BEFORE[0], BEFORE[2])
    assert counting(query, moved, row_wise=row_wise) == found


def test_a_column_that_goes_counts_where_versions_are_told_apart_by_it() -> None:
    keyed = replace(TABLE, key=("id",))
    assert counting("SELECT * FROM o", BEFORE[:2]) == ()
    assert counting("SELECT * FROM o", BEFORE[:2], keyed) == ("address",)
    assert counting("SELECT id, address FROM o", BEFORE[:2], keyed) == ("address",)
    assert counting("SELECT id, price FROM o", BEFORE[:2], keyed) == ()


def test_a_field_that_goes_counts_wherever_its_column_goes() -> None:
    deep = (*BEFORE[:2], replace(BEFORE[2], inner=(("city", 4), ("zip", 5))))
    less = (*BEFORE[:2], replace(BEFORE[2], inner=(("city", 4),)))
    query = Query((), True, "f", computed=(), named=("*",))
    assert columns_that_count(TABLE, query, deep, less) == ("address",)
    assert columns_that_count(TABLE, query, less, deep) == ()


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (MORE, "a new column: tip"),
        (WIDER, "a changed column: id"),
        (RENAMED, "a new column: number and lost a column: id"),
        (BEFORE[:1], "lost columns: Price, address"),
    ],
)
def test_of_a_query_that_may_use_any_column_is_said_what_became_of_them(
    now: tuple[ColumnState, ...], said: str
) -> None:
    names = columns_that_count(TABLE, Query((), None, "f"), BEFORE, now)
    assert how_they_differ(names, BEFORE, now) == said
