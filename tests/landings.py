"""Places where files land, for tests over both: a folder of this machine, and a prefix in moto's S3."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import s3_server
from lakesmith.errors import Place
from lakesmith.project.definitions import FileSource, ObjectStore, PostgresSource
from lakesmith.project.formats import FileFormat
from lakesmith.sources.listing import Listing, list_files
from lakesmith.sources.model import FileIdentity

FAR = 10**19
"""Nanoseconds since the epoch when every file is old."""


class Landing(Protocol):
    """A place. ``path`` is what a source says; names are those below it. ``root`` is the project's folder."""

    path: str
    root: Path

    def put(self, name: str, content: str | bytes = "a,b\n1,2\n") -> None:
        """Writes a file, or writes one anew."""

    def delete(self, name: str) -> None:
        """Takes a file away."""

    @property
    def store(self) -> ObjectStore | None:
        """How it is reached, None for a folder."""


@dataclass
class FolderLanding:
    """``landing/orders/`` in a project's folder."""

    root: Path
    path: str = "landing/orders/"
    store: ObjectStore | None = None

    def put(self, name: str, content: str | bytes = "a,b\n1,2\n") -> None:
        file = self.root / self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)

    def delete(self, name: str) -> None:
        (self.root / self.path / name).unlink()


@dataclass
class BucketLanding:
    """``s3://<a new bucket>/landing/orders/``."""

    server: s3_server.Server
    root: Path
    path: str = ""

    def __post_init__(self) -> None:
        self.client = self.server.client()
        self.bucket = self.server.make_bucket().removeprefix("s3://")
        self.path = f"s3://{self.bucket}/landing/orders/"

    @property
    def store(self) -> ObjectStore:
        return store_of(self.server)

    def put(self, name: str, content: str | bytes = "a,b\n1,2\n") -> None:
        self.client.put_object(Bucket=self.bucket, Key=self.key(name), Body=content)

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=self.key(name))

    def key(self, name: str) -> str:
        return f"landing/orders/{name}"


def store_of(server: s3_server.Server) -> ObjectStore:
    return ObjectStore(server.endpoint, s3_server.REGION, s3_server.KEY_ID, s3_server.SECRET)


def products_source(place: Place, **fields: Any) -> PostgresSource:
    """A source that reads a table of products in PostgreSQL, by its ``id``, every 30 seconds."""
    given = {"connection": "SHOP", "table": "public.products", "key": ("id",), "refresh_seconds": 30.0}
    return PostgresSource("postgres", "x", FileFormat.JSON, place, "*.jsonl", **{**given, **fields})


def source_of(landing: Landing, **fields: Any) -> FileSource:
    """A source named ``orders`` over a place, of CSV files unless ``fields`` say otherwise."""
    given = {"format": FileFormat.CSV, "path": landing.path, "store": landing.store, **fields}
    return FileSource(name="orders", place=Place("tables/bronze/orders.yaml", 2), **given)


def listing_of(landing: Landing, now_ns: int = FAR, known: Sequence[str] = (), **fields: Any) -> Listing:
    """What is there; ``fields`` are of the source."""
    return list_files(source_of(landing, **fields), landing.root, now_ns, known)


def files_in(landing: Landing, **fields: Any) -> tuple[FileIdentity, ...]:
    return listing_of(landing, **fields).found


def names_in(landing: Landing, **fields: Any) -> list[str]:
    return [name_in(landing, file) for file in files_in(landing, **fields)]


def name_in(landing: Landing, file: FileIdentity) -> str:
    assert file.path.startswith(landing.path)
    return file.path.removeprefix(landing.path)
