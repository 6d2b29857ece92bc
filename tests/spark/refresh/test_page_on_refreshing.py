"""The tables on the page on refreshing are refreshed as the page says, once there is something to refresh."""

import pytest
from harness import MakeShop
from refreshing_page import TABLES, strategies

from lakesmith.plan.steps import Strategy

pytestmark = pytest.mark.in_turn

HEADER = "sale_id,customer_id,product,amount,sold,op\n"


def test_tables_are_refreshed_as_the_page_says(make_shop: MakeShop, by_keys: None) -> None:
    shop = make_shop(TABLES)
    shop.take(
        "landing/sales/1.csv",
        HEADER + "1,1,tea,150,2024-06-03 10:00:00,I\n2,1,cup,20,2024-06-03 10:20:00,I\n"
        "3,2,tea,5,2024-06-03 11:00:00,I\n",
    )
    published = shop.take(
        "landing/sales/2.csv", HEADER + "2,1,cup,200,2024-06-03 12:00:00,U\n3,2,tea,,2024-06-03 12:30:00,D\n"
    ).published
    by_key = {table: "keys" for table, shown in strategies().items() if shown == Strategy.KEYS.label}
    expected = {**strategies(), **by_key, "gold.arrivals": "sums"}
    assert {table: published[table].kind for table in expected} == expected
    assert shop.rows("silver.large_sales", "sale_id") == [(1,), (2,)]
    assert shop.rows("gold.totals") == [(2, 350)]
    assert shop.rows("gold.priced", "sale_id", "price") == [(1, None), (2, 200)]
