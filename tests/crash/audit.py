"""Holds a lake against the oracle and against its own records. Reads it with PyIceberg, not with lakesmith.

What is checked of every published table, whatever happened to the runs: it equals its definition over its
inputs at the positions its record names (law 1); its records are one unbroken chain whose accounts add up
(law 3); its sidecars, at the versions the record pins, hold what they must and nothing twice (law 2).
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

from killed_shop import (
    Order,
    Shop,
    Silver,
    bronze,
    gold_by_customer,
    silver_order_log,
    silver_order_versions,
    silver_orders,
)
from read_elsewhere import catalog_of

RECORD = "lakesmith.record"
TABLES = ("bronze.orders", "silver.orders", "silver.order_log", "gold.by_customer")
VERSIONS = "silver.order_versions"
"""A table that not every shop has."""

MOVES = (
    "inserted", "updated", "deleted", "unchanged", "superseded", "filtered", "quarantined", "absent_deletes",
)  # fmt: skip

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Published:
    """A table at main's head: the records on the way to it, newest first, by the snapshot that carries each.

    ``above``: what was done to main since the newest record, by others."""

    table: Any
    head: int
    records: dict[int, dict[str, Any]]
    above: frozenset[str]
    _read: dict[int, Rows] = field(default_factory=dict)

    @property
    def record(self) -> dict[str, Any]:
        return next(iter(self.records.values()))

    def rows(self, snapshot: int | None = None) -> Rows:
        """Returns all rows, at the head or at a snapshot. They are read once: the table has many batches."""
        at = snapshot or self.head
        if at not in self._read:
            self._read[at] = self.table.scan(snapshot_id=at).to_arrow().to_pylist()
        return self._read[at]


class Audit:
    """One look at a shop's lake.

    ``expired``: others have expired snapshots, so the oldest records may be gone. ``rewritten``: the tables
    whose rows others have changed, so that a batch need not have begun with the rows that the one before it
    left.
    """

    def __init__(self, shop: Shop, expired: bool = False, rewritten: frozenset[str] = frozenset()) -> None:
        self.shop = shop
        self.expired = expired
        self.rewritten = rewritten
        self._published: dict[str, Published | None] = {}

    @cached_property
    def catalog(self) -> Any:
        return catalog_of(self.shop.root)

    def table(self, name: str) -> Any:
        from pyiceberg.exceptions import NoSuchTableError
        from sqlalchemy.exc import OperationalError

        try:
            return self.catalog.load_table(name)
        except (NoSuchTableError, OperationalError):
            return None

    def published(self, name: str) -> Published | None:
        """What is published of a table, None when nothing is; looked at once."""
        if name not in self._published:
            self._published[name] = self._look(name)
        return self._published[name]

    def _look(self, name: str) -> Published | None:
        table = self.table(name)
        main = table.metadata.refs.get("main") if table is not None else None
        if main is None:
            return None
        records: dict[int, dict[str, Any]] = {}
        above: set[str] = set()
        snapshot = table.metadata.snapshot_by_id(main.snapshot_id)
        while snapshot is not None:
            text = snapshot.summary.additional_properties.get(RECORD)
            if text is not None:
                records[snapshot.snapshot_id] = json.loads(text)
            elif not records:
                above.add(snapshot.summary.operation.value)
            parent = snapshot.parent_snapshot_id
            snapshot = table.metadata.snapshot_by_id(parent) if parent is not None else None
        return Published(table, main.snapshot_id, records, frozenset(above))

    def sidecar(self, of: Published, kind: str, name: str) -> Rows:
        """A sidecar's rows at the version that the newest record pins; none when it pins none."""
        pin = of.record["sidecars"].get(kind)
        if pin is None or pin["snapshot"] is None:
            return []
        table = self.catalog.load_table(f"lakesmith.{name.replace('.', '__')}__{kind}")
        assert str(table.metadata.table_uuid) == pin["uuid"]
        return table.scan(snapshot_id=pin["snapshot"]).to_arrow().to_pylist()  # type: ignore[no-any-return]

    def check(self) -> None:
        """Everything that must hold at any moment."""
        for name in (*TABLES, VERSIONS):
            published = self.published(name)
            if published is None:
                continue
            _check_chain(name, published, self)
            _CHECKS[name](self, published)

    def check_complete(self) -> None:
        """After a run that ended well: everything that landed is there, in every table, and nothing else."""
        self.check()
        all_bronze = bronze(self.shop.newest())
        bronze_rows = self.rows("bronze.orders", "order_id", "customer", "amount", "op", "changed_at")
        assert bronze_rows == Counter(order[:5] for order in all_bronze.good)
        silver = silver_orders(all_bronze.good)
        assert self.rows("silver.orders", "order_id", "customer", "amount", "op", "changed_at") == silver.rows
        log = silver_order_log(all_bronze.good)
        assert self.rows("silver.order_log", "order_id", "customer", "amount") == log.rows
        assert self.rows("gold.by_customer", "customer", "orders", "amount") == gold_by_customer(silver.rows)
        if self.published(VERSIONS):
            assert self.rows(VERSIONS, *_VERSIONED) == silver_order_versions(all_bronze.good).rows
        for name in TABLES:
            refs = self.catalog.load_table(name).metadata.refs
            assert not [ref for ref in refs if ref.startswith("lakesmith_work_")], f"left in {name}: {refs}"

    def kinds(self) -> Counter[str]:
        """How tables were refreshed, by how many batches."""
        published = filter(None, map(self.published, (*TABLES, VERSIONS)))
        return Counter(record["kind"] for each in published for record in each.records.values())

    def rows(self, name: str, *columns: str) -> Counter[tuple[object, ...]]:
        published = self.published(name)
        assert published is not None, f"{name} was not published"
        return _tuples(published.rows(), *columns)


def _tuples(rows: Rows, *columns: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row[column] for column in columns) for row in rows)


def _check_chain(name: str, published: Published, audit: Audit) -> None:
    """Only compaction follows the newest record; each record continues the last; each account adds up."""
    records = list(published.records.values())
    assert published.above <= {"replace"}, f"{name}: {published.above} after the newest record"
    oldest = records[-1]
    if not audit.expired:
        assert (oldest["batch"], oldest["parent"], oldest["account"]["rows_before"]) == (1, None, 0), name
    for record, before in pairwise(records):
        assert (record["batch"], record["parent"]) == (before["batch"] + 1, before["attempt"]), name
        continued = record["account"]["rows_before"] == before["account"]["rows_after"]
        assert continued or name in audit.rewritten, name
    for record in records:
        _check_account(name, record)
    assert records[0]["account"]["rows_after"] == len(published.rows()), name


def _check_account(name: str, record: dict[str, Any]) -> None:
    account = record["account"]
    moved = account["inserted"] - account["deleted"]
    assert account["rows_before"] + moved == account["rows_after"], (name, record)
    if record["by_row"] and account["versions"]:
        did = sum(account["versions"].values())
        assert account["read"] == did + sum(account[move] for move in MOVES[3:]), (name, record)
    elif record["by_row"]:
        # What a full refresh or a replaced file takes away was read by an earlier batch.
        earlier = account["deleted"] if record["kind"] in ("full", "files") else 0
        assert account["read"] == sum(account[move] for move in MOVES) - earlier, (name, record)


def _check_bronze(audit: Audit, published: Published) -> None:
    lines = audit.sidecar(published, "files", "bronze.orders")
    _check_attempts(audit, published, lines)
    newest: dict[str, Any] = {}
    for line in sorted(lines, key=lambda line: line["batch"]):
        newest[line["path"]] = line
    versions = Counter((line["path"], line["size"]) for line in lines)
    assert max(versions.values()) == 1, f"taken twice: {versions.most_common(3)}"
    expected = bronze({path: audit.shop.text_of(path, line["size"]) for path, line in newest.items()})
    wanted = Counter((*order[:5], order.file, order.position) for order in expected.good)
    columns = ("order_id", "customer", "amount", "op", "changed_at", "_source_file", "_source_position")
    assert _tuples(published.rows(), *columns) == wanted
    _check_bronze_quarantine(audit, published, newest)


def _check_attempts(audit: Audit, published: Published, lines: Rows) -> None:
    """Every line is of a published attempt; of batches whose record has expired, of one attempt each."""
    attempts = {record["batch"]: record["attempt"] for record in published.records.values()}
    oldest = min(attempts)
    for batch, attempt in sorted({(line["batch"], line["attempt"]) for line in lines}):
        if audit.expired and batch < oldest:
            assert attempts.setdefault(batch, attempt) == attempt, f"two attempts of batch {batch}"
        else:
            assert attempts.get(batch) == attempt, (
                f"batch {batch}: lines of an attempt that counts for nothing"
            )


def _check_bronze_quarantine(audit: Audit, published: Published, newest: dict[str, Any]) -> None:
    """Bad rows of replaced files stay on record: only those of the newest versions are compared."""
    attempts = {line["attempt"] for line in newest.values()}
    bad = [
        row for row in audit.sidecar(published, "quarantine", "bronze.orders") if row["attempt"] in attempts
    ]
    current = {(path, line["attempt"]) for path, line in newest.items()}
    found = Counter(
        (row["source_file"], row["source_position"])
        for row in bad
        if (row["source_file"], row["attempt"]) in current
    )
    expected = bronze({path: audit.shop.text_of(path, line["size"]) for path, line in newest.items()})
    assert found == Counter(expected.bad)
    assert all("oops" in row["raw"] and row["reasons"] for row in bad)


def _bronze_at(audit: Audit, published: Published) -> list[Order]:
    """The rows of bronze that a table has consumed."""
    source = audit.published("bronze.orders")
    assert source is not None
    rows = source.rows(published.record["inputs"]["bronze.orders"]["snapshot"])
    names = (
        "order_id", "customer", "amount", "op", "changed_at", "_batch", "_source_file", "_source_position",
    )  # fmt: skip
    return [Order(*(row[name] for name in names)) for row in rows]


def _check_silver_orders(audit: Audit, published: Published) -> None:
    expected = silver_orders(_bronze_at(audit, published))
    columns = ("order_id", "customer", "amount", "op", "changed_at")
    assert _tuples(published.rows(), *columns) == expected.rows
    bad = audit.sidecar(published, "quarantine", "silver.orders")
    assert Counter(map(_order_in_quarantine, bad)) == expected.bad
    _check_tombstones(audit.sidecar(published, "tombstones", "silver.orders"), expected)


def _check_tombstones(found: Rows, expected: Silver) -> None:
    buried: dict[int, Any] = {}
    for row in found:
        known = buried.get(row["order_id"])
        buried[row["order_id"]] = max(known, row["changed_at"]) if known else row["changed_at"]
    assert {key: buried.get(key) for key in expected.gone} == expected.gone


_VERSIONED = ("order_id", "customer", "amount", "op", "changed_at", "valid_from", "valid_to", "is_current")


def _check_order_versions(audit: Audit, published: Published) -> None:
    expected = silver_order_versions(_bronze_at(audit, published))
    assert _tuples(published.rows(), *_VERSIONED) == expected.rows
    _check_tombstones(audit.sidecar(published, "tombstones", VERSIONS), expected)


def _order_in_quarantine(row: dict[str, Any]) -> tuple[object, ...]:
    values = json.loads(row["row"])
    moment = datetime.fromisoformat(values["changed_at"])
    return values.get("order_id"), values.get("customer"), values.get("amount"), values["op"], moment


def _check_order_log(audit: Audit, published: Published) -> None:
    expected = silver_order_log(_bronze_at(audit, published))
    assert _tuples(published.rows(), "order_id", "customer", "amount") == expected.rows
    bad = [json.loads(row["row"]) for row in audit.sidecar(published, "quarantine", "silver.order_log")]
    found = Counter((row.get("order_id"), row.get("customer"), row.get("amount")) for row in bad)
    assert found == expected.bad


def _check_gold(audit: Audit, published: Published) -> None:
    source = audit.published("silver.orders")
    assert source is not None
    rows = source.rows(published.record["inputs"]["silver.orders"]["snapshot"])
    expected = gold_by_customer((row["order_id"], row["customer"], row["amount"]) for row in rows)
    assert _tuples(published.rows(), "customer", "orders", "amount") == expected


_CHECKS = {
    "bronze.orders": _check_bronze, "silver.orders": _check_silver_orders,
    "silver.order_log": _check_order_log, VERSIONS: _check_order_versions, "gold.by_customer": _check_gold,
}  # fmt: skip
