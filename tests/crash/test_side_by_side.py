"""Tables that come into being at the same moment, in a lake that is new."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TypeVar

import pytest
from harness import MakeShop

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.record import Pin
from lakesmith.project.definitions import Column, TableName
from lakesmith.sources.ledger import LedgerStore
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry
from lakesmith.spark.iceberg.ddl import create_table

T = TypeVar("T")


def at_once(*actions: Callable[[], T]) -> list[T]:
    """What each of them returns, called in threads that begin together; raises what one of them raises."""
    barrier = Barrier(len(actions))

    def one(action: Callable[[], T]) -> T:
        barrier.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result() for future in [pool.submit(one, action) for action in actions]]


def test_two_first_tables_of_a_layer(make_shop: MakeShop) -> None:
    spark = make_shop().spark

    def create(layer: str, name: str) -> Callable[[], None]:
        return lambda: create_table(spark, TableName(layer, name), [Column("id", "bigint")], {})

    for number in range(8):
        at_once(create(f"layer_{number}", "one"), create(f"layer_{number}", "two"))
        made = spark.sql(f"SHOW TABLES IN lake.layer_{number}").collect()
        assert {row.tableName for row in made} == {"one", "two"}


@pytest.mark.parametrize("number", range(3))
def test_the_first_two_ledgers(tmp_path: Path, number: int) -> None:
    catalog = LocalCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")

    def append(table: str) -> Callable[[], Pin]:
        store = LedgerStore(catalog, tmp_path / table)
        file = FileIdentity(f"landing/{table}.csv", 1, 2, 3, 4, "")
        entry = LedgerEntry(file, "files", FileAction.TAKEN, "a" * 32, 1, 5)
        return lambda: store.append(TableName("bronze", table), None, [entry])

    tables = ("one", "two", "three")
    pins = at_once(*map(append, tables))
    anew = LedgerStore(catalog, tmp_path / "no cache")
    for table, pin in zip(tables, pins, strict=True):
        assert list(anew.read(TableName("bronze", table), pin).rows) == [f"landing/{table}.csv"]
