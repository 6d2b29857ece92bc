"""The analysis of a query's text: references, columns, shape. A case is a title, a query, a result."""

import marshal

import pytest

from lakesmith.cache import encoded
from lakesmith.sql.analysis import SqlParseError, _restored, analyse
from lakesmith.sql.model import ShapeKind

# title, query, the tables named (in order), the columns given (None: open)
REFERENCES: list[tuple[str, str, list[str], tuple[str, ...] | None]] = [
    ("one table", "SELECT a, b AS c FROM s.t", ["s.t"], ("a", "c")),
    ("backticks are no part of the name", "SELECT `a b` FROM `s`.`t t`", ["s.t t"], ("a b",)),
    ("a name split over lines", "SELECT a FROM s\n  . t", ["s.t"], ("a",)),
    ("a name that begins with a digit", "SELECT a FROM s.2024_t", ["s.2024_t"], ("a",)),
    ("a CTE is no table", "WITH c AS (SELECT a FROM s.t) SELECT a FROM c", ["s.t"], ("a",)),
    ("a CTE in another case", "WITH Cc AS (SELECT a FROM s.t) SELECT a FROM cC", ["s.t"], ("a",)),
    (
        "a CTE hides nothing of two parts",
        "WITH t AS (SELECT a FROM s.u) SELECT a FROM s.t",
        ["s.u", "s.t"],
        ("a",),
    ),
    ("a CTE of the name it reads", "WITH t AS (SELECT a FROM t) SELECT a FROM t", ["t"], ("a",)),
    (
        "a CTE is unknown outside",
        "SELECT a FROM (WITH c AS (SELECT a FROM s.t) SELECT a FROM c) JOIN c",
        ["s.t", "c"],
        ("a",),
    ),
    (
        "a CTE does not see later ones",
        "WITH c AS (SELECT a FROM d), d AS (SELECT a FROM s.t) SELECT a FROM c",
        ["d", "s.t"],
        ("a",),
    ),
    (
        "a recursive CTE sees itself",
        "WITH RECURSIVE c(n) AS (SELECT k FROM s.t UNION ALL SELECT n + 1 FROM c WHERE n < 9)"
        " SELECT n FROM c",
        ["s.t"],
        ("n",),
    ),
    ("one part that is no CTE", "SELECT a FROM t", ["t"], ("a",)),
    ("three parts", "SELECT a FROM lake.s.t", ["lake.s.t"], ("a",)),
    ("FROM before SELECT", "FROM s.t SELECT a", ["s.t"], ("a",)),
    ("names in strings and comments", "SELECT 's.u' AS a -- s.v\n/* s.w */ FROM s.t", ["s.t"], ("a",)),
    ("comments nest", "SELECT a /* x /* FROM s.u */ FROM s.v */ FROM s.t", ["s.t"], ("a",)),
    ("a quote in a string", "SELECT 'it\\'s FROM s.u' AS a FROM s.t", ["s.t"], ("a",)),
    ("a raw string ends at its quote", "SELECT r'\\' AS a FROM s.t WHERE b = ' FROM s.u'", ["s.t"], ("a",)),
    (
        "subqueries everywhere",
        "SELECT (SELECT max(x) FROM a.b) AS m FROM c.d WHERE y IN (SELECT z FROM e.f)",
        ["a.b", "c.d", "e.f"],
        ("m",),
    ),
    ("EXISTS", "SELECT a FROM s.t WHERE EXISTS (SELECT 1 FROM s.u WHERE u.a = t.a)", ["s.t", "s.u"], ("a",)),
    ("the same table twice", "SELECT x.a FROM s.t x JOIN s.t y ON x.a = y.b", ["s.t", "s.t"], ("a",)),
    ("a hint names no table", "SELECT /*+ BROADCAST(t) */ a FROM s.t", ["s.t"], ("a",)),
    ("a field of a struct", "SELECT a.b.c FROM s.t a", ["s.t"], ("c",)),
    ("parentheses keep a name", "SELECT (a) FROM s.t", ["s.t"], ("a",)),
    ("an expression has no certain name", "SELECT upper(a) FROM s.t", ["s.t"], None),
    ("a cast has no certain name", "SELECT CAST(a AS INT) FROM s.t", ["s.t"], None),
    ("several names of one generator", "SELECT explode(m) AS (k, v) FROM s.t", ["s.t"], ("k", "v")),
    ("a star", "SELECT * FROM s.t", ["s.t"], None),
    ("a star over a known subquery", "SELECT * FROM (SELECT a, b FROM s.t)", ["s.t"], ("a", "b")),
    ("a star over named columns", "SELECT * FROM s.t AS x(p, q)", ["s.t"], ("p", "q")),
    (
        "a star over a CTE with a column list",
        "WITH c(p) AS (SELECT a FROM s.t) SELECT * FROM c",
        ["s.t"],
        ("p",),
    ),
    (
        "EXCEPT over a known CTE",
        "WITH c AS (SELECT a, b, c FROM s.t) SELECT * EXCEPT (B) FROM c",
        ["s.t"],
        ("a", "c"),
    ),
    (
        "a semi join adds no columns",
        "WITH c AS (SELECT a FROM s.t) SELECT * FROM c LEFT SEMI JOIN s.u ON c.a = u.a",
        ["s.t", "s.u"],
        ("a",),
    ),
    (
        "USING merges columns",
        "WITH c AS (SELECT a FROM s.t) SELECT * FROM c JOIN c AS d USING (a)",
        ["s.t"],
        None,
    ),
    (
        "a lateral view adds its columns",
        "WITH c AS (SELECT a FROM s.t) SELECT * FROM c LATERAL VIEW explode(a) e AS x",
        ["s.t"],
        ("a", "x"),
    ),
    (
        "a union is named by its first part",
        "SELECT a FROM s.t UNION SELECT b FROM s.u",
        ["s.t", "s.u"],
        ("a",),
    ),
    ("the pipe leaves the columns open", "FROM s.t |> WHERE a > 1 |> SELECT a", ["s.t"], None),
    (
        "a time window",
        "SELECT window(ts, '1 minute') AS w, count(*) AS n FROM s.t GROUP BY window(ts, '1 minute')",
        ["s.t"],
        ("w", "n"),
    ),
    ("a path into a variant", "SELECT v:a.b[0]::string AS x FROM s.t", ["s.t"], ("x",)),
    ("named arguments", "SELECT mask(a, upperChar => 'Q') AS x FROM s.t", ["s.t"], ("x",)),
]


@pytest.mark.parametrize(
    ("query", "names", "columns"), [c[1:] for c in REFERENCES], ids=[c[0] for c in REFERENCES]
)
def test_references_and_columns(query: str, names: list[str], columns: tuple[str, ...] | None) -> None:
    analysis = analyse(query)
    assert [reference.name for reference in analysis.references] == names
    assert analysis.output_columns == columns
    for reference in analysis.references:
        written = query[reference.start : reference.end].replace("`", "")
        assert "".join(written.split()) == "".join(reference.name.split())


# title, query: row-wise
ROW_WISE = [
    ("a projection and a filter", "SELECT a, upper(b) AS u FROM s.t WHERE c > 1"),
    ("a star", "SELECT * FROM s.t"),
    ("a filter in a subquery", "SELECT a FROM (SELECT * FROM s.t WHERE b IS NOT NULL) x WHERE a > 1"),
    ("CTEs in a row", "WITH c AS (SELECT a FROM s.t), d AS (SELECT a FROM c) SELECT a FROM d"),
    ("in parentheses", "(SELECT a FROM s.t)"),
    ("casts, structs and lambdas", "SELECT a::int, b.c, transform(d, x -> x + 1), e['k'], f[0] FROM s.t"),
    (
        "all of CASE",
        "SELECT CASE WHEN a IN (1, 2) THEN 'x' ELSE NULL END AS k FROM s.t WHERE b LIKE ANY ('p', 'q')",
    ),
    ("a fixed date", "SELECT DATE '2024-01-01' AS d FROM s.t WHERE ts < TIMESTAMP '2024-01-01 00:00:00'"),
    ("a column called as a function", "SELECT t.current_date, now, rand AS uuid FROM s.t"),
    ("a clock in a string", "SELECT 'now()' AS a FROM s.t -- rand()"),
    ("a hint", "SELECT /*+ COALESCE(1) */ a FROM s.t"),
    ("IS DISTINCT FROM", "SELECT a IS DISTINCT FROM b AS d FROM s.t"),
]


@pytest.mark.parametrize("query", [c[1] for c in ROW_WISE], ids=[c[0] for c in ROW_WISE])
def test_row_wise(query: str) -> None:
    assert (analyse(query).shape.kind, analyse(query).shape.reason) == (ShapeKind.ROW_WISE, None)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM s.t UNION ALL SELECT b FROM s.u",
        "SELECT a FROM (SELECT a FROM s.t UNION ALL SELECT a FROM s.t) WHERE a > 1",
        "WITH c AS (SELECT a FROM s.t) SELECT a FROM c UNION ALL SELECT a FROM c",
    ],
)
def test_row_wise_union(query: str) -> None:
    assert analyse(query).shape.kind is ShapeKind.ROW_WISE_UNION


# query, the reason as shown
OTHER = [
    ("SELECT city, count(*) AS n\nFROM s.t\nGROUP BY city", "GROUP BY city at line 3"),
    ("SELECT a, count(*) AS n FROM s.t\nGROUP BY ALL ORDER BY a", "GROUP BY ALL at line 2"),
    (
        "SELECT a FROM s.t\nGROUP BY GROUPING SETS ((a), (b)) HAVING true",
        "GROUP BY GROUPING SETS ((a), (b)) at line 2",
    ),
    ("SELECT\n max(a) AS m FROM s.t", "the aggregate max at line 2"),
    ("SELECT bit_xor(a) AS m FROM s.t", "the aggregate bit_xor at line 1"),
    ("SELECT lag(a) OVER (ORDER BY b) AS p FROM s.t", "a window function at line 1"),
    ("SELECT sum(a) OVER w AS p FROM s.t\nWINDOW w AS (ORDER BY b)", "WINDOW at line 2"),
    ("SELECT DISTINCT a FROM s.t", "DISTINCT at line 1"),
    ("SELECT a FROM s.t\n\nORDER BY a", "ORDER BY at line 3"),
    ("SELECT a FROM s.t LIMIT 3", "LIMIT at line 1"),
    ("SELECT a FROM (SELECT a FROM s.t\nLIMIT 3) x", "LIMIT at line 2"),
    ("SELECT a FROM s.t\nUNION SELECT a FROM s.u", "UNION without ALL at line 2"),
    ("SELECT a FROM s.t\nEXCEPT SELECT a FROM s.u", "EXCEPT at line 2"),
    ("SELECT a FROM s.t\nJOIN s.u USING (a)", "JOIN at line 2"),
    ("SELECT a FROM s.t, s.u", "JOIN at line 1"),
    ("SELECT a FROM s.t WHERE a IN (\nSELECT b FROM s.u)", "a subquery at line 2"),
    ("SELECT (SELECT 1) AS a FROM s.t", "a subquery at line 1"),
    ("SELECT x FROM s.t\nLATERAL VIEW explode(a) e AS x", "LATERAL VIEW at line 2"),
    ("SELECT inline(a) FROM s.t", "inline at line 1, which makes several rows of one"),
    ("SELECT * FROM s.t PIVOT (sum(x) FOR m IN (1, 2))", "PIVOT or UNPIVOT at line 1"),
    ("SELECT a FROM s.t TABLESAMPLE (10 PERCENT)", "TABLESAMPLE at line 1"),
    ("SELECT a,\nrand() AS r FROM s.t", "rand at line 2, whose value is not decided by the row"),
    (
        "SELECT a FROM s.t WHERE d < current_date",
        "current_date at line 1, whose value is not decided by the row",
    ),
    ("SELECT a FROM s.t WHERE d < DATE 'today'", "'today' at line 1, whose value is not decided by the row"),
    (
        "SELECT a FROM s.t WHERE d < to_date(' Today ')",
        "' today ' at line 1, whose value is not decided by the row",
    ),
    ("SELECT 'now'::timestamp FROM s.t", "'now' at line 1, whose value is not decided by the row"),
    ("SELECT cast('now' AS timestamp) FROM s.t", "'now' at line 1, whose value is not decided by the row"),
    (
        "SELECT unix_timestamp() AS x FROM s.t",
        "unix_timestamp at line 1, whose value is not decided by the row",
    ),
    ("SELECT my_udf(a) AS x FROM s.t", "the function my_udf at line 1, which lakesmith does not know"),
    ("SELECT f.upper(a) AS x FROM s.t", "the function upper at line 1, which lakesmith does not know"),
    ("SELECT id FROM range(3)", "FROM something other than a table at line 1"),
    ("SELECT 1 AS a", "a SELECT that reads no table"),
    ("WITH c AS (SELECT a FROM s.u)\nSELECT a FROM s.t", "s.u at line 1, which is not read row by row"),
    ("FROM s.t |> SELECT a", "the pipe |> at line 1"),
]


@pytest.mark.parametrize(("query", "reason"), OTHER, ids=[reason for _, reason in OTHER])
def test_not_row_wise_says_why(query: str, reason: str) -> None:
    assert analyse(query).shape.kind is ShapeKind.OTHER
    assert analyse(query).shape.reason == reason


# title, text, line, column, part of the message
ERRORS = [
    ("nothing", " \n-- only a comment", 1, 1, "empty"),
    ("two statements", "SELECT a FROM s.t;\nSELECT b FROM s.t", 2, 1, "second statement"),
    ("no SELECT", "-- x\nINSERT INTO s.t SELECT 1", 2, 1, "no SELECT but INSERT"),
    ("VALUES", "VALUES (1)", 1, 1, "no SELECT but VALUES"),
    ("a mistake in the third line", "SELECT a\nFROM s.t\nWHERE a >", 3, 9, "something is missing here"),
    ("a word too many", "SELECT a FROM s.t WHERE b c d", 1, 27, "cannot stand here"),
    ("an open string", "SELECT 'a FROM s.t", 1, 8, "never closed"),
    ("an open comment", "SELECT a\n/* FROM s.t", 2, 1, "never closed"),
    (
        "a comment that goes on behind a backslash",
        "SELECT a -- x \\\nFROM s.t\nFROM s.u",
        2,
        1,
        "another way",
    ),
    ("a parameter", "SELECT a FROM s.t WHERE b = :p", 1, 29, "parameter"),
    ("a table as an argument", "SELECT * FROM f(TABLE(s.t))", 1, 17, "TABLE"),
    ("a stream", "SELECT * FROM STREAM s.t", 1, 15, "STREAM"),
    ("a computed name", "SELECT * FROM IDENTIFIER('s.t')", 1, 15, "IDENTIFIER"),
]


@pytest.mark.parametrize(
    ("sql", "line", "column", "message"), [e[1:] for e in ERRORS], ids=[e[0] for e in ERRORS]
)
def test_errors_have_a_place(sql: str, line: int, column: int, message: str) -> None:
    with pytest.raises(SqlParseError) as caught:
        analyse(sql)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message


def test_stars_are_filled_in_from_schemas() -> None:
    analysis = analyse("SELECT t.* EXCEPT (B), u.x AS y FROM s.t JOIN s.u ON t.a = u.a")
    assert analysis.star_of == ("s.t",)
    assert analysis.columns_given({"S.T": ["a", "b", "c"]}) == ("a", "c", "y")
    assert analysis.columns_given({}) is None


def test_places_count_lines_and_characters() -> None:
    analysis = analyse("SELECT 'é😀' AS a\r\nFROM   s.t")
    assert [(r.line, r.column, r.alias) for r in analysis.references] == [(2, 8, None)]


def test_notices() -> None:
    query = "SELECT /*+ COALESCE(1) */ upper(a)\nFROM s.t VERSION AS OF 3 x\nJOIN range(3) r ON x.a = r.id"
    found = [(notice.kind, notice.line) for notice in analyse(query).notices]
    assert found == [("hint", 1), ("unnamed_column", 1), ("time_travel", 2), ("table_function", 3)]


def test_all_nondeterministic_functions_are_found_once_each_with_their_line() -> None:
    found = analyse(
        "SELECT uuid() AS a,\nnow() AS b, CURRENT_TIMESTAMP AS c\nFROM s.t WHERE d > `rand`()"
    ).nondeterministic
    assert [str(use) for use in found] == [
        "uuid at line 1", "now at line 2", "current_timestamp at line 2", "rand at line 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "query", [c[1] for c in REFERENCES] + [c[1] for c in ROW_WISE] + [c[0] for c in OTHER]
)
def test_a_kept_analysis_is_the_same(query: str) -> None:
    analysis = analyse(query)
    assert _restored(marshal.loads(marshal.dumps(encoded(analysis)))) == analysis


def test_a_query_of_many_levels_is_read_and_one_of_too_many_is_told() -> None:
    def nested(levels: int) -> str:
        return f"SELECT {'replace(' * levels}a{', 1, 2)' * levels} AS b FROM s.t"

    assert analyse(nested(300)).shape.kind is ShapeKind.ROW_WISE
    with pytest.raises(SqlParseError, match="nested too deeply"):
        analyse(nested(5_000))
