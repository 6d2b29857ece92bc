"""``maintain --dry-run``, and the calls that need no Spark: what is said of a lake that PyIceberg wrote."""

from pathlib import Path

import pytest
from lake import IcebergLake
from shop import Cli

from lakesmith import limits


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IcebergLake:
    """Six batches of bronze, one of silver; no Spark."""
    monkeypatch.setattr("lakesmith.spark.open.open_session", None)
    monkeypatch.setattr(limits, "FRESH_FILES", 5)
    found = IcebergLake(tmp_path)
    for number in range(1, 7):
        found.take(number)
    found.batch("silver.orders", 1)
    return found


def test_a_dry_run_says_what_tables_need_and_why_not(cli: Cli, lake: IcebergLake) -> None:
    said = cli("maintain", "--dry-run", "--project", lake.root)
    assert said.code == 0, said
    lines = said.out.splitlines()
    assert lines[0].split() == ["table", "files", "size", "deleted", "snapshots", "needs", "why"]
    bronze = next(line for line in lines if line.startswith("bronze.orders"))
    assert bronze.endswith("compact  6 of 6 data files are not of their size")
    assert "nothing  nothing was published yet" in next(
        line for line in lines if line.startswith("gold.number")
    )
    silver = next(line for line in lines if line.startswith("silver.orders"))
    assert silver.endswith("nothing  1 data file, not enough small ones; no deletes; 0 snapshots can leave")
    assert lines[-1] == "1 table to maintain: lakesmith maintain"


def test_a_dry_run_as_data(cli: Cli, lake: IcebergLake) -> None:
    bronze = cli("maintain", "bronze.orders", "--dry-run", "--json", "--project", lake.root).data["tables"][0]
    assert (bronze["health"]["data_files"], bronze["small_files"]) == (6, 6)
    assert list(bronze["needs"]) == ["compact"]
    assert bronze["left"]["deletes"] == "no deletes"


def test_what_needs_nothing_starts_no_spark(cli: Cli, lake: IcebergLake) -> None:
    said = cli("maintain", "silver.orders", "gold.number", "--project", lake.root)
    assert said.code == 0
    assert said.out.splitlines() == [
        "silver.orders: nothing to do: 1 data file, not enough small ones; no deletes; 0 snapshots can leave",
        "gold.number: nothing to do: nothing was published yet",
    ]


def test_status_shows_the_health_of_tables(cli: Cli, lake: IcebergLake) -> None:
    said = cli("status", "--project", lake.root)
    assert "health: bronze.orders: 6 data files" in said.out.splitlines()
    data = cli("status", "--json", "--project", lake.root).data["tables"]
    health = {each["table"]: each["health"] for each in data}
    assert health["bronze.orders"]["data_files"] == 6
    assert health["gold.number"] is None
