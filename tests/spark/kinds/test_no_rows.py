"""Where Spark knows that no rows come it leaves the counting out of its plan: the account is zeros."""

from harness import Harness, MakeShop

FILES = {
    "tables/bronze/orders.yaml": "source:\n  files: {path: landing/orders/, format: csv}\n"
    "columns: {id: bigint, price: int}\n",
    "tables/silver/none.sql": "SELECT id, price FROM bronze.orders WHERE false",
    "tables/silver/keyed.sql": "SELECT id, price FROM bronze.orders WHERE 1 = 0",
    "tables/silver/keyed.yaml": "key: [id]\n",
}


def test_queries_that_can_give_no_row(shop: Harness) -> None:
    published = shop.take("landing/orders/1.csv", "id,price\n1,2\n3,4\n").published
    for table in ("silver.none", "silver.keyed"):
        account = published[table].account
        assert (account.read, account.filtered, account.rows_after) == (2, 2, 0), table
    assert shop.take("landing/orders/2.csv", "id,price\n").published["bronze.orders"].account.rows_after == 2


ALL_BAD = {
    "tables/bronze/orders.yaml": "source:\n  files: {path: landing/orders/, format: csv}\n"
    "columns: {id: bigint, price: int}\n",
    "tables/silver/keyed.sql": "SELECT id, price FROM bronze.orders",
    "tables/silver/keyed.yaml": "key: [id]\nlatest_by: [price]\nrules: |\n"
    '  Rules = [ ColumnValues "price" > 10 ]\n',
}


def test_batches_of_nothing_but_bad_rows(make_shop: MakeShop) -> None:
    """Spark looks at a finished stage's rows, and drops what would read none from the rest of the plan."""
    shop = make_shop(ALL_BAD)
    first = shop.take("landing/orders/1.csv", "id,price\n1,2\n3,4\n").published["silver.keyed"].account
    assert (first.read, first.quarantined, first.rows_after) == (2, 2, 0)
    merged = shop.take("landing/orders/2.csv", "id,price\n5,6\n").published["silver.keyed"].account
    assert (merged.read, merged.quarantined, merged.rows_after) == (1, 1, 0)
