"""``lakesmith maintain`` on the shared session."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from harness import Harness

from lakesmith import limits
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Maintained, NotMaintained, Orders, Verdict, verdicts
from lakesmith.plan.maintenance import Care
from lakesmith.spark.maintenance.maintainer import Maintainer
from lakesmith.spark.maintenance.tasks import maintain_tables

SOON: Final = {
    "NEWEST_POINTS_KEPT": 2, "PAST_KEPT": (), "COMPACTED_FILES_KEPT_SECONDS": 0, "FRESH_FILES": 4,
    "MANIFESTS_WORTH": 3, "SNAPSHOTS_WORTH": 1, "SMALL_FILES_WORTH": 2,
}  # fmt: skip
"""Limits by which a few batches are worth what hundreds are in life."""

NOTHING_MORE: Final = Orders()


@contextmanager
def soon() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for limit, value in SOON.items():
            patch.setattr(limits, limit, value)
        yield


def found_in(shop: Harness, orders: Orders = NOTHING_MORE) -> dict[str, Verdict]:
    lake = shop.lake()
    names = [table.name for table in lake.project.tables]
    return {str(each.table): each for each in verdicts(lake, names, orders.looks_for_orphans)}


def maintained(
    shop: Harness, orders: Orders = NOTHING_MORE, only: str | None = None
) -> dict[str, Maintained | NotMaintained]:
    """What ``lakesmith maintain`` does, but for the start of the JVM; ``only``: of this table alone."""
    lake = shop.lake()
    found = {name: each for name, each in found_in(shop, orders).items() if only in (None, name)}
    cares = [each for each in found.values() if isinstance(each, Care) and each.todo]
    done: list[Maintained | NotMaintained] = []
    maintain_tables(Maintainer(shop.handle, lake, Turns(lake, "maintain"), orders), cares, done.append)
    return {str(each.table): each for each in done}


def must_maintain(
    shop: Harness, orders: Orders = NOTHING_MORE, only: str | None = None
) -> dict[str, Maintained]:
    done = maintained(shop, orders, only)
    assert all(isinstance(each, Maintained) for each in done.values()), done
    return {name: each for name, each in done.items() if isinstance(each, Maintained)}


def data_files(shop: Harness, table: str) -> int:
    """How many data files the table has, as Iceberg itself counts them."""
    return int(shop.spark.sql(f"SELECT count(*) FROM lake.{table}.data_files").collect()[0][0])
