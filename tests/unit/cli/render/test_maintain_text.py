"""What is said of maintenance: what it made of a table, who holds its past back, and what failed."""

import time

from lakesmith.cli.render.maintain_text import done_lines, left_lines, plan_lines
from lakesmith.errors import Problem
from lakesmith.execute.maintenance import (
    Maintained,
    MaintenancePlan,
    MaintenanceResult,
    Measured,
    NotMaintained,
    NotThere,
    Unknown,
)
from lakesmith.plan.expiry import HeldBack
from lakesmith.plan.maintenance import Care, Health, Task
from lakesmith.project.definitions import TableName

SALES, LATE = TableName("bronze", "sales"), TableName("silver", "late")
BEFORE = Measured(2000, 8_000_000, 12, 300, 41, 900, 0.81)
AFTER = Measured(1, 6_000_000, 0, 0, 1, 103, 0.004)
BROKEN = Problem("LS501", "silver.late has snapshots and no progress record")


def held(days: float) -> tuple[HeldBack, ...]:
    return (HeldBack(LATE, 1204, int((time.time() - days * 86400) * 1000)),)


def test_a_table_that_was_maintained() -> None:
    done = Maintained(SALES, BEFORE, AFTER, 14.2, {Task.EXPIRE: "797 snapshots left"}, held_back=held(12.5))
    assert list(done_lines(done)) == [
        "bronze.sales: 797 snapshots left (14.2 s)",
        "          data files    size  delete files  manifests  snapshots  planning a scan",
        "  before       2,000  8.0 MB            12         41        900           810 ms",
        "  after            1  6.0 MB             0          1        103             4 ms",
        "note: silver.late keeps 1,204 snapshots of bronze.sales, up to 12 days old:"
        " it has not taken what came since; a run of it"
        " lets them go",
    ]
    data = MaintenanceResult((done,)).to_dict()["maintained"][0]
    assert (data["before"]["manifests"], data["held_back"][0]["reader"]) == (41, "silver.late")


def test_orphans_that_were_found_and_that_were_removed() -> None:
    paths = tuple(f"/lake/{number}.parquet" for number in range(22))
    listed = list(done_lines(Maintained(SALES, AFTER, AFTER, 1.0, {}, paths)))
    assert listed[1] == "  /lake/0.parquet"
    assert listed[-2:] == [
        "  and 2 more: --json has all of them",
        "  to remove them: lakesmith maintain bronze.sales --remove-orphans",
    ]
    removed = list(done_lines(Maintained(SALES, AFTER, AFTER, 1.0, {}, paths[:1], removed=True)))
    assert removed[1:] == ["  removed /lake/0.parquet"]


def test_what_failed_and_what_cannot_be_told() -> None:
    assert list(done_lines(NotMaintained(SALES, (BROKEN,)))) == [
        "bronze.sales: not maintained",
        f"  LS501 {BROKEN.what}",
    ]
    left = (Unknown(LATE, BROKEN), NotThere(SALES, "nothing was published yet"))
    assert list(left_lines(MaintenanceResult(left=left))) == [
        f"LS501 {BROKEN.what}",
        "bronze.sales: nothing to do: nothing was published yet",
    ]


def test_a_plan_of_a_project_without_tables_and_of_one_with_a_late_reader() -> None:
    assert list(plan_lines(MaintenancePlan(()))) == ["the project has no tables yet"]
    care = Care(SALES, Health(3, 3_000_000, 10), {}, {Task.COMPACT: "3 data files"}, held(2.1))
    lines = list(plan_lines(MaintenancePlan((care, Unknown(LATE, BROKEN)))))
    assert lines[-3:-1] == [
        "note: silver.late keeps 1,204 snapshots of bronze.sales, up to 2 days old:"
        " it has not taken what came since; a run of it"
        " lets them go",
        f"LS501 {BROKEN.what}",
    ]
    assert lines[-1] == "nothing to maintain"
