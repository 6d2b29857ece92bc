"""``verify`` where there is nothing to compute: no JVM is started, and each table's reason is said."""

from __future__ import annotations

from shop import Cli, Shop


def test_nothing_to_verify(cli: Cli, shop: Shop) -> None:
    said = cli("verify", "--project", shop.root)
    assert said.code == 0
    assert said.out.splitlines() == [
        "bronze.orders                 skipped  its rows come from files, which are taken once",
        "silver.customers              skipped  it has not been built yet",
        "gold.customers_by_city_month  skipped  it has not been built yet",
        "",
        "nothing to verify",
    ]


def test_as_data(cli: Cli, shop: Shop) -> None:
    said = cli("verify", "silver.*", "--project", shop.root, "--json")
    assert said.code == 0
    (table,) = said.data["tables"]
    assert (table["table"], table["verdict"], table["examples"]) == ("silver.customers", "skipped", [])
    assert table["why"] == "it has not been built yet"


def test_a_table_that_is_not_there(cli: Cli, shop: Shop) -> None:
    assert cli("verify", "silver.nothing", "--project", shop.root).code == 2
