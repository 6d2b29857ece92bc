"""Which states of tables are recovered from a copy of their bucket, and what becomes of it. No Spark."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog

import lakesmith
import s3_server
from buckets import current, make_replica, replicate
from lakesmith.catalog.family import PROJECT
from lakesmith.catalog.record import SUMMARY_KEY
from lakesmith.errors import EnvironmentProblem, StateError
from lakesmith.execute import faults

pytestmark = pytest.mark.in_turn("file", of=3)

ORDERS = """
source:
  files: {path: "${vars.landing}/orders/", pattern: "*.csv"}
columns: {id: bigint}
"""
PUBLISHED = {SUMMARY_KEY: "{}"}


class Shop:
    """A project whose table ``bronze.orders`` PyIceberg writes, in a bucket that has a copy."""

    def __init__(self, root: Path, s3: s3_server.Server, catalog: Catalog) -> None:
        self.root, self.s3, self.client = root, s3, s3.client()
        self.bucket = s3.make_bucket().removeprefix("s3://")
        self.copy = make_replica(self.client, self.bucket)
        self.prefix = self.bucket.replace("-", "_") + "_"
        self.catalog, namespace = catalog, f"{self.prefix}bronze"
        catalog.create_namespace(namespace, {"location": f"s3://{self.bucket}/wh/{namespace}.db"})
        schema, of_project = pa.schema([("id", pa.int64())]), {PROJECT: "shop"}
        self.table = self.catalog.create_table(f"{self.prefix}bronze.orders", schema, properties=of_project)
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

    def append(self, *ids: int, summary: Mapping[str, str] = MappingProxyType({})) -> None:
        rows = pa.table({"id": pa.array(ids, pa.int64())})
        self.table.append(rows, snapshot_properties=dict(summary))

    def codes(self, target: str = "lost") -> set[str]:
        """The codes of the problems that keep tables from being built."""
        tables = lakesmith.open(self.root, target=target).plan().to_dict()["tables"]
        return {each["problem"]["code"] for each in tables if "problem" in each}

    def replicate(self, leaving: frozenset[str] = frozenset()) -> None:
        replicate(self.client, self.bucket, self.copy, leaving)

    def forget(self) -> None:
        """Takes the tables and their database out of the catalog."""
        self.catalog.drop_table(f"{self.prefix}bronze.orders")
        self.catalog.drop_namespace(f"{self.prefix}bronze")

    def cut_off(self) -> None:
        self.client.delete_bucket_replication(Bucket=self.bucket)

    def recover(self, target: str = "standby") -> Any:
        return lakesmith.open(self.root, target=target).recover()

    def ids(self, prefix: str | None = None) -> list[int]:
        name = f"{'r' + self.prefix if prefix is None else prefix}bronze.orders"
        table = self.catalog.load_table(name)
        return sorted(table.scan().to_arrow()["id"].to_pylist())

    def newest_data(self) -> str:
        files = self.table.refresh().inspect.entries().to_pylist()
        newest = max(files, key=lambda each: each["sequence_number"])
        return str(newest["data_file"]["file_path"]).removeprefix(f"s3://{self.bucket}/")

    def keys(self, word: str) -> list[str]:
        return sorted(key for key in current(self.client, self.bucket) if word in key)


def fail() -> None:
    raise RuntimeError


@pytest.fixture(scope="module")
def catalog(s3: s3_server.Server) -> Catalog:
    """PyIceberg's, which writes in any bucket: it remembers nothing of tables."""
    return load_catalog("lake", **s3.glue("s3://none/wh"))


@pytest.fixture
def shop(
    tmp_path: Path, s3: s3_server.Server, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shop]:
    for name, value in s3.environ.items():
        monkeypatch.setenv(name, value)
    yield Shop(tmp_path, s3, catalog)
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
    table = shop.catalog.load_table(f"r{shop.prefix}bronze.orders")
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
    assert shop.codes("standby") == {"LS529"}
    shop.recover().apply()
    assert "LS529" not in shop.codes("standby")


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


def test_no_lake_is_begun_over_one_that_the_catalog_has_lost(shop: Shop) -> None:
    assert shop.codes() == set()
    shop.append(1, summary=PUBLISHED)
    shop.forget()
    plan = str(lakesmith.open(shop.root, target="lost").plan().to_dict())
    assert shop.codes() == {"LS512"}
    assert "'lakesmith recover --target lost'" in plan
    with pytest.raises(lakesmith.RunFailed):
        lakesmith.open(shop.root, target="lost").run()
    assert shop.catalog.list_tables(f"{shop.prefix}lakesmith") == [(f"{shop.prefix}lakesmith", "lease__shop")]
    shop.recover("lost").apply()
    assert shop.ids(shop.prefix) == [1]
    assert "LS512" not in shop.codes()


def test_a_recovery_of_entries_that_was_stopped_is_ended_first(shop: Shop) -> None:
    shop.append(1, summary=PUBLISHED)
    shop.forget()
    faults.arrange("recover-table", fail)
    with pytest.raises(RuntimeError):
        shop.recover("lost").apply()
    faults.clear()
    assert shop.codes() == {"LS529"}
    shop.recover("lost").apply()
    assert (shop.ids(shop.prefix), shop.codes() & {"LS512", "LS529"}) == ([1], set())


@pytest.mark.parametrize("case", ["never published", "of another project", "dropped beside another"])
def test_files_that_are_no_lost_lake(shop: Shop, case: str) -> None:
    shop.append(1, summary={} if case == "never published" else PUBLISHED)
    if case == "of another project":
        with shop.table.transaction() as changed:
            changed.set_properties({PROJECT: "till"})
    if case == "dropped beside another":
        (shop.root / "tables/bronze/other.yaml").write_text(ORDERS)
        shop.catalog.create_table(f"{shop.prefix}bronze.other", shop.table.schema())
    shop.catalog.drop_table(f"{shop.prefix}bronze.orders")
    assert "LS512" not in shop.codes()


def test_a_table_without_a_whole_state_is_built_after_the_recovery(shop: Shop) -> None:
    shop.append(1, summary=PUBLISHED)
    shop.forget()
    for key in shop.keys("/metadata/"):
        if not key.endswith(".metadata.json") or "/00000-" in key:
            shop.client.delete_object(Bucket=shop.bucket, Key=key)
    assert shop.codes() == {"LS512"}
    change = shop.recover("lost")
    assert [str(name) for name, _ in change.preview.broken] == ["bronze.orders"]
    change.apply()
    assert shop.codes() == set()


def test_an_embedded_lake_has_another_way(shop: Shop) -> None:
    with pytest.raises(EnvironmentProblem) as refused:
        shop.recover("local")
    assert refused.value.problems[0].code == "LS348"
