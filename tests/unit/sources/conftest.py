"""Real files and a real catalog for the tests of sources."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lakesmith.errors import Place
from lakesmith.project.definitions import FileSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.ledger import LedgerStore
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry
from landings import BucketLanding, FolderLanding, Landing
from s3_server import Server


class SqliteCatalog:
    """A PyIceberg catalog on SQLite, opened when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer: Any = None

    def writer(self) -> Any:
        if self._writer is None:
            from pyiceberg.catalog.sql import SqlCatalog

            self._writer = SqlCatalog(
                "lake", uri=f"sqlite:///{self.folder}/catalog.db", warehouse=f"file://{self.folder}/warehouse"
            )
        return self._writer

    reader = writer


@pytest.fixture
def catalog(tmp_path: Path) -> SqliteCatalog:
    return SqliteCatalog(tmp_path)


@pytest.fixture
def store(catalog: SqliteCatalog, tmp_path: Path) -> LedgerStore:
    """The file ledgers of ``catalog``."""
    return LedgerStore(catalog, tmp_path / "cache")


@pytest.fixture
def uncached(catalog: SqliteCatalog, tmp_path: Path) -> Callable[[], LedgerStore]:
    """A store that has to ask the table itself."""
    count = iter(range(1000))
    return lambda: LedgerStore(catalog, tmp_path / f"no-cache-{next(count)}")


@pytest.fixture
def make_source() -> Callable[..., FileSource]:
    """A CSV source named ``orders`` over ``landing/orders``; any field may be given."""

    def make(**fields: Any) -> FileSource:
        given = {"format": FileFormat.CSV, "path": "landing/orders/", **fields}
        return FileSource(name="orders", place=Place("tables/bronze/orders.yaml", 2), **given)

    return make


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file below the project's folder and returns its path."""

    def write(name: str, content: str | bytes = "a,b\n1,2\n") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def entry() -> Callable[..., LedgerEntry]:
    """Makes a ledger line; keyword arguments besides ``action`` are fields of FileIdentity."""

    def make(path: str, batch: int = 1, action: FileAction = FileAction.TAKEN, **stat: Any) -> LedgerEntry:
        file = FileIdentity(path, **{"size": 10, "modified_ns": 1_700_000_000_123_456_789, **stat})
        return LedgerEntry(file, "orders", action, f"attempt-{batch}", batch, 1_700_000_000_000 + batch)

    return make


@pytest.fixture(params=["folder", "s3"])
def landing(request: pytest.FixtureRequest, tmp_path: Path) -> Landing:
    """Where the files of a source land: tests that take it hold of a folder and of S3."""
    if request.param == "folder":
        return FolderLanding(tmp_path)
    return BucketLanding(request.getfixturevalue("s3"), tmp_path)


@pytest.fixture
def bucket(s3: Server, tmp_path: Path) -> BucketLanding:
    """A prefix in S3."""
    return BucketLanding(s3, tmp_path)
