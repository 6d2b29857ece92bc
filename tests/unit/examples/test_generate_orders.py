"""The order generator keeps its promises: the same call the same files, with the oddities of real
deliveries.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from example_files import EXAMPLES, contents, load_generator

generate = load_generator("customer-orders")


def settings(**changes: float) -> object:
    return generate.Settings(**{"hours": 12, "rows_per_hour": 300, "seed": 7, **changes})


def rows(**changes: float) -> list[tuple[str, ...]]:
    return [row for arrival in generate.arrivals(settings(**changes)) for row in arrival.rows]


def test_the_same_seed_makes_the_same_files_with_the_same_times(tmp_path: Path) -> None:
    for name in ("one", "two"):
        generate.main(
            ["--hours", "5", "--rows-per-hour", "40", "--bad", "0.05", "--out", str(tmp_path / name)]
        )

    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert len(contents(tmp_path / "one")) >= 5


def test_another_seed_makes_other_rows() -> None:
    assert rows(seed=1) != rows(seed=2)


def test_more_hours_add_files_and_leave_those_there_alone(tmp_path: Path) -> None:
    call = ["--rows-per-hour", "40", "--late", "0.1", "--out", str(tmp_path)]
    generate.main(["--hours", "6", *call])
    before = {path.name: path.stat() for path in tmp_path.iterdir()}
    generate.main(["--hours", "9", *call])

    assert {name: (tmp_path / name).stat() for name in before} == before
    assert len(list(tmp_path.iterdir())) > len(before)


def test_late_files_come_after_newer_ones_with_an_older_time() -> None:
    arrivals = list(generate.arrivals(settings(late=0.1)))

    late = [index for index, arrival in enumerate(arrivals) if arrival.name.endswith("_late.csv")]
    assert late
    for index in late:
        newest = max(arrivals[:index], key=lambda arrival: arrival.modified)
        assert arrivals[index].modified < newest.modified
        assert max(row[4] for row in arrivals[index].rows) < min(row[4] for row in newest.rows)


def test_some_rows_are_delivered_twice() -> None:
    assert max(Counter(rows(duplicates=0.05, ties=0)).values()) >= 2
    assert Counter(rows(duplicates=0.05)).total() > Counter(rows(duplicates=0)).total()


def test_some_versions_of_a_customer_share_their_time_and_differ() -> None:
    versions: dict[tuple[str, ...], set[str]] = {}
    for customer_id, _, email, city, at in rows(ties=0.05):
        versions.setdefault((customer_id, email, at), set()).add(city)

    assert any(len(cities) > 1 for cities in versions.values())


def broken(row: tuple[str, ...]) -> str | None:
    """Which column cannot be read or judged well: an own reading of what a good row is."""
    if len(row) != 5:
        return "short"
    if not row[0].isdigit():
        return "customer_id"
    if "@" not in row[2]:
        return "email" if row[2] else "no email"
    return "processed_time" if row[4][5:7] == "13" else None


def test_bad_rows_are_as_many_as_asked_and_of_every_kind() -> None:
    found = Counter(map(broken, rows(bad=0.1)))

    assert set(found) == {None, "short", "customer_id", "email", "no email", "processed_time"}
    assert 0.07 < 1 - found[None] / found.total() < 0.13
    assert set(map(broken, rows(bad=0))) == {None}


@pytest.mark.parametrize("hour", ["20240531_22", "20240531_23", "20240601_00"])
def test_the_walk_has_its_three_files(hour: str) -> None:
    with (EXAMPLES / "customer-orders" / "arrivals" / f"orders_{hour}.csv").open(newline="") as file:
        header, *lines = csv.reader(file)

    assert tuple(header) == generate.HEADER
    names = {line[1] for line in lines}
    assert ("Sam" in names) == (hour == "20240531_22")
    assert ({"Johnny", "Mary"} <= names) == (hour == "20240601_00")


def test_nothing_of_the_walk_has_landed_yet() -> None:
    landing = EXAMPLES / "customer-orders" / "landing" / "orders"

    assert [path.name for path in landing.iterdir() if not path.name.startswith(".")] == []
