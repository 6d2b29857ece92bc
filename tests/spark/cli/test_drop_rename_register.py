"""Real tables dropped, renamed, and registered after the catalog was lost: no row is ingested twice."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from harness import Harness, MakeShop, fail
from rewinding import rewinding

from lakesmith.catalog.local import LocalCatalog
from lakesmith.catalog.metadata import local_path
from lakesmith.execute.faults import arrange, clear
from lakesmith.project.definitions import TableName

Cli = Callable[..., tuple[int, str, str]]

FILES = {
    "tables/bronze/orders.yaml": """
        source:
          files: {path: landing/orders/, format: csv}
        columns: {id: bigint, at: int, op: string}
        rules: |
          Rules = [ ColumnValues "at" > 0 ]
        """,
    "tables/silver/orders.yaml": "from: bronze.orders\nkey: [id]\nlatest_by: [at]\n"
    "delete_when: \"op = 'D'\"\n",
    "tables/gold/number.sql": "SELECT count(*) AS n, max(at) AS at FROM silver.orders\n",
}
TAKEN = {
    "landing/orders/1.csv": "id,at,op\n1,1,I\n2,1,I\n3,0,I\n",
    "landing/orders/2.csv": "id,at,op\n1,2,D\n2,2,U\n",
}
"""Two batches: rows in quarantine, a deleted key, a file ledger."""


@pytest.fixture(scope="module")
def taken(make_lake: MakeShop) -> Callable[[], Harness]:
    shop = make_lake(FILES)
    for name, content in TAKEN.items():
        shop.take(name, content)
    return rewinding(shop)


@pytest.fixture
def shop(taken: Callable[[], Harness]) -> Harness:
    return taken()


def test_a_renamed_table_goes_on_where_it_was(
    shop: Harness, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shop.record("bronze.orders")
    moved: list[Path] = []

    def fail(path: Path, target: Path) -> Path:
        moved.append(path)
        raise KeyboardInterrupt

    words = ("rename", "bronze.orders", "bronze.sales", "--yes", "--project", shop.root)
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.rename", fail)
        assert cli(*words)[0] == 130
    assert [path.name for path in moved] == ["orders.yaml"]

    # Killed between the catalog and the file: nothing is built over it, and the same call finishes it.
    code, out, _ = cli("plan", "--project", shop.root)
    begun = "  LS513 'lakesmith rename bronze.orders bronze.sales' was begun and did not finish"
    assert code == 1 and begun in out.splitlines()
    assert cli("drop", "bronze.sales", "--yes", "--project", shop.root)[0] == 1
    code, out, said = cli(*words)
    assert (code, said) == (0, "")
    assert out.splitlines() == [
        "bronze.orders is bronze.sales now: its next run takes what is new",
        "  tables/bronze/orders.yaml -> tables/bronze/sales.yaml",
        "these read bronze.orders, and have to read bronze.sales:",
        "  silver.orders: tables/silver/orders.yaml:1",
    ]
    assert cli(*words)[0] == 2, "there is no such table any more"

    text = (shop.root / "tables/silver/orders.yaml").read_text().replace("bronze.orders", "bronze.sales")
    (shop.root / "tables/silver/orders.yaml").write_text(text)
    assert cli("rename", "silver.orders", "silver.clients", "--yes", "--project", shop.root, "--json")[0] == 0
    (shop.root / "tables/gold/number.sql").write_text(
        "SELECT count(*) AS n, max(at) AS at FROM silver.clients\n"
    )
    result = shop.must_run()
    assert set(result.published) == {"silver.clients", "gold.number"}
    assert shop.record("bronze.sales") == before
    result = shop.take("landing/orders/3.csv", "id,at,op\n1,1,I\n4,3,I\n5,-1,I\n")
    assert result.published["bronze.sales"].account.read == 3
    assert result.published["bronze.sales"].parent == before.attempt
    assert result.published["silver.clients"].kind == "upsert"
    # The deleted key stays deleted: its tombstone came along.
    assert shop.rows("silver.clients", "id", "at") == [(2, 2), (4, 3)]
    assert [row["source_file"] for row in shop.quarantine("bronze.sales")] == [
        "landing/orders/1.csv",
        "landing/orders/3.csv",
    ]
    catalog = shop.lake().catalog
    assert [name for name in catalog.names("lakesmith") if "__orders__" in name] == []
    assert catalog.names("bronze") == ("sales",)


def _entries(shop: Harness) -> dict[tuple[str, str], str]:
    with closing(sqlite3.connect(shop.root / ".lakesmith/catalog.db")) as db:
        found = db.execute("SELECT table_namespace, table_name, metadata_location FROM iceberg_tables")
        return {(layer, name): str(local_path(location)) for layer, name, location in found}


def _forget(shop: Harness, *names: str) -> None:
    with closing(sqlite3.connect(shop.root / ".lakesmith/catalog.db")) as db, db:
        for name in names:
            db.execute("DELETE FROM iceberg_tables WHERE table_namespace || '.' || table_name = ?", (name,))


def test_a_lost_catalog_is_filled_again(shop: Harness, cli: Cli) -> None:
    # Attempts that never became a table's state: one that failed right before its swap, and one that lost it.
    assert cli("rename", "gold.number", "gold.figures", "--yes", "--project", shop.root)[0] == 0
    shop.land("landing/orders/3.csv", "id,at,op\n4,3,I\n")
    arrange("before-swap", fail)
    assert shop.run().code == 1
    clear()
    for location in _entries(shop).values():
        _lose_a_swap(Path(location))
    oracle = _entries(shop)
    # All entries, and not the file itself: the session keeps that open, as no second process would.
    _forget(shop, *(".".join(name) for name in oracle))

    result = shop.run()
    assert result.code == 1 and not result.published
    assert {problem.code for problem in result.problems} == {"LS512"}
    assert "bronze.orders, gold.figures, silver.orders" in str(result.problems[0].found)

    code, out, said = cli("register", "--yes", "--project", shop.root, "--json")
    assert (code, said) == (0, "")
    assert len(json.loads(out)["registered"]) == len(oracle)
    assert _entries(shop) == oracle
    assert cli("register", "--project", shop.root)[1] == "every table in the warehouse is in the catalog\n"
    _goes_on(shop)


def _lose_a_swap(location: Path) -> None:
    """Writes what a commit would have left that was made from the same file as the newest was, and lost."""
    data: dict[str, Any] = json.loads(location.read_text())
    other = location.with_name(f"{location.name[:5]}-lost.metadata.json")
    other.write_text(json.dumps({**data, "last-updated-ms": data["last-updated-ms"] - 1}))


def _goes_on(shop: Harness) -> None:
    """The file that waits is taken, and no other once more."""
    assert shop.must_run().published["bronze.orders"].account.read == 1
    assert shop.rows("silver.orders", "id", "at") == [(2, 2), (4, 3)]
    assert shop.rows("bronze.orders", "id") == [(1,), (1,), (2,), (2,), (4,)]
    assert len(shop.quarantine("bronze.orders")) == 1


def test_single_entries_that_are_lost(shop: Harness, cli: Cli) -> None:
    shop.land("landing/orders/3.csv", "id,at,op\n4,3,I\n")
    shutil.rmtree(shop.root / ".lakesmith/cache", ignore_errors=True)
    lost = ("bronze.orders", "lakesmith.bronze__orders__files", "lakesmith.silver__orders__tombstones")
    oracle = _entries(shop)
    _forget(shop, *lost)

    result = shop.run()
    assert [problem.code for problem in result.problems] == ["LS512"]
    said = cli("status", "--project", shop.root)
    assert said[0] == 1 and "'lakesmith register' enters them again" in said[1]
    assert cli("register", "--yes", "--project", shop.root)[0] == 0
    assert _entries(shop) == oracle
    _goes_on(shop)


def test_a_dropped_table_is_built_anew(shop: Harness, cli: Cli) -> None:
    folder = shop.root / ".lakesmith/warehouse/silver/orders"
    code, out, _ = cli("drop", "silver.orders", "--yes", "--project", shop.root)
    assert code == 0
    assert out.splitlines()[:4] == [
        "silver.orders, 1 row, with its tombstones: its data files are kept",
        "  gold.number reads it (tables/gold/number.sql:1)",
        "tables/silver/orders.yaml stays: the next run rebuilds the table",
        "silver.orders was dropped",
    ]
    assert folder.is_dir() and cli("register", "--project", shop.root)[1].startswith("every table")
    result = shop.must_run()
    assert result.published["silver.orders"].kind == "full"
    assert result.published["gold.number"].kind == "full"
    assert shop.rows("silver.orders", "id", "at") == [(2, 2)]

    assert cli("drop", "silver.orders", "--purge", "--yes", "--project", shop.root, "--json")[0] == 0
    assert not folder.exists()
    assert not (shop.root / ".lakesmith/warehouse/lakesmith/silver__orders__tombstones").exists()
    shop.must_run()
    # A sourced one takes its files again, and its ledger begins anew.
    assert cli("drop", "bronze.orders", "--yes", "--project", shop.root)[0] == 0
    result = shop.must_run()
    assert result.published["bronze.orders"].account.read == 5
    assert shop.rows("silver.orders", "id", "at") == [(2, 2)]
    catalog = LocalCatalog(shop.root / ".lakesmith/catalog.db", shop.root / ".lakesmith/warehouse")
    assert catalog.table(*_parts("bronze.orders")) is not None


def test_silver_and_gold_are_made_of_bronze_alone(shop: Harness, cli: Cli) -> None:
    before = {name: shop.rows(name) for name in ("silver.orders", "gold.number")}
    shutil.rmtree(shop.root / "landing")
    for name in before:
        assert cli("drop", name, "--purge", "--yes", "--project", shop.root)[0] == 0
    shop.must_run(*before)
    assert {name: shop.rows(name) for name in before} == before
    shop.must_verify(*before)


def _parts(name: str) -> tuple[str, str]:
    found = TableName.parse(name)
    return found.layer, found.name
