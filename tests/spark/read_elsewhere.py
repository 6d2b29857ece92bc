"""A project's tables read by engines that know nothing of lakesmith, in this process."""

from importlib import resources
from pathlib import Path
from typing import Any

import duckdb
from harness import Harness, in_order

from lakesmith.project.definitions import ADDED_COLUMNS

Rows = list[tuple[Any, ...]]


def catalog_of(root: Path) -> Any:
    """PyIceberg's catalog over the embedded catalog of the project in ``root``."""
    from pyiceberg.catalog.sql import SqlCatalog

    state = root / ".lakesmith"
    where = {"uri": f"sqlite:///{state}/catalog.db", "warehouse": f"file://{state}/warehouse"}
    return SqlCatalog("lake", **where, init_catalog_tables="false")


def names_of(shop: Harness, table: str) -> list[str]:
    return [name for name in shop.frame(table).columns if name not in ADDED_COLUMNS]


def by_pyiceberg(shop: Harness, table: str, *columns: str) -> Rows:
    found = catalog_of(shop.root).load_table(table).scan().to_arrow()
    return in_order(
        tuple(row[name] for name in columns or names_of(shop, table)) for row in found.to_pylist()
    )


def by_duckdb(shop: Harness, table: str, *columns: str) -> Rows:
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in ("avro", "iceberg"):
        package = resources.files(f"duckdb_extension_{name}") / "extensions" / f"v{duckdb.__version__}"
        connection.execute(f"LOAD '{package / f'{name}.duckdb_extension'}'")
    names = ", ".join(f'"{name}"' for name in columns or names_of(shop, table))
    location = shop.state(table).metadata_location
    return in_order(connection.execute(f"SELECT {names} FROM iceberg_scan(?)", [location]).fetchall())
