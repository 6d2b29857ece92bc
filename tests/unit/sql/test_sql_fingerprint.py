"""What counts as the same query, and what does not."""

import subprocess
import sys

import pytest

from lakesmith.sql.fingerprint import fingerprint

SAME = [
    ("white space", "SELECT a,b FROM s.t", "SELECT  a ,\r\n\tb\nFROM s . t"),
    ("comments", "SELECT a FROM s.t", "SELECT a -- it's\n/* all /* of */ it */ FROM s.t -- end"),
    ("keyword case", "SELECT a FROM s.t WHERE b IS NOT NULL ORDER BY c DESC",
     "select a from s.t where b is not null order by c desc"),
    ("closing semicolons", "SELECT a FROM s.t", "SELECT a FROM s.t ; ;"),
    ("needless backticks", "SELECT a FROM s.t", "SELECT `a` FROM `s`.`t`"),
    ("Spark's functions in any case", "SELECT COUNT(*) AS n FROM s.t", "SELECT count(*) AS n FROM s.t"),
    ("types in a cast", "SELECT cast(a AS decimal(10, 2)) AS x FROM s.t",
     "SELECT CAST(a as DECIMAL(10,2)) AS x FROM s.t"),
    ("types in types in a cast", "SELECT CAST(a AS array<int>) AS x FROM s.t",
     "SELECT CAST(a AS ARRAY<INT>) AS x FROM s.t"),
    ("CASE", "SELECT case when a then b else c end AS x FROM s.t",
     "SELECT CASE WHEN a THEN b ELSE c END AS x FROM s.t"),
    ("windows",
     "SELECT sum(a) over (partition by b order by c rows between 1 preceding and current row) AS x FROM s.t",
     "SELECT SUM(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM s.t"),
    ("joins", "select x.a from s.t x left join s.u y on x.a = y.a",
     "SELECT x.a FROM s.t x LEFT JOIN s.u y ON x.a = y.a"),
    ("literals with a type", "SELECT date '2024-01-01' AS d, interval 1 day AS i FROM s.t",
     "SELECT DATE '2024-01-01' AS d, INTERVAL 1 DAY AS i FROM s.t"),
    ("union all", "select a from s.t union all select b from s.u",
     "SELECT a FROM s.t UNION ALL SELECT b FROM s.u"),
]  # fmt: skip
DIFFERENT = [
    ("the case of an output column", "SELECT a AS City FROM s.t", "SELECT a AS city FROM s.t"),
    ("the case of a bare column", "SELECT City FROM s.t", "SELECT city FROM s.t"),
    ("the case of a column named as a keyword", "SELECT a AS Date FROM s.t", "SELECT a AS date FROM s.t"),
    ("the case of a bare column named as a keyword", "SELECT Date, x FROM s.t", "SELECT date, x FROM s.t"),
    ("the case of an implied alias named as a keyword", "SELECT a End, b FROM s.t",
     "SELECT a end, b FROM s.t"),
    ("the case of a struct's field", "SELECT t.End FROM s.t", "SELECT t.end FROM s.t"),
    ("the case of an unknown function", "SELECT MyF(a) FROM s.t", "SELECT myf(a) FROM s.t"),
    ("the case in a string", "SELECT 'A' AS x FROM s.t", "SELECT 'a' AS x FROM s.t"),
    ("white space in a string", "SELECT 'a b' AS x FROM s.t", "SELECT 'a  b' AS x FROM s.t"),
    ("a comment in a string", "SELECT 'a -- b' AS x FROM s.t", "SELECT 'a ' AS x FROM s.t"),
    ("a comment in a name", "SELECT `a/**/` FROM s.t", "SELECT `a` FROM s.t"),
    ("backticks with a blank", "SELECT `a b` FROM s.t", "SELECT a b FROM s.t"),
    ("backticks round a keyword", "SELECT `current_date` FROM s.t", "SELECT current_date FROM s.t"),
    ("backticks round a dot", "SELECT `t.a` FROM s.t", "SELECT t.a FROM s.t"),
    ("a raw string", "SELECT r'\\n' AS x FROM s.t", "SELECT '\\n' AS x FROM s.t"),
    ("a hint", "SELECT /*+ COALESCE(1) */ a FROM s.t", "SELECT a FROM s.t"),
    ("the order of items", "SELECT a, b FROM s.t", "SELECT b, a FROM s.t"),
    ("a number's type", "SELECT 1L AS x FROM s.t", "SELECT 1 AS x FROM s.t"),
    ("a string of two", "SELECT 'a' 'b' AS x FROM s.t", "SELECT 'a\x1fb' AS x FROM s.t"),
    ("a doubled quote", "SELECT 'a''b' AS x FROM s.t", "SELECT 'a' 'b' AS x FROM s.t"),
    ("a doubled double quote", 'SELECT "a""b" AS x FROM s.t', 'SELECT "a" "b" AS x FROM s.t'),
    ("the case of a field in a type", "SELECT CAST(a AS struct<Date:int>) AS x FROM s.t",
     "SELECT CAST(a AS struct<date:int>) AS x FROM s.t"),
    ("the case of a field without a colon", "SELECT CAST(a AS struct<b int, Date int>) AS x FROM s.t",
     "SELECT CAST(a AS struct<b int, date int>) AS x FROM s.t"),
    ("a comment that goes on behind a backslash", "SELECT a -- x \\\n, b\nFROM s.t",
     "SELECT a -- x\n, b\nFROM s.t"),
    ("cast and try_cast", "SELECT cast(a AS int) AS x FROM s.t", "SELECT try_cast(a AS int) AS x FROM s.t"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [c[1:] for c in SAME], ids=[c[0] for c in SAME])
def test_same(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(("one", "other"), [c[1:] for c in DIFFERENT], ids=[c[0] for c in DIFFERENT])
def test_different(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_it_does_not_import_sqlglot() -> None:
    code = (
        "import sys; from lakesmith.sql.fingerprint import fingerprint; fingerprint('SELECT 1');"
        " sys.exit('sqlglot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
