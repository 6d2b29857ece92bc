"""The change-capture workload of the benchmarks: the same seed the same files, orderly or not as asked."""

import csv
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from example_files import EXAMPLES, contents

Change = tuple[int, str, str]


@pytest.fixture(scope="module")
def data() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cdc_data", EXAMPLES.parent / "benchmarks" / "cdc_data.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["cdc_data"] = module
    spec.loader.exec_module(module)
    return module


def batches(data: ModuleType, folder: Path, odd: float) -> dict[str, list[Change]]:
    """Four batches of 500; for each key the (batch, op, time) of its changes in the order of their
    delivery.
    """
    changes = data.Changes(rows=300, seed=7, odd=odd)
    keys: dict[str, list[Change]] = {}
    for number in range(4):
        for file in changes.write_batch(folder, 500):
            with file.open(newline="") as lines:
                for row in csv.DictReader(lines):
                    keys.setdefault(row["order_id"], []).append((number, row["op"], row["changed_at"]))
    return keys


def test_the_first_rows_are_distinct_and_the_same_each_time(data: ModuleType, tmp_path: Path) -> None:
    (file,) = data.write_first(tmp_path / "one", 1_000)
    (again,) = data.write_first(tmp_path / "two", 1_000)
    assert file.read_bytes() == again.read_bytes()
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["order_id"] for row in rows} == {str(key) for key in range(1_000)}
    assert list(rows[0]) == list(data.COLUMNS)
    assert len({row["customer_id"] for row in rows}) > 900
    assert {row["region"] for row in rows} == set(data.REGIONS)


def test_the_same_seed_makes_the_same_batches(data: ModuleType, tmp_path: Path) -> None:
    for name in ("one", "two"):
        batches(data, tmp_path / name, odd=0.05)

    one, two = (
        {name: content for name, (content, _) in contents(tmp_path / folder).items()}
        for folder in ("one", "two")
    )
    assert one == two
    assert sorted(one) == [
        f"changes_{name}.csv" for name in ("0001", "0002", "0002_late", "0003", "0004", "0004_late")
    ]


def test_an_orderly_stream_has_every_key_in_the_order_of_its_times(data: ModuleType, tmp_path: Path) -> None:
    for changes in batches(data, tmp_path, odd=0.0).values():
        assert [at for _, _, at in changes] == sorted(at for _, _, at in changes)
    assert not list(tmp_path.glob("*_late.csv"))


def test_the_odd_ones_come(data: ModuleType, tmp_path: Path) -> None:
    keys = batches(data, tmp_path, odd=0.1).values()

    def has(first: str, second: str, check: str) -> bool:
        pairs = [(a, b) for changes in keys for a in changes for b in changes if a[0] < b[0]]
        found = [(a, b) for a, b in pairs if (a[1], b[1]) == (first, second)]
        return any(b[2] < a[2] if check == "older" else b[2] == a[2] for a, b in found)

    assert has("D", "I", "older"), "a delete before its insert"
    assert has("U", "D", "older"), "an old delete after a newer update"
    assert has("U", "U", "alike") or has("I", "I", "alike"), "a row of a deleted key, once more"
