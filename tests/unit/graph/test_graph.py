"""The graph of a project's tables, and choosing from it."""

from dataclasses import replace
from pathlib import Path

import pytest

from lakesmith.errors import Place, ProjectError, UsageError
from lakesmith.graph.graph import Graph, build_graph, select, ties_note
from lakesmith.graph.inputs import known_columns
from lakesmith.project.definitions import (
    Column,
    FileSource,
    OnNewColumn,
    Project,
    PythonQuery,
    SqlQuery,
    TableDefinition,
    TableName,
    Target,
)
from lakesmith.project.formats import FileFormat
from lakesmith.quality.dqdl import parse_rules
from lakesmith.sql.analysis import analyse

PLACE = Place("x", 1)


def sourced(name: str, *columns: str, on_new_column: OnNewColumn = OnNewColumn.FAIL) -> TableDefinition:
    source = FileSource("files", "a/", FileFormat.CSV, PLACE, on_new_column=on_new_column)
    declared = tuple(Column(column, "int") for column in columns)
    return TableDefinition(TableName.parse(name), PLACE, sources=(source,), columns=declared)


def sql(name: str, text: str) -> TableDefinition:
    return TableDefinition(TableName.parse(name), PLACE, query=SqlQuery(text, PLACE))


def python(name: str, *inputs: str) -> TableDefinition:
    arguments = tuple((f"p{number}", TableName.parse(table)) for number, table in enumerate(inputs))
    query = PythonQuery(Path("x.py"), "f", "", PLACE, arguments)
    return TableDefinition(TableName.parse(name), PLACE, query=query)


def project_of(*tables: TableDefinition) -> Project:
    return Project(Path(), "shop", Target("local", "local"), tuple(sorted(tables, key=lambda t: t.name)))


def graph_of(*tables: TableDefinition) -> Graph:
    queries = {table.name: table.query for table in tables}
    analyses = {name: analyse(query.text) for name, query in queries.items() if isinstance(query, SqlQuery)}
    return build_graph(project_of(*tables), analyses)


SHOP = (
    sql("bronze.z_report", "SELECT 1 AS one"),
    sourced("bronze.orders", "id", "city"),
    sourced("bronze.customers", "id", "name"),
    sql("silver.orders", "SELECT id, city FROM bronze.orders"),
    python("silver.customers", "bronze.customers", "silver.orders", "bronze.customers"),
    sql("gold.a_cities", "SELECT o.city FROM silver.orders o JOIN silver.orders p JOIN silver.customers c"),
)


def names(found: tuple[TableName, ...]) -> list[str]:
    return [str(name) for name in found]


def test_levels_read_only_earlier_levels() -> None:
    levels = [names(level) for level in graph_of(*SHOP).levels]

    assert levels == [
        ["bronze.customers", "bronze.orders", "bronze.z_report"], ["silver.orders"], ["silver.customers"],
        ["gold.a_cities"],
    ]  # fmt: skip


def ruled(table: TableDefinition, rule: str) -> TableDefinition:
    return replace(table, rules=parse_rules(f"Rules = [ {rule} ]", PLACE))


def test_tables_that_rules_name_come_first_where_that_makes_no_circle() -> None:
    graph = graph_of(
        ruled(sourced("bronze.a", "id"), 'ReferentialIntegrity "id" "Bronze.c.{id}" = 1'),
        ruled(
            sourced("bronze.b", "id"), 'CustomSql "SELECT count(*) FROM primary JOIN bronze.a USING (id)" > 0'
        ),
        sourced("bronze.c", "id"),
        ruled(sourced("silver.x", "id"), 'RowCountMatch "silver.y" = 1'),
        ruled(sql("silver.y", "SELECT id FROM silver.x"), 'RowCountMatch "silver.y" = 1'),
    )
    assert [names(level) for level in graph.levels] == [
        ["bronze.c"], ["bronze.a"], ["bronze.b"], ["silver.x"], ["silver.y"]
    ]  # fmt: skip
    after = {str(node.name): names(node.after) for node in graph.nodes if node.after}
    assert after == {"bronze.a": ["bronze.c"], "bronze.b": ["bronze.a"]}, "those of the circle do not wait"


def test_inputs_are_named_once_in_the_order_of_the_query() -> None:
    graph = graph_of(*SHOP)

    assert names(graph.node(TableName("gold", "a_cities")).inputs) == ["silver.orders", "silver.customers"]
    assert names(graph.node(TableName("silver", "customers")).inputs) == ["bronze.customers", "silver.orders"]
    assert graph.node(TableName("bronze", "orders")).inputs == ()


def test_up_and_down_the_stream() -> None:
    graph = graph_of(*SHOP)

    assert names(graph.upstream(TableName("silver", "customers"))) == [
        "bronze.customers", "bronze.orders", "silver.orders",
    ]  # fmt: skip
    assert names(graph.downstream(TableName("bronze", "orders"))) == [
        "silver.orders", "silver.customers", "gold.a_cities",
    ]  # fmt: skip
    assert graph.upstream(TableName("bronze", "orders")) == ()
    assert graph.downstream(TableName("gold", "a_cities")) == ()
    assert names(graph.readers(TableName("silver", "orders"))) == ["gold.a_cities", "silver.customers"]


def test_a_long_chain_needs_no_deep_stack() -> None:
    tables = [sourced("a.t0", "x"), *(python(f"a.t{n}", f"a.t{n - 1}") for n in range(1, 2000))]

    graph = graph_of(*tables)

    assert len(graph.levels) == 2000
    assert len(graph.downstream(TableName("a", "t0"))) == 1999


def test_every_circle_is_told_once() -> None:
    tables = (
        sql("a.one", "SELECT x FROM a.two"), sql("a.two", "SELECT x FROM a.one"), python("b.self", "b.self"),
        sql("c.beside", "SELECT x FROM a.one"),
    )  # fmt: skip

    with pytest.raises(ProjectError) as caught:
        graph_of(*tables)

    assert [problem.found for problem in caught.value.problems] == [
        "a.one → a.two → a.one",
        "b.self → b.self",
    ]


def test_notes_name_what_is_allowed_but_worth_knowing() -> None:
    graph = graph_of(
        sourced("a.t", "x"), sql("b.t", "SELECT x,\n  current_date() AS d,\n  upper(x)\nFROM a.t")
    )

    assert graph.node(TableName("b", "t")).notes == (
        "current_date at line 2 differs from run to run",
        "UPPER(x) at line 3 has no name: Spark chooses one",
    )
    assert graph.node(TableName("a", "t")).notes == ()


def columns_of(*tables: TableDefinition) -> dict[str, tuple[str, ...] | None]:
    queries = {table.name: table.query for table in tables}
    analyses = {name: analyse(query.text) for name, query in queries.items() if isinstance(query, SqlQuery)}
    return {str(name): columns for name, columns in known_columns(project_of(*tables), analyses).items()}


def test_columns_pass_through_stars() -> None:
    found = columns_of(
        sourced("a.t", "x", "y"),
        sql(
            "b.t",
            "SELECT * EXCEPT (y, _source_file, _source_position, _source_modified_at, _ingested_at, _batch) "
            "FROM a.t",
        ),
        sql("c.t", "SELECT *, 1 AS one FROM b.t"),
    )

    assert found["a.t"] == (
        "x", "y", "_source_file", "_source_position", "_source_modified_at", "_ingested_at", "_batch",
    )  # fmt: skip
    assert (found["b.t"], found["c.t"]) == (("x",), ("x", "one"))


def test_columns_that_only_a_run_can_tell() -> None:
    found = columns_of(
        sourced("a.inferred"),
        sourced("a.evolving", "x", on_new_column=OnNewColumn.EVOLVE),
        python("b.made", "a.inferred"),
        sql("c.star", "SELECT * FROM b.made"),
        sql("c.unnamed", "SELECT upper(x) FROM b.made"),
        sql("c.named", "SELECT x FROM b.made"),
    )

    assert found == {
        "a.inferred": None, "a.evolving": None, "b.made": None, "c.star": None, "c.unnamed": None,
        "c.named": ("x",),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (
            [],
            [
                "bronze.customers",
                "bronze.orders",
                "bronze.z_report",
                "silver.orders",
                "silver.customers",
                "gold.a_cities",
            ],
        ),
        (["silver.*"], ["silver.orders", "silver.customers"]),
        (["gold.a_cities", "bronze.orders"], ["bronze.orders", "gold.a_cities"]),
        (["+silver.orders"], ["bronze.orders", "silver.orders"]),
        (["silver.orders+"], ["silver.orders", "silver.customers", "gold.a_cities"]),
        (
            ["+silver.customers+"],
            ["bronze.customers", "bronze.orders", "silver.orders", "silver.customers", "gold.a_cities"],
        ),
        (["*.orders", "*.orders"], ["bronze.orders", "silver.orders"]),
    ],
)
def test_selection(patterns: list[str], expected: list[str]) -> None:
    assert names(select(graph_of(*SHOP), patterns)) == expected


def test_every_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        select(graph_of(*SHOP), ["+bronze.order", "silver.orders", "a_cities", "gold.x*"])

    assert [(problem.code, problem.what, problem.hint) for problem in caught.value.problems] == [
        ("LS201", "no table is called bronze.order", "did you mean bronze.orders?"),
        ("LS201", "no table is called a_cities", "did you mean gold.a_cities?"),
        (
            "LS201",
            "no table is called gold.x*",
            "the tables are bronze.customers, bronze.orders, bronze.z_report, gold.a_cities, "
            "silver.customers, silver.orders",
        ),
    ]


def keyed(name: str, text: str) -> TableDefinition:
    return replace(sql(name, text), key=("id",), latest_by=("at",))


TIES = {
    "SELECT * FROM bronze.a": None,
    "SELECT * FROM silver.stars": None,
    "SELECT id, at FROM silver.plain": "silver.plain does not say when its rows arrived",
    "SELECT id, max(at) AS at FROM bronze.a GROUP BY id": "GROUP BY makes one row of several",
    "SELECT id, at FROM bronze.b UNION ALL SELECT id, at FROM bronze.a": "in the order bronze.b, bronze.a",
}


@pytest.mark.parametrize("query", TIES)
def test_what_settles_ties_where_it_is_not_arrival_in_one_input(query: str) -> None:
    graph = graph_of(
        sourced("bronze.a"),
        sourced("bronze.b"),
        sql("silver.stars", "SELECT * EXCEPT (x) FROM bronze.a"),
        sql("silver.plain", "SELECT * EXCEPT (_batch) FROM bronze.a"),
        keyed("gold.t", query),
    )
    note = ties_note(graph, graph.node(TableName("gold", "t")))
    assert (note is None) if TIES[query] is None else (TIES[query] in (note or "")), note
