"""A replay of bad rows that is killed: each row is in the table or in quarantine afterwards, and once."""

import json
from collections import Counter
from pathlib import Path

import pytest
from processes import must, run_killed
from read_elsewhere import catalog_of
from soaking import chosen

TABLE = """
source:
  files: {{path: landing/, pattern: "*.csv", format: csv}}
columns: {{id: bigint, amount: bigint}}
rules: |
  Rules = [ ColumnValues "amount" <= {limit} ]
"""
FILE = "id,amount\n" + "".join(f"{i},{i * 10}\n" for i in range(1, 11))
REPLAY = ("quarantine", "replay", "bronze.orders")
POINTS = (
    "after-delete:kill", "after-data:killjvm", "after-quarantine:killboth", "before-publish:kill",
    "before-swap:killboth", "after-publish:kill",
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten orders, four of them in quarantine by a limit; then a limit by which all but one are good."""
    root = tmp_path_factory.mktemp("replay") / "shop"
    (root / "tables" / "bronze").mkdir(parents=True)
    (root / "landing").mkdir()
    (root / "lakesmith.yaml").write_text("name: shop\ntargets: {local: {}}\n")
    (root / "tables/bronze/orders.yaml").write_text(TABLE.format(limit=60))
    (root / "landing/orders.csv").write_text(FILE)
    must(root)
    assert whereabouts(root) == (ids(1, 7), ids(7, 11))
    (root / "tables/bronze/orders.yaml").write_text(TABLE.format(limit=90))
    return root


def ids(start: int, end: int) -> Counter[int]:
    return Counter(range(start, end))


def whereabouts(root: Path) -> tuple[Counter[int], Counter[int]]:
    """The orders in the table and those in quarantine, as PyIceberg reads what is published."""
    catalog = catalog_of(root)
    table = catalog.load_table("bronze.orders")
    head = table.metadata.snapshot_by_id(table.metadata.refs["main"].snapshot_id)
    assert head is not None and head.summary is not None
    pin = json.loads(head.summary.additional_properties["lakesmith.record"])["sidecars"]["quarantine"]
    aside = catalog.load_table("lakesmith.bronze__orders__quarantine")
    bad = aside.scan(snapshot_id=pin["snapshot"]).to_arrow().column("source_position").to_pylist()
    return Counter(table.scan().to_arrow().column("id").to_pylist()), Counter(bad)


@pytest.mark.parametrize("fault", chosen(POINTS, "after-data:killjvm", "after-publish:kill"))
def test_no_row_is_lost_or_doubled_by_a_replay_that_is_killed(root: Path, fault: str) -> None:
    before = whereabouts(root)
    run_killed(root, fault, REPLAY)
    published = fault.startswith("after-publish")
    assert whereabouts(root) == ((ids(1, 10), ids(10, 11)) if published else before)


def test_a_replay_after_those_that_died_has_nothing_left_to_do(root: Path) -> None:
    """The last killed replay had published its batch: nine rows are in the table, the tenth stays bad."""
    must(root, *REPLAY)
    assert whereabouts(root) == (ids(1, 10), ids(10, 11))
    assert "up to date" in must(root)
