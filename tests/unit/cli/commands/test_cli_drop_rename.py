"""Dropping, renaming and registering tables: answers, refusals, and that a kill loses nothing."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lake import IcebergLake
from shop import Cli

from lakesmith.catalog import entries as catalog_entries

LEDGER = "lakesmith.bronze__orders__files"
QUARANTINE = "lakesmith.bronze__orders__quarantine"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> IcebergLake:
    """bronze.orders with two batches and its sidecars, silver.orders derived from it."""
    lake = IcebergLake(tmp_path_factory.mktemp("made") / "shop")
    lake.take(1)
    lake.take(2)
    lake.batch("silver.orders", 1)
    shutil.copytree(lake.root, lake.root.with_name("kept"))
    return lake


@pytest.fixture
def lake(made: IcebergLake) -> IcebergLake:
    """The lake as it was made, at the same place. Its files in landing are the same ones."""
    for each in ("tables", ".lakesmith"):
        shutil.rmtree(made.root / each)
        shutil.copytree(made.root.with_name("kept") / each, made.root / each)
    shutil.copy(made.root.with_name("kept") / "lakesmith.yaml", made.root)
    (made.root / "landing/3.csv").unlink(missing_ok=True)
    return made


class Killed(BaseException):
    """As if the process had ended there."""


def _kill(*_: object, **__: object) -> Any:
    raise Killed


def _status(cli: Cli, lake: IcebergLake) -> dict[str, tuple[str, str]]:
    found = cli("status", "--project", lake.root, "--json").data["tables"]
    return {table["table"]: (table["status"], table["why"]) for table in found}


def test_drop_says_what_is_lost_and_asks(cli: Cli, lake: IcebergLake) -> None:
    said = cli("drop", "bronze.orders", "--project", lake.root)
    assert said.code == 2
    assert said.out.splitlines() == [
        "bronze.orders, 2 rows, with its file ledger and quarantine: its data files are kept",
        "  silver.orders reads it (tables/silver/orders.yaml:1)",
        "tables/bronze/orders.yaml stays: the next run takes every file that is still in its landing folders",
    ]
    assert said.err.startswith("LS227 drop bronze.orders?")
    assert len(lake.entries()) == 4
    assert (
        cli("drop", "bronze.orders", "--project", lake.root, "--json").data["problems"][0]["code"] == "LS227"
    )


def test_a_dropped_table_takes_its_files_again(cli: Cli, lake: IcebergLake) -> None:
    folder = lake.root / ".lakesmith/warehouse/bronze/orders"
    data = cli("drop", "bronze.orders", "--yes", "--project", lake.root, "--json").data
    assert data["tables"] == ["bronze.orders", LEDGER, QUARANTINE]
    assert str(folder) in data["files_kept_in"] and folder.is_dir()
    assert set(lake.entries()) == {"silver.orders"}
    assert _status(cli, lake)["bronze.orders"] == ("behind", "2 new files waiting")
    assert cli("drop", "bronze.orders", "--yes", "--project", lake.root).err.startswith("LS250")


def test_a_drop_that_was_killed_is_asked_about(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("drop", "bronze.orders", "--yes", "--project", lake.root)
    with monkeypatch.context() as patch:
        patch.setattr("lakesmith.api.dropping.mark", _kill)
        with pytest.raises(Killed):
            cli(*words)
    assert _status(cli, lake)["bronze.orders"][0] == "refused"
    assert cli(*words).code == 0
    assert _status(cli, lake)["bronze.orders"] == ("behind", "2 new files waiting")


def test_a_purge_that_was_killed_is_finished_and_not_built_upon(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lake.root / ".lakesmith/warehouse/bronze/orders"
    words = ("drop", "bronze.orders", "--purge", "--yes", "--project", lake.root)
    with monkeypatch.context() as patch:
        patch.setattr("lakesmith.api.dropping.shutil.rmtree", _kill)
        with pytest.raises(Killed):
            cli(*words)
    assert folder.is_dir() and set(lake.entries()) == {"silver.orders"}
    said = cli("plan", "--project", lake.root)
    assert said.code == 1
    assert "      to do: lakesmith drop bronze.orders --purge --yes finishes it" in said.out.splitlines()
    assert cli("rename", "silver.orders", "silver.clients", "--yes", "--project", lake.root).code == 1

    assert cli(*words).code == 0
    assert not folder.exists()
    assert _status(cli, lake)["bronze.orders"] == ("behind", "2 new files waiting")


def test_a_table_of_another_project_is_not_touched(cli: Cli, lake: IcebergLake) -> None:
    (lake.root / "lakesmith.yaml").write_text("name: other\n")
    for words in (("drop", "bronze.orders"), ("rename", "bronze.orders", "bronze.sales")):
        assert cli(*words, "--yes", "--project", lake.root).err.startswith("LS503")
    assert len(lake.entries()) == 4


def test_a_table_whose_metadata_is_gone_can_be_dropped(cli: Cli, lake: IcebergLake) -> None:
    Path(lake.entries()["silver.orders"]).unlink()
    said = cli("plan", "--project", lake.root)
    assert "lakesmith drop silver.orders" in said.out
    assert cli("drop", "silver.orders", "--yes", "--project", lake.root).code == 0
    assert _status(cli, lake)["silver.orders"][0] == "behind"


def test_a_renamed_table_has_taken_what_it_had(cli: Cli, lake: IcebergLake) -> None:
    (lake.root / "landing/3.csv").write_text("id\n3\n")
    before = lake.entries()
    data = cli("rename", "bronze.orders", "raw.sales", "--yes", "--project", lake.root, "--json").data
    assert data["moved"] == [{"from": "tables/bronze/orders.yaml", "to": "tables/raw/sales.yaml"}]
    assert data["to_change"] == [{"table": "silver.orders", "file": "tables/silver/orders.yaml", "line": 1}]
    assert lake.entries() == {
        "raw.sales": before["bronze.orders"], "lakesmith.raw__sales__files": before[LEDGER],
        "lakesmith.raw__sales__quarantine": before[QUARANTINE], "silver.orders": before["silver.orders"],
    }  # fmt: skip
    assert "LS131" in cli("status", "--project", lake.root).err
    (lake.root / "tables/silver/orders.yaml").write_text("from: raw.sales\nkey: [id]\n")
    assert _status(cli, lake)["raw.sales"] == ("behind", "1 new file waiting")


@pytest.mark.parametrize(
    "point",
    [
        *(f"lakesmith.api.renaming.{name}" for name in ("begin", "change_entries", "finish")),
        "pathlib.Path.rename",
    ],
)
def test_a_rename_that_was_killed_is_finished(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    words = ("rename", "silver.orders", "silver.clients", "--yes", "--project", lake.root)
    with monkeypatch.context() as patch:
        patch.setattr(point, _kill)
        with pytest.raises(Killed):
            cli(*words)
    if point.endswith((".change_entries", ".rename")):
        assert "LS513" in cli("plan", "--project", lake.root).out
    assert cli(*words).code == 0
    (lake.root / "tables/gold/number.sql").write_text("SELECT count(*) AS n\nFROM silver.clients\n")
    assert set(lake.entries()) == {"bronze.orders", "silver.clients", LEDGER, QUARANTINE}
    assert not (lake.root / "tables/silver/orders.yaml").exists()
    assert _status(cli, lake)["silver.clients"][1] != "the table is built for the first time"


def test_the_transaction_changes_all_entries_or_none(
    cli: Cli, lake: IcebergLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lake.entries()
    monkeypatch.setattr(catalog_entries, "_put_in", _kill)
    with pytest.raises(Killed):
        cli("rename", "bronze.orders", "bronze.sales", "--yes", "--project", lake.root)
    assert lake.entries() == before


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("silver.orders", "is there already"),
        ("gold.number", "the project has a table of that name"),
        ("bronze.Größe", "cannot be called"),
        ("lakesmith.orders", "lakesmith's own"),
    ],
)
def test_names_that_cannot_be_had(cli: Cli, lake: IcebergLake, new: str, said: str) -> None:
    found = cli("rename", "bronze.orders", new, "--yes", "--project", lake.root)
    assert found.code == 2 and found.err.startswith("LS251") and said in found.err
    assert len(lake.entries()) == 4


def test_a_table_that_the_user_renamed_by_hand(cli: Cli, lake: IcebergLake) -> None:
    (lake.root / "tables/bronze/orders.yaml").rename(lake.root / "tables/bronze/sales.yaml")
    (lake.root / "tables/silver/orders.yaml").write_text("from: bronze.sales\nkey: [id]\n")
    assert _status(cli, lake)["bronze.sales"] == ("behind", "2 new files waiting")
    said = cli("rename", "bronze.orders", "bronze.sales", "--yes", "--project", lake.root)
    assert (said.code, said.err) == (0, "")
    assert _status(cli, lake)["bronze.sales"][0] == "up_to_date"


def test_a_lost_catalog_is_said_and_filled_again(cli: Cli, lake: IcebergLake) -> None:
    assert cli("rename", "silver.orders", "silver.clients", "--yes", "--project", lake.root).code == 0
    (lake.root / "tables/gold/number.sql").write_text("SELECT count(*) AS n\nFROM silver.clients\n")
    oracle, db = lake.entries(), lake.root / ".lakesmith/catalog.db"
    for file in db.parent.glob("catalog.db*"):
        file.unlink()

    assert {_status(cli, lake)[name][0] for name in ("bronze.orders", "silver.clients")} == {"refused"}
    said = cli("plan", "--project", lake.root).out
    assert f"found: there is no {db}" in said
    assert "without an entry: bronze.orders, silver.clients" in said
    assert cli("register", "--project", lake.root).err.startswith("LS227 enter 4 tables in the catalog?")
    assert not db.exists()
    data = cli("register", "--yes", "--project", lake.root, "--json").data
    assert [table["table"] for table in data["registered"]] == sorted(oracle)
    assert lake.entries() == oracle
    assert _status(cli, lake)["bronze.orders"][0] == "up_to_date"
    lake.take(3)
    assert len(cli("files", "bronze.orders", "--project", lake.root, "--json").data["files"]) == 3


@pytest.mark.parametrize("name", ["bronze.orders", LEDGER, QUARANTINE, "silver.orders"])
def test_one_lost_entry(cli: Cli, lake: IcebergLake, name: str) -> None:
    oracle = lake.entries()
    lake.forget(name)
    assert cli("register", "--yes", "--project", lake.root).code == 0
    assert lake.entries() == oracle


def test_a_lost_table_can_be_given_up(cli: Cli, lake: IcebergLake) -> None:
    lake.forget("bronze.orders", LEDGER, QUARANTINE)
    said = cli("drop", "bronze.orders", "--purge", "--yes", "--project", lake.root)
    assert (said.code, said.err) == (0, "")
    assert _status(cli, lake)["bronze.orders"] == ("behind", "2 new files waiting")
    assert not (lake.root / ".lakesmith/warehouse/bronze/orders").exists()


def test_what_a_purge_by_others_leaves_of_a_lost_swap_is_no_lost_table(cli: Cli, lake: IcebergLake) -> None:
    folder, last = lake.root / ".lakesmith/warehouse/bronze/orders", lake.entries()["bronze.orders"]
    lake.forget("bronze.orders")
    for file in folder.rglob("*"):
        if file.is_file() and str(file) not in last:
            file.unlink()
    assert [str(file) for file in folder.rglob("*.json")] == [last.removeprefix("file://")]
    said = cli("plan", "--project", lake.root).out
    assert "bronze.orders  files" in said and "LS512" not in said


def test_a_copied_project_is_not_taken_for_one_that_lost_its_catalog(
    cli: Cli, lake: IcebergLake, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(lake.root, copy)
    assert cli("register", "--project", copy).err.startswith("LS525 this project was copied")
    for file in copy.glob(".lakesmith/catalog.db*"):
        file.unlink()
    assert cli("register", "--project", copy).out == "every table in the warehouse is in the catalog\n"


def test_a_batch_that_failed_leaves_nothing_to_register(cli: Cli, lake: IcebergLake) -> None:
    lake.write("gold.number")
    lake.forget("gold.number")
    assert cli("register", "--project", lake.root).out == "every table in the warehouse is in the catalog\n"
    assert _status(cli, lake)["gold.number"][0] == "behind"


def test_files_of_attempts_that_never_counted_are_told_from_the_last_state(
    cli: Cli, lake: IcebergLake
) -> None:
    oracle = lake.entries()
    # A lost swap, each time the table moved: written from the file before, and without a follower.
    for location in oracle.values():
        files = sorted(Path(location).parent.glob("*.metadata.json"))
        for number, file in enumerate(files[:-1]):
            data = json.loads(file.read_text())
            data["metadata-log"] = [*data["metadata-log"], {"metadata-file": str(file), "timestamp-ms": 1}]
            late = {**data, "last-updated-ms": data["last-updated-ms"] + 10**9} if file != files[-2] else data
            (file.parent / f"0000{number + 1}-lost.metadata.json").write_text(json.dumps(late))
        (files[0].parent / "00009-half.metadata.json").write_text('{"format-version": 2,')
    lake.forget(*oracle)

    assert cli("register", "--yes", "--project", lake.root).code == 0
    assert lake.entries() == oracle


def test_what_a_batch_would_have_made_of_a_table_is_not_registered(cli: Cli, lake: IcebergLake) -> None:
    entries = lake.entries()
    last = Path(entries["bronze.orders"])
    data: dict[str, Any] = json.loads(last.read_text())
    before = str(last)
    for number in (1, 2):
        log = [*data.get("metadata-log", []), {"timestamp-ms": number, "metadata-file": before}]
        properties = {**data["properties"], "lakesmith.draft": "x"}
        later = {
            "last-updated-ms": data["last-updated-ms"] + 1,
            "last-sequence-number": data["last-sequence-number"] + 1,
        }
        data = {**data, **later, "metadata-log": log, "properties": properties}
        draft = last.with_name(f"0009{number}-draft.metadata.json")
        draft.write_text(json.dumps(data))
        before = str(draft)
    lake.forget("bronze.orders")
    assert cli("register", "--yes", "--project", lake.root).code == 0
    assert lake.entries() == entries
    # The one that was published leads on from it.
    published = last.with_name("00098-published.metadata.json")
    properties = {key: text for key, text in data["properties"].items() if key != "lakesmith.draft"}
    log = [*data["metadata-log"], {"timestamp-ms": 3, "metadata-file": before}]
    published.write_text(json.dumps({**data, "properties": properties, "metadata-log": log}))
    lake.forget("bronze.orders")
    assert cli("register", "--yes", "--project", lake.root).code == 0
    assert lake.entries()["bronze.orders"] == str(published)


def _checkpoint(lake: IcebergLake) -> None:
    """All that was committed is in the file itself."""
    with closing(sqlite3.connect(lake.root / ".lakesmith/catalog.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_catalog_from_a_backup_is_older_than_the_warehouse(
    cli: Cli, lake: IcebergLake, tmp_path: Path
) -> None:
    _checkpoint(lake)
    shutil.copy(lake.root / ".lakesmith/catalog.db", tmp_path / "backup.db")
    before = lake.entries()
    # A file that a killed writer left before its swap tells nothing.
    current = Path(before["bronze.orders"])
    data = json.loads(current.read_text())
    data["metadata-log"] = [*data.get("metadata-log", []), {"timestamp-ms": 1, "metadata-file": str(current)}]
    (current.parent / "00099-killed.metadata.json").write_text(json.dumps(data))
    assert "LS527" not in cli("plan", "--project", lake.root).out
    # Nor does what a batch would have made of the table.
    draft = {**data, "properties": {**data["properties"], "lakesmith.draft": "x"}}
    draft["metadata-log"] = [
        *data["metadata-log"],
        {"timestamp-ms": 1, "metadata-file": "00099-killed.metadata.json"},
    ]
    (current.parent / "00100-draft.metadata.json").write_text(json.dumps(draft))
    assert "LS527" not in cli("plan", "--project", lake.root).out

    lake.take(3)
    lake.take(4)
    newest = lake.entries()
    _checkpoint(lake)
    shutil.copy(tmp_path / "backup.db", lake.root / ".lakesmith/catalog.db")
    assert lake.entries() == before
    for words in (("plan",), ("status",), ("doctor",)):
        said = cli(*words, "--project", lake.root)
        assert said.code and "the catalog is older than the warehouse" in said.out + said.err, words
    assert cli("run", "--project", lake.root).err.startswith("LS527")
    assert cli("drop", "gold.number", "--yes", "--project", lake.root).err.startswith("LS527")
    said = cli("register", "--yes", "--project", lake.root)
    assert said.code == 0 and f"bronze.orders: in place of {current.name}, which is older" in said.out
    assert lake.entries() == newest
    assert "LS527" not in cli("plan", "--project", lake.root).out


def test_a_metadata_file_that_is_gone_gives_way_to_the_one_before(cli: Cli, lake: IcebergLake) -> None:
    before = lake.entries()
    lake.take(3)
    gone = Path(lake.entries()["bronze.orders"])
    gone.unlink()
    said = cli("plan", "--project", lake.root)
    assert "LS504" in said.out and "'lakesmith register' enters the newest state" in said.out
    said = cli("register", "--yes", "--project", lake.root)
    assert f"bronze.orders: in place of {gone.name}, which is gone" in said.out
    assert lake.entries()["bronze.orders"] == before["bronze.orders"]
    said = cli("plan", "--project", lake.root)
    assert "LS504" not in said.out and "bronze.orders  files" in said.out
