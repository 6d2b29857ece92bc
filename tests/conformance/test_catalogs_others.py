"""On every shared catalog: external tables as inputs, in the target's catalog and another, never written."""

import json
from dataclasses import replace
from typing import Any

import places
import pytest
from places import Place, project_file
from shared_project import Make, SharedProject, grown
from small_shop import FIRST, LATE, ORDERS, SECOND, Order, csv

import rest_server
import s3_server

pytestmark = pytest.mark.release

REPORTS = {
    "tables/silver/lines.sql": "SELECT order_id, amount * 2 AS twice FROM shop.orders\n",
    "tables/silver/newest.yaml": """
        key: [order_id]
        latest_by: [version]
        delete_when: "amount = -1"
        query: SELECT order_id, customer, amount, version FROM shop.orders
        """,
    "tables/gold/sums.sql": "SELECT customer, count(*) AS orders, sum(amount) AS amount FROM shop.orders"
    " GROUP BY customer\n",
}


@pytest.fixture
def shop(make: Make, place: Place) -> SharedProject:
    """A shop in a shared catalog, whose orders others read."""
    if not place.is_remote:
        pytest.skip("the embedded catalog is of one project")
    return grown(make, ORDERS, FIRST)


def reports(make: Make, shop: SharedProject, at: Place, catalog: Place | None = None) -> SharedProject:
    """A project at ``at`` that reads the shop's orders: in its own catalog, or in ``catalog``."""
    said: dict[str, Any] = {"table": f"{shop.place.prefix}bronze.orders"}
    more: dict[str, Any] = {}
    if catalog is not None:
        said |= {"catalog": "theirs"}
        more = {"other_catalogs": {"theirs": dict(catalog.catalog)}}
    external = {"tables/shop/orders.yaml": json.dumps({"external": said})}
    return make({"lakesmith.yaml": project_file("reports", at, more), **REPORTS, **external}, "reports", at)


def is_right(made: SharedProject, *landed: Order) -> None:
    made.require(landed, "silver.lines", "silver.newest", "gold.sums")


def follow(made: SharedProject, shop: SharedProject) -> None:
    """Existing, new and deleted rows are read as those of any input; the shop stays as it is."""
    assert {record.kind for record in made.must_run().published.values()} == {"full"}
    is_right(made, *FIRST)
    shop.take("orders/1.csv", csv(*SECOND))
    before = shop.state("bronze.orders")
    kinds = {name: record.kind for name, record in made.must_run().published.items()}
    assert kinds == {"silver.lines": "append", "silver.newest": "upsert", "gold.sums": "sums"}
    assert made.must_run().published == {}
    is_right(made, *FIRST, *SECOND)
    shop.take("orders/0.csv", csv(*LATE))
    made.must_run()
    is_right(made, *LATE, *SECOND)
    made.must("verify")
    asked = made.must("query", "SELECT count(*) AS n FROM shop.orders", "--json").data
    assert asked == [{"n": len(LATE) + len(SECOND)}]
    assert before is not None
    now = shop.state("bronze.orders")
    assert now is not None and now.metadata_location != before.metadata_location
    made.must("status")
    assert shop.state("bronze.orders") == now


def test_a_table_of_another_project_in_the_same_catalog(make: Make, shop: SharedProject) -> None:
    prefix = {"prefix": f"{shop.place.prefix}reports_"}
    follow(reports(make, shop, replace(shop.place, namespaces=prefix)), shop)


def test_a_table_in_another_catalog(
    make: Make, shop: SharedProject, rest: rest_server.Server, known_s3: s3_server.Server
) -> None:
    follow(reports(make, shop, places.on_rest(rest, known_s3), shop.place), shop)


def test_a_table_in_a_shared_catalog_read_on_the_local_target(make: Make, shop: SharedProject) -> None:
    follow(reports(make, shop, places.embedded(), shop.place), shop)


def test_a_catalog_of_others_that_does_not_answer_keeps_nothing_else_waiting(
    make: Make, shop: SharedProject
) -> None:
    gone = replace(shop.place, catalog={"type": "rest", "uri": "http://127.0.0.1:1"})
    made = reports(make, shop, replace(shop.place, namespaces={"prefix": f"{shop.place.prefix}r_"}), gone)
    made.write({"tables/bronze/orders.yaml": ORDERS["tables/bronze/orders.yaml"]})
    result = made.run()
    assert (result.code, set(result.published)) == (1, {"bronze.orders"})
    assert {problem.code for problem in result.problems} == {"LS325"}
