"""An erasure whose Python, JVM or both are killed: other commands go on, and the same call again ends it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import must, run_killed
from read_elsewhere import catalog_of

sys.path.append(str(Path(__file__).parents[1] / "conformance"))

from left_behind import mentions
from machines import QUICKLY
from places import embedded, project_file
from small_shop import NEWEST, ORDERS, SUMS, Order, csv, newest, sums

pytestmark = pytest.mark.release

ADA = "Ada Lovelace-Byron"
FIRST = (Order(1, ADA, 5, 1), Order(2, "Bo", 7, 1), Order(3, ADA, 11, 1))
SECOND = (Order(2, "Bo", 8, 2), Order(4, "Cy", 13, 1), Order(1, ADA, 6, 2))
BAD = f"7,{ADA},many,1\n8,Bo,many,1\n"
MEANWHILE = (Order(4, "Cy", 14, 2), Order(9, "Bo", 1, 1))
OTHERS = tuple(order for order in FIRST + SECOND + MEANWHILE if order.customer != ADA)
ERASE = ("erase", "bronze.orders", "--where", f"customer = '{ADA}'", "--yes", "--json")
KILLS = (
    "erase-begun:killboth", "after-branch@bronze.orders:kill", "after-branch@bronze.orders:killboth/400",
    "after-delete@bronze.orders:killboth", "after-quarantine@bronze.orders:killjvm",
    "before-swap@bronze.orders:killboth/5", "after-publish@bronze.orders:kill",
    "after-sidecars@bronze.orders:killboth/300", "erase-rewritten@bronze.orders:killboth",
    "after-branch@silver.newest:killboth/300", "after-publish@silver.newest:killjvm",
    "erase-rewritten@gold.sums:killboth", "erase-past@bronze.orders:killboth", "erase-past@gold.sums:kill",
    "erase-landing:kill", "erase-proved:kill",
)  # fmt: skip
"""At each point of an erasure, and in the middle of what comes after some of them."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The project after two batches."""
    root = tmp_path / "shop"
    bronze = "tables/bronze/orders.yaml"
    said = {bronze: ORDERS[bronze].replace("on_changed_file: replace", "on_erase: remove")}
    for name, text in {
        **said,
        **NEWEST,
        **SUMS,
        "lakesmith.yaml": project_file("shop", embedded(), {"spark": QUICKLY}),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for number, text in enumerate((csv(*FIRST) + BAD, csv(*SECOND))):
        land(root, f"{number}.csv", text)
        must(root, "run")
    return root


def land(root: Path, name: str, text: str) -> None:
    path = root / "landing/orders" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def rows(root: Path, name: str) -> list[tuple[Any, ...]]:
    """A table's rows as PyIceberg reads them, without the columns that lakesmith adds."""
    table = catalog_of(root).load_table(name).scan().to_arrow()
    kept = [column for column in table.column_names if not column.startswith("_")]
    return sorted(tuple(row.values()) for row in table.select(kept).to_pylist())


@pytest.mark.parametrize("fault", KILLS)
def test_the_same_call_again_ends_it(root: Path, fault: str) -> None:
    run_killed(root, fault, ERASE)
    assert "1 erasure begun and not ended" in must(root, "status")
    land(root, "2.csv", csv(*MEANWHILE))
    must(root, "run")

    said = json.loads(must(root, *ERASE))
    assert (said["done"], said["proof"]["left"]) == (True, [])
    assert rows(root, "bronze.orders") == sorted(OTHERS)
    assert rows(root, "silver.newest") == newest(OTHERS)
    assert rows(root, "gold.sums") == sums(OTHERS)
    assert mentions(root, [ADA[:12]]) == []
    assert "begun and not ended" not in must(root, "status")
    assert "Spark is ready" not in must(root, "run"), "nothing is left to do"
