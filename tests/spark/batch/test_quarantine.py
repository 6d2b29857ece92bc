"""Law 3 where rows are bad: every row is somewhere, with every reason, and on record."""

from typing import Any

import pytest
from harness import Harness, MakeShop, fail

from lakesmith.catalog.record import Account
from lakesmith.execute import faults

pytestmark = pytest.mark.in_turn

ORDERS = """
source:
  files: {path: landing/orders/, pattern: "*.csv", format: csv}
columns: {id: bigint, email: string, price: "decimal(10,2)", op: string}
rules: |
  Rules = [ IsComplete "email", ColumnValues "price" > 0 ]
"""
LOOSE = ORDERS.partition("rules:")[0]
KEYED = """
key: [id]
latest_by: [price]
delete_when: "op = 'D'"
rules: |
  Rules = [ IsComplete "email", ColumnLength "email" > 2, ColumnValues "price" < 100 ]
"""
QUERY = "SELECT id, email, price, op FROM bronze.orders"


def land(shop: Harness, number: int, *lines: str) -> None:
    shop.land(f"landing/orders/{number}.csv", "id,email,price,op\n" + "".join(f"{line}\n" for line in lines))


def bad(shop: Harness, table: str) -> list[tuple[Any, ...]]:
    return [
        (row["batch"], row["source_position"], row["raw"] or row["row"], row["reasons"])
        for row in shop.quarantine(table)
    ]


def account(record_account: Account) -> dict[str, int]:
    """The counts that are not zero."""
    names = Account.__slots__
    return {name: getattr(record_account, name) for name in names if getattr(record_account, name)}


def test_every_bad_row_of_a_file_is_kept_with_every_reason(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS})
    land(shop, 1, "1,a@x,1.50,I", "x,b@x,y,I", "3,,-1,I", "4,d@x,0,I", "5,e@x", "6,f@x,,I")
    record = shop.must_run().published["bronze.orders"]
    assert shop.rows("bronze.orders", "id") == [(1,)]
    assert bad(shop, "bronze.orders") == [
        (1, 2, "x,b@x,y,I", ["id: not a bigint: 'x'", "price: not a decimal(10,2): 'y'"]),
        (1, 3, '{"id":3,"price":-1.00,"op":"I"}', ['IsComplete "email"', 'ColumnValues "price" > 0']),
        (1, 4, '{"id":4,"email":"d@x","price":0.00,"op":"I"}', ['ColumnValues "price" > 0']),
        (1, 5, "5,e@x", ["row has 2 fields, the header has 4"]),
        (1, 6, '{"id":6,"email":"f@x","op":"I"}', ['ColumnValues "price" > 0']),
    ]
    assert account(record.account) == {"read": 6, "inserted": 1, "quarantined": 5, "rows_after": 1}
    assert record.checks == {'IsComplete "email"': 1, 'ColumnValues "price" > 0': 3}
    # A second batch's bad rows join the first one's, and one without any leaves them.
    land(shop, 2, "7,,1,I")
    assert shop.must_run().published["bronze.orders"].account.quarantined == 1
    land(shop, 3, "8,h@x,1,I")
    shop.must_run()
    assert [row[:2] for row in bad(shop, "bronze.orders")] == [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 1)]


def test_a_keyed_table_sets_aside_rows_without_a_key_and_rows_that_break_rules(make_shop: MakeShop) -> None:
    files = {"tables/bronze/orders.yaml": LOOSE, "tables/silver/orders.yaml": KEYED}
    shop = make_shop({**files, "tables/silver/orders.sql": QUERY})
    land(shop, 1, "1,aa@x,1,I", ",b@x,2,I", "2,,200,I", "3,c,3,I", "4,dd@x,4,I", ",,500,D")
    first = shop.must_run().published["silver.orders"]
    assert shop.rows("silver.orders", "id") == [(1,), (4,)]
    assert sorted(row["reasons"] for row in shop.quarantine("silver.orders")) == [
        ['ColumnLength "email" > 2'],
        ['IsComplete "email"', 'ColumnLength "email" > 2', 'ColumnValues "price" < 100'],
        ["key column id is null"],
        ["key column id is null"],
    ]
    assert account(first.account) == {"read": 6, "inserted": 2, "quarantined": 4, "rows_after": 2}
    # Deletes carry only their key, and their version may look wrong: rules are not for them.
    land(shop, 2, "1,,900,D", "9,,901,D", "4,dd@x,300,U", "4,dd@x,5,U")
    second = shop.must_run().published["silver.orders"]
    assert second.kind == "upsert"
    assert account(second.account) == {
        "read": 4, "updated": 1, "deleted": 1, "quarantined": 1, "absent_deletes": 1, "rows_before": 2,
        "rows_after": 1,
    }  # fmt: skip
    assert [(row[0], int(row[1])) for row in shop.rows("silver.orders", "id", "price")] == [(4, 5)]
    assert len(shop.quarantine("silver.orders")) == 5
    assert second.checks['ColumnValues "price" < 100'] == 1


def test_a_full_refresh_judges_all_rows_anew(make_shop: MakeShop) -> None:
    files = {"tables/bronze/orders.yaml": LOOSE, "tables/silver/orders.sql": QUERY}
    rule = "rules: 'Rules = [ ColumnValues \"price\" > {} ]'\n"
    shop = make_shop({**files, "tables/silver/orders.yaml": rule.format(1)})
    land(shop, 1, "1,a@x,1,I", "2,b@x,2,I", "3,c@x,3,I")
    shop.must_run()
    land(shop, 2, "4,d@x,0,I")
    assert shop.must_run().published["silver.orders"].kind == "append"
    assert len(shop.quarantine("silver.orders")) == 2
    refreshed = shop.must_run("silver.orders", full=["silver.orders"]).published["silver.orders"]
    assert (refreshed.account.read, refreshed.account.quarantined) == (4, 2)
    assert len(shop.quarantine("silver.orders")) == 2
    # Another rule is another definition: it is asked of every row, those in quarantine included.
    shop.write({"tables/silver/orders.yaml": rule.format(2)})
    assert shop.must_run().published["silver.orders"].kind == "full"
    assert len(shop.quarantine("silver.orders")) == 3
    shop.redefine({"tables/silver/orders.yaml": "description: no rules\n"})
    assert shop.quarantine("silver.orders") == []
    assert shop.count("silver.orders") == 4


@pytest.mark.parametrize("keyed", [False, True])
def test_on_bad_row_fail_publishes_nothing_and_says_why(make_shop: MakeShop, keyed: bool) -> None:
    silver = (KEYED if keyed else KEYED[KEYED.index("rules") :]) + "on_bad_row: fail\n"
    files = {"tables/bronze/orders.yaml": LOOSE, "tables/silver/orders.yaml": silver}
    shop = make_shop({**files, "tables/silver/orders.sql": QUERY})
    land(shop, 1, "1,aa@x,1,I")
    shop.must_run()
    land(shop, 2, "2,bb@x,2,I", "3,,200,I", "4,c,4,I")
    for _ in range(2):
        result = shop.run()
        assert result.code == 3
        (problem,) = result.problems
        assert problem.code == "LS801"
        two = 'IsComplete "email"; ColumnLength "email" > 2; ColumnValues "price" < 100'
        assert problem.found == f'ColumnLength "email" > 2 | {two}'
        assert shop.rows("silver.orders", "id") == [(1,)]
        assert shop.quarantine("silver.orders") == []
    shop.redefine({"tables/silver/orders.yaml": silver.replace("fail", "quarantine")})
    assert shop.rows("silver.orders", "id") == [(1,), (2,)]
    assert len(shop.quarantine("silver.orders")) == 2


def test_on_bad_row_fail_for_files(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS + "on_bad_row: fail\n"})
    land(shop, 1, "1,a@x,1,I", "x,b@x,2,I")
    result = shop.run()
    assert (result.code, result.problems[0].found) == (3, "id: not a bigint: 'x'")
    land(shop, 1, "1,a@x,1,I", "2,b@x,2,I")
    shop.must_run()
    assert shop.rows("bronze.orders", "id") == [(1,), (2,)]


@pytest.mark.parametrize("point", ["after-quarantine", "before-publish"])
def test_the_bad_rows_of_an_attempt_that_failed_do_not_count(make_shop: MakeShop, point: str) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS})
    land(shop, 1, "1,a@x,1,I", "2,,1,I")
    shop.must_run()
    land(shop, 2, "3,,1,I", "4,d@x,1,I")

    faults.arrange(point, fail)
    assert shop.run().code == 1
    assert [row[:2] for row in bad(shop, "bronze.orders")] == [(1, 2)]
    faults.clear()
    shop.must_run()
    assert [row[:2] for row in bad(shop, "bronze.orders")] == [(1, 2), (2, 1)]
    assert shop.rows("bronze.orders", "id") == [(1,), (4,)]


def test_a_file_that_was_changed_takes_its_bad_rows_along(make_shop: MakeShop) -> None:
    source = ORDERS.replace("format: csv", "format: csv, on_changed_file: replace")
    shop = make_shop({"tables/bronze/orders.yaml": source})
    land(shop, 1, "1,a@x,1,I", "2,,1,I")
    land(shop, 2, "3,c@x,1,I", "4,,1,I")
    shop.must_run()
    land(shop, 1, "1,a@x,1,I", "2,b@x,1,I")
    record = shop.must_run().published["bronze.orders"]
    assert account(record.account) == {
        "read": 2, "inserted": 2, "deleted": 1, "rows_before": 2, "rows_after": 3,
    }  # fmt: skip
    assert [row[:2] for row in bad(shop, "bronze.orders")] == [(1, 2)]
    # The other file of the same batch, whose rows lie in the same data file.
    land(shop, 2, "3,c@x,2,I", "4,,2,I", "5,,2,I")
    record = shop.must_run().published["bronze.orders"]
    assert (record.account.deleted, record.account.rows_after) == (1, 3)
    assert [row[:2] for row in bad(shop, "bronze.orders")] == [(3, 2), (3, 3)]
    assert [(row[0], int(row[1])) for row in shop.rows("bronze.orders", "id", "price")] == [
        (1, 1),
        (2, 1),
        (3, 2),
    ]
