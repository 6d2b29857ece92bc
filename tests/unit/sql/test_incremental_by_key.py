"""What in a query's text stands against a refresh by keys."""

import pytest

from lakesmith.sql.analysis import analyse

CASES = {
    "SELECT city, count(*) AS n FROM silver.a GROUP BY city": None,
    "SELECT * FROM silver.a JOIN silver.b USING (id)": None,
    "SELECT a.id, b.x FROM silver.a a LEFT JOIN silver.b b ON a.id = b.id": None,
    "SELECT a, row_number() OVER (PARTITION BY a ORDER BY b) AS r FROM silver.x": None,
    "SELECT a, rank() OVER w AS r FROM silver.x WINDOW w AS (PARTITION BY a ORDER BY b)": None,
    "SELECT a FROM silver.x QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1": None,
    "SELECT a FROM (SELECT a, max(b) AS m FROM silver.x GROUP BY a) t": None,
    "WITH c AS (SELECT a, sum(b) AS s FROM silver.x GROUP BY a) SELECT a, s FROM c": None,
    "SELECT DISTINCT a FROM silver.x": None,
    "SELECT a FROM silver.x UNION ALL SELECT a FROM silver.y": None,
    "SELECT explode(a) AS e FROM silver.x": None,
    "SELECT window(ts, '1 minute') AS w, count(*) AS n FROM silver.x GROUP BY window(ts, '1 minute')": None,
    "SELECT count(*) AS n FROM silver.x": "one row for all rows of the input",
    "SELECT a, count(*) AS n FROM silver.x GROUP BY a HAVING count(*) > 1": None,
    "SELECT a, lead(b, 1, -1) OVER (PARTITION BY a ORDER BY b) AS r,"
    " lag(b, 2) OVER (PARTITION BY a ORDER BY b) AS q FROM silver.x": None,
    "SELECT a, split(b, ',', 2) AS s, element_at(c, 1) AS e FROM silver.x GROUP BY ALL": None,
    "SELECT a, sum(b) OVER () AS s FROM silver.x": "a window function without PARTITION BY",
    "SELECT a FROM silver.x ORDER BY a LIMIT 3": "LIMIT",
    "SELECT a FROM silver.x EXCEPT SELECT a FROM silver.y": None,
    "SELECT a FROM silver.x WHERE b IN (SELECT c FROM silver.y)": None,
    "SELECT a FROM silver.x WHERE EXISTS (SELECT 1 FROM silver.y)": None,
    "SELECT a, (SELECT 1 FROM silver.y) AS m FROM silver.x": "a subquery in an expression",
    "SELECT a, (SELECT max(c) FROM silver.y) AS m FROM silver.x": "a subquery in an expression",
    "SELECT a FROM silver.x WHERE b > (SELECT max(c) FROM silver.y)": "a subquery in an expression",
    "SELECT a FROM silver.x WHERE NOT EXISTS (SELECT 1 FROM silver.y WHERE y.b = x.a LIMIT 3)": "LIMIT",
    "SELECT session_window(ts, '1 minute') AS w, count(*) AS n FROM silver.x"
    " GROUP BY session_window(ts, '1 minute')": "a session window, which a new row can merge with another",
    "SELECT a FROM silver.x FULL JOIN silver.y USING (a)": "FULL JOIN",
    "SELECT x.a FROM silver.x LEFT ANTI JOIN silver.y ON x.a = y.a": None,
    "SELECT a, count(*) AS n FROM silver.x GROUP BY CUBE (a)": "GROUPING SETS, CUBE or ROLLUP",
    "SELECT current_date() AS d FROM silver.x": "current_date at line 1, whose value is not decided by the "
    "row",
}


@pytest.mark.parametrize("query", CASES)
def test_what_stands_against_it(query: str) -> None:
    found = analyse(query)
    assert found.not_by_keys == CASES[query]
    assert found.not_by_keys == CASES[query]


MERGING = {
    "SELECT a FROM silver.x UNION ALL SELECT b FROM silver.y JOIN silver.z USING (c)": None,
    "WITH c AS (SELECT a, row_number() OVER (PARTITION BY b ORDER BY a) AS n FROM silver.x)"
    " SELECT * FROM c WHERE n = 1": None,
    "SELECT x.a, g.n FROM silver.x LEFT JOIN (SELECT b, count(*) AS n FROM silver.y GROUP BY b) g"
    " ON g.b = x.b": None,
    "SELECT DISTINCT a FROM silver.x": "DISTINCT",
    "SELECT a FROM silver.x UNION SELECT a FROM silver.y": "UNION",
    "SELECT a FROM silver.x EXCEPT SELECT a FROM silver.y": "EXCEPT",
    "WITH g AS (SELECT a, max(b) AS b FROM silver.x GROUP BY a) SELECT g.* FROM g"
    " LEFT SEMI JOIN silver.y USING (a)": "GROUP BY",
    "SELECT max(a) AS a FROM silver.x": "an aggregate of all rows",
}


@pytest.mark.parametrize("query", MERGING)
def test_what_makes_one_row_of_several_on_every_way(query: str) -> None:
    found = analyse(query)
    assert found.merges == MERGING[query]
    assert found.merges == MERGING[query]
