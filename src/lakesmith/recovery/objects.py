"""The objects of a warehouse in S3, listed once: which are there, and their content."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lakesmith.execute.relocate import Avro
from lakesmith.project.definitions import OBJECT_SCHEME, ObjectStore
from lakesmith.sources.object_errors import os_error
from lakesmith.sources.objects import bucket_and_key, client_of
from lakesmith.sources.threads import map_in_threads

T = TypeVar("T")


@dataclass
class Warehouse:
    """The objects below ``path`` with their sizes. Methods raise OSError for what S3 refuses."""

    path: str
    store: ObjectStore
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def listed(cls, path: str, store: ObjectStore) -> Warehouse:
        """Lists the warehouse at ``path``."""
        found = cls(path.rstrip("/"), store)
        bucket, key = bucket_and_key(found.path)
        try:
            pages = client_of(store).get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=bucket, Prefix=f"{key}/" if key else ""):
                for each in page.get("Contents", ()):
                    found.sizes[f"{OBJECT_SCHEME}{bucket}/{each['Key']}"] = each["Size"]
        except Exception as error:
            raise os_error(path, error) from error
        return found

    def below(self, ending: str) -> Iterator[str]:
        return (path for path in self.sizes if path.endswith(ending))

    def read(self, path: str) -> bytes:
        bucket, key = bucket_and_key(path)
        try:
            return bytes(client_of(self.store).get_object(Bucket=bucket, Key=key)["Body"].read())
        except Exception as error:
            raise os_error(path, error) from error

    def read_all(self, paths: Iterable[str]) -> list[bytes]:
        return map_in_threads(self.read, list(paths), over_network=True)

    def write(self, path: str, content: bytes) -> None:
        bucket, key = bucket_and_key(path)
        try:
            client_of(self.store).put_object(Bucket=bucket, Key=key, Body=content)
        except Exception as error:
            raise os_error(path, error) from error
        self.sizes[path] = len(content)

    def avro(self, path: str) -> list[dict[str, Any]] | None:
        """The records of a manifest or a list; None if it is not there, or not whole."""
        try:
            return Avro.of(self.read(path)).records if path in self.sizes else None
        except (EOFError, ValueError, LookupError, zlib.error):
            return None
