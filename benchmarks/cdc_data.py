"""The change-capture workload: a table of orders, then batches of changes with random keys, as they really
come.

Seeded. The first rows are made column by column by Arrow, which takes seconds for millions; the changes row
by row. A share of the changes (``odd``) is out of order: deletes delivered a batch before their insert,
deletes older than the update delivered before them, exact copies of rows of deleted keys; every second batch
has a back-dated file.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

COLUMNS = {
    "op": "string",
    "changed_at": "timestamp",
    "order_id": "bigint",
    "customer_id": "bigint",
    "region": "string",
    "category": "string",
    "quantity": "int",
    "amount": "decimal(12,2)",
}
REGIONS = ("africa", "asia", "central", "east", "north", "oceania", "south", "west")
CATEGORIES = (
    "books", "cameras", "clothes", "food", "furniture", "games", "garden", "kitchen",
    "lights", "music", "office", "pets", "phones", "shoes", "sports", "toys",
)  # fmt: skip
START = datetime(2024, 1, 1, tzinfo=UTC)
ROWS_PER_FILE = 625_000
LATE_SHARE = 0.05
Row = tuple[str, ...]


def write_first(folder: Path, rows: int) -> list[Path]:
    """The first ``rows`` rows, all inserts, in files of at most ``ROWS_PER_FILE``."""
    folder.mkdir(parents=True)
    starts = range(0, rows, ROWS_PER_FILE)
    return [
        _write_part(folder / f"first_{begin:09d}.csv", begin, min(begin + ROWS_PER_FILE, rows))
        for begin in starts
    ]


def _write_part(path: Path, begin: int, end: int) -> Path:
    import pyarrow.csv

    pyarrow.csv.write_csv(_first_rows(begin, end), path, pyarrow.csv.WriteOptions(quoting_style="none"))
    return path


def _first_rows(begin: int, end: int) -> Any:
    """Rows of the keys ``begin`` to ``end``: each column from bits of the mixed key, one row a
    millisecond.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    key = pa.array(range(begin, end), pa.int64())
    # Fibonacci hashing: the product wraps, its upper bits look random.
    mixed = pc.multiply(key, pa.scalar(-7046029254386353131, pa.int64()))

    def bits(shift: int, count: int) -> Any:
        return pc.bit_wise_and(pc.shift_right(mixed, shift), (1 << count) - 1)

    at = pc.add(key, int(START.timestamp() * 1000)).cast(pa.timestamp("ms"))
    columns = (
        pa.repeat("I", len(key)), at, key, bits(20, 18),
        pa.array(REGIONS).take(bits(60, 3)), pa.array(CATEGORIES).take(bits(56, 4)),
        pc.add(bits(50, 3), 1), pc.divide(bits(30, 16).cast(pa.float64()), 100.0),
    )  # fmt: skip
    return pa.table(dict(zip(COLUMNS, columns, strict=True)))


@dataclass
class Changes:
    """Makes the batches, one after another. ``rows`` is how many first rows there are."""

    rows: int
    seed: int
    odd: float = 0.01
    number: int = 0
    written: list[Row] = field(default_factory=list)
    owed: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.next_key = self.rows
        self.clock = START + timedelta(milliseconds=self.rows) + timedelta(days=1)

    def write_batch(self, folder: Path, size: int) -> list[Path]:
        """The next batch of ``size`` changes; the last tenth of every second one comes in a back-dated
        file.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self.number += 1
        rows, self.owed = self.owed, []
        while len(rows) < size:
            rows.extend(self._next())
        self.written = self.rng.sample(rows, min(len(rows), 2_000))
        late = round(size * LATE_SHARE) if self.odd and self.number % 2 == 0 else 0
        files = [_write(folder / f"changes_{self.number:04d}.csv", rows[: size - late])]
        if late:
            files.append(_write(folder / f"changes_{self.number:04d}_late.csv", rows[size - late :]))
            os.utime(files[-1], ((START - timedelta(days=30)).timestamp(),) * 2)
        return files

    def _next(self) -> Iterator[Row]:
        if self.rng.random() < self.odd:
            yield from self.rng.choice((self._early_delete, self._stale_delete, self._copy_of_deleted))()
            return
        op = self.rng.choices("IUD", weights=(20, 70, 10))[0]
        yield self._row(op, self._new_key() if op == "I" else self.rng.randrange(self.next_key))

    def _early_delete(self) -> list[Row]:
        key = self._new_key()
        self.owed.append(self._row("I", key))
        return [self._row("D", key)]

    def _stale_delete(self) -> list[Row]:
        key = self.rng.randrange(self.next_key)
        self.owed.append(self._row("D", key))
        return [self._row("U", key)]

    def _copy_of_deleted(self) -> list[Row]:
        """Deletes a row that came with the batch before; its last version comes once more with the next."""
        alive = [row for row in self.written[:50] if row[0] != "D"]
        if not alive:
            return [self._row("I", self._new_key())]
        row = self.rng.choice(alive)
        self.owed.append(row)
        return [self._row("D", int(row[2]))]

    def _new_key(self) -> int:
        self.next_key += 1
        return self.next_key - 1

    def _row(self, op: str, key: int) -> Row:
        """A version of the key at a time of its own. A delete carries its key and nothing else."""
        self.clock += timedelta(milliseconds=1)
        head = (op, f"{self.clock:%Y-%m-%d %H:%M:%S.%f}"[:-3], str(key))
        if op == "D":
            return (*head, "", "", "", "", "")
        rng = self.rng
        names = (rng.choice(REGIONS), rng.choice(CATEGORIES))
        return (
            *head,
            str(rng.randrange(2**18)),
            *names,
            str(rng.randint(1, 8)),
            f"{rng.randrange(65536) / 100:.2f}",
        )


def _write(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(",".join(row) + "\n" for row in (tuple(COLUMNS), *rows)))
    return path
