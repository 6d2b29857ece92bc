"""A replay on a cluster whose executors are killed: each row is in the table or in quarantine, once."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import places
import pytest
from processes import RunProcess, kill, run, status, wait_until
from pyiceberg.catalog import load_catalog

import rest_server
import s3_server
import spark_cluster_server
from lakesmith.catalog.family import sidecar_of
from lakesmith.catalog.open import pyiceberg_properties
from lakesmith.project.definitions import TableName
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project
from lakesmith.sources.objects import bucket_and_key
from lakesmith.spark.batch.sidecar import SidecarKind

# A cluster on one machine takes minutes.
pytestmark = pytest.mark.release

ORDERS = TableName.parse("bronze.orders")
TABLE = """
source:
  files: {{path: "${{vars.landing}}/orders/", pattern: "*.csv"}}
columns: {{id: bigint, amount: bigint}}
rules: |
  Rules = [ ColumnValues "amount" <= {limit} ]
"""
REPLAY = ("quarantine", "replay", "bronze.orders")


@pytest.fixture
def root(
    tmp_path: Path,
    cluster: spark_cluster_server.Cluster,
    rest: rest_server.Server,
    s3: s3_server.Server,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Two files of fifty orders, of which those above 30 are over the limit."""
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    place = places.on_rest(rest, s3)
    project = places.project_file("shop", place, {"spark": cluster.conf})
    (tmp_path / "tables/bronze").mkdir(parents=True)
    (tmp_path / "lakesmith.yaml").write_text(project)
    (tmp_path / "tables/bronze/orders.yaml").write_text(TABLE.format(limit=30))
    for first in (1, 51):
        rows = "".join(f"{number},{number}\n" for number in range(first, first + 50))
        bucket, key = bucket_and_key(f"{place.landing}/orders/{first}.csv")
        s3.client().put_object(Bucket=bucket, Key=key, Body=f"id,amount\n{rows}".encode())
    return tmp_path


def test_a_replay_whose_executors_are_killed(root: Path, cluster: spark_cluster_server.Cluster) -> None:
    first = run(root)
    assert first.code == 0, first.output
    assert _whereabouts(root) == (_ids(1, 31), _ids(31, 101))

    (root / "tables/bronze/orders.yaml").write_text(TABLE.format(limit=90))
    with RunProcess.start(root, "after-data:stop", REPLAY) as replay:
        wait_until(lambda: status(replay.pid) in "TZ", "the good rows are written to the branch")
        running = cluster.executors()
        assert running, "it has executors there"
        for pid in running:
            kill(pid)
        kill(replay.pid, signal.SIGCONT)
        ended = replay.end()
    assert ended.code in (0, 1), ended.output
    assert _whereabouts(root) in ((_ids(1, 31), _ids(31, 101)), (_ids(1, 91), _ids(91, 101))), ended.output


def _ids(start: int, end: int) -> Counter[int]:
    return Counter(range(start, end))


def _whereabouts(root: Path) -> tuple[Counter[int], Counter[int]]:
    """Returns the orders in the table and in quarantine. A file's last 50 lines begin with its first id."""
    table = _table(root, str(ORDERS))
    head = table.metadata.snapshot_by_id(table.metadata.refs["main"].snapshot_id)
    pin = json.loads(head.summary.additional_properties["lakesmith.record"])["sidecars"]["quarantine"]
    aside = _table(root, str(sidecar_of(ORDERS, SidecarKind.QUARANTINE)))
    bad = aside.scan(snapshot_id=pin["snapshot"]).to_arrow().to_pylist()
    ids = [int(Path(row["source_file"]).stem) + row["source_position"] - 1 for row in bad]
    return Counter(table.scan().to_arrow().column("id").to_pylist()), Counter(ids)


def _table(root: Path, name: str) -> Any:
    target = parse_project(FolderFiles(root), "local").project.target
    catalog = load_catalog("lake", **pyiceberg_properties(target))
    return catalog.load_table(target.naming.physical(TableName.parse(name)))
