"""``${...}`` in names and texts stays as it is: Spark replaces nothing in our SQL or in users' SQL."""

import os

import pytest
from harness import Harness, MakeShop

from lakesmith.errors import LakesmithError
from lakesmith.spark.ask import run_query
from lakesmith.spark.batch import earlier_rows

pytestmark = pytest.mark.in_turn

HOME = os.environ["HOME"]
ORDERS = """
    source:
      files: {path: landing/orders/, format: csv, on_changed_file: replace}
    columns: {id: int, v: string}
    """
NAMES = ("${spark.app.name}.csv", "${vars.x}.csv", "${env:HOME}.csv", "plain.csv")
KEYED = """
    query: SELECT id, v, '$${env:HOME}' AS lit FROM bronze.orders
    key: [id]
    delete_when: "v = '$${env:HOME}'"
    rules: |
      Rules = [ ColumnValues "v" != "$${system:user.name}" ]
    """


def _land(shop: Harness, first: int, name: str = "{}") -> None:
    for number, file in enumerate(NAMES):
        good, bad = f"{number},v{first}\n", f"{first + number},w\n"
        shop.land(f"landing/orders/{file}", f"id,v\n{good}{bad}x,bad\n")


def test_files_with_dollars_in_their_names_are_replaced_and_forgotten(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS})
    _land(shop, 10)
    shop.must_run()
    _land(shop, 20)
    account = shop.must_run().published["bronze.orders"].account
    assert (account.read, account.inserted, account.deleted, account.quarantined) == (12, 8, 8, 4)
    assert shop.count("bronze.orders") == 8
    assert [row["source_file"].rpartition("/")[2] for row in shop.quarantine("bronze.orders")] == sorted(
        NAMES
    )

    forgotten = shop.forget("bronze.orders", *(f"landing/orders/{name}" for name in NAMES[:3]))
    assert (forgotten.deleted, shop.count("bronze.orders"), len(shop.quarantine("bronze.orders"))) == (
        6,
        2,
        1,
    )
    shop.must_run()
    assert (shop.count("bronze.orders"), len(shop.quarantine("bronze.orders"))) == (8, 4)


def test_rows_of_a_file_that_are_not_found_stop_the_batch(
    make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the cause: here the statement that deletes them misses them."""
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS})
    _land(shop, 10)
    shop.must_run()
    _land(shop, 20)
    before = shop.state("bronze.orders").head
    with monkeypatch.context() as patch:
        patch.setattr(earlier_rows, "literal", lambda text: f"'no {text}'")
        assert [problem.code for problem in shop.run().problems] == ["LS619"]
        with pytest.raises(LakesmithError, match="LS619"):
            shop.forget("bronze.orders", "landing/orders/plain.csv")
    assert shop.state("bronze.orders").head == before
    assert shop.must_run().published["bronze.orders"].account.deleted == 8


def test_what_queries_and_conditions_say_is_not_filled_in(make_shop: MakeShop) -> None:
    shop = make_shop({"tables/bronze/orders.yaml": ORDERS, "tables/silver/orders.yaml": KEYED})
    user = os.environ.get("USER", "root")
    rows = ["1,${env:HOME}", f"2,{HOME}", "3,${system:user.name}", f"4,{user}", "5,$"]
    shop.take("landing/orders/1.csv", "\n".join(["id,v", *rows, ""]))
    literal = "${env:HOME}"
    assert shop.rows("silver.orders") == [(2, HOME, literal), (4, user, literal), (5, "$", literal)]
    assert [row["reasons"] for row in shop.quarantine("silver.orders")] == [
        ['ColumnValues "v" != "${system:user.name}"']
    ]
    asked = "SELECT '${env:HOME}' AS a, 'it costs ${amount}' AS b, '${spark.app.name}' AS c"
    with run_query(shop.handle, asked) as result:
        assert list(result.rows) == [("${env:HOME}", "it costs ${amount}", "${spark.app.name}")]
