"""What counts in a definition and what does not: a needless difference costs a rebuild, a hidden one right results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from lakesmith.errors import Place
from lakesmith.plan.fingerprint import definition_fingerprint
from lakesmith.project.definitions import Column, OnBadRow, PythonQuery, SqlQuery, TableDefinition, TableName
from lakesmith.quality.model import Rule

PLACE = Place("tables/silver/customers.sql", 1)
POSITIVE = Rule('ColumnValues "price" > 0', PLACE, ("price",), (), "price > 0")
COMPLETE = Rule('IsComplete "price"', PLACE, ("price",), (), "price IS NOT NULL")
TABLE = TableDefinition(
    TableName("silver", "customers"),
    PLACE,
    query=SqlQuery("SELECT id, name FROM bronze.customers WHERE id > 0", PLACE),
    columns=(Column("id", "bigint"),),
    key=("id",),
    latest_by=("seq", "at"),
    delete_when="op = 'D'",
    rules=(POSITIVE, COMPLETE),
)


def same(changed: TableDefinition, table: TableDefinition = TABLE) -> bool:
    return definition_fingerprint(changed) == definition_fingerprint(table)


def sql(text: str) -> TableDefinition:
    return replace(TABLE, query=SqlQuery(text, PLACE))


@pytest.mark.parametrize(
    "changed",
    [
        sql("select id,name\n  from bronze.customers -- those that count\n where id>0"),
        sql("SELECT id, name /* and no more */ FROM bronze.customers WHERE id > 0;"),
        replace(TABLE, delete_when="op='D' -- deleted"),
        replace(TABLE, rules=(COMPLETE, POSITIVE)),
        replace(TABLE, rules=(replace(POSITIVE, place=Place("another", 9)), COMPLETE)),
        replace(TABLE, description="All customers", owner="sales", tags=("crm",)),
        replace(TABLE, columns=(Column("id", "bigint", doc="the number", place=PLACE),)),
        replace(TABLE, place=Place("tables/silver/moved.sql", 7)),
        replace(TABLE, settings_from=(("key", PLACE),)),
        replace(TABLE, on_bad_row=OnBadRow.FAIL),
    ],
    ids=lambda _: "",
)
def test_what_does_not_count(changed: TableDefinition) -> None:
    assert same(changed)


@pytest.mark.parametrize(
    "changed",
    [
        sql("SELECT id, name FROM bronze.customers WHERE id > 1"),
        sql("SELECT id, name FROM bronze.customers WHERE id > '0'"),
        sql("SELECT name, id FROM bronze.customers WHERE id > 0"),
        sql("SELECT id, name AS Name FROM bronze.customers WHERE id > 0"),
        sql("SELECT id, name FROM bronze.people WHERE id > 0"),
        replace(TABLE, delete_when="op = 'd'"),
        replace(TABLE, delete_when=None),
        replace(TABLE, rules=(POSITIVE,)),
        replace(TABLE, rules=(replace(POSITIVE, predicate="price > 1"), COMPLETE)),
        replace(TABLE, key=("id", "name")),
        replace(TABLE, key=()),
        replace(TABLE, latest_by=("at", "seq")),
        replace(TABLE, columns=(Column("id", "int"),)),
        replace(TABLE, columns=(Column("id", "bigint", required=True),)),
        replace(TABLE, query=None),
    ],
    ids=lambda _: "",
)
def test_what_counts(changed: TableDefinition) -> None:
    assert not same(changed)


FUNCTION = """
    def customers(orders):
        return orders.select("id")
"""


def python(source: str, function: str = "customers", table: str = "orders") -> TableDefinition:
    arguments = ((table, TableName("bronze", table)),)
    query = PythonQuery(Path("customers.py"), function, dedent(source), PLACE, arguments)
    return replace(TABLE, query=query)


def test_comments_and_layout_of_python_do_not_count() -> None:
    other = """
    # Those who bought something.
    def customers( orders ):

        return orders.select( 'id' )  # the key alone
    """
    assert same(python(other), python(FUNCTION))


def test_an_authors_word_does_not_change_the_rows() -> None:
    table = python(FUNCTION)
    assert isinstance(table.query, PythonQuery)
    assert same(replace(table, query=replace(table.query, deterministic=True)), table)


@pytest.mark.parametrize(
    "changed",
    [
        python(FUNCTION.replace('"id"', '"ID"')),
        python("LIMIT = 3\n" + dedent(FUNCTION)),
        python(FUNCTION, function="people"),
        python(FUNCTION, table="people"),
    ],
    ids=lambda _: "",
)
def test_what_counts_in_python(changed: TableDefinition) -> None:
    assert not same(changed, python(FUNCTION))


def test_it_stays_as_it_is() -> None:
    """Records keep it for years: a change of the algorithm rebuilds every table, so it must not come by accident."""
    assert definition_fingerprint(TABLE) == "563311eacc10f0dc589514b69427a29d"


def test_modules_of_the_project_count_and_their_layout_does_not() -> None:
    def of(**modules: str) -> str:
        return definition_fingerprint(python(FUNCTION), modules)

    assert of(rules="LIMIT = 3") == of(rules="LIMIT=3  # at most")
    assert len({of(), of(rules="LIMIT = 3"), of(rules="LIMIT = 4"), of(other="LIMIT = 3")}) == 4
