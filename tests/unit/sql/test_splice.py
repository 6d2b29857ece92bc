"""Splicing: exactly the right characters change."""

import pytest

from lakesmith.sql.analysis import SqlParseError, analyse
from lakesmith.sql.splice import respelt, splice

NEW = {
    "bronze.orders": "v1", "silver.orders": "v2", "gold.x y": "v3",
    "bronze.t": "`lake`.`b`.`t` VERSION AS OF 7",
}  # fmt: skip

# title, query, spliced
SPLICES = [
    ("no alias", "SELECT a FROM bronze.orders", "SELECT a FROM v1 AS `orders`"),
    ("an alias stays", "SELECT o.a FROM bronze.orders o", "SELECT o.a FROM v1 o"),
    ("AS stays", "SELECT o.a FROM bronze.orders AS o", "SELECT o.a FROM v1 AS o"),
    ("a version", "SELECT a FROM bronze.t, bronze.t u",
     "SELECT a FROM `lake`.`b`.`t` VERSION AS OF 7 AS `t`, `lake`.`b`.`t` VERSION AS OF 7 u"),
    ("another case", "select a from BRONZE.Orders", "select a from v1 AS `Orders`"),
    ("backticks", "SELECT `x y`.a FROM gold.`x y`", "SELECT `x y`.a FROM v3 AS `x y`"),
    ("short qualifiers stay", "SELECT orders.a FROM bronze.orders", "SELECT orders.a FROM v1 AS `orders`"),
    ("long qualifiers",
     "SELECT bronze.orders.a, `bronze` . orders.s.x FROM bronze.orders WHERE Bronze.Orders.b > 1",
     "SELECT `orders`.a, `orders`.s.x FROM v1 AS `orders` WHERE `orders`.b > 1"),
    ("a qualified star", "SELECT bronze.orders.* FROM bronze.orders",
     "SELECT `orders`.* FROM v1 AS `orders`"),
    ("a field behind a bracket", "SELECT bronze.orders.m['k'].x FROM bronze.orders",
     "SELECT `orders`.m['k'].x FROM v1 AS `orders`"),
    ("a struct that looks like a table", "SELECT o.bronze.orders.a FROM bronze.orders o",
     "SELECT o.bronze.orders.a FROM v1 o"),
    ("a struct path below another alias", "SELECT bronze.orders.a FROM gold.`x y` bronze",
     "SELECT bronze.orders.a FROM v3 bronze"),
    ("two tables of one last name",
     "SELECT bronze.orders.a, silver.orders.b FROM bronze.orders JOIN silver.orders"
     " ON bronze.orders.id = silver.orders.id",
     "SELECT `bronze.orders`.a, `silver.orders`.b FROM v1 AS `bronze.orders` JOIN v2 AS `silver.orders`"
     " ON `bronze.orders`.id = `silver.orders`.id"),
    ("one name in two SELECTS", "SELECT a FROM bronze.orders WHERE id IN (SELECT id FROM silver.orders)",
     "SELECT a FROM v1 AS `orders` WHERE id IN (SELECT id FROM v2 AS `orders`)"),
    ("a correlated column",
     "SELECT a FROM bronze.orders WHERE EXISTS (SELECT 1 FROM silver.orders s WHERE s.id = bronze.orders.id)",
     "SELECT a FROM v1 AS `orders` WHERE EXISTS (SELECT 1 FROM v2 s WHERE s.id = `orders`.id)"),
    ("strings",
     "SELECT 'bronze.orders' AS a, \"bronze.orders\" AS b, r'\\bronze.orders' AS c FROM bronze.orders",
     "SELECT 'bronze.orders' AS a, \"bronze.orders\" AS b, r'\\bronze.orders' AS c FROM v1 AS `orders`"),
    ("comments",
     "SELECT a -- bronze.orders\n/* bronze.orders /* bronze.orders */ */ FROM bronze.orders -- bronze.orders",
     "SELECT a -- bronze.orders\n/* bronze.orders /* bronze.orders */ */"
     " FROM v1 AS `orders` -- bronze.orders"),
    ("a quoted column of the same text", "SELECT `bronze.orders` FROM bronze.orders",
     "SELECT `bronze.orders` FROM v1 AS `orders`"),
    ("unicode before it", "SELECT 'ü😀' AS `naïve` FROM bronze.orders",
     "SELECT 'ü😀' AS `naïve` FROM v1 AS `orders`"),
    ("CRLF", "SELECT a\r\nFROM bronze.orders\r\nWHERE b\r\n",
     "SELECT a\r\nFROM v1 AS `orders`\r\nWHERE b\r\n"),
    ("the alias follows the sample",
     "SELECT a FROM bronze.orders TABLESAMPLE (10 PERCENT) REPEATABLE (3) WHERE b",
     "SELECT a FROM v1 TABLESAMPLE (10 PERCENT) REPEATABLE (3) AS `orders` WHERE b"),
    ("an alias behind a sample", "SELECT a FROM bronze.orders TABLESAMPLE (3 ROWS) o",
     "SELECT a FROM v1 TABLESAMPLE (3 ROWS) o"),
    ("a pivot", "SELECT * FROM bronze.orders PIVOT (sum(a) FOR m IN (1))",
     "SELECT * FROM v1 AS `orders` PIVOT (sum(a) FOR m IN (1))"),
    ("a lateral view", "SELECT x FROM bronze.orders LATERAL VIEW explode(bronze.orders.a) e AS x",
     "SELECT x FROM v1 AS `orders` LATERAL VIEW explode(`orders`.a) e AS x"),
    ("columns named with the alias", "SELECT p FROM bronze.orders AS o(p)", "SELECT p FROM v1 AS o(p)"),
    ("a CTE of the same last name",
     "WITH orders AS (SELECT a FROM bronze.orders) SELECT orders.a FROM orders",
     "WITH orders AS (SELECT a FROM v1 AS `orders`) SELECT orders.a FROM orders"),
    ("a quoted CTE of the same text",
     "WITH `bronze.orders` AS (SELECT a FROM bronze.orders) SELECT a FROM `bronze.orders`",
     "WITH `bronze.orders` AS (SELECT a FROM v1 AS `orders`) SELECT a FROM `bronze.orders`"),
    ("FROM first", "FROM bronze.orders SELECT bronze.orders.a", "FROM v1 AS `orders` SELECT `orders`.a"),
    ("a comma and a comment behind", "SELECT 1 AS x FROM bronze.orders/*,*/,silver.orders",
     "SELECT 1 AS x FROM v1 AS `bronze.orders`/*,*/,v2 AS `silver.orders`"),
    ("at the very end", "SELECT a FROM bronze.orders;", "SELECT a FROM v1 AS `orders`;"),
    ("a grouped window",
     "SELECT count(*) AS n FROM bronze.orders GROUP BY window(bronze.orders.ts, '1 minute')",
     "SELECT count(*) AS n FROM v1 AS `orders` GROUP BY window(`orders`.ts, '1 minute')"),
    ("a path into a variant", "SELECT bronze.orders.v:a.b AS x FROM bronze.orders",
     "SELECT `orders`.v:a.b AS x FROM v1 AS `orders`"),
    ("the pipe", "FROM bronze.orders |> WHERE bronze.orders.a > 1 |> SELECT a",
     "FROM v1 AS `orders` |> WHERE `orders`.a > 1 |> SELECT a"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), [c[1:] for c in SPLICES], ids=[c[0] for c in SPLICES])
def test_splice(query: str, expected: str) -> None:
    assert splice(query, analyse(query), NEW) == expected


def test_each_reference_may_have_a_replacement_of_its_own() -> None:
    query = "SELECT a.x FROM Bronze.orders a JOIN bronze.orders b ON a.x = b.y, silver.cities"
    expected = "SELECT a.x FROM v0 a JOIN v1 b ON a.x = b.y, v2 AS `cities`"
    assert splice(query, analyse(query), {"bronze.orders": ("v0", "v1"), "silver.cities": "v2"}) == expected


def test_a_table_without_a_replacement_is_an_error() -> None:
    with pytest.raises(KeyError):
        splice("SELECT a FROM s.t", analyse("SELECT a FROM s.t"), NEW)


def test_time_travel_of_its_own_is_refused() -> None:
    query = "SELECT a FROM bronze.orders VERSION AS OF 3"
    with pytest.raises(SqlParseError, match="travel"):
        splice(query, analyse(query), NEW)


def test_an_analysis_of_another_text_is_refused() -> None:
    with pytest.raises(ValueError, match="not of this text"):
        splice("SELECT a FROM bronze.orders ", analyse("SELECT a FROM bronze.orders"), NEW)


def test_every_spliced_query_reads_the_new_names_only() -> None:
    names = {name: f"new.t{number}" for number, name in enumerate(NEW)}
    for _, query, _ in SPLICES:
        analysis = analyse(query)
        again = analyse(splice(query, analysis, names))
        assert [r.name for r in again.references] == [names[r.name.lower()] for r in analysis.references]
        assert again.qualifiers == ()
        assert again.shape.kind == analysis.shape.kind


@pytest.mark.parametrize(
    ("sql", "names", "respelt_sql"),
    [
        ("SELECT `o\u0308l`, 'o\u0308l' FROM t", ["\u00f6l"], "SELECT `\u00f6l`, 'o\u0308l' FROM t"),
        ("SELECT `\u00d6l` FROM t", ["o\u0308l"], "SELECT `o\u0308l` FROM t"),
        ("SELECT `o\u0308l`, `\u00f6l` FROM t", ["\u00f6l", "o\u0308l"], None),
        ("SELECT `\u00d6L` FROM t", ["\u00f6l"], None),
        ("SELECT `ol` FROM t", ["\u00f6l"], None),
    ],
)
def test_a_name_in_backticks_is_spelt_as_the_only_column_that_looks_the_same(
    sql: str, names: list[str], respelt_sql: str | None
) -> None:
    edits = respelt(sql, names)
    for edit in reversed(edits):
        sql = sql[: edit.start] + edit.text + sql[edit.end :]
    assert (sql if edits else None) == respelt_sql
