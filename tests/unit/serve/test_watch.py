"""Which changes are arrivals, and that they are noticed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from intake_process import until

from lakesmith.errors import Place
from lakesmith.project.definitions import FileSource, HttpSource, Source, TableDefinition, TableName
from lakesmith.project.formats import FileFormat
from lakesmith.serve.tables import Tables
from lakesmith.serve.watch import PROJECT, Folder, Watcher, folders_of

PLACE = Place("tables/bronze/orders.yaml", 1)
PATIENCE = 30.0


def source(path: str, http: bool = False) -> Source:
    if http:
        return HttpSource(path, path, FileFormat.CSV, PLACE, "*.csv", url_path="/orders")
    return FileSource(path, path, FileFormat.CSV, PLACE, "*.csv")


def test_folders_of_files_on_this_machine_are_watched_and_no_others(tmp_path: Path) -> None:
    sources = [
        source("landing/"), source("s3://bucket/orders"), source("."), source("../in"),
        source("x", http=True),
    ]  # fmt: skip
    table = TableDefinition(TableName("bronze", "orders"), PLACE, tuple(sources))

    found = list(folders_of(Tables({"bronze.orders": table}), tmp_path / "shop"))

    assert [(each.table, each.path) for each in found] == [
        ("bronze.orders", tmp_path / "shop" / "landing"),
        ("bronze.orders", tmp_path / "in"),
        (PROJECT, tmp_path / "shop" / "tables"),
    ]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("a.csv", True), ("2026/a.csv", True), ("a.json", False), (".a.csv", False),
        ("_staging/a.csv", False), ("a.csv.tmp", False), ("../a.csv", False), ("", False),
    ],
)  # fmt: skip
def test_which_changes_concern_a_source(name: str, is_one: bool) -> None:
    folder = Folder("bronze.orders", Path("/landing"), "*.csv")

    assert (
        folder.concerns(Path(f"/landing/{name}") if not name.startswith("..") else Path("/a.csv")) is is_one
    )


def test_a_folder_that_comes_with_its_files_and_defaults_of_the_project_concern_it(tmp_path: Path) -> None:
    (tmp_path / "2026").mkdir()

    assert Folder("bronze.orders", tmp_path, "*.csv").concerns(tmp_path / "2026")
    assert Folder(PROJECT, tmp_path, "*").concerns(tmp_path / "bronze" / "_defaults.yaml")
    assert not Folder(PROJECT, tmp_path, "*").concerns(tmp_path / "__pycache__" / "x.pyc")


@pytest.fixture
def noticed() -> list[str]:
    return []


@pytest.fixture
def watcher(noticed: list[str]) -> Iterator[Watcher]:
    pytest.importorskip("watchfiles")
    found = Watcher(noticed.append, noticed.append)
    yield found
    found.end()


def test_files_are_noticed_also_in_folders_that_come_later(
    tmp_path: Path, watcher: Watcher, noticed: list[str]
) -> None:
    landing, later = tmp_path / "landing", tmp_path / "later"
    landing.mkdir()
    folders = [Folder("bronze.orders", landing, "*.csv"), Folder("bronze.late", later, "*.csv")]
    watcher.watch(folders)

    number = iter(range(10**6))
    # The thread takes a moment to begin.
    until(lambda: (landing / f"{next(number)}.csv").write_text("a\n") and "bronze.orders" in noticed)
    later.mkdir()
    watcher.watch(folders)
    until(lambda: (later / f"{next(number)}.csv").write_text("a\n") and "bronze.late" in noticed)


def test_nothing_to_watch_is_no_error(tmp_path: Path, watcher: Watcher, noticed: list[str]) -> None:
    watcher.watch([Folder("bronze.orders", tmp_path / "no", "*.csv")])
    watcher.end()

    assert noticed == []
