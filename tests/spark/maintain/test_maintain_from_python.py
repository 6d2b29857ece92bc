"""``maintain`` of a program: what it gives, and that it gives way between two pieces."""

from collections.abc import Iterator

import pytest
from maintained_shop import After, require_rows
from maintaining import data_files, soon

import lakesmith
from lakesmith.execute.maintenance import Maintained
from lakesmith.spark import open as spark_open


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    with soon():
        yield


def test_it_gives_way_between_two_pieces_and_the_next_call_goes_on(
    after: After, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = after(2)
    monkeypatch.setattr(spark_open, "open_session", lambda *_, **__: shop.handle)
    lake = lakesmith.open(shop.root)

    stopped = lake.maintain("bronze.sales", give_way=lambda: True)
    assert (stopped.tables, stopped.stopped) == ((), True)
    assert data_files(shop, "bronze.sales") == 1
    snapshots = len(shop.state("bronze.sales").snapshots)

    (done,) = lake.maintain("bronze.sales").tables
    assert isinstance(done, Maintained)
    assert done.after.snapshots < snapshots
    assert data_files(shop, "silver.lines") == 2, "it was not selected"
    require_rows(shop, range(2))
