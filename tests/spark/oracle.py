"""What keyed tables must hold, in plain Python: independent of how lakesmith and Spark get there.

A history is a list of *arrivals*: rows as they came, each with its batch, file and position. The state of a
keyed table after any prefix of it is decided key by key by the greatest version, and by nothing else.
"""

import csv
import io
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

COLUMNS = ("id", "seq", "seq2", "op", "val", "price")


@dataclass(frozen=True)
class Arrival:
    """A row and when it came. The order of arrivals is that of (``batch``, ``file``, ``position``)."""

    row: Row
    batch: int
    file: str
    position: int

    @property
    def order(self) -> tuple[int, str, int]:
        return (self.batch, self.file, self.position)


@dataclass(frozen=True)
class Keyed:
    """A keyed table's settings. ``by_arrival``: False if only values settle ties. ``newest``: nulls are."""

    key: tuple[str, ...]
    latest_by: tuple[str, ...] = ()
    deletes: Callable[[Row], bool] = lambda _row: False
    good: Callable[[Row], bool] = lambda _row: True
    keep: Callable[[Row], bool] = lambda _row: True
    by_arrival: bool = True
    newest: bool = False

    def counts(self, row: Row) -> bool:
        """Whether nothing is wrong with a row that has a key."""
        if not self.deletes(row):
            return self.good(row)
        return self.newest or all(row[name] is not None for name in self.latest_by)

    def version(self, row: Row) -> tuple[Any, ...]:
        nulls = 2 if self.newest else 0
        return tuple((nulls,) if row[name] is None else (1, row[name]) for name in self.latest_by)


@dataclass(frozen=True)
class State:
    """The state after a history: rows by key, deleted keys with the deleting version, number of bad rows."""

    rows: Mapping[tuple[Any, ...], Row]
    deleted: Mapping[tuple[Any, ...], tuple[Any, ...]]
    bad: int


def state_of(arrivals: Iterable[Arrival], table: Keyed) -> State:
    """The state of ``table`` after ``arrivals``, in whatever order they are given."""
    winners: dict[tuple[Any, ...], Arrival] = {}
    bad = 0
    for arrival in arrivals:
        row = arrival.row
        if not table.keep(row):
            continue
        key = tuple(row[name] for name in table.key)
        if None in key or not table.counts(row):
            bad += 1
        elif key not in winners or standing(arrival, table) > standing(winners[key], table):
            winners[key] = arrival
    rows = {key: arrival.row for key, arrival in winners.items() if not table.deletes(arrival.row)}
    deleted = {
        key: tuple(arrival.row[name] for name in table.latest_by)
        for key, arrival in winners.items()
        if table.deletes(arrival.row)
    }
    return State(rows, deleted, bad)


def standing(arrival: Arrival, table: Keyed) -> tuple[Any, ...]:
    latest = table.version(arrival.row)
    if table.by_arrival:
        return (latest, arrival.order)
    settled = {*table.key, *table.latest_by}
    values = tuple(_comparable(value) for name, value in arrival.row.items() if name not in settled)
    return (latest, table.deletes(arrival.row), values)


def _comparable(value: Any) -> tuple[Any, ...]:
    return (0,) if value is None else (1, value)


@dataclass(frozen=True)
class LandingFile:
    """A CSV file: ``columns`` in the order of its header, ``rows`` by name; ``broken`` lines do not parse."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    broken: frozenset[int] = frozenset()
    back_dated: bool = False

    @property
    def text(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        for number, row in enumerate(self.rows):
            fields = ["" if row[name] is None else str(row[name]) for name in self.columns]
            if number in self.broken:
                fields[self.columns.index("seq")] = "not a number"
            writer.writerow(fields)
        return out.getvalue()

    def arrivals(self, batch: int, folder: str) -> list[Arrival]:
        """The rows that parse, as they arrive in a batch."""
        return [
            Arrival(row, batch, f"{folder}{self.name}", position)
            for position, row in enumerate(self.rows, start=1)
            if position - 1 not in self.broken
        ]


def random_history(seed: int, batches: int) -> list[list[LandingFile]]:
    """A history of ``batches`` batches of several files. Few keys and versions: everything collides."""
    chance = random.Random(seed)
    seen: list[Row] = []
    return [_random_batch(chance, batch, seen) for batch in range(batches)]


def _random_batch(chance: random.Random, batch: int, seen: list[Row]) -> list[LandingFile]:
    # File names do not rise with time: a later batch can bring a file whose name is first in the alphabet.
    names = [f"{chance.randrange(100):02d}-{batch}-{number}.csv" for number in range(chance.randint(1, 4))]
    return [_random_file(chance, name, seen) for name in names]


def _random_file(chance: random.Random, name: str, seen: list[Row]) -> LandingFile:
    columns = chance.sample(COLUMNS, len(COLUMNS))
    rows = [_random_row(chance, seen) for _ in range(chance.choice((0, 1, 5, 12)))]
    seen.extend(rows)
    broken = frozenset(number for number in range(len(rows)) if chance.random() < 0.05)
    return LandingFile(name, tuple(columns), tuple(rows), broken, chance.random() < 0.3)


def _random_row(chance: random.Random, seen: Sequence[Row]) -> Row:
    if seen and chance.random() < 0.2:
        return chance.choice(seen)
    return {
        "id": chance.choice((1, 2, 3, 4, 5, 6, None) if chance.random() < 0.3 else (1, 2, 3, 4, 5, 6)),
        "seq": chance.choice((1, 2, 3, 4, None)),
        "seq2": chance.choice((1, 2, None)),
        "op": chance.choice(("I", "U", "U", "D", None)),
        "val": chance.choice(("a", "b", "c", None)),
        "price": chance.choice((1, 2, 3, 4, 0, None)),
    }
