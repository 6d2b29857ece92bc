"""Law 3 is checked: a batch whose row counts do not balance is not published, in any strategy."""

from dataclasses import replace

import pytest
from harness import Harness

from lakesmith.catalog.record import Account
from lakesmith.catalog.state import TableState
from lakesmith.project.definitions import TableName
from lakesmith.spark.batch import context as batch

ORDERS = """
source:
  files: {path: landing/orders/, format: csv}
columns: {id: int, at: int, city: string, amount: int}
"""
QUERY = "SELECT id, at, city, amount FROM bronze.orders"
FILES = {
    "tables/bronze/orders.yaml": ORDERS,
    "tables/silver/log.sql": "SELECT id, upper(city) AS city FROM bronze.orders WHERE amount > 0",
    "tables/silver/orders.yaml": f"query: {QUERY}\nkey: [id]\nlatest_by: [at]\n",
    "tables/silver/past.yaml": f"query: {QUERY}\nkey: [id]\nlatest_by: [at]\nhistory: type2\n",
    "tables/gold/summed.sql": "SELECT city, count(*) AS n, sum(amount) AS total FROM silver.orders"
    " GROUP BY city",
    "tables/gold/averaged.sql": "SELECT city, avg(amount) AS mean FROM silver.orders GROUP BY city",
    "tables/gold/whole.sql": "SELECT count(*) AS n, max(amount) AS most FROM silver.orders",
}
KINDS = {
    "bronze.orders": "files", "silver.log": "append", "silver.orders": "upsert", "silver.past": "upsert",
    "gold.summed": "sums", "gold.averaged": "keys", "gold.whole": "full",
}  # fmt: skip
MISCOUNTS = ("inserted", "read")
"""What is one too many: rows that do not exist, and, where rows are placed one by one, a lost row."""


@pytest.mark.in_turn
def test_a_batch_that_miscounts_is_not_published(shop: Harness, by_keys: None) -> None:
    shop.take("landing/orders/1.csv", "id,at,city,amount\n1,1,Oslo,5\n2,1,Rome,7\n3,1,Rome,0\n")
    shop.land("landing/orders/2.csv", "id,at,city,amount\n2,2,Oslo,9\n4,1,Bonn,1\n")
    for table, kind in KINDS.items():
        for miscount in MISCOUNTS:
            if miscount == "read" and not _places_rows(shop, table):
                continue
            assert _refused(shop, table, miscount) == ["LS610"], (table, miscount)
        assert shop.must_run(table).published[table].kind == kind
    assert shop.rows("gold.summed") == [("Bonn", 1, 1), ("Oslo", 2, 14), ("Rome", 1, 0)]
    assert shop.rows("gold.whole") == [(4, 9)]
    assert not shop.run().published


def _places_rows(shop: Harness, table: str) -> bool:
    """Whether the account of a table's batches says of each row that was read where it went."""
    return not table.startswith("gold") and shop.record(table).by_row


def _refused(shop: Harness, table: str, miscount: str) -> list[str]:
    """Returns the codes by which a run fails whose batch counts one too many; main stays where it is."""
    head = shop.state(table).head
    right = batch.checked_account

    def wrong(of: batch.Batch, draft: batch.Draft, state: TableState) -> Account:
        assert of.name == TableName.parse(table)
        account = replace(draft.account, **{miscount: getattr(draft.account, miscount) + 1})
        return right(of, replace(draft, account=account), state)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "checked_account", wrong)
        result = shop.run(table)
    assert (result.code, shop.state(table).head) == (1, head)
    return [problem.code for problem in result.problems]
