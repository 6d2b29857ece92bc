"""``lakesmith maintain``: the same rows in fewer files and snapshots, every consumer goes on, and what needs nothing is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harness import ProjectHarness, refresh_by_keys
from maintained_shop import (
    DERIVED,
    FILES,
    found_in,
    grown,
    maintained,
    require_readable,
    require_rows,
    verdicts_of,
)

from lakesmith import limits
from lakesmith.execute.maintained import Maintained
from lakesmith.execute.verify import Verdict
from lakesmith.plan.health import Care, Task

if TYPE_CHECKING:
    from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes hundreds of batches in life takes a few here."""
    refresh_by_keys(monkeypatch)
    for limit, value in {
        "NEWEST_POINTS_KEPT": 2,
        "PAST_KEPT": (),
        "COMPACTED_FILES_KEPT_SECONDS": 0,
        "FRESH_FILES": 4,
        "MANIFESTS_WORTH": 3,
        "SNAPSHOTS_WORTH": 1,
    }.items():
        monkeypatch.setattr(limits, limit, value)


@pytest.mark.parametrize("version", [3, 2])
def test_tables_of_many_batches(tmp_path: Path, session: SessionHandle, version: int) -> None:
    shop = ProjectHarness(tmp_path / "shop", session, FILES)
    shop.write({"tables/_defaults.yaml": f"format_version: {version}\n"})
    grown(shop, *range(6))

    done = maintained(shop)

    bronze = done["bronze.sales"]
    assert isinstance(bronze, Maintained), bronze
    assert (bronze.before.data_files, bronze.after.data_files) == (6, 1)
    assert bronze.after.snapshots < bronze.before.snapshots
    newest = done["silver.newest"]
    assert isinstance(newest, Maintained), newest
    assert newest.before.deleted_rows > 0 and newest.after.deleted_rows == 0
    require_rows(shop, range(6))
    require_readable(shop)

    # Consumers take what is new, and nothing else, through the files that were put together.
    ran = grown(shop, 6).must_run()
    assert ran.published == {}
    kinds = {name: shop.record(name).kind for name in DERIVED}
    assert kinds == {"silver.newest": "upsert", "silver.lines": "append", "gold.by_product": "sums"}
    require_rows(shop, range(7))
    assert verdicts_of(shop) == {Verdict.SAME}


def test_a_second_call_has_nothing_to_do(tmp_path: Path, session: SessionHandle) -> None:
    shop = grown(ProjectHarness(tmp_path / "shop", session, FILES), *range(5))
    maintained(shop)
    maintained(shop)
    found = found_in(shop)
    assert [each for each in found.values() if not isinstance(each, Care) or each.todo] == []
    bronze = found["bronze.sales"]
    assert isinstance(bronze, Care)
    assert bronze.left[Task.COMPACT] == "1 data file, not enough small ones"
