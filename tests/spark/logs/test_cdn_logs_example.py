"""examples/cdn-logs from files to golds and their export, against plain Python over the same files."""

import csv
import gzip
import re
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from harness import Harness, MakeShop

from example_files import EXAMPLES, load_generator

pytestmark = pytest.mark.in_turn("file", of=3)

EXAMPLE = EXAMPLES / "cdn-logs"
TABLES = {
    path.relative_to(EXAMPLE).as_posix(): re.sub(r"\$\{vars\.(\w+)\}", r"\1", path.read_text())
    for path in sorted((EXAMPLE / "tables").rglob("*")) if path.is_file()
}  # fmt: skip
generate = load_generator("cdn-logs")
Record = dict[str, str]


def records_in(folder: Path) -> dict[str, Record]:
    """The records of all files by their ids; lines that are cut or whose status is no number are none."""
    found: dict[str, Record] = {}
    for path in folder.iterdir():
        names: list[str] = []
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            if line.startswith("#Fields: "):
                names = line.removeprefix("#Fields: ").split(" ")
            elif not line.startswith("#"):
                values = line.split("\t")
                record = dict(zip(names, values, strict=False))
                if len(values) == len(names) and record["sc-status"].isdigit():
                    found[record["x-edge-request-id"]] = record
    return found


def percentile(values: list[float], share: float) -> float:
    ordered, at = sorted(values), share * (len(values) - 1)
    low = ordered[int(at)]
    return round(low + (at - int(at)) * (ordered[min(int(at) + 1, len(values) - 1)] - low), 3)


def summed(records: list[Record]) -> tuple[Any, ...]:
    hits = sum(each["x-edge-result-type"] == "Hit" and each["cs-method"] != "POST" for each in records)
    cacheable = sum(each["cs-method"] != "POST" and 200 <= int(each["sc-status"]) <= 399 for each in records)
    errors = sum(int(each["sc-status"]) >= 400 for each in records)
    ratio = round(hits / cacheable, 3) if cacheable else None
    taken = [float(each["time-taken"]) for each in records]
    return (
        *(len(records), sum(int(each["sc-bytes"]) for each in records), ratio, errors),
        *(percentile(taken, share) for share in (0.5, 0.95, 0.99)),
    )


def of_traffic(records: dict[str, Record]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for each in records.values():
        path, country = unquote(each["cs-uri-stem"]), each["c-country"]
        key = (
            each["date"],
            each["x-edge-location"],
            path,
            None if country == "-" else country,
            int(each["sc-status"]),
        )
        groups[key].append(each)
    return {key: summed(some) for key, some in groups.items()}


def of_days(records: dict[str, Record]) -> dict[str, tuple[Any, ...]]:
    groups: dict[str, list[Record]] = defaultdict(list)
    for each in records.values():
        groups[each["date"]].append(each)
    return {day: summed(some) for day, some in groups.items()}


def test_days_and_traffic_are_what_the_files_hold_and_a_broken_day_stops(make_shop: MakeShop) -> None:
    shop = make_shop(TABLES)
    landing = shop.root / "landing/logs"

    def arrive(day: int, **changed: Any) -> None:
        settings = generate.Settings(400, 7, late=0.05, bad=0.01, **changed)
        at = date(2024, 6, day)
        for file in generate.spoiled(generate.files_of(at, settings), settings, at):
            shop.land(f"landing/logs/{file.name}", file.content)

    for day in (3, 4):
        arrive(day)
        shop.must_run()
        check(shop, records_in(landing))
    assert shop.quarantine("bronze.requests")
    before = exported(shop)
    arrive(5, outage=True)
    stopped = shop.run()
    assert (stopped.code, [problem.code for problem in stopped.problems]) == (3, ["LS805"])
    assert exported(shop) == before
    shop.must_verify("silver.requests", "gold.days", "gold.traffic")


def check(shop: Harness, records: dict[str, Record]) -> None:
    measured = ["requests", "bytes", "hit_ratio", "errors", "p50", "p95", "p99"]
    days = shop.rows("gold.days", "day", *measured)
    same({str(day): tuple(values) for day, *values in days}, of_days(records))
    traffic = shop.rows("gold.traffic", "day", "edge", "path", "country", "status", *measured)
    same({(str(day), *row[:4]): tuple(row[4:]) for day, *row in traffic}, of_traffic(records))
    assert {row["day"]: int(row["requests"]) for row in exported(shop)} == {
        day: values[0] for day, values in of_days(records).items()
    }


def same(found: dict[Any, tuple[Any, ...]], expected: dict[Any, tuple[Any, ...]]) -> None:
    """Percentiles may differ in the last digit: Spark rounds halves up."""
    assert {key: values[:4] for key, values in found.items()} == {
        key: values[:4] for key, values in expected.items()
    }
    for key, values in found.items():
        assert values[4:] == pytest.approx(expected[key][4:], abs=0.0011), key


def exported(shop: Harness) -> list[dict[str, str]]:
    with (shop.root / "exports/gold/days/days.csv").open(newline="") as file:
        return list(csv.DictReader(file))
