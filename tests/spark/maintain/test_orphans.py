"""Files that no snapshot has: found, listed first, removed when that is asked for, and nothing else is."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from maintained_shop import After, grown, require_readable, require_rows
from maintaining import found_in, maintained, must_maintain, soon

from lakesmith.catalog.entries import mark
from lakesmith.execute.maintenance import NotMaintained, Orders
from lakesmith.plan.maintenance import Care, Task
from lakesmith.project.definitions import TableName

DAY = 86400.0


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    with soon():
        yield


def age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def stray(folder: Path, name: str, days: float) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"left behind")
    age(path, days)
    return path


def test_orphans_are_listed_first_and_then_removed(after: After) -> None:
    shop = after(2)
    must_maintain(shop)
    warehouse = shop.root / ".lakesmith/warehouse"
    folder = warehouse / "bronze/sales"
    for path in warehouse.rglob("*"):
        age(path, 9)
    old = stray(folder, "data/left.parquet", 4)
    of_sidecar = stray(warehouse, "lakesmith/bronze__sales__quarantine/data/left-too.parquet", 4)
    young = stray(folder, "data/under-way.parquet", 2)
    beside = stray(warehouse, "bronze/sales_2/data/other.parquet", 9)
    mark(folder, shop.state("bronze.sales").uuid, TableName("bronze", "sales"))
    noted = next((folder / "metadata").glob("lakesmith-*.json"))
    age(noted, 9)

    found = found_in(shop)["bronze.sales"]
    assert isinstance(found, Care) and Task.ORPHANS not in found.todo
    listed = must_maintain(shop, Orders(orphans=True))["bronze.sales"]
    assert ([Path(each).name for each in listed.orphans], listed.removed) == (
        ["left.parquet", "left-too.parquet"],
        False,
    )
    assert old.exists()

    removed = must_maintain(shop, Orders(remove_orphans=True))["bronze.sales"]
    assert ([Path(each).name for each in removed.orphans], removed.removed) == (
        ["left.parquet", "left-too.parquet"],
        True,
    )
    there = [path.exists() for path in (old, of_sidecar, young, beside, noted)]
    assert there == [False, False, True, True, True]
    require_rows(shop, range(2))
    require_readable(shop)

    shop.write({"tables/_defaults.yaml": "maintain: {orphans: {remove: true, older_than: 1 day}}\n"})
    listed = must_maintain(shop, Orders(orphans=True))["bronze.sales"]
    assert (len(listed.orphans), listed.removed, young.exists()) == (1, False, True)
    assert [Path(each).name for each in must_maintain(shop)["bronze.sales"].orphans] == ["under-way.parquet"]
    assert not young.exists()
    grown(shop, 2)
    require_rows(shop, range(3))


def test_a_folder_that_is_not_the_tables_own_is_left_alone(after: After) -> None:
    shop = after(1)
    shop.spark.sql(
        "CREATE TABLE lake.silver.inner (a int) USING iceberg LOCATION"
        f" '{shop.state('bronze.sales').location}/inner'"
    )
    failed = maintained(shop, Orders(remove_orphans=True))["bronze.sales"]
    assert isinstance(failed, NotMaintained)
    assert failed.problems[0].code == "LS631"
    assert str(failed.problems[0].found).startswith("silver.inner in ")


def test_what_a_dropped_table_left_in_the_folder_stays(tmp_path: Path, after: After) -> None:
    shop = after(1)
    folder = shop.root / ".lakesmith/warehouse/silver/lines"
    kept = tmp_path / "kept"
    shutil.copytree(folder, kept)
    shop.spark.sql("DROP TABLE lake.silver.lines PURGE")
    shop.must_run("silver.lines")
    shutil.copytree(kept, folder, dirs_exist_ok=True)
    for path in folder.rglob("*"):
        age(path, 9)
    failed = maintained(shop, Orders(remove_orphans=True))["silver.lines"]
    assert isinstance(failed, NotMaintained)
    assert failed.problems[0].code == "LS632"
    assert all((folder / path.relative_to(kept)).exists() for path in kept.rglob("*"))


@pytest.mark.parametrize("kept", [0, 100])
def test_metadata_whose_writer_was_killed_is_an_orphan(after: After, kept: int) -> None:
    """Of its bytes none or some had reached the disk."""
    shop = after(1)
    whole = Path(shop.state("silver.lines").metadata_location.removeprefix("file:"))
    torn = whole.with_name("00009-torn.metadata.json")
    torn.write_bytes(whole.read_bytes()[:kept])
    age(torn, 9)
    must_maintain(shop, Orders(remove_orphans=True))
    assert not torn.exists()
    assert whole.exists()
