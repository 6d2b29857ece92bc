"""The rows of histories, their bronze tables, and the keyed tables above those, in plain Python.

Rows are functions of their key and version alone, so that a row that comes twice is the same row, and no tie
is open.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]

ADDED = 500
"""Versions from here on are of files that have the added column."""
FOREIGN = 1000
"""What an update by others adds to a version."""

COLUMNS = {
    "orders": {
        "id": "int", "seq": "int", "op": "string", "customer": "int", "item": "string",
        "amount": "decimal(10,2)", "sold": "timestamp",
    },
    "customers": {"id": "int", "seq": "int", "op": "string", "city": "string"},
    "items": {"item": "string", "seq": "int", "op": "string", "category": "string", "price": "decimal(10,2)"},
}  # fmt: skip
KEYS: dict[str, tuple[int | str, ...]] = {
    "orders": tuple(range(12)),
    "customers": tuple(range(1, 7)),
    "items": tuple("abcd"),
}
CHANGED = {"orders": "amount = amount + 1", "customers": "city = 'Lyon'", "items": "category = 'tools'"}
"""What others change in a table, in SQL; ``changed`` says it in Python."""

OWN_COLUMNS = "_source_file, _source_position, _source_modified_at, _ingested_at, _batch"


def row_of(table: str, key: int | str, seq: int) -> Row:
    """The version ``seq`` of a row, from ``ADDED`` on with a note. Every fifth version is a delete."""
    dice = random.Random(f"{table} {key} {seq}")
    op = "D" if seq % 5 == 4 else dice.choice("IU")
    values = _VALUES[table](dice) if op != "D" else (None,) * (len(COLUMNS[table]) - 3)
    note = (dice.choice(("new", None)),) if seq >= ADDED and table == "orders" else ()
    return (key, seq, op, *values, *note)


def _order(dice: random.Random) -> Row:
    customer = dice.choice((None, 1, 2, 3, 4, 5, 6))
    amount = dice.choice((None, *(Decimal(dice.randrange(1, 9000)) / 100 for _ in range(5))))
    sold = datetime(2024, 6, 3) + timedelta(minutes=5 * dice.randrange(40))
    return customer, dice.choice((None, *"abcd")), amount, sold


def _customer(dice: random.Random) -> Row:
    return (dice.choice((None, "Oslo", "Rome", "Riga", "Bonn")),)


def _item(dice: random.Random) -> Row:
    return dice.choice((None, "toys", "tools")), Decimal(dice.randrange(1, 9000)) / 100


_VALUES: dict[str, Callable[[random.Random], Row]] = {
    "orders": _order,
    "customers": _customer,
    "items": _item,
}


def changed(table: str, row: Row) -> Row:
    """The row as ``CHANGED`` leaves it, a later version."""
    key, seq, op, *values = row
    if table == "orders":
        values[2] = None if values[2] is None else values[2] + 1
    else:
        values[0] = {"customers": "Lyon", "items": "tools"}[table]
    return (key, seq + FOREIGN, op, *values)


@dataclass(frozen=True)
class Newest:
    """How a keyed table is defined: whether deleted keys go, and whether some versions are left out."""

    deletes: bool = True
    filtered: bool = False

    def files(self, table: str) -> dict[str, str]:
        where = " WHERE seq % 7 <> 3" if self.filtered else ""
        deletes = "delete_when: \"op = 'D'\"\n" if self.deletes else ""
        text = (
            f"query: SELECT * EXCEPT ({OWN_COLUMNS}) FROM bronze.{table}{where}\n"
            f"key: [{next(iter(COLUMNS[table]))}]\nlatest_by: [seq]\n{deletes}"
        )
        return {f"tables/silver/{table}.yaml": text}

    def of(self, rows: Iterable[Row]) -> list[Row]:
        newest: dict[Any, Row] = {}
        for row in rows:
            if (not self.filtered or row[1] % 7 != 3) and (
                row[0] not in newest or row[1] >= newest[row[0]][1]
            ):
                newest[row[0]] = row
        return [row for row in newest.values() if not self.deletes or row[2] != "D"]


@dataclass
class Bronze:
    """A bronze table's rows and ingested files, now and at its earlier snapshots."""

    name: str
    landed: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    rows: tuple[Row, ...] = ()
    then: dict[int, tuple[frozenset[str], tuple[Row, ...]]] = field(default_factory=dict)

    def take(self) -> None:
        new = [row for file, rows in self.landed.items() if file not in self.taken for row in rows]
        self.rows, self.taken = (*self.rows, *new), frozenset(self.landed)
