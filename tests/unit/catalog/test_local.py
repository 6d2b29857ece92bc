"""The embedded catalog, written by PyIceberg and by raw SQLite, read by us."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lakesmith.catalog.local import LocalCatalog
from lakesmith.errors import EnvironmentProblem, LockedError, StateError

if TYPE_CHECKING:
    from tests.unit.catalog.conftest import AsNobody

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


@pytest.fixture(params=["plain", "sp ace?#%41"])
def catalog(tmp_path: Path, request: pytest.FixtureRequest) -> LocalCatalog:
    """A catalog that does not exist yet, in folders of easy and hard names."""
    root = tmp_path / request.param
    return LocalCatalog(
        root / ".lakesmith" / "catalog.db", root / ".lakesmith" / "warehouse", busy_seconds=0.5
    )


@pytest.fixture
def filled(tmp_path: Path) -> LocalCatalog:
    """A catalog with bronze.orders, which has one snapshot."""
    catalog = LocalCatalog(
        tmp_path / "state" / "catalog.db", tmp_path / "state" / "warehouse", busy_seconds=0.5
    )
    fill(catalog)
    return catalog


def fill(catalog: LocalCatalog) -> None:
    writer = catalog.writer()
    writer.create_namespace_if_not_exists("bronze")
    writer.create_table("bronze.orders", ROWS.schema).append(ROWS)


def test_reading_makes_nothing(catalog: LocalCatalog) -> None:
    assert catalog.table("bronze", "orders") is None
    assert catalog.names("bronze") == ()
    assert not catalog.db.parent.exists()


def test_a_catalog_that_spark_is_just_making_has_no_types_yet(filled: LocalCatalog) -> None:
    """It makes the table as the first version of the schema had it, and adds the column in a second
    statement.
    """
    with closing(sqlite3.connect(filled.db)) as connection:
        connection.execute("ALTER TABLE iceberg_tables DROP COLUMN iceberg_type")
    assert filled.names("bronze") == ("orders",)
    assert filled.table("bronze", "orders") is not None
    assert filled.table("bronze", "customers") is None


@pytest.mark.parametrize("catalog", ["plain", "sp ace%41"], indirect=True)
def test_what_pyiceberg_wrote_is_read(catalog: LocalCatalog) -> None:
    fill(catalog)
    state = catalog.table("bronze", "orders")
    oracle = catalog.writer().load_table("bronze.orders")
    assert state is not None
    assert state.name == "bronze.orders"
    assert state.metadata_location == oracle.metadata_location
    assert state.head is not None
    assert state.head.snapshot_id == oracle.current_snapshot().snapshot_id
    assert catalog.names("bronze") == ("orders",)
    assert catalog.table("bronze", "other") is None
    assert catalog.names("silver") == ()


def test_hard_names_of_folders_can_be_read(catalog: LocalCatalog) -> None:
    catalog.prepare()
    with closing(sqlite3.connect(catalog.db)) as connection:
        connection.execute("INSERT INTO iceberg_tables VALUES ('lake', 'bronze', 'a', NULL, NULL, 'TABLE')")
        connection.commit()
    assert catalog.names("bronze") == ("a",)


def test_each_call_sees_the_newest_commit(filled: LocalCatalog) -> None:
    before = filled.table("bronze", "orders")
    assert filled.table("bronze", "orders") is before
    filled.writer().load_table("bronze.orders").append(ROWS)
    after = filled.table("bronze", "orders")
    assert before is not None
    assert after is not None
    assert (len(before.snapshots), len(after.snapshots)) == (1, 2)


def test_views_and_other_catalogs_are_left_out(filled: LocalCatalog) -> None:
    insert = "INSERT INTO iceberg_tables VALUES (?, 'bronze', ?, '/nowhere', NULL, ?)"
    with closing(sqlite3.connect(filled.db)) as connection:
        connection.execute(insert, ("lake", "a_view", "VIEW"))
        connection.execute(insert, ("other", "a_table", "TABLE"))
        connection.execute(insert, ("lake", "an_old_table", None))
        connection.commit()
    assert filled.names("bronze") == ("an_old_table", "orders")
    assert filled.table("bronze", "a_view") is None


def test_an_empty_file_is_an_empty_catalog(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").touch()
    catalog = LocalCatalog(tmp_path / "catalog.db", tmp_path)
    assert catalog.names("bronze") == ()


@pytest.mark.parametrize("damage", [b"this is not SQLite" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_corrupt_file_is_said_and_kept(filled: LocalCatalog, damage: bytes) -> None:
    for suffix in ("-wal", "-shm"):
        filled.db.with_name(filled.db.name + suffix).unlink(missing_ok=True)
    filled.db.write_bytes(damage)
    with pytest.raises(EnvironmentProblem, match="LS320") as error:
        filled.table("bronze", "orders")
    assert str(filled.db) in error.value.problems[0].what
    assert filled.db.read_bytes() == damage


def test_another_database_is_said(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection:
        connection.execute("CREATE TABLE iceberg_tables (something)")
    with pytest.raises(EnvironmentProblem, match="no such column"):
        LocalCatalog(tmp_path / "catalog.db", tmp_path).names("bronze")


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another connection that holds the whole file, as one in rollback-journal mode does while it commits."""
    connection = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None, check_same_thread=False)
    connection.execute(
        "CREATE TABLE iceberg_tables (catalog_name, table_namespace, table_name, iceberg_type)"
    )
    connection.execute("INSERT INTO iceberg_tables VALUES ('lake', 'bronze', 'orders', 'TABLE')")
    connection.execute("BEGIN EXCLUSIVE")
    yield connection
    connection.close()


@pytest.mark.usefixtures("locked")
def test_a_locked_file_is_waited_for_then_said(tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(LockedError, match="LS702"):
        LocalCatalog(tmp_path / "catalog.db", tmp_path, busy_seconds=0.5).names("bronze")
    assert time.monotonic() - start >= 0.4


def test_a_lock_given_back_in_time_is_no_error(tmp_path: Path, locked: sqlite3.Connection) -> None:
    release = threading.Timer(0.5, locked.rollback)
    release.start()
    assert LocalCatalog(tmp_path / "catalog.db", tmp_path, busy_seconds=20).names("bronze") == ("orders",)
    release.join()


def test_those_that_make_a_new_file_at_once_all_can(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        for number in range(20):
            folder, together = tmp_path / str(number), threading.Barrier(4)

            def prepare(folder: Path = folder, together: threading.Barrier = together) -> None:
                together.wait()
                LocalCatalog(folder / "catalog.db", folder / "warehouse").prepare()

            for made in [pool.submit(prepare) for _ in range(4)]:
                made.result()
            assert LocalCatalog(folder / "catalog.db", folder / "warehouse").names("bronze") == ()


def test_a_writer_in_the_middle_does_not_block_reading(filled: LocalCatalog) -> None:
    with closing(sqlite3.connect(filled.db, isolation_level=None)) as writer:
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE iceberg_tables SET table_name = 'renamed'")
        assert filled.names("bronze") == ("orders",)
        writer.execute("COMMIT")
        assert filled.db.with_name("catalog.db-wal").stat().st_size > 0
        assert filled.names("bronze") == ("renamed",)


@pytest.mark.parametrize("side_files", ["none", "wal", "wal and shm"])
def test_a_read_only_folder_is_read_with_what_is_in_the_wal(
    filled: LocalCatalog, side_files: str, as_nobody: AsNobody
) -> None:
    copy = filled.db.parent / "copy"
    copy.mkdir()
    with closing(sqlite3.connect(filled.db, isolation_level=None)) as writer:
        writer.execute("UPDATE iceberg_tables SET table_name = 'newest'")
        if side_files == "none":
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for suffix in {"none": [""], "wal": ["", "-wal"], "wal and shm": ["", "-wal", "-shm"]}[side_files]:
            (copy / f"catalog.db{suffix}").write_bytes(
                (filled.db.parent / f"catalog.db{suffix}").read_bytes()
            )
    catalog = LocalCatalog(copy / "catalog.db", filled.warehouse)
    assert as_nobody(copy, lambda: catalog.names("bronze")) == "('newest',)"
    assert len(list(copy.iterdir())) == 1 + side_files.count("wal") + side_files.count("shm")


def test_a_file_that_may_not_be_read_is_said(filled: LocalCatalog, as_nobody: AsNobody) -> None:
    filled.db.chmod(0o000)
    answer = str(as_nobody(filled.warehouse, lambda: filled.names("bronze")))
    assert answer.startswith("EnvironmentProblem: LS320")


def test_a_lost_metadata_file_is_said(filled: LocalCatalog) -> None:
    state = filled.table("bronze", "orders")
    assert state is not None
    Path(state.metadata_location.removeprefix("file://")).unlink()
    again = LocalCatalog(filled.db, filled.warehouse)
    with pytest.raises(StateError, match="LS504") as error:
        again.table("bronze", "orders")
    assert error.value.problems[0].expected == state.metadata_location


def test_a_metadata_file_deleted_by_the_next_commit_is_not_lost(filled: LocalCatalog) -> None:
    class Late(LocalCatalog):
        """Reads the location first from before the newest commit, as a reader does who is overtaken."""

        overtaken = False

        def _location(self, layer: str, name: str) -> str | None:
            if self.overtaken:
                return super()._location(layer, name)
            self.overtaken = True
            return "/gone/00000.metadata.json"

    state = Late(filled.db, filled.warehouse).table("bronze", "orders")
    assert state is not None
    assert len(state.snapshots) == 1


def test_reading_never_imports_pyiceberg(filled: LocalCatalog) -> None:
    script = f"""
import sys
from pathlib import Path
from lakesmith.catalog.local import LocalCatalog
catalog = LocalCatalog(Path({str(filled.db)!r}), Path({str(filled.warehouse)!r}))
assert catalog.table("bronze", catalog.names("bronze")[0]).head is not None
print([name for name in ("pyiceberg", "sqlalchemy", "pyarrow", "pydantic") if name in sys.modules])
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"
