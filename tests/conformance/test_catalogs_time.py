"""On every catalog: back to a point of the past, moments by name, and what changed between two."""

from shared_project import Make, SharedProject, grown
from small_shop import FIRST, SECOND, SHOP, newest


def first_batch(shop: SharedProject, table: str) -> str:
    found = shop.state(table).snapshots.values()
    return next(str(each.snapshot_id) for each in found if each.record and each.record.batch == 1)


def test_a_table_goes_back_and_is_held_until_it_is_released(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    to = first_batch(shop, "bronze.orders")
    said = shop.must("rollback", "bronze.orders", "--to", to, "--hold", "--yes")
    assert "1 file taken since: the next run takes it again" in said.out
    assert "made from it: silver.lines, silver.newest; the next run corrects them" in said.out
    assert shop.rows("bronze.orders") == sorted(FIRST)
    shop.must_run()
    assert shop.rows("silver.newest") == newest(FIRST)
    status = {each["table"]: each["status"] for each in shop.must("status", "--json").data["tables"]}
    assert status == {"bronze.orders": "held", "silver.lines": "up_to_date", "silver.newest": "up_to_date"}
    assert "held at batch 1 since" in shop.must("plan").out
    assert "bronze.orders is free" in shop.must("release", "bronze.orders").out
    shop.must_run()
    shop.require(FIRST + SECOND, "bronze.orders", "silver.lines", "silver.newest")
    shop.must("verify")


def test_tables_below_go_back_in_the_same_call(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    to = first_batch(shop, "bronze.orders")
    said = shop.must("rollback", "bronze.orders", "--to", to, "--with-downstream", "--yes", "--json")
    assert [each["table"] for each in said.data["tables"]] == [
        "bronze.orders",
        "silver.lines",
        "silver.newest",
    ]
    assert shop.rows("silver.newest") == newest(FIRST)
    assert shop.call("rollback", "bronze.orders", "--to", to, "--yes").out.startswith("bronze.orders is at")
    shop.must_run()
    assert shop.rows("silver.newest") == newest(FIRST + SECOND)
    shop.must("verify")


def test_rows_of_files_that_are_gone_are_not_given_up_unasked(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    shop.unland("orders/1.csv")
    call = ("rollback", "bronze.orders", "--to", first_batch(shop, "bronze.orders"), "--yes")
    refused = shop.call(*call)
    assert (refused.code, "LS519" in refused.err) == (1, True)
    assert shop.rows("bronze.orders") == sorted(FIRST + SECOND)
    shop.must(*call, "--lossy")
    shop.must_run()
    assert shop.rows("silver.newest") == newest(FIRST)


def test_nobody_is_asked_where_there_is_no_terminal(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    said = shop.call("rollback", "silver.newest", "--to", first_batch(shop, "silver.newest"))
    assert (said.code, "LS227" in said.err) == (2, True)
    assert shop.rows("silver.newest") == newest(FIRST + SECOND)


def test_a_moment_of_the_whole_lake_by_its_name(make: Make) -> None:
    shop = grown(make, SHOP, FIRST)
    shop.must("tag", "month-end")
    shop.take("orders/later.csv", "order_id,customer,amount,version\n9,Zoe,1,1\n")
    both = "SELECT (SELECT count(*) FROM bronze.orders) AS b, (SELECT count(*) FROM silver.newest) AS s"
    for as_of, rows in (((), 4), (("--as-of", "month-end"), 3)):
        assert shop.must("query", both, "--json", *as_of).data == [{"b": rows, "s": rows}]
    taken = shop.call("tag", "month-end")
    assert (taken.code, "LS522" in taken.err) == (1, True)
    assert shop.must("tag", "--json").data[0]["tag"] == "month-end"
    shop.must("rollback", "bronze.orders", "--to", "month-end", "--yes")
    assert len(shop.rows("bronze.orders")) == 3
    shop.must("tag", "month-end", "--replace")
    shop.must("untag", "month-end")
    assert shop.must("tag", "--json").data == []
    gone = shop.call("untag", "month-end")
    assert (gone.code, "LS257" in gone.err) == (2, True)


def test_what_changed_is_shown(make: Make) -> None:
    shop = grown(make, SHOP, FIRST, SECOND)
    found = shop.must("diff", "silver.newest", first_batch(shop, "silver.newest"), "--json").data
    counts = {name: found[name] for name in ("inserted", "deleted", "updated", "columns")}
    assert counts == {"inserted": 1, "deleted": 1, "updated": 1, "columns": {"amount": 1, "version": 1}}
    assert [row["_change"] for row in found["rows"]] == ["before", "after", "deleted", "inserted"]
    said = shop.must("diff", "silver.newest", first_batch(shop, "silver.newest")).out
    assert "rows: 1 inserted, 1 deleted, 1 updated" in said
    assert "columns of the updated ones: amount in 1 row, version in 1 row" in said
