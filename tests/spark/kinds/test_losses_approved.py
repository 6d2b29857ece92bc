"""Changes that would lose something wait until they are approved; until then the table stays as it is."""

from typing import Any

import pytest
from harness import Harness, MakeShop

from lakesmith.api.running import forecast_to_dict
from lakesmith.execute.decide import Decider
from lakesmith.execute.forecast import forecast

pytestmark = pytest.mark.in_turn("file")

BRONZE, SILVER, GOLD = ("tables/bronze/orders.yaml", "tables/silver/orders.sql", "tables/gold/cities.sql")
DECLARED = """
    source: {files: {path: landing/, pattern: "*.csv", on_new_column: ignore}}
    columns: {id: bigint, city: string, amount: 'decimal(10,2)'}
    """
FILES = {
    BRONZE: DECLARED,
    SILVER: "SELECT id, city, amount FROM bronze.orders\n",
    GOLD: "SELECT city, count(*) AS n FROM silver.orders GROUP BY city\n",
}
TAKEN = {"landing/1.csv": "id,city,amount\n1,Oslo,1.50\n2,Rome,2.25\n"}


def planned(shop: Harness) -> dict[str, dict[str, Any]]:
    graph = shop.load()[1]
    told = forecast(Decider(graph, shop.lake()), graph.order)
    return {str(item.decision.name): forecast_to_dict(item) for item in told}


def columns(shop: Harness, table: str) -> list[tuple[str, str]]:
    return [(each.name, each.type) for each in shop.state(table).columns if not each.name.startswith("_")]


def test_a_column_that_a_query_gives_no_more_waits_for_approval(shop: Harness) -> None:
    before = shop.rows("silver.orders")
    shop.write({SILVER: "SELECT id, city FROM bronze.orders\n"})
    plan = planned(shop)["silver.orders"]
    assert plan["decision"] == "to_approve"
    assert plan["notes"] == [
        "column amount (decimal(10,2)) goes: it waits for lakesmith run --approve silver.orders"
    ]
    (change,) = plan["changes"]
    assert (change["cost"], change["loses"]) == ("rebuild", ("column amount (decimal(10,2)) goes",))
    (problem,) = shop.run().problems
    assert problem.code == "LS524"
    assert "(read by gold.cities)" in problem.what
    assert shop.rows("silver.orders") == before
    shop.must_run(approve=["silver.orders"])
    assert columns(shop, "silver.orders") == [("id", "bigint"), ("city", "string")]
    assert shop.rows("silver.orders") == [(1, "Oslo"), (2, "Rome")]
    assert shop.must_run().published == {}


def test_what_only_spark_knows_waits_as_well(shop: Harness) -> None:
    (shop.root / SILVER).unlink()
    shop.write(
        {
            "tables/silver/orders.py": """
                def orders(bronze__orders):
                    return bronze__orders.select("id", "city")
                """
        }
    )
    (problem,) = shop.run().problems
    assert problem.code == "LS524"
    assert "column amount (decimal(10,2)) goes" in (problem.found or "")
    assert len(columns(shop, "silver.orders")) == 3
    shop.must_run(approve=["silver.orders"])
    assert columns(shop, "silver.orders") == [("id", "bigint"), ("city", "string")]


def test_a_narrower_type_waits_and_text_does_not(shop: Harness) -> None:
    shop.redefine({SILVER: "SELECT id, city, CAST(amount AS string) AS amount FROM bronze.orders\n"})
    shop.write({SILVER: "SELECT id, city, CAST(amount AS int) AS amount FROM bronze.orders\n"})
    (problem,) = shop.run().problems
    assert "column amount becomes int (it is string)" in (problem.found or "")
    assert [row[2] for row in shop.rows("silver.orders")] == ["1.50", "2.25"]
    shop.must_run(approve=["silver.orders"])
    assert [row[2] for row in shop.rows("silver.orders")] == [1, 2]


def test_a_rebuilt_table_has_its_columns_in_the_order_of_its_query(shop: Harness) -> None:
    shop.redefine(
        {
            SILVER: "SELECT CAST(amount AS string) AS amount, upper(city) AS town, city, id"
            " FROM bronze.orders\n"
        }
    )
    names = [name for name, _ in columns(shop, "silver.orders")]
    assert names == ["amount", "town", "city", "id"]
    assert shop.rows("silver.orders") == [("1.50", "OSLO", "Oslo", 1), ("2.25", "ROME", "Rome", 2)]


def test_a_column_that_is_not_declared_any_more_stays_until_it_is_approved(shop: Harness) -> None:
    fewer = DECLARED.replace(", amount: 'decimal(10,2)'", "")
    shop.redefine({BRONZE: fewer, SILVER: "SELECT id, city FROM bronze.orders\n"}, "bronze.orders")
    assert ("amount", "decimal(10,2)") in columns(shop, "bronze.orders")
    plan = planned(shop)["bronze.orders"]
    assert plan["decision"] == "up_to_date"
    assert "until lakesmith run --approve bronze.orders drops it" in plan["notes"][0]
    assert plan["changes"][0]["cost"] == "metadata only"
    shop.must_run(approve=["bronze.orders", "silver.orders"])
    assert columns(shop, "bronze.orders") == [("id", "bigint"), ("city", "string")]
    shop.take("landing/2.csv", "id,city,amount\n3,Bonn,9.00\n")
    assert shop.rows("bronze.orders", "id", "city") == [(1, "Oslo"), (2, "Rome"), (3, "Bonn")]
    assert shop.rows("silver.orders") == [(1, "Oslo"), (2, "Rome"), (3, "Bonn")]


def test_one_that_partitions_the_table_cannot_go(make_shop: MakeShop) -> None:
    shop = make_shop({BRONZE: DECLARED.rstrip(" ") + "    partition_by: [city]\n"})
    shop.take("landing/1.csv", "id,city,amount\n1,Oslo,1.50\n")
    shop.write({BRONZE: DECLARED.replace("city: string, ", "")})
    (problem,) = shop.run(approve=["bronze.orders"]).problems
    assert problem.code == "LS507"
    assert "city" in {name for name, _ in columns(shop, "bronze.orders")}


def test_columns_of_files_stand_as_they_are_declared(shop: Harness) -> None:
    other = "{note: string, amount: 'decimal(12,2)', id: bigint, city: string}"
    shop.write({BRONZE: DECLARED.replace("{id: bigint, city: string, amount: 'decimal(10,2)'}", other)})
    costs = {change["what"]: change["cost"] for change in planned(shop)["bronze.orders"]["changes"]}
    assert set(costs.values()) == {"metadata only"}
    assert len(costs) == 3
    shop.take("landing/2.csv", "id,city,amount,note\n3,Bonn,9.00,x\n", "bronze.orders")
    assert [name for name, _ in columns(shop, "bronze.orders")] == ["note", "amount", "id", "city"]
    assert shop.rows("bronze.orders", "id", "note") == [(1, None), (2, None), (3, "x")]
    assert "changes" not in planned(shop)["bronze.orders"]


def test_values_as_of_arrival_are_not_looked_up_anew_unasked(make_shop: MakeShop) -> None:
    files = {
        BRONZE: DECLARED,
        "tables/bronze/places.yaml": """
            source: {files: {path: places/, pattern: "*.csv"}}
            columns: {city: string, country: string, v: int}
            """,
        "tables/silver/places.yaml": "key: [city]\nlatest_by: [v]\n",
        "tables/silver/places.sql": "SELECT city, country, v FROM bronze.places\n",
        "tables/silver/orders.yaml": "lookups: {silver.places: {as_of: arrival}}\n",
        SILVER: "SELECT o.id, o.city, p.country FROM bronze.orders o LEFT JOIN silver.places p"
        " ON o.city = p.city\n",
    }
    shop = make_shop(files)
    (shop.root / "landing").mkdir()
    shop.take("places/1.csv", "city,country,v\nOslo,NO,1\n")
    shop.take("landing/1.csv", "id,city,amount\n1,Oslo,1.50\n")
    shop.take("places/2.csv", "city,country,v\nOslo,Norway,2\n")
    assert shop.rows("silver.orders") == [(1, "Oslo", "NO")]
    (problem,) = shop.run(full=["silver.orders"]).problems
    assert problem.code == "LS524"
    assert "silver.places" in (problem.found or "")
    assert shop.rows("silver.orders") == [(1, "Oslo", "NO")]
    shop.must_run(full=["silver.orders"], approve=["silver.orders"])
    assert shop.rows("silver.orders") == [(1, "Oslo", "Norway")]
