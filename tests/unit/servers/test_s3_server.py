"""The server that plays S3 and Glue refuses what AWS refuses: tests of races rest on it."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from botocore.exceptions import ClientError
from pyiceberg.catalog import load_catalog

from s3_server import Server

WRITERS, APPENDS = 4, 2


@pytest.fixture
def database(s3: Server) -> str:
    """A new database in Glue."""
    name = f"db_{uuid.uuid4().hex[:8]}"
    s3.client("glue").create_database(DatabaseInput={"Name": name})
    return name


def _update(s3: Server, database: str, says: str, **more: Any) -> None:
    s3.client("glue").update_table(
        DatabaseName=database, TableInput={"Name": "orders", "Parameters": {"says": says}}, **more
    )


def _table(s3: Server, database: str) -> tuple[str, str]:
    """What the table says, and its version."""
    found = s3.client("glue").get_table(DatabaseName=database, Name="orders")["Table"]
    return found["Parameters"]["says"], found["VersionId"]


def test_glue_refuses_an_update_of_a_version_that_is_not_the_current_one(s3: Server, database: str) -> None:
    table = {"Name": "orders", "Parameters": {"says": "created"}}
    s3.client("glue").create_table(DatabaseName=database, TableInput=table)
    _, first = _table(s3, database)

    _update(s3, database, "in time", VersionId=first, SkipArchive=True)
    said, second = _table(s3, database)
    assert said == "in time"
    assert second != first

    with pytest.raises(ClientError) as refused:
        _update(s3, database, "too late", VersionId=first, SkipArchive=True)
    assert refused.value.response["Error"]["Code"] == "ConcurrentModificationException"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert _table(s3, database) == ("in time", second)


def test_glue_takes_an_update_that_names_no_version(s3: Server, database: str) -> None:
    table = {"Name": "orders", "Parameters": {"says": "created"}}
    s3.client("glue").create_table(DatabaseName=database, TableInput=table)
    _update(s3, database, "whatever it has", SkipArchive=False)
    assert _table(s3, database)[0] == "whatever it has"


def test_glue_does_not_know_a_table_that_is_not_there(s3: Server, database: str) -> None:
    with pytest.raises(ClientError) as refused:
        _update(s3, database, "nothing to update", VersionId="1")
    assert refused.value.response["Error"]["Code"] == "EntityNotFoundException"


def test_four_writers_to_one_table_in_glue_lose_nothing(s3: Server, database: str) -> None:
    settings = s3.glue(f"{s3.make_bucket()}/wh")
    schema = pa.schema([("writer", pa.int64()), ("append", pa.int64())])
    retries = {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "10"}
    load_catalog("lake", **settings).create_table((database, "orders"), schema, properties=retries)
    together, refusals = threading.Barrier(WRITERS, timeout=60), [0] * WRITERS

    def write(writer: int) -> None:
        catalog: Any = load_catalog("lake", **settings)
        catalog.glue.update_table = _first_together(catalog.glue.update_table, together, refusals, writer)
        for append in range(APPENDS):
            row = pa.table({"writer": [writer], "append": [append]}, schema)
            catalog.load_table((database, "orders")).append(row)

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))

    rows = load_catalog("lake", **settings).load_table((database, "orders")).scan().to_arrow().to_pylist()
    expected = [(writer, append) for writer in range(WRITERS) for append in range(APPENDS)]
    assert sorted((row["writer"], row["append"]) for row in rows) == expected
    assert sum(refusals) >= WRITERS - 1, "of the first updates, which name one version, one alone was right"


def _first_together(
    update: Callable[..., Any], together: threading.Barrier, refusals: list[int], writer: int
) -> Callable[..., Any]:
    """``update_table`` of a client, of which the first call waits for those of the other writers; counts what
    is refused.
    """
    waits = iter([together.wait])

    def call(**arguments: Any) -> Any:
        next(waits, lambda: 0)()
        try:
            return update(**arguments)
        except ClientError:
            refusals[writer] += 1
            raise

    return call


def test_s3_gives_an_object_to_the_first_who_asks_that_it_be_new(s3: Server) -> None:
    bucket = s3.make_bucket().removeprefix("s3://")
    s3.client().put_object(Bucket=bucket, Key="lease", Body=b"first", IfNoneMatch="*")
    with pytest.raises(ClientError) as refused:
        s3.client().put_object(Bucket=bucket, Key="lease", Body=b"second", IfNoneMatch="*")
    assert refused.value.response["Error"]["Code"] == "PreconditionFailed"
    assert s3.client().get_object(Bucket=bucket, Key="lease")["Body"].read() == b"first"
