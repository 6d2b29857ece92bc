"""Catalogs read through PyIceberg: the same answers as our own reading gives, on one and the same file."""

import logging
from pathlib import Path

import pyarrow as pa
import pytest
from sqlalchemy import URL
from sqlalchemy.exc import OperationalError

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.record import Account, Record
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.errors import EnvironmentProblem

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
RECORD = Record("attempt-1", None, 1, "files", 0, "fingerprint", Account(read=2, inserted=2, rows_after=2))


@pytest.fixture
def local(tmp_path: Path) -> LocalCatalog:
    """An embedded catalog with bronze.orders, which has a record, a tag and a delete."""
    catalog = LocalCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")
    writer = catalog.writer()
    writer.create_namespace("bronze")
    table = writer.create_table("bronze.orders", ROWS.schema, properties={"owner": "shop"})
    table.append(ROWS, snapshot_properties=RECORD.to_summary())
    table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "first").commit()
    table.delete("id = 1")
    return catalog


@pytest.fixture
def remote(local: LocalCatalog) -> RemoteCatalog:
    """The same catalog through PyIceberg."""
    return over(local.db)


def over(db: Path, *secrets: str) -> RemoteCatalog:
    uri = URL.create("sqlite", database=str(db)).render_as_string()
    return RemoteCatalog({"type": "sql", "uri": uri, "init_catalog_tables": "false"}, secrets)


def test_a_table_s_state_is_the_same_as_read_by_ourselves(local: LocalCatalog, remote: RemoteCatalog) -> None:
    state = remote.table("bronze", "orders")
    assert state == local.table("bronze", "orders")
    assert state is not None
    assert [snapshot.record for snapshot in state.ancestors(state.refs["main"])] == [None, RECORD]


def test_what_is_not_there(remote: RemoteCatalog) -> None:
    assert remote.names("bronze") == ("orders",)
    assert remote.names("nowhere") == ()
    assert remote.table("bronze", "other") is None
    assert remote.table("nowhere", "orders") is None


def test_the_writer_writes(local: LocalCatalog, remote: RemoteCatalog) -> None:
    remote.writer().load_table("bronze.orders").append(ROWS)
    state = local.table("bronze", "orders")
    assert state is not None
    assert len(state.snapshots) == 3


def test_a_catalog_that_does_not_answer_is_said_without_secrets(tmp_path: Path) -> None:
    catalog = over(tmp_path / "nowhere" / "catalog.db", "unable", "")
    with pytest.raises(EnvironmentProblem, match="LS325") as error:
        catalog.table("bronze", "orders")
    found = error.value.problems[0].found or ""
    assert "*** to open database file" in found
    assert "unable" not in str(error.value)


def test_a_rest_catalog_nobody_listens_at() -> None:
    catalog = RemoteCatalog({"type": "rest", "uri": "http://127.0.0.1:1"})
    with pytest.raises(EnvironmentProblem, match="the rest catalog does not answer"):
        catalog.names("bronze")


def test_a_database_that_nobody_has_written_to_has_no_tables(tmp_path: Path) -> None:
    catalog = over(tmp_path / "new.db")
    assert catalog.table("bronze", "orders") is None
    assert catalog.names("bronze") == ()
    with pytest.raises(OperationalError):
        catalog.reader().load_table("bronze.orders")


def test_the_first_writer_makes_what_a_catalog_in_a_database_needs(tmp_path: Path) -> None:
    over(tmp_path / "new.db").writer().create_namespace_if_not_exists("bronze")
    written = over(tmp_path / "new.db").reader()
    assert written.catalog.list_namespaces() == [("bronze",)]  # type: ignore[attr-defined]


def test_old_metadata_that_the_server_has_deleted_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(EnvironmentProblem):
        RemoteCatalog({"type": "rest", "uri": "http://127.0.0.1:1"}).names("bronze")
    logger = logging.getLogger("pyiceberg.catalog")
    logger.warning("Failed to delete metadata file s3://lake/a.json")
    logger.warning("Failed to delete data file s3://lake/a.parquet")
    assert caplog.messages == ["Failed to delete data file s3://lake/a.parquet"]
