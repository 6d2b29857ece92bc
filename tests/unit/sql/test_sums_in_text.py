"""What a query's text says of bringing its sums forward."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakesmith.sql.analysis import analyse
from lakesmith.sql.model import SqlSums

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SALES = ("bronze.sales",)
BOTH = ("bronze.sales", "bronze.shops")

KNOWN = {
    "SELECT shop, count(*) AS n, sum(amount) AS total FROM bronze.sales GROUP BY shop": (SALES, ("amount",)),
    "SELECT shop FROM bronze.sales GROUP BY shop": (SALES, ()),
    "SELECT a % 2 AS odd, min(b), max(c) FROM bronze.sales WHERE a > 2 GROUP BY a % 2": (SALES, ()),
    "SELECT shop, count(a, b), sum(ALL c) AS c FROM bronze.sales GROUP BY 1": (SALES, ("c",)),
    "SELECT upper(shop) AS name, shop, 1 AS one, count(1) AS n FROM bronze.sales GROUP BY shop": (SALES, ()),
    "SELECT date_trunc('hour', sold) AS hour, count(*) AS n FROM bronze.sales GROUP BY hour": (SALES, ()),
    "SELECT shop, count(*) AS n FROM bronze.sales GROUP BY ALL": (SALES, ()),
    "SELECT k + 1 AS l, k + a AS m, count(*) AS n FROM bronze.sales GROUP BY k + 1, k + a": (SALES, ()),
    "SELECT k, sum(a) FILTER (WHERE b) AS s FROM bronze.sales GROUP BY k": (SALES, ("a",)),
    "SELECT k, sum(CAST(a AS decimal(10, 2))) AS s, sum(1) AS n FROM bronze.sales GROUP BY k": (SALES, ()),
    "SELECT window(sold, '1 hour').end AS until, count(*) AS n FROM bronze.sales GROUP BY window(sold, '1 hour')": (SALES, ()),
    "SELECT k, count(*) AS n FROM bronze.sales LATERAL VIEW explode(c) AS e GROUP BY k": (SALES, ()),
    "SELECT s.city, sum(b.amount) AS total FROM bronze.sales b JOIN bronze.shops s ON b.shop = s.shop GROUP BY s.city": (
        BOTH,
        ("amount",),
    ),
    "SELECT b.shop, count(*) AS n FROM bronze.sales b LEFT JOIN bronze.shops s ON b.shop = s.shop GROUP BY b.shop": (SALES, ()),
    "SELECT b.shop, count(*) AS n FROM bronze.shops s RIGHT JOIN bronze.sales b ON b.shop = s.shop GROUP BY b.shop": (SALES, ()),
    "SELECT shop, count(*) AS n FROM bronze.sales LEFT SEMI JOIN bronze.shops USING (shop) GROUP BY shop": (SALES, ()),
    "SELECT a.k, count(*) AS n FROM bronze.sales a JOIN bronze.sales b ON a.id = b.id GROUP BY a.k": ((), ()),
}  # fmt: skip
AVERAGES = {
    "SELECT k, avg(a) AS m, sum(a) AS s, count(a) AS n FROM bronze.sales GROUP BY k": (("a",), ("a",), ()),
    "SELECT k, CAST(avg(a) AS decimal(10,2)) AS m, CAST(sum(a) AS decimal(10, 2)) AS s, count(a) AS n FROM bronze.sales GROUP BY k": (
        ("a",), ("a",), ("2 a",)),
    "SELECT k, CAST(sum(a) AS bigint) AS s, CAST(count(*) AS int) AS n FROM bronze.sales GROUP BY k": (("a",), (), ("0 a",)),
    "SELECT k, avg(a) FILTER (WHERE b) AS m, sum(a) FILTER (WHERE b) AS s, count(a) FILTER (WHERE b) AS n FROM bronze.sales GROUP BY k": (
        ("a",), ("a",), ()),
    "SELECT k, avg(CAST(a AS int)) AS m, sum(CAST(a AS int)) AS s, count(CAST(a AS int)) AS n FROM bronze.sales GROUP BY k": ((), (), ()),
}  # fmt: skip
"""What is added up, averaged and cast."""
AGAINST = {
    "SELECT shop, avg(amount) AS mean FROM bronze.sales GROUP BY shop": "avg(amount) without sum(amount) beside it",
    "SELECT k, avg(a) AS m, sum(a) AS s, count(*) AS n FROM bronze.sales GROUP BY k": "avg(a) without count(a) beside it",
    "SELECT k, avg(a) AS m, sum(b) AS s, count(a) AS n FROM bronze.sales GROUP BY k": "avg(a) without sum(a) beside it",
    "SELECT k, avg(a) FILTER (WHERE b) AS m, sum(a) AS s, count(a) AS n FROM bronze.sales GROUP BY k": "avg(a) without sum(a) beside it",
    "SELECT k, avg(DISTINCT a) AS m, sum(a) AS s, count(a) AS n FROM bronze.sales GROUP BY k": "avg(DISTINCT a) cannot be brought forward",
    "SELECT k, try_cast(sum(a) AS int) AS s FROM bronze.sales GROUP BY k": "TRY_CAST(sum(a) AS INT) cannot be brought forward",
    "SELECT k, CAST(sum(a) AS double) AS s FROM bronze.sales GROUP BY k": "CAST(sum(a) AS DOUBLE) cannot be brought forward",
    "SELECT k, CAST(max(a) AS int) AS s FROM bronze.sales GROUP BY k": "CAST(max(a) AS INT) cannot be brought forward",
    "SELECT k, count(DISTINCT a) AS n FROM bronze.sales GROUP BY k": "count(DISTINCT a) cannot be brought forward",
    "SELECT k, max_by(a, b) AS n FROM bronze.sales GROUP BY k": "max_by(a, b) cannot be brought forward",
    "SELECT k, try_sum(a) AS n FROM bronze.sales GROUP BY k": "try_sum(a) cannot be brought forward",
    "SELECT k, sum(a) / count(*) AS m FROM bronze.sales GROUP BY k": "sum(a) / count(*) cannot be brought forward",
    "SELECT k, my_own(k) AS m FROM bronze.sales GROUP BY k": "my_own(k) cannot be brought forward",
    "SELECT k, sum(CAST(a AS double)) AS m FROM bronze.sales GROUP BY k": "sum(CAST(a AS DOUBLE)) is not exact",
    "SELECT k, sum(a * b) AS m FROM bronze.sales GROUP BY k": "sum(a * b), whose type only Spark's plan tells",
    "SELECT k, sum(s.a) AS m FROM bronze.sales GROUP BY k": "sum(s.a), whose type only Spark's plan tells",
    "SELECT a + 1 AS k, count(*) AS n FROM bronze.sales GROUP BY a": "a group that no column of its result tells",
    "SELECT k, k + 1 + a AS m, count(*) AS n FROM bronze.sales GROUP BY k, 1 + a": "a group that no column of its result tells",
    "SELECT a.k, count(*) AS n FROM bronze.sales a JOIN bronze.shops b ON a.id = b.id GROUP BY b.k": "a group that no column"
    " of its result tells",
    "SELECT k, count(*) AS n FROM bronze.sales GROUP BY k HAVING count(*) > 1": "HAVING",
    "SELECT k, count(*) AS n FROM bronze.sales GROUP BY k ORDER BY k": "ORDER BY",
    "SELECT DISTINCT k, count(*) AS n FROM bronze.sales GROUP BY k": "DISTINCT",
    "SELECT k, sum(count(*)) OVER (PARTITION BY k) AS n FROM bronze.sales GROUP BY k": "a window function",
    "SELECT k, count(*) AS n FROM (SELECT k FROM bronze.sales) GROUP BY k": "a query within the query",
    "SELECT k, count(*) AS n FROM bronze.sales WHERE k IN (SELECT k FROM bronze.shops) GROUP BY k": "a query within the query",
    "WITH c AS (SELECT k FROM bronze.sales) SELECT k, count(*) AS n FROM c GROUP BY k": "WITH",
    "SELECT x AS k, count(*) AS n FROM bronze.sales AS t(x, y) GROUP BY x": "what is in FROM, which only Spark's plan sees through",
    "SELECT id AS k, count(*) AS n FROM range(3) GROUP BY id": "what is in FROM, which only Spark's plan sees through",
}
SILENT = (
    "SELECT k FROM bronze.sales",
    "SELECT count(*) AS n FROM bronze.sales",
    "SELECT k, count(*) AS n FROM bronze.sales GROUP BY k UNION ALL SELECT k, n FROM bronze.shops",
    "WITH c AS (SELECT k, count(*) AS n FROM bronze.sales GROUP BY k) SELECT k, n FROM c",
)


@pytest.mark.parametrize("query", KNOWN)
def test_what_can_be_added_up(query: str) -> None:
    tables, columns = KNOWN[query]
    assert analyse(query).sums == SqlSums(tables, columns)


@pytest.mark.parametrize("query", AVERAGES)
def test_averages_and_casts(query: str) -> None:
    columns, means, casts = AVERAGES[query]
    assert analyse(query).sums == SqlSums(SALES, columns, None, means, casts)


@pytest.mark.parametrize("query", AGAINST)
def test_what_stands_against_it_or_only_spark_can_tell(query: str) -> None:
    found = analyse(query).sums
    assert found is not None
    assert found.against == AGAINST[query]


@pytest.mark.parametrize("query", SILENT)
def test_a_query_whose_result_is_no_groups_says_nothing(query: str) -> None:
    assert analyse(query).sums is None


@pytest.mark.parametrize("query", [*KNOWN, *AVERAGES, *AGAINST, *SILENT])
def test_it_goes_to_json_and_back(query: str) -> None:
    found = analyse(query)
    assert type(found).from_dict(found.to_dict()) == found


@pytest.mark.parametrize("name", ["sales_aggregated", "sales_aggregated_hourly"])
def test_the_windows_of_the_example_are_brought_forward(name: str) -> None:
    query = (EXAMPLES / f"retail-sales/tables/gold/{name}.sql").read_text()
    assert analyse(query).sums == SqlSums(
        ("silver.sales_enriched",), ("price",), None, ("price",), ("2 price",)
    )
