"""What counts in a definition: a needless difference costs a rebuild, a missed one correct results."""

import doctest
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from lakesmith.errors import Place
from lakesmith.plan import fingerprint
from lakesmith.plan.fingerprint import Around, definition_fingerprint, definition_parts, what_changed
from lakesmith.project.definitions import (
    Column,
    History,
    Maintenance,
    OnBadRow,
    PythonQuery,
    Schedule,
    SqlQuery,
    TableDefinition,
    TableName,
)
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
    """Whether it counts as the same; the parts say the same as the whole."""
    is_same = definition_fingerprint(changed) == definition_fingerprint(table)
    assert is_same == (definition_parts(changed) == definition_parts(table))
    return is_same


def told(changed: TableDefinition, table: TableDefinition = TABLE) -> str:
    return what_changed(definition_parts(table), definition_parts(changed))


def sql(text: str) -> TableDefinition:
    return replace(TABLE, query=SqlQuery(text, PLACE))


FUNCTION = """
    def customers(orders):
        return orders.select("id")
"""


def python(source: str, function: str = "customers", table: str = "orders") -> TableDefinition:
    arguments = ((table, TableName("bronze", table)),)
    query = PythonQuery(Path("customers.py"), function, dedent(source), PLACE, arguments)
    return replace(TABLE, query=query)


@pytest.mark.parametrize(
    "changed",
    [
        sql("select id,name\n  from bronze.customers -- those that count\n where id>0"),
        sql("SELECT id, name /* and no more */ FROM bronze.customers WHERE id > 0;"),
        replace(TABLE, delete_when="op='D' -- deleted"),
        replace(TABLE, rules=(COMPLETE, POSITIVE)),
        replace(TABLE, rules=(replace(POSITIVE, place=Place("another", 9)), COMPLETE)),
        replace(TABLE, description="All customers", owner="sales", tags=("crm",)),
        replace(TABLE, schedule=Schedule("0 6 * * *")),
        replace(TABLE, maintenance=Maintenance(target_file_size=1)),
        replace(TABLE, columns=(Column("id", "bigint", doc="the number", place=PLACE),)),
        replace(TABLE, columns=(*TABLE.columns, Column("name", None, doc="what they are called"))),
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


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (sql("SELECT id, name FROM bronze.customers WHERE id > 1"), "its query has changed"),
        (replace(TABLE, key=()), "its key has changed"),
        (replace(TABLE, latest_by=("at", "seq")), "its latest_by has changed"),
        (replace(TABLE, delete_when=None), "its delete_when has changed"),
        (replace(TABLE, rules=(POSITIVE,)), "its rules have changed"),
        (replace(TABLE, rules=()), "its rules have changed"),
        (replace(TABLE, columns=(Column("id", "int"),)), "its columns have changed"),
        (replace(TABLE, history=History.TYPE2), "its history has changed"),
        (replace(TABLE, track=("city",)), "its tracked columns have changed"),
        (
            replace(TABLE, columns=(Column("id", "bigint", required=True),)),
            "its required columns have changed",
        ),
        (replace(sql("SELECT 1"), key=()), "its query and its key have changed"),
        (replace(sql("SELECT 1"), key=(), rules=()), "its query, its key and its rules have changed"),
        (python("def customers(orders): ..."), "its query, its function and its inputs have changed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_has_changed_is_named(changed: TableDefinition, words: str) -> None:
    assert told(changed) == words


def test_what_has_changed_in_python_is_named() -> None:
    table = python(FUNCTION)
    assert told(python("LIMIT = 3\n" + dedent(FUNCTION)), table) == "its query has changed"
    assert told(python(FUNCTION, function="people"), table) == "its function has changed"
    assert told(python(FUNCTION, table="people"), table) == "its inputs have changed"


def test_modules_that_changed_came_or_went_are_named() -> None:
    def parts(**modules: str) -> dict[str, str]:
        named = {name.replace("_", "."): text for name, text in modules.items()}
        return definition_parts(python(FUNCTION), Around(named))

    both = parts(lib_rules="LIMIT = 3", lib_names="A = 1")
    assert both == parts(lib_rules="LIMIT=3  # at most", lib_names="A = 1")
    words = "its module lib.rules has changed"
    assert [
        what_changed(both, parts(lib_rules="LIMIT = 4", lib_names="A = 1")),
        what_changed(both, parts(lib_names="A = 1")),
        what_changed(parts(lib_names="A = 1"), both),
    ] == [words] * 3
    assert what_changed(both, parts()) == "its module lib.names and its module lib.rules have changed"


def test_a_record_from_before_parts_were_kept_says_no_more_than_that() -> None:
    assert what_changed({}, definition_parts(TABLE)) == "its definition has changed"
    assert what_changed(definition_parts(TABLE), definition_parts(TABLE)) == "its definition has changed"


def test_a_setting_that_did_not_exist_then_has_not_changed() -> None:
    plain = replace(TABLE, key=(), latest_by=(), delete_when=None, rules=(), columns=())
    assert set(definition_parts(plain)) == {"query"}


def test_examples_in_the_documentation() -> None:
    found = doctest.testmod(fingerprint)
    assert (found.attempted, found.failed) == (3, 0)


def test_the_order_and_case_of_tracked_columns_do_not_count() -> None:
    assert same(replace(TABLE, track=("City", "name")), replace(TABLE, track=("name", "city")))


def test_it_stays_as_it_is() -> None:
    """Records keep it for years: a change of the algorithm would rebuild every table."""
    assert definition_fingerprint(TABLE) == "563311eacc10f0dc589514b69427a29d"


def test_modules_of_the_project_count_and_their_layout_does_not() -> None:
    def of(**modules: str) -> str:
        return definition_fingerprint(python(FUNCTION), Around(modules))

    assert of(rules="LIMIT = 3") == of(rules="LIMIT=3  # at most")
    assert len({of(), of(rules="LIMIT = 3"), of(rules="LIMIT = 4"), of(other="LIMIT = 3")}) == 4


def test_settings_that_change_what_spark_computes_count_and_others_do_not() -> None:
    def of(**settings: str) -> Around:
        return Around(settings={f"spark.{name.replace('_', '.')}": value for name, value in settings.items()})

    plain, tokyo = definition_parts(TABLE), definition_parts(TABLE, of(sql_session_timeZone="Asia/Tokyo"))
    assert what_changed(plain, tokyo) == "the target's Spark settings have changed"
    assert definition_fingerprint(TABLE, of(sql_session_timeZone="Asia/Tokyo")) != definition_fingerprint(
        TABLE
    )
    json = Around(settings={"spark.sql.jsonGenerator.ignoreNullFields": "false"})
    assert definition_fingerprint(TABLE, json) != definition_fingerprint(TABLE)
    for name in ("driver_memory", "sql_shuffle_partitions", "sql_adaptive_enabled", "sql_catalog_lake_uri"):
        assert definition_fingerprint(TABLE, of(**{name: "4"})) == definition_fingerprint(TABLE)
