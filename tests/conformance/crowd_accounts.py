"""What a crowd's lake must hold, worked out from what landed in plain Python, and read with PyIceberg."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from crowd import Crowd, Order, Payment
from left_behind import mentions
from pyiceberg.catalog import Catalog, load_catalog

from lakesmith.catalog.open import pyiceberg_properties
from lakesmith.project.definitions import TableName
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project
from lakesmith.sources.objects import bucket_and_key

Rows = list[tuple[Any, ...]]


class Accounts:
    """One look at the lake of a crowd that has ended."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd, erased = crowd, crowd.landed.erased
        self._orders = [order for order in crowd.landed.orders if order.customer not in erased]
        self._payments = [each for each in crowd.landed.payments if each.customer not in erased]
        self._target = parse_project(FolderFiles(crowd.root_of("writer 0")), "local").project.target
        self._catalog = self._opened()

    def require_all(self) -> None:
        """Every row that landed is in the tables once, or in quarantine once, or its person was erased."""
        good = [order for order in self._orders if order.amount > 0]
        bad = [order for order in self._orders if order.amount <= 0]
        assert self._rows("bronze.orders", *Order._fields) == sorted(self._orders)
        assert self._rows("bronze.payments", *Payment._fields) == sorted(self._payments)
        assert self._rows("silver.newest", *Order._fields) == sorted(self._newest())
        assert self._rows("silver.good", *Order._fields[:3]) == sorted(order[:3] for order in good)
        assert self._rows("gold.sums", "customer", "orders", "amount") == _sums(good)
        columns = ("payment_id", "order_id", "customer", "amount", "paid")
        assert self._rows("gold.paid", *columns) == self._paid()
        rows = [json.loads(row["row"]) for row in self._quarantine("silver.good")]
        assert sorted((row["order_id"], row["amount"]) for row in rows) == sorted(
            (order.order_id, order.amount) for order in bad
        )
        raw = sorted(row["raw"] for row in self._quarantine("bronze.orders"))
        assert raw == sorted(self._crowd.landed.bad)

    def require_nothing_of_the_erased(self, copy: Path) -> None:
        """No file of the lake or a member has an erased name. ``copy``: where files in S3 are copied to."""
        words = tuple(self._crowd.landed.erased)
        places = [self._crowd.root_of("eraser").parent.parent, self._fetched(copy)]
        found = [f"{place}/{file}" for place in places for file in mentions(place, words)]
        assert [file for file in found if "/landing/" not in file] == []
        landing = {file.rpartition("/landing/")[2] for file in found if "/landing/" in file}
        receipts = (self._crowd.root_of("eraser") / ".lakesmith/erasures").glob("*.json")
        told = [each["file"] for path in receipts for each in json.loads(path.read_text())["landing"]]
        assert told and landing.isdisjoint(file.rpartition("landing/")[2] for file in told)

    def _newest(self) -> Iterable[Order]:
        newest: dict[int, Order] = {}
        for order in sorted(self._orders, key=lambda order: order.version):
            newest[order.order_id] = order
        return [order for order in newest.values() if order.amount != -1]

    def _paid(self) -> Rows:
        orders = {order.order_id: order for order in self._newest()}
        found = [(paid, orders[paid.order_id]) for paid in self._payments if paid.order_id in orders]
        return sorted(
            (paid.payment_id, order.order_id, order.customer, order.amount, paid.paid)
            for paid, order in found
        )

    def _opened(self) -> Catalog:
        if self._crowd.place.is_remote:
            return load_catalog("lake", **pyiceberg_properties(self._target))
        state = self._crowd.root_of("writer 0") / ".lakesmith"
        return load_catalog(
            "lake", type="sql", uri=f"sqlite:///{state}/catalog.db", init_catalog_tables="false"
        )

    def _table(self, name: str) -> Any:
        return self._catalog.load_table(self._target.naming.physical(TableName.parse(name)))

    def _rows(self, name: str, *columns: str) -> Rows:
        found = self._table(name).scan().to_arrow().to_pylist()
        return sorted(tuple(row[column] for column in columns) for row in found)

    def _quarantine(self, name: str) -> list[dict[str, Any]]:
        """The rows that the table's newest record pins."""
        metadata = self._table(name).metadata
        snapshot = metadata.current_snapshot()
        while snapshot and "lakesmith.record" not in snapshot.summary.additional_properties:
            snapshot = metadata.snapshot_by_id(snapshot.parent_snapshot_id)
        record = json.loads(snapshot.summary.additional_properties["lakesmith.record"])
        pin = record["sidecars"]["quarantine"]["snapshot"]
        table = self._table(f"lakesmith.{name.replace('.', '__')}__quarantine")
        return table.scan(snapshot_id=pin).to_arrow().to_pylist()  # type: ignore[no-any-return]

    def _fetched(self, to: Path) -> Path:
        """The files in S3 of the place's landing folder and of the tables, brought here."""
        to.mkdir()
        if self._crowd.place.s3 is None:
            return to
        client = self._crowd.place.s3.client()
        tables = [
            each
            for namespace in self._catalog.list_namespaces()
            for each in self._catalog.list_tables(namespace)
        ]
        places = {self._catalog.load_table(each).metadata.location for each in tables}
        for place in (*places, self._crowd.place.landing):
            bucket, key = bucket_and_key(f"{place}/")
            for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=key):
                for found in page.get("Contents", ()):
                    if found["Key"].endswith("/"):
                        # What Hadoop has for an empty folder.
                        continue
                    path = to / found["Key"]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    client.download_file(bucket, found["Key"], str(path))
        return to


def _sums(orders: Iterable[Order]) -> Rows:
    sums: dict[str, tuple[int, int]] = {}
    for order in orders:
        count, amount = sums.get(order.customer, (0, 0))
        sums[order.customer] = (count + 1, amount + order.amount)
    return sorted((customer, *found) for customer, found in sums.items())
