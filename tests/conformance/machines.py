"""Machines that share a target alone: each has a folder of the same project, and its own processes."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from places import Place, project_file
from processes import Ended, RunProcess
from pyiceberg.catalog import load_catalog
from small_shop import SHOP, SUMS, Order, csv, lines, newest, sums

from lakesmith.catalog.open import open_catalog, pyiceberg_properties
from lakesmith.catalog.remote import RemoteCatalog
from lakesmith.catalog.state import BRANCH_PREFIX
from lakesmith.errors import LakesmithError
from lakesmith.project.definitions import TableName
from lakesmith.project.files import FolderFiles
from lakesmith.project.loader import parse_project
from lakesmith.sources.objects import bucket_and_key

TABLES = ("bronze.orders", "silver.lines", "silver.newest", "gold.sums")
QUICKLY = {"spark.sql.codegen.wholeStage": False, "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@dataclass(frozen=True)
class Machines:
    """The project on ``place``, in ``count`` folders below ``work``. ``spark``: settings of Spark."""

    work: Path
    place: Place
    spark: Mapping[str, str] = field(default_factory=dict)
    landed: list[Order] = field(default_factory=list)

    def start(self, machine: str, *words: str, fault: str | None = None) -> RunProcess:
        """Starts a command on a machine, to fail at ``fault``."""
        return RunProcess.start(self._root(machine), fault, words or ("run", "--wait", "150"))

    def run(self, machine: str, *words: str) -> Ended:
        with self.start(machine, *words) as process:
            return process.end()

    def wait_for_a_holder(self, seconds: float = 120) -> None:
        project = parse_project(FolderFiles(self._root("looking on")), "local").project
        catalog, until = open_catalog(project), time.monotonic() + seconds
        assert isinstance(catalog, RemoteCatalog)
        while time.monotonic() < until:
            with suppress(LakesmithError):
                if catalog.lease_holder(project.name) is not None:
                    return
            time.sleep(0.2)
        raise AssertionError("no machine took the lease")

    def land(self, orders: int = 4) -> None:
        """A file more: new orders, new versions of the last ones, and one that is deleted."""
        at = len(self.landed)
        again = [order._replace(amount=order.amount + 1, version=at + 2) for order in self.landed[-2:]]
        gone = [order._replace(amount=-1, version=at + 2) for order in self.landed[-3:-2] if order.amount > 0]
        new = [
            Order(at + number, f"customer {number % 3}", at + number, 1) for number in range(1, orders + 1)
        ]
        rows = (*again, *gone, *new)
        self.landed.extend(rows)
        assert self.place.s3 is not None
        bucket, key = bucket_and_key(f"{self.place.landing}/orders/{at:05d}.csv")
        self.place.s3.client().put_object(Bucket=bucket, Key=key, Body=csv(*rows))

    def check(self) -> None:
        """Every row that landed is in every table exactly once; dead processes left nothing that counts."""
        assert self._rows("bronze.orders") == sorted(self.landed)
        assert self._rows("silver.lines") == lines(self.landed)
        assert self._rows("silver.newest") == newest(self.landed)
        assert self._rows("gold.sums") == sums(self.landed)
        for name in TABLES:
            assert not [ref for ref in self._table(name).metadata.refs if ref.startswith(BRANCH_PREFIX)]

    def chain(self, name: str) -> list[int]:
        """The numbers of a table's published batches, oldest first: each follows the one before."""
        found = self._table(name).metadata
        records = list(_records(found, found.refs["main"].snapshot_id))
        for record, before in pairwise(records):
            assert record["parent"] == before["attempt"], name
        return [record["batch"] for record in reversed(records)]

    def _rows(self, name: str) -> list[tuple[Any, ...]]:
        table = self._table(name).scan().to_arrow()
        kept = [column for column in table.column_names if not column.startswith("_")]
        return sorted(tuple(row.values()) for row in table.select(kept).to_pylist())

    def _table(self, name: str) -> Any:
        target = parse_project(FolderFiles(self._root("looking on")), "local").project.target
        catalog = load_catalog("lake", **pyiceberg_properties(target))
        return catalog.load_table(target.naming.physical(TableName.parse(name)))

    def _root(self, machine: str) -> Path:
        root = self.work / machine / "shop"
        for name, text in {**SHOP, **SUMS, "lakesmith.yaml": self._project()}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    def _project(self) -> str:
        return project_file("shop", self.place, {"spark": {**QUICKLY, **self.spark}})


def _records(metadata: Any, snapshot_id: int | None) -> Iterator[dict[str, Any]]:
    """The records on the way to a snapshot, newest first."""
    while snapshot_id is not None and (snapshot := metadata.snapshot_by_id(snapshot_id)) is not None:
        if (text := snapshot.summary.additional_properties.get("lakesmith.record")) is not None:
            yield json.loads(text)
        snapshot_id = snapshot.parent_snapshot_id
