"""Where columns come from: what the text of a query tells, and nothing more."""

import pytest

from lakesmith.sql.origins import origins

SCHEMAS = (
    ("silver.orders", (("id", "bigint"), ("Price", "double"), ("name", "string"), ("at", "timestamp"))),
    ("silver.cities", (("id", "bigint"), ("city", "string"))),
)


def _of(sql: str) -> dict[str, str | None]:
    found = origins(sql, SCHEMAS)
    return {
        column: None
        if each is None
        else " ".join(f"{table.partition('.')[2]}.{name}" for table, name in each)
        for column, each in found.items()
    }


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT * FROM silver.orders",
            {"id": "orders.id", "price": "orders.price", "name": "orders.name", "at": "orders.at"},
        ),
        (
            "SELECT o.id, PRICE * 2 AS Twice, count(*) AS n, 1 AS one FROM silver.orders o GROUP BY 1, 2",
            {"id": "orders.id", "twice": "orders.price", "n": "", "one": ""},
        ),
        (
            "WITH a AS (SELECT id, price FROM silver.orders)"
            " SELECT c.city, sum(a.price) AS s FROM a JOIN silver.cities c ON a.id = c.id GROUP BY ALL",
            {"city": "cities.city", "s": "orders.price"},
        ),
        (
            "SELECT id FROM silver.orders UNION ALL SELECT id FROM silver.cities",
            {"id": "cities.id orders.id"},
        ),
        (
            "SELECT id, x FROM silver.orders LATERAL VIEW explode(split(name, ',')) t AS x",
            {"id": "orders.id", "x": "orders.name"},
        ),
        ("SELECT concat(name, city) AS `a b` FROM silver.orders JOIN silver.cities USING (id)",
         {"a b": "cities.city orders.name"}),
        ("FROM silver.orders SELECT `id`", {"id": "orders.id"}),
        # What the text does not tell is unknown, not guessed.
        (
            "SELECT window.start AS s, count(*) AS n FROM silver.orders GROUP BY window(at, '1 hour')",
            {"s": None, "n": ""},
        ),
        ("SELECT gone FROM silver.orders", {"gone": None}),
        ("SELECT id FROM silver.others", {"id": None}),
        ("SELECT FROM WHERE", {}),
    ],
)  # fmt: skip
def test_a_column_has_the_columns_that_it_is_made_from(sql: str, expected: dict[str, str | None]) -> None:
    assert _of(sql) == expected
