"""Which states of tables are recovered from a copy of their bucket, and what becomes of it. No Spark."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import lakesmith
import s3_server
from buckets import current, make_replica, replicate
from lakesmith.errors import EnvironmentProblem, StateError
from lakesmith.execute import faults

ORDERS = """
source:
  files: {path: "${vars.landing}/orders/", pattern: "*.csv"}
columns: {id: bigint}
"""


class Shop:
    """A project whose table ``bronze.orders`` PyIceberg writes, in a bucket that has a copy."""

    def __init__(self, root: Path, s3: s3_server.Server) -> None:
        self.root, self.s3, self.client = root, s3, s3.client()
        self.bucket = s3.make_bucket().removeprefix("s3://")
        self.copy = make_replica(self.client, self.bucket)
        self.prefix = self.bucket.replace("-", "_") + "_"
        self.catalog: Any = load_catalog("lake", **s3.glue(f"s3://{self.bucket}/wh"))
        self.catalog.create_namespace(f"{self.prefix}bronze")
        schema = pa.schema([("id", pa.int64())])
        self.table = self.catalog.create_table(f"{self.prefix}bronze.orders", schema)
        (root / "tables/bronze").mkdir(parents=True)
        (root / "tables/bronze/orders.yaml").write_text(ORDERS)
        lost = self._target(self.bucket, self.prefix)
        standby = {**self._target(self.copy, "r" + self.prefix), "recover_from": "lost"}
        targets = {"lost": lost, "standby": standby, "local": {"vars": {"landing": "landing"}}}
        (root / "lakesmith.yaml").write_text(json.dumps({"name": "shop", "targets": targets}))

    def _target(self, bucket: str, prefix: str) -> dict[str, Any]:
        catalog = {"type": "glue", "glue.endpoint": self.s3.endpoint, "warehouse": f"s3://{bucket}/wh"}
        files = {key: value for key, value in self.s3.files.items() if "virtual" not in key}
        keys = {"client.region": s3_server.REGION, "glue.access-key-id": s3_server.KEY_ID}
        secret = {"glue.secret-access-key": s3_server.SECRET}
        return {
            "catalog": {**catalog, **files, **keys, **secret},
            "vars": {"landing": f"s3://{bucket}/landing"},
            "namespaces": {"prefix": prefix},
        }

    def append(self, *ids: int) -> None:
        self.table.append(pa.table({"id": pa.array(ids, pa.int64())}))

    def replicate(self, leaving: frozenset[str] = frozenset()) -> None:
        replicate(self.client, self.bucket, self.copy, leaving)

    def cut_off(self) -> None:
        self.client.delete_bucket_replication(Bucket=self.bucket)

    def recover(self, target: str = "standby") -> Any:
        return lakesmith.open(self.root, target=target).recover()

    def ids(self, prefix: str | None = None) -> list[int]:
        name = f"{'r' + self.prefix if prefix is None else prefix}bronze.orders"
        table = load_catalog("lake", **self.s3.glue("s3://none/wh")).load_table(name)
        return sorted(table.scan().to_arrow()["id"].to_pylist())

    def newest_data(self) -> str:
        files = self.table.refresh().inspect.entries().to_pylist()
        newest = max(files, key=lambda each: each["sequence_number"])
        return str(newest["data_file"]["file_path"]).removeprefix(f"s3://{self.bucket}/")

    def keys(self, word: str) -> list[str]:
        return sorted(key for key in current(self.client, self.bucket) if word in key)


@pytest.fixture
def shop(tmp_path: Path, s3: s3_server.Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    yield Shop(tmp_path, s3)
    faults.clear()


def test_nothing_is_read_from_the_lost_bucket(shop: Shop) -> None:
    shop.append(1, 2)
    shop.append(3)
    shop.replicate()
    shop.cut_off()
    for key in current(shop.client, shop.bucket):
        shop.client.delete_object(Bucket=shop.bucket, Key=key)
    change = shop.recover()
    assert [str(each.table) for each in change.preview.tables] == ["bronze.orders"]
    done = change.apply()
    assert shop.ids() == [1, 2, 3]
    assert (done.source, done.seconds is not None) == ("lost", True)
    table = load_catalog("lake", **shop.s3.glue("s3://none/wh")).load_table(f"r{shop.prefix}bronze.orders")
    named = [each["path"] for each in table.inspect.all_manifests().to_pylist()]
    named += [each["file_path"] for each in table.inspect.files().to_pylist()]
    named += [snapshot.manifest_list for snapshot in table.metadata.snapshots]
    assert [path for path in named if not path.startswith(f"s3://{shop.copy}/wh/")] == []
    again = shop.recover()
    assert (again.preview.tables, list(map(str, again.preview.there))) == ((), ["bronze.orders"])


def test_nothing_is_built_before_the_recovery(shop: Shop) -> None:
    shop.append(1)
    shop.replicate()
    shop.cut_off()
    assert "LS529" in str(lakesmith.open(shop.root, target="standby").plan().to_dict())
    shop.recover().apply()
    assert "LS529" not in str(lakesmith.open(shop.root, target="standby").plan().to_dict())


def test_a_state_that_lacks_a_file_is_not_taken(shop: Shop) -> None:
    shop.append(1, 2)
    shop.append(3)
    shop.replicate(frozenset({shop.newest_data()}))
    shop.cut_off()
    shop.recover().apply()
    assert shop.ids() == [1, 2]


def test_an_older_snapshot_that_lacks_a_file_is_left_out(shop: Shop) -> None:
    shop.append(1, 2)
    first = shop.newest_data()
    shop.table.overwrite(pa.table({"id": pa.array([9], pa.int64())}))
    shop.append(3)
    shop.replicate(frozenset({first}))
    shop.cut_off()
    change = shop.recover()
    assert change.preview.tables[0].dropped_snapshots > 0
    change.apply()
    assert shop.ids() == [3, 9]


def test_a_table_of_which_no_state_is_whole_is_said(shop: Shop) -> None:
    shop.append(1)
    shop.replicate(frozenset(shop.keys("snap-")))
    shop.cut_off()
    preview = shop.recover().preview
    # Before its first snapshot the table was whole, and empty.
    assert [(each.rows, each.batch) for each in preview.tables] == [(0, None)]


def test_the_copy_is_not_used_while_it_is_written_to(shop: Shop) -> None:
    shop.append(1)
    shop.replicate()
    with pytest.raises(StateError) as refused:
        shop.recover()
    assert refused.value.problems[0].code == "LS528"


def test_a_recovery_that_was_stopped_goes_on(shop: Shop) -> None:
    shop.append(1)
    shop.replicate()
    shop.cut_off()

    def fail() -> None:
        raise RuntimeError

    faults.arrange("recover-table", fail)
    with pytest.raises(RuntimeError):
        shop.recover().apply()
    faults.clear()
    shop.recover().apply()
    assert shop.ids() == [1]


def test_entries_of_a_lost_catalog_come_back(shop: Shop) -> None:
    shop.append(1)
    shop.append(2)
    shop.catalog.drop_table(f"{shop.prefix}bronze.orders")
    done = shop.recover("lost").apply()
    assert (done.files, shop.ids(shop.prefix)) == (0, [1, 2])


def test_an_embedded_lake_has_another_way(shop: Shop) -> None:
    with pytest.raises(EnvironmentProblem) as refused:
        shop.recover("local")
    assert refused.value.problems[0].code == "LS348"
