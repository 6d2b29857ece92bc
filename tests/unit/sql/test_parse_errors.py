"""Frequent mistakes: each is reported at its own line, with what to correct."""

import re
from itertools import product

import pytest

from lakesmith.sql.analysis import SqlParseError, analyse

# title, query, line, column, what is wrong, the text there, the beginning of the hint
LOOK = "look for a comma"
TYPOS: list[tuple[str, str, int, int, str, str, str | None]] = [
    ("a missing comma", "SELECT o.id,\n  o.name\n  o.city\nFROM s.o", 3, 3, "this cannot stand here",
     "o.city", LOOK),
    ("a missing comma after an alias", "SELECT id AS a\n  b AS c\nFROM s.o", 2, 3, "this cannot stand here",
     "b AS c", LOOK),
    ("an open parenthesis", "SELECT id,\n  sum(n\nFROM s.o\nGROUP BY id", 2, 6,
     "a ( is opened and never closed", "(n", None),
    ("an open subquery", "SELECT id\nFROM (SELECT id\n  FROM s.o\nWHERE a > 5", 2, 6,
     "a ( is opened and never closed", "(SELECT id", None),
    ("a parenthesis too many", "SELECT id,\n  sum(n))\nFROM s.o", 2, 9, "a ) closes nothing", ")", None),
    ("FORM for FROM", "SELECT id\nFORM s.o", 2, 1, "FORM is no keyword", "FORM s.o", "did you mean FROM?"),
    ("FORM behind an alias", "SELECT id AS a\nFORM s.o", 2, 1, "FORM is no keyword", "FORM s.o",
     "did you mean FROM?"),
    ("WEHRE for WHERE", "SELECT id\nFROM s.o\nWEHRE id = 1", 3, 1, "WEHRE is no keyword", "WEHRE id = 1",
     "did you mean WHERE?"),
    ("a name that begins with a keyword", "SELECT id FROM s.o orders c", 1, 27, "this cannot stand here", "c",
     LOOK),
    ("a comma before FROM", "SELECT id,\n  name,\nFROM s.o", 2, 7, "nothing comes behind this comma", ",",
     "take the comma out"),
    ("a comma at the end of a list", "SELECT id\nFROM s.o\nWHERE id IN (1, 2,)", 3, 18,
     "nothing comes behind this comma", ",)", "take the comma out"),
    ("a comma before the main SELECT", "WITH a AS (SELECT 1 AS x),\nSELECT x FROM a", 1, 26,
     "nothing comes behind this comma", ",", "take the comma out"),
    ("an open quote", "SELECT id\nFROM s.o\nWHERE city = 'Oslo\n", 3, 14,
     "a quote ' is opened and never closed", "'Oslo", None),
    ("a keyword as a name", "SELECT id,\n  n AS select\nFROM s.o", 2, 8, "SELECT is a keyword and no name",
     "select", "put it in backticks: `select`"),
    ("a keyword as a table", "SELECT id\nFROM bronze.values", 2, 13, "VALUES is a keyword and no name",
     "values", "put it in backticks: `values`"),
    ("a keyword as a layer", "SELECT id\nFROM with.orders", 2, 6, "WITH is a keyword and no name",
     "with.orders", "put it in backticks: `with`"),
    ("a layer that hides its table", "SELECT id\nFROM lateral.orders", 2, 6,
     "LATERAL is a keyword and no name", "lateral.orders", "put it in backticks: `lateral`"),
    ("a layer that hides itself", "SELECT id\nFROM s.o JOIN from.orders", 2, 15,
     "FROM is a keyword and no name", "from.orders", "put it in backticks: `from`"),
    ("SELECT twice", "SELECT\nSELECT id FROM s.o", 2, 1, "this cannot stand here", "SELECT id FROM s.o",
     LOOK),
    ("GROUP without BY", "SELECT a\nFROM s.o\nGROUP a", 3, 1, "GROUP needs BY", "GROUP a", "write GROUP BY"),
    ("PARTITION without BY", "SELECT a,\n  sum(n) OVER (PARTITION a)\nFROM s.o", 2, 16, "PARTITION needs BY",
     "PARTITION a)", "write PARTITION BY"),
    ("a semicolon in the middle", "SELECT id\nFROM s.o;\nWHERE id = 1", 3, 1, "there is a second statement",
     "WHERE id = 1", "write one SELECT"),
    ("an unknown join", "SELECT o.id\nFROM s.o o\nOUTTER JOIN s.c ON o.id = c.id", 3, 1,
     "OUTTER is no keyword", "OUTTER JOIN s.c ON o.id = c.id", "did you mean OUTER?"),
    ("an impossible join", "SELECT o.id\nFROM s.o\nJOIN LEFT s.c ON o.id = c.id", 3, 11,
     "this cannot stand here", "s.c ON o.id = c.id", LOOK),
    ("WHERE without a condition", "SELECT id\nFROM s.o\nWHERE", 3, 1, "something is missing here", "WHERE",
     LOOK),
    ("a missing operand", "SELECT id\nFROM s.o\nWHERE a = 1 AND\n  AND b = 2", 4, 3,
     "something is missing before this", "AND b = 2", LOOK),
    ("WHERE twice", "SELECT id\nFROM s.o\nWHERE a = 1\nWHERE b = 2", 4, 1, "there is a second WHERE",
     "WHERE b = 2", LOOK),
    ("an open CASE", "SELECT CASE WHEN a THEN 2\nFROM s.o", 1, 25, "a CASE is not closed with END", "2",
     LOOK),
    ("a CAST without AS", "SELECT CAST(id int)\nFROM s.o", 1, 16,
     "a CAST has no AS: write CAST(value AS type)", "int)", LOOK),
    ("a type that is none", "SELECT CAST(id AS itn)\nFROM s.o", 1, 19, "this is not a type", "itn)", LOOK),
    ("WITH without parentheses", "WITH a AS SELECT 1 AS x\nSELECT x FROM a", 1, 11,
     "a ( is missing before this", "SELECT 1 AS x", LOOK),
    ("a comment of another language", "SELECT id # of the order\nFROM s.o", 1, 11, "# begins no comment",
     "# of the order", "comments begin with --"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "line", "column", "message", "near", "hint"), [t[1:] for t in TYPOS], ids=[t[0] for t in TYPOS]
)
def test_typos(sql: str, line: int, column: int, message: str, near: str, hint: str | None) -> None:
    with pytest.raises(SqlParseError) as caught:
        analyse(sql)
    error = caught.value
    assert (error.line, error.column, error.message, error.near) == (line, column, message, near)
    assert (error.hint or "").startswith(hint or "")
    assert (error.hint is None) is (hint is None)


WORDS = [
    "SELECT", "FROM", "WHERE", "a", "s.t", ",", "(", ")", "=", "AS", "CASE", "OVER", "1", "[", "GROUP BY",
    "JOIN", "::", "IN", "BETWEEN", "INTERVAL",
]  # fmt: skip


def test_no_mistake_shows_how_it_was_parsed() -> None:
    """Two more words behind a correct query, in every order: no name of the parser is shown."""
    said = set()
    for words in product(WORDS, repeat=2):
        try:
            analyse(f"SELECT a FROM s.t WHERE b {' '.join(words)} c")
        except SqlParseError as error:
            said.add(f"{error.message} {error.hint}")
    assert len(said) > 8
    assert [
        text for text in said if re.search(r"<class|sqlglot|Expect|keyword: '|\x1b|Token\b|Invalid", text)
    ] == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, from FROM s.t",
        "SELECT form, a form FROM s.t",
        "SELECT a FROM s.t form WHERE form.a = 1",
        "SELECT (SELECT max(x), 1 FROM s.u) AS b FROM s.t",
    ],
)
def test_what_only_looks_like_a_mistake_is_read(sql: str) -> None:
    assert analyse(sql).references


@pytest.mark.parametrize(
    ("query", "line", "said"),
    [
        ("SELECT id,\n  `Reflect` /* */ ('a.B', 'c')\nFROM s.o", 2, "reflect calls code"),
        ("SELECT system.builtin.java_method('a.B', 'c') FROM s.o", 1, "java_method calls code"),
        ("SELECT id FROM s.o\nWHERE try_reflect('a.B', 'c') = 'x'", 2, "try_reflect calls code"),
        ("SELECT from_protobuf(v, 'M', '/etc/passwd') FROM s.o", 1, "from_protobuf calls code"),
        ("SELECT TRANSFORM(a) USING 'cat' AS (b) FROM s.o", 1, "runs a program"),
    ],
)
def test_no_query_calls_code(query: str, line: int, said: str) -> None:
    with pytest.raises(SqlParseError) as caught:
        analyse(query)
    assert (caught.value.line, said in caught.value.message) == (line, True)
    assert "Python table" in (caught.value.hint or "")


def test_names_of_functions_that_call_code_are_names_like_others() -> None:
    assert analyse("SELECT reflect, 'reflect(1)' AS java_method /* reflect(1) */ FROM s.reflect").references
