"""The catalogs that tests of targets run on, each as a real server: PyIceberg writes to them and reads what
it wrote.
"""

import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException

import postgres_server
import rest_server
import s3_server

ROWS = pa.table({"order_id": [1, 2], "city": ["Boston", "Austin"]})


@pytest.fixture(scope="module", params=["glue", "rest", "jdbc"])
def settings(request: pytest.FixtureRequest, s3: s3_server.Server) -> Mapping[str, str]:
    """PyIceberg's properties of each catalog; its server starts when the first of its tests does."""
    make: Callable[[], Mapping[str, str]] = {
        "glue": lambda: s3.glue(f"{s3.make_bucket()}/wh"),
        "rest": lambda: request.getfixturevalue("rest").catalog,
        "jdbc": lambda: _in_postgres(request.getfixturevalue("jdbc"), s3),
    }[request.param]
    return make()


def _in_postgres(server: postgres_server.Server, s3: s3_server.Server) -> dict[str, str]:
    return {**server.make_database().catalog(f"{s3.make_bucket()}/wh"), **s3.files}


@pytest.fixture
def catalog(settings: Mapping[str, str]) -> Catalog:
    return load_catalog("lake", **settings)


@pytest.fixture
def namespace(catalog: Catalog) -> str:
    name = f"bronze_{uuid.uuid4().hex[:8]}"
    catalog.create_namespace(name)
    return name


def test_what_one_appends_another_reads(
    catalog: Catalog, namespace: str, settings: Mapping[str, str], s3: s3_server.Server
) -> None:
    table = catalog.create_table((namespace, "orders"), ROWS.schema)
    table.append(ROWS)
    table.append(ROWS.slice(1))

    found = load_catalog("lake", **settings).load_table((namespace, "orders"))
    orders = sorted(found.scan().to_arrow().to_pylist(), key=lambda row: row["order_id"])
    assert [(row["order_id"], row["city"]) for row in orders] == [(1, "Boston"), (2, "Austin"), (2, "Austin")]
    assert [(namespace, "orders")] == catalog.list_tables(namespace)
    metadata = urlsplit(found.metadata_location)
    assert metadata.scheme == "s3"
    assert s3.client().head_object(Bucket=metadata.netloc, Key=metadata.path[1:])["ContentLength"] > 0


def test_a_stale_commit_is_refused(catalog: Catalog, namespace: str, settings: Mapping[str, str]) -> None:
    catalog.create_table((namespace, "orders"), ROWS.schema, properties={"commit.retry.num-retries": "0"})
    stale = load_catalog("lake", **settings).load_table((namespace, "orders"))
    catalog.load_table((namespace, "orders")).append(ROWS)
    with pytest.raises(CommitFailedException):
        stale.append(ROWS)
    assert catalog.load_table((namespace, "orders")).scan().to_arrow().num_rows == 2


@pytest.mark.in_turn
def test_writers_at_once_lose_nothing(catalog: Catalog, namespace: str, settings: Mapping[str, str]) -> None:
    retries = {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "10"}
    catalog.create_table((namespace, "orders"), ROWS.schema, properties=retries)

    def append(order_id: int) -> None:
        table = load_catalog("lake", **settings).load_table((namespace, "orders"))
        table.append(pa.table({"order_id": [order_id], "city": ["Chicago"]}))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(8)))
    rows = catalog.load_table((namespace, "orders")).scan().to_arrow()
    assert sorted(rows["order_id"].to_pylist()) == list(range(8))


def test_a_rest_catalog_that_was_killed_knows_its_tables_at_the_same_place(rest: rest_server.Server) -> None:
    catalog = load_catalog("lake", **rest.catalog)
    catalog.create_namespace("killed")
    catalog.create_table("killed.orders", ROWS.schema).append(ROWS)
    rest.end()
    rest.start()
    assert catalog.load_table("killed.orders").scan().to_arrow().num_rows == 2


def test_a_database_asks_for_its_password(jdbc: postgres_server.Server) -> None:
    database = jdbc.make_database()
    assert postgres_server.do(database.url, "SELECT current_user") == [(database.user,)]
    assert database.jdbc == f"jdbc:postgresql://127.0.0.1:{jdbc.port}/{database.name}"
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(database.url.replace(database.password, "another"))
