"""Makes replication files for this example, as many as asked: seeded, so the same call makes the same files.

    python generate.py --files 12 --rows-per-file 500 --seed 7 --bad 0.01 --out landing/invoices

Each file is a tab-separated stream of inserts, updates and deletes (``Op`` I, U, D) of one table, in the
order in which the replication tool delivered them, which is not always the order in which they happened:

* early deletes: a delete delivered one file before the insert of its row;
* stale deletes: a row deleted and inserted again, and the delete delivered after the newer insert;
* copies: an insert of a row that has been deleted since, delivered once more, exactly alike;
* back-dated files: every fourth file has a modification time a month before those of the files delivered
  earlier;
* bad rows (``--bad``): a price or a quantity that cannot be, or that is not a number. They never carry the
  newest word
  on a row: each is an insert of a row of its own.

Deletes carry their key and nothing else. Files that are there already are left alone: a larger ``--files``
adds files. Plain Python, nothing to install.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

HEADER = (
    "Op", "replicadmstimestamp", "invoiceid", "itemid", "category", "price", "quantity", "orderdate",
    "destinationstate", "shippingtype", "referral",
)  # fmt: skip
PRICES = {"Books": 18.0, "Garden": 42.0, "Kitchen": 65.0, "Music": 24.0, "Sports": 88.0, "Toys": 29.0}
STATES = ("CA", "CO", "FL", "IL", "MA", "NY", "OR", "TX", "WA")
SHIPPING = ("2-Day", "3-Day", "Ground", "Next-Day")
REFERRALS = ("email", "organic", "partner", "search", "")
START = datetime(2024, 6, 3, 9, 0, tzinfo=UTC)
FILE_EVERY = timedelta(minutes=15)

Key = tuple[int, int]
Row = tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """What to make. ``bad`` and ``odd`` are shares of a file's rows, between 0 and 1."""

    files: int
    rows_per_file: int
    seed: int
    bad: float = 0.0
    odd: float = 0.03


@dataclass(frozen=True)
class Arrival:
    """One file as delivered; ``modified`` becomes its modification time."""

    name: str
    rows: tuple[Row, ...]
    modified: datetime


@dataclass
class Database:
    """The replicated table while the stream is made: the newest row of each live key, and what is owed.

    ``clock`` grows with every change, so no two changes of the table share a time.
    """

    rng: random.Random
    clock: datetime = START
    next_invoice: int = 500_001
    live: dict[Key, Row] = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    deleted: list[Row] = field(default_factory=list)
    owed: list[Row] = field(default_factory=list)

    def tick(self) -> str:
        """The time of the next change, to the microsecond."""
        self.clock += timedelta(microseconds=self.rng.randint(1_000, 900_000))
        return f"{self.clock:%Y-%m-%d %H:%M:%S.%f}"

    def insert(self) -> Row:
        """A row of a new key."""
        key = (self.next_invoice, self.rng.randint(1, 9))
        self.next_invoice += 1
        return self._put("I", key)

    def _put(self, op: str, key: Key) -> Row:
        row = self._row(op, key)
        if key not in self.live:
            self.keys.append(key)
        self.live[key] = row
        return row

    def _row(self, op: str, key: Key) -> Row:
        """A version of the row: an update has another price, quantity and shipping, the rest stays."""
        rng = self.rng
        category = tuple(PRICES)[key[1] % len(PRICES)]
        price = PRICES[category] * rng.uniform(0.5, 2.0)
        ordered, state, referral = self._order(key)
        facts = (
            category,
            f"{price:.2f}",
            str(rng.randint(1, 12)),
            ordered,
            state,
            rng.choice(SHIPPING),
            referral,
        )
        return (op, self.tick(), *map(str, key), *facts)

    def _order(self, key: Key) -> tuple[str, str, str]:
        """What never changes of an order: its date, its state, its referral."""
        if key in self.live:
            return self.live[key][7], self.live[key][8], self.live[key][10]
        ordered = self.clock.date() - timedelta(days=self.rng.randint(0, 20))
        return str(ordered), self.rng.choice(STATES), self.rng.choice(REFERRALS)

    def update(self) -> Row:
        """A newer version of a live row, of a new one when none is alive."""
        return self._put("U", self.rng.choice(self.keys)) if self.keys else self.insert()

    def delete(self) -> Row:
        """The delete of a live row: its key and nothing else."""
        if not self.keys:
            return self.insert()
        index = self.rng.randrange(len(self.keys))
        self.keys[index], self.keys[-1] = self.keys[-1], self.keys[index]
        key = self.keys.pop()
        self.deleted.append(self.live.pop(key))
        return _delete(self.tick(), key)

    def early_delete(self) -> list[Row]:
        """The delete of a row whose insert is owed: it will come with the next file."""
        row = self.insert()
        key = self.keys.pop()
        del self.live[key]
        self.owed.append(row)
        return [_delete(self.tick(), key)]

    def stale_delete(self) -> list[Row]:
        """A row that was deleted and came back: the newer insert first, then the older delete."""
        first = self.insert()
        key = self.keys[-1]
        gone = _delete(self.tick(), key)
        return [first, self._put("I", key), gone]

    def copy_of_deleted(self) -> list[Row]:
        """The last words of a row that has been deleted since, once more."""
        return [self.rng.choice(self.deleted)] if self.deleted else [self.insert()]

    def bad(self) -> Row:
        """An insert, of a key of its own, whose price or quantity cannot be."""
        row = self._row("I", (self.next_invoice, self.rng.randint(1, 9)))
        self.next_invoice += 1
        column, value = self.rng.choice(
            ((5, "-4.99"), (5, "0.00"), (5, "N/A"), (6, "0"), (6, "-3"), (6, "99999"))
        )
        return (*row[:column], value, *row[column + 1 :])


def _delete(at: str, key: Key) -> Row:
    return ("D", at, *map(str, key), *[""] * (len(HEADER) - 4))


def arrivals(settings: Settings) -> Iterator[Arrival]:
    """The files in the order in which they are delivered."""
    database = Database(random.Random(settings.seed))
    for number in range(settings.files):
        delivered = START + FILE_EVERY * (number + 1)
        database.clock = max(database.clock, delivered - FILE_EVERY)
        rows, database.owed = database.owed, []
        while len(rows) < settings.rows_per_file:
            rows.extend(_changes(database, settings, first_file=number == 0))
        # The last of every four is written with a clock that is wrong by a month.
        modified = delivered - timedelta(days=30) if number % 4 == 3 else delivered
        yield Arrival(f"{delivered:%Y%m%d-%H%M}.tsv", tuple(rows), modified)


def _changes(database: Database, settings: Settings, first_file: bool) -> list[Row]:
    """The next change, or one of the odd sequences."""
    rng = database.rng
    if rng.random() < settings.bad:
        return [database.bad()]
    if rng.random() < settings.odd:
        return rng.choice((database.early_delete, database.stale_delete, database.copy_of_deleted))()
    if first_file:
        return [database.insert()]
    change = rng.choices((database.insert, database.update, database.delete), weights=(5, 4, 1))[0]
    return [change()]


def write(folder: Path, arrival: Arrival) -> bool:
    """Writes the file, whole or not at all, unless it is there. True when it was written."""
    path = folder / arrival.name
    if path.exists():
        return False
    # Readers take no hidden files, and renaming is atomic: nobody sees half a file.
    hidden = folder / f".{arrival.name}"
    hidden.write_text("".join("\t".join(row) + "\n" for row in (HEADER, *arrival.rows)), encoding="utf-8")
    os.utime(hidden, (arrival.modified.timestamp(),) * 2)
    hidden.rename(path)
    return True


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Makes replication files, seeded.")
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--rows-per-file", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("landing/invoices"))
    parser.add_argument("--bad", type=float, default=0.0, help="share of rows (default 0)")
    parser.add_argument("--odd", type=float, default=0.03, help="share of odd sequences (default 0.03)")
    options = vars(parser.parse_args(arguments))
    out: Path = options.pop("out")
    out.mkdir(parents=True, exist_ok=True)
    written = [arrival for arrival in arrivals(Settings(**options)) if write(out, arrival)]
    print(f"{len(written)} files, {sum(len(arrival.rows) for arrival in written)} rows in {out}")


if __name__ == "__main__":
    main()
