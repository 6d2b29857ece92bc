"""Rows that PyIceberg cannot read are said to be so, with the command that shows them."""

from equality_delete import delete_equal
from harness import Harness

import lakesmith
from page_server import served

FILES = {
    "tables/bronze/orders.yaml": "source: {files: {path: landing/, format: csv}}\n"
    "columns: {id: bigint, city: string}\n"
}
TAKEN = {"landing/1.csv": "id,city\n1,Oslo\n2,Rome\n"}


def test_equality_deletes_of_another_engine_are_not_read_and_never_shown_as_rows(shop: Harness) -> None:
    delete_equal(shop, "bronze.orders", "Rome")
    with served(shop.root) as page:
        found = page.get("/t/bronze.orders/rows")
        assert found.status == 400 and "LS533" in found.text and "quality deletes" in found.text
        assert "lakesmith query" in found.text and "<bdi>Oslo</bdi>" not in found.text
        points = lakesmith.open(shop.root).history("bronze.orders").points
        then = page.get(f"/t/bronze.orders/rows?as_of={points[-1].snapshot_id}")
        assert then.status == 200 and "<bdi>Rome</bdi>" in then.text
