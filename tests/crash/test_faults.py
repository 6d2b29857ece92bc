"""Batches that fail at every point in one process: what is published stays right, the next run goes on.

At each point the source fails first; in the next run it goes on, and all kinds of silver fail; in the next
these go on, and gold fails, which goes on at the next point. After every run each table is compared with its
definition.
"""

import pytest
from audit import VERSIONS, Audit
from harness import Harness, fail
from killed_shop import FILES, Shop
from killed_shop import VERSIONS as VERSION_FILES
from soaking import chosen

from lakesmith.execute import faults
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.usefixtures("by_keys")

SOURCED, KEYED, PLAIN, FULL = "bronze.orders", "silver.orders", "silver.order_log", "gold.by_customer"
STAGES = ((SOURCED,), (KEYED, PLAIN, VERSIONS), (FULL,))

EVERY = {SOURCED, KEYED, PLAIN, VERSIONS, FULL}
PASSED_BY = {
    "after-intent": {SOURCED}, "after-branch": EVERY, "after-delete": {SOURCED},
    "after-merge": {KEYED, VERSIONS}, "after-data": EVERY, "after-quarantine": EVERY - {VERSIONS, FULL},
    "after-tombstones": {KEYED}, "after-check": EVERY, "before-publish": EVERY, "before-swap": EVERY,
    "after-publish": EVERY, "after-sidecars": EVERY,
}  # fmt: skip
"""Which tables' batches pass a point; the two points before a batch are not here."""
SUITE = ("after-branch", "before-swap", "after-publish")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("faults") / "shop", seed=5)


@pytest.fixture(scope="module")
def project(shop: Shop, session: SessionHandle) -> Harness:
    return Harness(shop.root, session, {**FILES, **VERSION_FILES})


def test_a_first_batch_that_fails_once_the_table_is_there(shop: Shop, project: Harness) -> None:
    for stage in STAGES:
        shop.land()
        for table in stage:
            faults.arrange("after-create", fail, table)
        assert _failed(project) == set(stage)
        Audit(shop).check()
        faults.clear()
    project.must_run()
    Audit(shop).check_complete()


@pytest.mark.parametrize("point", chosen(PASSED_BY, *SUITE))
def test_a_batch_that_fails(shop: Shop, project: Harness, point: str) -> None:
    shop.land()
    if point == "after-delete":
        project.must_run()
        shop.replace()
    if point == "after-merge":
        # What was replaced before has made silver whole again: from here on it merges.
        project.must_run()
        shop.land()
    for stage in STAGES:
        failing = PASSED_BY[point].intersection(stage)
        if not failing:
            continue
        for table in failing:
            faults.arrange(point, fail, table)
        assert _failed(project) == failing
        Audit(shop).check()
        faults.clear()
        shop.land()


def test_a_run_that_does_not_fail_makes_everything_right(shop: Shop, project: Harness) -> None:
    project.must_run()
    Audit(shop).check_complete()
    assert Audit(shop).kinds()["sums"]


@pytest.mark.parametrize("point", ["after-lock", "after-listing"])
def test_a_run_that_fails_before_any_batch(shop: Shop, project: Harness, point: str) -> None:
    shop.land()
    faults.arrange(point, fail)
    if point == "after-lock":
        with pytest.raises(OSError, match="arranged by a test"):
            project.run()
    else:
        # What nobody foresaw while a table is planned is that table's failure.
        assert "bronze.orders" in _failed(project)
    Audit(shop).check()
    faults.clear()
    project.must_run()
    Audit(shop).check_complete()


def _failed(project: Harness) -> set[str]:
    """Runs, and gives the tables whose batch failed, each because of what the test arranged."""
    result = project.run()
    assert result.code == 1
    failed = {str(event.table): event for event in result.events if type(event).__name__ == "TableFailed"}
    for event in failed.values():
        (problem,) = event.problems  # type: ignore[attr-defined]
        assert "arranged by a test" in problem.what, event
    return set(failed)
