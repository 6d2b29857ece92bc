"""The generator of logs keeps its promises: the same call the same files, late and repeated records once."""

import gzip
from collections import Counter
from datetime import date

from example_files import load_generator

generate = load_generator("cdn-logs")
SECOND, THIRD, FOURTH = (date(2024, 6, day) for day in (2, 3, 4))


def settings(**changes: float) -> object:
    return generate.Settings(**{"requests": 400, "seed": 7, "late": 0.1, **changes})


def delivered(day: date, **changes: float) -> dict[str, list[dict[str, str]]]:
    """The records of each file that is delivered on a day."""
    found = {}
    for file in generate.files_of(day, settings(**changes)):
        _, header, *lines = gzip.decompress(file.content).decode().splitlines()
        fields = header.removeprefix("#Fields: ").split(" ")
        found[file.name] = [dict(zip(fields, line.split("\t"), strict=True)) for line in lines]
    return found


def test_the_same_seed_makes_the_same_files() -> None:
    one, two, other = (list(generate.files_of(THIRD, settings(seed=seed))) for seed in (7, 7, 8))
    assert one == two and one != other


def test_each_request_is_delivered_on_its_day_or_late_and_one_hour_twice() -> None:
    files = {**delivered(THIRD), **delivered(FOURTH)}
    seen = Counter(each["x-edge-request-id"] for file in files.values() for each in file)
    of_third = [each["x-edge-request-id"] for each in generate.records(THIRD, settings())]

    assert all(seen[key] >= 1 for key in of_third)
    repeated = {key for key in of_third if seen[key] == 2}
    hours = {each["time"][:2] for file in files.values() for each in file
             if each["x-edge-request-id"] in repeated}  # fmt: skip
    assert len(hours) == 1 and max(seen.values()) == 2


def test_late_files_have_the_fields_of_their_day() -> None:
    files = delivered(FOURTH)
    with_field = {name for name, records in files.items() if "asn" in records[0]}
    assert {name.split(".")[1][:10] for name in with_field} == {"2024-06-04"}
    assert {name.split(".")[1][:10] for name in files.keys() - with_field} == {"2024-06-03"}


def test_an_outage_is_of_the_afternoon() -> None:
    records = list(generate.records(THIRD, settings(outage=True)))
    failed = [each for each in records if each["sc-status"] in ("502", "503", "504")]
    assert len(failed) > len(records) / 3 and min(each["time"] for each in failed) >= "12:00:00"
