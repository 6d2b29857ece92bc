"""Tables without a key, of every kind of query: their rows after each run, the strategy and the reason."""

from collections.abc import Callable
from typing import Any

import pytest
from harness import Harness, MakeShop, RunResult, in_order

from lakesmith import limits
from lakesmith.execute.events import TablePublished

PYTHON = "tables/silver/{}.py"
FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, pattern: "*.csv", format: csv}
        columns: {id: int, city: string, amount: int}
        """,
    "tables/bronze/cities.yaml": """
        source:
          files: {path: landing/cities/, pattern: "*.csv", format: csv}
        columns: {city: string, country: string}
        """,
    "tables/silver/copy.yaml": "from: bronze.orders\n",
    "tables/silver/copy_of_copy.yaml": "from: silver.copy\n",
    "tables/silver/big.sql": "SELECT id, upper(city) AS city, amount * 2 AS twice FROM bronze.orders"
    " WHERE amount > 10",
    "tables/silver/bigger.sql": "SELECT id, twice FROM silver.big WHERE twice > 40",
    PYTHON.format("py_rows"): """
        from pyspark.sql import functions as F

        def py_rows(bronze__orders):
            return bronze__orders.where("amount > 10").select("id", (F.col("amount") + 1).alias("more"))
        """,
    "tables/silver/py_rows.yaml": "deterministic: true\n",
    "tables/silver/py_grouped.yaml": "deterministic: true\n",
    "tables/silver/py_peeking.yaml": "deterministic: true\n",
    PYTHON.format("py_grouped"): """
        from pyspark.sql import functions as F

        def py_grouped(bronze__orders):
            return bronze__orders.groupBy("city").agg(F.sum(F.lit(1)).alias("orders"))
        """,
    PYTHON.format("py_udf"): """
        from pyspark.sql import functions as F

        def py_udf(bronze__orders):
            return bronze__orders.select("id", F.udf(lambda n: n + 1, "int")("amount").alias("more"))
        """,
    PYTHON.format("py_udf_told"): """
        from pyspark.sql import functions as F

        def py_udf_told(bronze__orders):
            return bronze__orders.select("id", F.udf(lambda n: n + 1, "int")("amount").alias("more"))
        """,
    "tables/silver/py_udf_told.yaml": "deterministic: true\n",
    PYTHON.format("py_peeking"): """
        from pyspark.sql import functions as F

        def py_peeking(bronze__orders):
            greatest = bronze__orders.agg(F.max("amount")).first()[0]
            return bronze__orders.where(F.col("amount") == greatest).select("id")
        """,
    PYTHON.format("py_two"): """
        def py_two(orders, cities):
            return orders.join(cities, "city", "left").select("id", "country")
        """,
    "tables/silver/py_two.yaml": "inputs: {orders: bronze.orders, cities: bronze.cities}\n"
    "deterministic: true\n",
    "tables/gold/joined.sql": """
        SELECT o.id, c.country FROM silver.big o LEFT JOIN bronze.cities c ON o.city = upper(c.city)
        """,
    "tables/gold/ranked.sql": """
        SELECT id, row_number() OVER (PARTITION BY city ORDER BY amount DESC, id) AS place FROM bronze.orders
        """,
    "tables/gold/by_city.sql": """
        WITH sums AS (SELECT city, sum(amount) AS total FROM bronze.orders GROUP BY city)
        SELECT c.country, sums.total FROM sums JOIN bronze.cities c USING (city)
        """,
}

Order = tuple[int, str, int]
FIRST: list[Order] = [(1, "Oslo", 5), (2, "Oslo", 30), (3, "Rome", 11), (3, "Rome", 11)]
SECOND: list[Order] = [(4, "Rome", 50), (5, "Oslo", 10), (1, "Oslo", 5)]


def _by_city(orders: list[Order]) -> dict[str, list[Order]]:
    return {city: [order for order in orders if order[1] == city] for _, city, _ in orders}


def _ranked(orders: list[Order]) -> list[tuple[Any, ...]]:
    groups = (sorted(group, key=lambda order: (-order[2], order[0])) for group in _by_city(orders).values())
    return [(order[0], place) for group in groups for place, order in enumerate(group, 1)]


def _peeking(orders: list[Order]) -> list[tuple[Any, ...]]:
    greatest = max(amount for _, _, amount in orders)
    return [(id_,) for id_, _, amount in orders if amount == greatest]


EXPECTED: dict[str, Callable[[list[Order], dict[str, str]], list[tuple[Any, ...]]]] = {
    "silver.copy": lambda orders, _: list(orders),
    "silver.copy_of_copy": lambda orders, _: list(orders),
    "silver.big": lambda orders, _: [(i, c.upper(), a * 2) for i, c, a in orders if a > 10],
    "silver.bigger": lambda orders, _: [(i, a * 2) for i, _c, a in orders if a > 20],
    "silver.py_rows": lambda orders, _: [(i, a + 1) for i, _c, a in orders if a > 10],
    "silver.py_grouped": lambda orders, _: [(c, len(group)) for c, group in _by_city(orders).items()],
    "silver.py_udf": lambda orders, _: [(i, a + 1) for i, _c, a in orders],
    "silver.py_udf_told": lambda orders, _: [(i, a + 1) for i, _c, a in orders],
    "silver.py_peeking": lambda orders, _: _peeking(orders),
    "silver.py_two": lambda orders, cities: [(i, cities.get(c)) for i, c, _a in orders],
    "gold.joined": lambda orders, cities: [(i, cities.get(c)) for i, c, a in orders if a > 10],
    "gold.ranked": lambda orders, _: _ranked(orders),
    "gold.by_city": lambda orders, cities: [
        (cities[c], sum(order[2] for order in group)) for c, group in _by_city(orders).items() if c in cities
    ],
}
APPENDED = {
    "silver.copy", "silver.copy_of_copy", "silver.big", "silver.bigger", "silver.py_rows",
    "silver.py_udf_told",
}  # fmt: skip
REASONS = {
    "silver.py_udf": "it does not declare deterministic: true",
    "silver.py_peeking": "its function has Spark compute something while it is called",
    "gold.joined": "rows of silver.big changed",
    "gold.ranked": "no column of its result tells which rows a change reaches",
    "gold.by_city": "rows of bronze.orders changed",
}
BY_KEYS = {"gold.joined", "gold.by_city", "silver.py_two"}
SUMMED = {"silver.py_grouped"}
OF_CITIES = {"silver.py_two", "gold.joined", "gold.by_city"}


def _csv(header: str, rows: list[Any]) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"


def _check(shop: Harness, orders: list[Order], cities: dict[str, str]) -> None:
    found = {table: shop.rows(table) for table in EXPECTED}
    assert found == {table: in_order(rows(orders, cities)) for table, rows in EXPECTED.items()}


def _strategies(result: RunResult) -> dict[str, tuple[str, str]]:
    published = (event for event in result.events if isinstance(event, TablePublished))
    return {str(event.table): (event.report.record.kind, event.step.reason) for event in published}


@pytest.mark.in_turn
def test_each_kind_of_query_over_a_story_of_runs(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COMPUTED_WHOLE_BELOW_BYTES", 0)
    shop = make_shop(FILES, compiled=True)
    cities = {"Oslo": "Norway"}
    shop.land("landing/orders/1.csv", _csv("id,city,amount", FIRST))
    shop.land("landing/cities/1.csv", _csv("city,country", list(cities.items())))
    first = _strategies(shop.must_run())
    assert {name: first[name] for name in EXPECTED} == dict.fromkeys(
        EXPECTED, ("full", "the table is built for the first time")
    )
    _check(shop, FIRST, cities)

    # New orders alone.
    shop.land("landing/orders/2.csv", _csv("id,city,amount", SECOND))
    second = _strategies(shop.must_run())
    assert {name for name, (strategy, _) in second.items() if strategy == "append"} == APPENDED
    assert {name for name, (strategy, _) in second.items() if strategy == "keys"} == BY_KEYS
    assert {name for name, (strategy, _) in second.items() if strategy == "sums"} == SUMMED
    assert {name: reason in second[name][1] for name, reason in REASONS.items()} == dict.fromkeys(
        REASONS, True
    )
    assert set(second) == {"bronze.orders", *EXPECTED}
    _check(shop, FIRST + SECOND, cities)

    # New cities alone: what does not read them is left alone.
    heads = {table: shop.state(table).refs["main"] for table in EXPECTED}
    cities["Rome"] = "Italy"
    shop.land("landing/cities/2.csv", _csv("city,country", [("Rome", "Italy")]))
    assert set(shop.must_run().published) == {"bronze.cities", *OF_CITIES}
    assert {table for table in EXPECTED if shop.state(table).refs["main"] != heads[table]} == OF_CITIES
    _check(shop, FIRST + SECOND, cities)

    # Nothing: nothing.
    assert not shop.must_run().published

    # An incremental past equals a rebuild.
    assert set(shop.must_run(full=APPENDED).published) >= APPENDED
    _check(shop, FIRST + SECOND, cities)
