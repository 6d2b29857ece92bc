"""Makes order files for this example, as many as asked: seeded, so the same call makes the same files.

    python generate.py --hours 48 --rows-per-hour 1000 --seed 7 --out landing/orders

One file an hour, plus what real deliveries bring with them:

* late files: some rows of an hour come one to three hours later in a file of their own, whose modification
  time is
  that of the hour the rows belong to, so it is older than that of files that were ingested before;
* duplicates: a row delivered twice, in one file or in two;
* exact ties: two versions of a customer with the same ``processed_time`` and different content;
* bad rows (``--bad``): no e-mail, no ``@`` in it, a ``customer_id`` that is not a number, no real time, a
  field
  short.

Files that are there already are left alone: a larger ``--hours`` adds the new hours and what arrives in them.
Plain Python, nothing to install.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

HEADER = ("customer_id", "name", "email", "city", "processed_time")
CITIES = ("Austin", "Boston", "Chicago", "Denver", "Portland", "Seattle", "San Jose", "Washington, DC")
NAMES = (
    "Aisha",
    "Dana",
    "Elena",
    "Hannah",
    "Ingrid",
    "John",
    "Kofi",
    "Lucas",
    "Mary",
    "Mateo",
    "Noor",
    "Olu",
)
SURNAMES = ("Adeyemi", "Carter", "Costa", "Haddad", "Levi", "Mensah", "Moreau", "Okafor", "Petrova", "Tanaka")
MAX_DELAY_HOURS = 3

Row = tuple[str, ...]


@dataclass(frozen=True)
class Settings:
    """What to make. The shares are of the rows of an hour, between 0 and 1; ``start`` is UTC."""

    hours: int
    rows_per_hour: int
    seed: int
    bad: float = 0.0
    late: float = 0.02
    duplicates: float = 0.01
    ties: float = 0.01
    start: datetime = datetime(2024, 6, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Arrival:
    """One file as delivered; ``modified`` becomes its modification time."""

    name: str
    rows: tuple[Row, ...]
    modified: datetime


def arrivals(settings: Settings) -> Iterator[Arrival]:
    """The files of ``settings.hours`` hours in the order in which they arrive."""
    held_back: dict[int, list[Arrival]] = {}
    for hour in range(settings.hours):
        on_time, late, delay = _hour(settings, hour)
        yield on_time
        if late.rows:
            held_back.setdefault(hour + delay, []).append(late)
        yield from held_back.pop(hour, [])


def _hour(settings: Settings, hour: int) -> tuple[Arrival, Arrival, int]:
    """The hour's own file, the late one, and by how many hours it is late."""
    # A generator of its own for each hour: asking for more hours never changes the earlier ones.
    rng = random.Random(f"{settings.seed}/{hour}")
    begin = settings.start + timedelta(hours=hour)
    rows = [_order(rng, settings, begin) for _ in range(settings.rows_per_hour)]
    rows += [row for row in rows if rng.random() < settings.duplicates]
    rows += [_tie(rng, row) for row in rows if rng.random() < settings.ties]
    rows = [_spoil(rng, row) if rng.random() < settings.bad else row for row in rows]
    late = [rng.random() < settings.late for _ in rows]
    name = f"orders_{begin:%Y%m%d_%H}"
    return (
        Arrival(f"{name}.csv", _pick(rows, late, False), begin + timedelta(hours=1)),
        Arrival(f"{name}_late.csv", _pick(rows, late, True), begin + timedelta(minutes=59)),
        rng.randint(1, MAX_DELAY_HOURS),
    )


def _pick(rows: list[Row], late: list[bool], wanted: bool) -> tuple[Row, ...]:
    return tuple(row for row, is_late in zip(rows, late, strict=True) if is_late is wanted)


def _order(rng: random.Random, settings: Settings, begin: datetime) -> Row:
    """An order by one of about five customers for each row of an hour; some have a second address."""
    customer = rng.randrange(max(20, settings.rows_per_hour * 5))
    # The name belongs to the customer, not to the order: it is drawn from the id.
    name, surname = NAMES[customer % len(NAMES)], SURNAMES[customer // len(NAMES) % len(SURNAMES)]
    domain = "example.org" if customer % 10 == 0 and rng.random() < 0.5 else "example.com"
    email = f"{name}.{surname}.{customer}@{domain}".lower()
    at = begin + timedelta(seconds=rng.randrange(3600))
    return (str(1001 + customer), name, email, rng.choice(CITIES), f"{at:%Y-%m-%d %H:%M:%S}")


def _tie(rng: random.Random, row: Row) -> Row:
    """Another version of the same customer at the same time."""
    return (row[0], row[1], row[2], rng.choice([city for city in CITIES if city != row[3]]), row[4])


def _spoil(rng: random.Random, row: Row) -> Row:
    """The row made bad in one of five ways."""
    customer_id, name, email, city, at = row
    return rng.choice(
        (
            (customer_id, name, "", city, at),
            (customer_id, name, email.replace("@", "(at)"), city, at),
            (f"C-{customer_id}", name, email, city, at),
            (customer_id, name, email, city, at[:5] + "13-45" + at[10:]),
            (customer_id, name, email, city),
        )
    )


def write(folder: Path, arrival: Arrival) -> bool:
    """Writes the file, whole or not at all, unless it is there. True when it was written."""
    path = folder / arrival.name
    if path.exists():
        return False
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows((HEADER, *arrival.rows))
    # Readers take no hidden files, and renaming is atomic: nobody sees half a file.
    hidden = folder / f".{arrival.name}"
    hidden.write_text(text.getvalue(), encoding="utf-8")
    os.utime(hidden, (arrival.modified.timestamp(),) * 2)
    hidden.rename(path)
    return True


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Makes order files, seeded.")
    parser.add_argument("--hours", type=int, default=48)
    parser.add_argument("--rows-per-hour", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("landing/orders"))
    for share, default in (("bad", 0.0), ("late", 0.02), ("duplicates", 0.01), ("ties", 0.01)):
        parser.add_argument(
            f"--{share}", type=float, default=default, help=f"share of rows (default {default})"
        )
    options = vars(parser.parse_args(arguments))
    out: Path = options.pop("out")
    out.mkdir(parents=True, exist_ok=True)
    written = [arrival for arrival in arrivals(Settings(**options)) if write(out, arrival)]
    print(f"{len(written)} files, {sum(len(arrival.rows) for arrival in written)} rows in {out}")


if __name__ == "__main__":
    main()
