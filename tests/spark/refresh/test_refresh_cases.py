"""What random histories found, each reduced to the steps that it takes."""

import pytest
from equality_delete import delete_equal
from harness import MakeShop

pytestmark = [pytest.mark.in_turn, pytest.mark.usefixtures("by_keys")]

BRONZE = "source:\n  files: {path: landing/orders/, format: csv}\ncolumns: {id: bigint, city: string}\n"
BY_CITY = "SELECT city, count(*) AS n FROM bronze.orders GROUP BY city"


def test_rows_that_others_delete_by_equality(make_shop: MakeShop) -> None:
    """Files with such deletes could not be read at both ends: the run failed on a column of Iceberg's own."""
    shop = make_shop({"tables/bronze/orders.yaml": BRONZE, "tables/gold/by_city.sql": BY_CITY})
    shop.take("landing/orders/1.csv", "id,city\n1,Oslo\n2,Rome\n3,Rome\n4,\n")
    delete_equal(shop, "bronze.orders", "Rome")
    shop.land("landing/orders/2.csv", "id,city\n5,Oslo\n6,Rome\n")
    assert shop.must_run().published["gold.by_city"].kind == "sums"
    assert shop.rows("gold.by_city") == [(None, 1), ("Oslo", 2), ("Rome", 1)]
