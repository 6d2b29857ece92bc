"""Filters on float columns find both zeros and NaN, as DuckDB does, whatever files' statistics say."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import Harness, MakeShop, refresh_by_keys
from pyspark.sql import SparkSession

from lakesmith.execute.opened import Opened
from lakesmith.page.row_filters import wanted_by
from lakesmith.page.rows import read_rows
from lakesmith.project.definitions import TableName
from lakesmith.spark.ask import run_query
from lakesmith.spark.start.given import over_given
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.start.settings import SessionSettings, local_catalog_conf

FILES = ([-0.0], [0.0], [math.nan, 5.0, -1.0], [None, math.nan, -0.0, 3.0])
"""The values of each landing file, so that its statistics know one zero, or no NaN."""

ORDERS = """
    source:
      files: {path: landing/, format: parquet}
    columns: {id: bigint, x: double, f: float, s: "struct<v: double>"}
    """
CONDITIONS = (
    *(
        f"x {operator} {literal}"
        for operator, literal in product(
            ("=", "<>", "<", "<=", ">", ">="), ("0", "-0.0", "4", "CAST('NaN' AS double)")
        )
    ),
    *(f"NOT ({column} {operator} 2)" for column, operator in product(("f", "s.v"), ("<", "<=", ">"))),
    *(f"{column} {operator} 0" for column, operator in product(("f", "s.v"), ("=", ">=", "<>"))),
    *(f"x IN ({', '.join(map(str, range(last)))})" for last in (2, 13)),
    "x NOT IN (0, 3)",
    "x BETWEEN 0 AND 1",
    "0 = x",
    "2 < x",
    "x >= 0 AND f < 4",
)


def _land(shop: Harness, number: int) -> None:
    values = FILES[number]
    rows = {
        "id": [10 * number + at for at in range(len(values))],
        "x": values,
        "f": pa.array(values, pa.float32()),
        "s": [{"v": value} for value in values],
    }
    path = shop.root / "landing" / f"{number}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(rows), path)


def _by_duckdb(shop: Harness, sql: str) -> list[tuple[Any, ...]]:
    """Returns the rows by DuckDB, over a table in memory: by the statistics of files it loses NaN, too."""
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA bronze")
        files = str(shop.root / "landing" / "*.parquet")
        connection.execute(f"CREATE TABLE bronze.orders AS FROM read_parquet('{files}')")
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory, session: SessionHandle) -> Harness:
    shop = Harness(tmp_path_factory.mktemp("floats") / "shop", session, {"tables/bronze/orders.yaml": ORDERS})
    for number in range(len(FILES)):
        _land(shop, number)
        shop.must_run()
    return shop


def test_every_comparison_finds_the_rows_that_duckdb_finds(orders: Harness) -> None:
    flags = ", ".join(f"({each}) AS c{at}" for at, each in enumerate(CONDITIONS))
    wanted = _by_duckdb(orders, f"SELECT id, {flags} FROM bronze.orders ORDER BY id")
    parts = [f"SELECT {at} AS c, id FROM bronze.orders WHERE {each}" for at, each in enumerate(CONDITIONS)]
    with run_query(orders.handle, " UNION ALL ".join(parts)) as result:
        found = {(row[0], row[1]) for row in result.rows}
    assert found == {(at, row[0]) for row in wanted for at in range(len(CONDITIONS)) if row[at + 1]}
    assert len(found) > len(CONDITIONS)


def test_the_least_and_the_greatest_value_count_nan_and_zeros(orders: Harness) -> None:
    sql = "SELECT max(x), min(x), max(f), min(s.v) FROM bronze.orders"
    with run_query(orders.handle, sql) as result:
        (found,) = [tuple(row) for row in result.rows]
    assert str(found) == str(_by_duckdb(orders, sql)[0])


def test_a_gold_filtered_by_zero_has_both_zeros_from_its_first_batch_to_its_rebuild(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh_by_keys(monkeypatch)
    queries = {
        "gold.zeros": "SELECT id, x FROM bronze.orders WHERE x = 0",
        "gold.small": "SELECT id % 10 AS d, count(*) AS n FROM bronze.orders"
        " WHERE x >= 0 AND x < 1 GROUP BY 1",
        "gold.large": "SELECT id FROM bronze.orders WHERE s.v > 10",
    }
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS})
    shop.define(queries)
    for number in range(len(FILES)):
        _land(shop, number)
        shop.must_run()
        for table, query in queries.items():
            assert str(shop.rows(table)) == str(sorted(_by_duckdb(shop, query))), (number, table)
    shop.must_verify(*queries)


def test_a_session_that_somebody_else_started_finds_them_too(
    orders: Harness, spark: SparkSession, tmp_path: Path
) -> None:
    state = orders.root / ".lakesmith"
    settings = SessionSettings(
        local_catalog_conf(state / "catalog.db", state / "warehouse"), tmp_path / "log"
    )
    try:
        for _ in range(2):
            handle = over_given(spark.newSession(), settings)
            with run_query(handle, "SELECT id FROM bronze.orders WHERE x = 0 ORDER BY id") as result:
                assert [row[0] for row in result.rows] == [0, 10, 32]
    finally:
        spark.sparkContext.clearJobTags()
    rules = spark._jsparkSession.extensions().buildOptimizerRules(spark._jsparkSession).mkString()
    assert rules.count("lakesmith.FloatComparisons") == 1


@pytest.mark.parametrize("literal", ["-0.0", "2", "nan"])
@pytest.mark.parametrize(
    ("operator", "sign"), [("eq", "="), ("ne", "<>"), ("lt", "<"), ("ge", ">="), ("gt", ">")]
)
def test_the_page_of_rows_finds_and_sorts_as_spark_does(
    orders: Harness, operator: str, sign: str, literal: str
) -> None:
    wanted = wanted_by([("column", "x"), ("is", operator), ("value", literal), ("sort", "-x")])
    shown = read_rows(Opened(*orders.load(), orders.lake()), TableName.parse("bronze.orders"), wanted)
    at = [name for name, _, _ in shown.columns].index("id")
    sql = f"SELECT id FROM bronze.orders WHERE x {sign} CAST('{literal}' AS double)"
    found = [int(row[at].text) for row in shown.rows]
    assert sorted(found) == sorted(row[0] for row in _by_duckdb(orders, sql))
    values = dict(_by_duckdb(orders, "SELECT id, x FROM bronze.orders"))
    first = [math.isnan(values[each]) for each in found]
    assert first == sorted(first, reverse=True)
