"""On every catalog: what is asked of a lake, and done to it, by commands."""

import json
import shutil
from dataclasses import replace

import pytest
from places import Place
from shared_project import Make, SharedProject, grown
from small_shop import FIRST, LINES, NEWEST, ORDERS, RULES, SECOND, SHOP, SUMS, Order, csv, lines, newest

ALL = "SELECT * FROM silver.newest ORDER BY order_id"


def answer(shop: SharedProject, sql: str, *words: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in shop.must("query", sql, "--json", *words).data]


def test_a_query_of_the_present_and_the_past(make: Make) -> None:
    shop = grown(make, ORDERS | NEWEST, FIRST)
    before = shop.state("silver.newest").refs["main"]
    shop.take("orders/1.csv", csv(*SECOND))
    assert answer(shop, ALL) == newest(FIRST + SECOND)
    assert answer(shop, ALL, "--as-of", str(before)) == newest(FIRST)
    assert answer(shop, ALL, "--as-of", "lakesmith_record") == newest(FIRST + SECOND)


def test_history_tells_what_was_published(make: Make) -> None:
    shop = grown(make, ORDERS | NEWEST, FIRST, SECOND)
    said = shop.must("history", "silver.newest").out
    assert "batch 2 (upsert): read 3: 1 inserted, 1 updated, 1 deleted; 3 rows now (now)" in said
    assert "batch 1 (full): read 3: 3 inserted; 3 rows now" in said


def test_verify_finds_what_another_tool_changed(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    assert shop.call("verify").code == 0
    shop.sql("DELETE FROM {silver.lines} WHERE order_id = 1")
    said = shop.call("verify", "--json")
    verdicts = {each["table"]: each["verdict"] for each in said.data["tables"]}
    assert (said.code, verdicts["silver.newest"]) == (1, "same")
    assert verdicts["silver.lines"] != "same"


def test_bad_rows_are_put_aside_and_come_back(make: Make) -> None:
    shop = grown(make, ORDERS | RULES, FIRST, SECOND)
    good = [order[:3] for order in FIRST + SECOND]
    assert shop.rows("silver.good") == sorted(each for each in good if each[2] > 0)
    assert [json.loads(row["row"])["order_id"] for row in shop.quarantine("silver.good")] == [3]
    assert shop.must("quarantine", "list", "--json").data
    shop.write({"tables/silver/good.yaml": RULES["tables/silver/good.yaml"].replace("> 0", "> -5")})
    shop.must("quarantine", "replay", "silver.good")
    assert shop.rows("silver.good") == sorted(good)
    assert shop.quarantine("silver.good") == []


def test_a_file_is_left_out(make: Make) -> None:
    shop = grown(make, ORDERS, FIRST)
    shop.land("orders/1.csv", csv(*SECOND))
    shop.must("files", "bronze.orders", "--skip", shop.landed("orders/1.csv"))
    assert shop.must_run().published == {}
    states = {
        line["path"]: line["state"] for line in shop.must("files", "bronze.orders", "--json").data["files"]
    }
    assert list(states.values()) == ["taken", "skipped"]
    assert shop.rows("bronze.orders") == sorted(FIRST)


def test_a_file_is_forgotten_and_taken_again(make: Make) -> None:
    shop = grown(make, ORDERS | SUMS, FIRST, SECOND)
    said = shop.must("files", "bronze.orders", "--forget", shop.landed("orders/0.csv"))
    assert "3 rows of forgotten files deleted" in said.out
    assert shop.rows("bronze.orders") == sorted(SECOND)
    shop.must_run()
    shop.require(FIRST + SECOND, "bronze.orders", "gold.sums")


def test_plan_and_explain_start_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = grown(make, SHOP, FIRST)
    shop.land("orders/1.csv", csv(*SECOND))
    monkeypatch.setattr("lakesmith.spark.open.open_session", None)
    monkeypatch.setattr("lakesmith.spark.open.open_engine", None)
    said = shop.must("plan").out
    assert "1 new file" in said and "follows (upsert)" in said
    assert "bronze.orders" in shop.must("explain", "silver.newest").out


def test_one_namespace_has_all_tables(make: Make, place: Place) -> None:
    if not place.is_remote:
        pytest.skip("the embedded catalog has the project's own names")
    alone = replace(place, namespaces={"single": f"{place.prefix}shop"})
    shop = make(SHOP | RULES, at=alone)
    for number, batch in enumerate((FIRST, SECOND)):
        shop.take(f"orders/{number}.csv", csv(*batch))
    assert shop.outside("silver.newest").name()[-2:] == (f"{place.prefix}shop", "silver__newest")
    assert shop.rows("silver.newest") == newest(FIRST + SECOND)
    assert answer(shop, ALL) == newest(FIRST + SECOND)
    assert shop.call("verify").code == 0
    assert len(shop.quarantine("silver.good")) == 1


def test_a_table_of_another_project_is_refused(make: Make, place: Place) -> None:
    if not place.is_remote:
        pytest.skip("the embedded catalog is of one project")
    ours = grown(make, ORDERS | LINES, FIRST)
    theirs = make(ORDERS | LINES, name="other")
    assert theirs.call("status").code == 1
    result = theirs.run()
    assert (result.code, {problem.code for problem in result.problems}) == (1, {"LS503"})
    assert ours.rows("silver.lines") == lines(FIRST)
    assert ours.must_run().published == {}


def test_what_is_in_the_folder_is_only_a_cache(make: Make, place: Place) -> None:
    """Each command as right without it, between any two."""
    if not place.is_remote:
        pytest.skip("the embedded catalog is in the folder")
    shop = make(SHOP | RULES)
    taken: tuple[Order, ...] = ()
    for number, batch in enumerate((FIRST, SECOND)):
        shop.land(f"orders/{number}.csv", csv(*batch))
        taken += batch
        for command in (["plan"], ["run"], ["run"], ["status"], ["files", "bronze.orders"]):
            lose(shop)
            shop.must(*command)
        shop.require(taken, "bronze.orders", "silver.newest")
    for command in (["history", "silver.newest"], ["verify"], ["quarantine", "show", "silver.good"]):
        lose(shop)
        shop.must(*command)
    assert shop.record("bronze.orders").batch == 2


def lose(shop: SharedProject) -> None:
    """Takes away what the project's folder has besides the project."""
    shutil.rmtree(shop.root / ".lakesmith", ignore_errors=True)
