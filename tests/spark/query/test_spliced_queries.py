"""What is said of a query's text, held against Spark itself: its parser, its rows, its list of functions."""

import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakesmith.sql import words
from lakesmith.sql.analysis import analyse
from lakesmith.sql.fingerprint import fingerprint
from lakesmith.sql.functions import nondeterministic
from lakesmith.sql.splice import splice
from lakesmith.sql.tokens import tokenize

pytestmark = pytest.mark.in_turn


def _cases(name: str) -> ModuleType:
    """The case tables of a unit test."""
    file = Path(__file__).parents[2] / "unit" / "sql" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"cases_of_{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ANALYSIS, SPLICE, FINGERPRINT = (_cases(f"test_{name}") for name in ("analysis", "splice", "sql_fingerprint"))
TEXTS = list(
    dict.fromkeys(
        [case[1] for case in ANALYSIS.REFERENCES + ANALYSIS.ROW_WISE + SPLICE.SPLICES]
        + [case[0] for case in ANALYSIS.OTHER]
    )
)
VIEWS = {"bronze.orders": "v_orders", "silver.orders": "v_silver", "silver.cities": "v_cities"}
ROWS = {
    "bronze.orders": (
        "SELECT id, city, named_struct('x', id * 2) AS s, array(id, id + 1) AS items, "
        "parse_json(concat('{\"k\": ', id, '}')) AS v, concat('f', id % 2) AS _source "
        "FROM VALUES (1, 'Oslo'), (2, 'Rome'), (3, NULL), (4, 'Oslo'), (4, 'Oslo') AS r(id, city)"
    ),
    "silver.orders": "SELECT * FROM VALUES (1, 10), (2, 20), (4, 40) AS r(id, price)",
    "silver.cities": "SELECT * FROM VALUES ('Oslo', 'NO'), ('Rome', 'IT') AS r(city, country)",
}
QUERIES = [
    "SELECT id, orders.city, bronze.orders.s.x FROM bronze.orders WHERE bronze.orders.id > 1",
    "SELECT bronze.orders.*, 'bronze.orders' AS t -- bronze.orders\r\nFROM `bronze`.orders",
    "SELECT bronze.orders.city, silver.orders.price FROM bronze.orders JOIN silver.orders"
    " ON bronze.orders.id = silver.orders.id",
    "SELECT o.id, c.country FROM bronze.orders o LEFT JOIN silver.cities AS c USING (city)",
    "SELECT id FROM bronze.orders WHERE EXISTS (SELECT 1 FROM silver.orders s"
    " WHERE s.id = bronze.orders.id AND price > 10)",
    "SELECT id FROM bronze.orders WHERE NOT EXISTS (SELECT 1 FROM silver.orders"
    " WHERE silver.orders.id = bronze.orders.id)",
    "SELECT id FROM bronze.orders WHERE EXISTS (SELECT 1 FROM silver.cities AS orders"
    " WHERE orders.city = bronze.orders.city)",
    "SELECT orders.id, orders.s.x, orders.city FROM bronze.orders"
    " WHERE EXISTS (SELECT 1 FROM silver.orders WHERE orders.id = bronze.orders.id AND orders.price > 10)",
    "SELECT id FROM bronze.orders"
    " WHERE EXISTS (WITH orders AS (SELECT 1 AS id) SELECT 1 FROM orders WHERE orders.id = bronze.orders.id)",
    "WITH orders AS (SELECT city FROM bronze.orders) SELECT orders.city, count(*) AS n FROM orders"
    " GROUP BY ALL",
    "WITH `bronze.orders` AS (SELECT id FROM silver.orders) SELECT * FROM `bronze.orders`"
    " UNION ALL SELECT id FROM bronze.orders",
    "SELECT id, x FROM bronze.orders LATERAL VIEW explode(bronze.orders.items) e AS x",
    "SELECT * FROM (SELECT id, city FROM bronze.orders) PIVOT (count(id) FOR city IN ('Oslo', 'Rome'))",
    "SELECT transform(items, i -> i + orders.id) AS t FROM bronze.orders",
    "SELECT bronze.orders.v:k::int AS k FROM bronze.orders",
    "FROM bronze.orders SELECT bronze.orders.id",
    "FROM bronze.orders |> WHERE bronze.orders.id > 2 |> SELECT id",
    "SELECT id, rank() OVER (PARTITION BY bronze.orders.city ORDER BY id) AS r FROM bronze.orders",
    "SELECT /*+ BROADCAST(orders) */ 'ü😀' AS `naïve`, id FROM bronze.orders TABLESAMPLE (100 PERCENT)",
    "SELECT city, (SELECT max(price) FROM silver.orders) AS top FROM bronze.orders"
    " WHERE city IN (SELECT city FROM silver.cities)",
    "SELECT a.id FROM bronze.orders a, LATERAL (SELECT price FROM silver.orders"
    " WHERE silver.orders.id = a.id)",
    "SELECT city, count(*) AS n FROM bronze.orders GROUP BY city,"
    " window(timestamp_seconds(bronze.orders.id), '1 minute')",
]


@pytest.fixture(scope="module")
def lake(spark: SparkSession) -> Iterator[SparkSession]:
    """The same rows twice: as tables of the current catalog, and as views to splice in."""
    before = spark.catalog.currentCatalog()
    spark.sql("SET CATALOG lake")
    # Iceberg 1.10 fails on files with variants otherwise (docs/cluster.md).
    spark.conf.set("spark.sql.iceberg.vectorization.enabled", "false")
    for name, rows in ROWS.items():
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name.split('.')[0]}")
        spark.sql(f"CREATE TABLE {name} USING iceberg TBLPROPERTIES ('format-version' = '3') AS {rows}")
        spark.table(name).createOrReplaceTempView(VIEWS[name])
    yield spark
    for name in ROWS:
        spark.sql(f"DROP TABLE {name} PURGE")
        spark.catalog.dropTempView(VIEWS[name])
    spark.conf.unset("spark.sql.iceberg.vectorization.enabled")
    spark.sql(f"SET CATALOG {before}")


def _rows(spark: SparkSession, query: str) -> tuple[list[str], Counter[str]]:
    frame = spark.sql(query)
    return frame.columns, Counter(str(row) for row in frame.collect())


@pytest.mark.parametrize("query", QUERIES)
def test_a_spliced_query_gives_what_the_users_own_text_gives(lake: SparkSession, query: str) -> None:
    analysis = analyse(query)
    expected = _rows(lake, query)
    assert expected[1], "the case must have rows to tell anything"
    assert _rows(lake, splice(query, analysis, VIEWS)) == expected
    assert analysis.output_columns is None or list(analysis.output_columns) == expected[0]


def test_a_version_can_be_spliced_in(lake: SparkSession) -> None:
    old = lake.sql("SELECT max(snapshot_id) FROM silver.cities.snapshots").first()
    assert old is not None
    query = "SELECT silver.cities.city FROM silver.cities"
    expected = _rows(lake, query)
    lake.sql("INSERT INTO silver.cities VALUES ('Bern', 'CH')")
    name = f"lake.silver.cities VERSION AS OF {old[0]}"
    assert _rows(lake, splice(query, analyse(query), {"silver.cities": name})) == expected


def _parsed(spark: SparkSession, text: str) -> Any:
    return spark._jsparkSession.sessionState().sqlParser().parsePlan(text)  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", TEXTS)
def test_sparks_own_parser_sees_the_same_tables(spark: SparkSession, text: str) -> None:
    if "QUALIFY" in text:
        pytest.skip("not in this Spark")
    found = re.findall(r"UnresolvedRelation \[([^\]]*)\]", str(_parsed(spark, text).toString()))
    spark_sees = Counter(name.replace(", ", ".") for name in found if ", " in name)
    assert Counter(r.name for r in analyse(text).references if len(r.parts) > 1) == spark_sees


@pytest.mark.parametrize(("one", "other"), [case[1:] for case in FINGERPRINT.SAME])
def test_what_has_one_fingerprint_is_one_query_to_spark(spark: SparkSession, one: str, other: str) -> None:
    one, other = one.rstrip("; "), other.rstrip("; ")
    assert fingerprint(one) == fingerprint(other)
    plans = [re.sub(r"#\d+", "", str(_parsed(spark, text).toString())) for text in (one, other)]
    assert plans[0].lower() == plans[1].lower()


def test_the_case_of_a_function_names_no_column(spark: SparkSession) -> None:
    lower = (
        "SELECT upper('a'), count(*), if(true, 1, 2), ceiling(1.5), coalesce(1, 2), size(array(1)), pow(2, 3)"
    )
    upper = (
        "SELECT UPPER('a'), COUNT(*), IF(true, 1, 2), CEILING(1.5), COALESCE(1, 2), SIZE(ARRAY(1)), POW(2, 3)"
    )
    assert fingerprint(lower) == fingerprint(upper)
    assert spark.sql(lower).columns == spark.sql(upper).columns


def test_the_keywords_are_those_of_this_spark(spark: SparkSession) -> None:
    found = {row[0] for row in spark.sql("SELECT keyword FROM sql_keywords()").collect()}
    assert found - words.KEYWORDS == set()


def test_every_function_of_this_spark_is_in_its_class(spark: SparkSession) -> None:
    groups = _function_groups(spark)
    mine = {
        "agg_funcs": words.AGGREGATES,
        "window_funcs": words.WINDOW_FUNCTIONS,
        "generator_funcs": words.GENERATORS,
    }
    for group, names in mine.items():
        assert {name for name, its in groups.items() if its == group} - names == set(), group
    special = frozenset().union(*mine.values())
    known = special | words.SCALARS | words.NONDETERMINISTIC | words.TIME_WINDOWS
    assert {name for name in groups if re.fullmatch(r"[a-z_][a-z0-9_]*", name)} - known == set()
    assert not words.SCALARS & (special | words.NONDETERMINISTIC | words.TIME_WINDOWS)


def _function_groups(spark: SparkSession) -> dict[str, str]:
    """Each built-in function and the group Spark files it under."""
    jvm: Any = spark._jvm
    analysis = jvm.org.apache.spark.sql.catalyst.analysis
    registry = getattr(analysis, "FunctionRegistry$").__getattr__("MODULE$").builtin()
    names = registry.listFunction()
    identifiers = [names.apply(index) for index in range(names.length())]
    return {i.funcName(): registry.lookupFunction(i).get().getGroup() for i in identifiers}


def test_every_nondeterministic_function_of_this_spark_is_known(spark: SparkSession) -> None:
    """Whether Spark calls a function without arguments nondeterministic, or fills it in per query."""
    for name in sorted(words.SCALARS):
        text = f"SELECT {name}() AS x"
        if nondeterministic(text, tokenize(text)):
            continue
        plan = _analysed(spark, text)
        assert plan is None or plan.deterministic(), name


def _analysed(spark: SparkSession, text: str) -> Any:
    from pyspark.errors import PySparkException

    try:
        return spark.sql(text)._jdf.queryExecution().analyzed()
    except PySparkException:
        return None  # it wants arguments
