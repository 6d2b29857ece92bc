"""When an alert begins and when it is over, by what runs and checks look at."""

from pathlib import Path

import pytest

import lakesmith
from lakesmith.alerts.decide import Firings, after_sending, messages, noted
from lakesmith.alerts.findings import CHECK, Seen, seen_in_check, seen_in_error, seen_in_run
from lakesmith.catalog.record import Account, Gate, Record
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import BatchReport, RunResult
from lakesmith.project.definitions import Project
from lakesmith.quality.results import RuleResult, TableResult

TABLE = "bronze.orders"
MANY, CITY = "RowCount > 10", 'IsComplete "city"'
DECLARED = f"""
source: {{files: {{path: landing/orders/, format: csv}}}}
columns: {{id: int, city: string}}
rules: 'Rules = [ {MANY}, {CITY} ]'
"""
STOPPED = Problem("LS805", f"the rule {MANY} stopped the batch", rule=MANY)
BROKEN = Problem("LS601", "Spark failed")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "tables/bronze").mkdir(parents=True)
    (tmp_path / "tables/bronze/orders.yaml").write_text(DECLARED)
    (tmp_path / "lakesmith.yaml").write_text("name: shop\nalerts: {channels: {team: TEAM}}\n")
    with lakesmith.open(tmp_path) as lake:
        return lake.access.opened().project


def idle() -> Seen:
    return seen_in_run(RunResult({}, {TABLE: "nothing new"}, {}, (), 1.0, 0))


def failed(*problems: Problem) -> Seen:
    return seen_in_run(RunResult({}, {}, {TABLE: problems}, (), 1.0, 3))


def published(**gates: str) -> Seen:
    """A batch, with whether its rule of the number of rows passed."""
    found = {MANY: Gate(gates["many"], 3.0, "> 10")} if gates else {}
    record = Record("a", None, 1, "files", 0, "f", Account(), gates=found)
    return seen_in_run(RunResult({TABLE: BatchReport(record, 1)}, {}, {}, (), 1.0, 0))


def checked(project: Project, many: bool, city: bool) -> Seen:
    """A check of published rows: whether the rules of the number of rows and of cities passed."""
    row = RuleResult(CITY, "row", city, 3.0, "3 rows break it", "no row", "t.yaml:3")
    rules = (RuleResult(MANY, "table", many, 3.0, "RowCount is 3", "> 10", "t.yaml:3"), row)
    return seen_in_check([TableResult(TABLE, rules)], project.tables)


def unchecked(project: Project, *problems: Problem) -> Seen:
    return seen_in_check([TableResult(TABLE, problems=problems)], project.tables)


def fires(project: Project, *looks: Seen) -> dict[str, bool]:
    """Subjects and kinds that fire after these looks, all of which were sent; and whether a batch stopped."""
    firings: Firings = {}
    for at, seen in enumerate(looks, 1):
        firings = noted(firings, at, seen, project)
        for each in firings.values():
            each.sent.setdefault("team", at)  # type: ignore[attr-defined]
    now = [each.finding for each in firings.values() if not each.is_over]
    return {each.subject or each.kind.value: each.stops for each in now}


def test_a_rule_that_warned_still_fires_after_a_run_with_nothing_new(project: Project) -> None:
    assert fires(project, published(many="failed"), idle()) == {MANY: False}
    assert fires(project, published(many="failed"), idle(), published(many="passed")) == {}


def test_a_batch_that_measures_no_rule_ends_no_rule_that_warned(project: Project) -> None:
    assert fires(project, published(many="failed"), published()) == {MANY: False}


def test_a_rule_that_stopped_is_over_when_no_batch_waits_any_more(project: Project) -> None:
    assert fires(project, failed(STOPPED)) == {MANY: True}
    assert fires(project, failed(STOPPED), idle()) == {}, "its files were skipped"
    assert fires(project, failed(STOPPED), published(many="passed")) == {}
    assert fires(project, failed(STOPPED), published(many="failed")) == {MANY: False}


def test_a_batch_that_failed_otherwise_does_not_end_what_rules_found(project: Project) -> None:
    assert fires(project, failed(STOPPED), failed(BROKEN)) == {MANY: True, "failed": False}
    assert fires(project, published(many="failed"), failed(BROKEN)) == {MANY: False, "failed": False}
    assert fires(project, failed(BROKEN), failed(STOPPED)) == {MANY: True}


def test_other_numbers_of_bad_rows_are_the_same_alert(project: Project) -> None:
    several = [Problem("LS801", f"{number} bad rows stopped the batch") for number in (3, 4)]
    assert fires(project, *(failed(each) for each in several)) == {"LS801": True}


def test_a_check_finds_rules_and_ends_what_it_found(project: Project) -> None:
    failing = checked(project, False, False)
    assert fires(project, failing) == {MANY: False, CITY: False}
    assert fires(project, failing, checked(project, True, False)) == {CITY: False}
    assert fires(project, failing, published(many="passed")) == {CITY: False}, "no row rule is measured"
    assert fires(project, published(many="failed"), checked(project, True, True)) == {}
    assert fires(project, failing, idle()) == {MANY: False, CITY: False}


def test_a_check_that_could_not_be_done_is_over_when_one_works_and_ends_no_run(project: Project) -> None:
    dead = LakesmithError(Problem("LS604", "Spark's JVM died"))
    assert fires(project, seen_in_error(dead, CHECK), idle()) == {CHECK: False}, "a run is no check"
    assert fires(project, seen_in_error(dead, CHECK), checked(project, True, True)) == {}
    assert fires(project, seen_in_error(dead), checked(project, True, True)) == {"run": False}


def test_a_check_of_published_rows_does_not_end_a_batch_that_was_stopped(project: Project) -> None:
    for each in (checked(project, True, True), checked(project, False, True)):
        assert fires(project, failed(STOPPED), each) == {MANY: True}
    assert fires(project, checked(project, False, True), failed(STOPPED)) == {MANY: True}


def test_what_could_not_be_checked_is_over_when_it_was(project: Project) -> None:
    unfit = Problem("LS802", f"the rule {CITY} cannot be evaluated", rule=CITY)
    assert fires(project, unchecked(project, unfit)) == {CITY: False}
    assert fires(project, unchecked(project, unfit), idle()) == {CITY: False}
    assert fires(project, unchecked(project, unfit), checked(project, True, True)) == {}
    assert fires(project, unchecked(project, BROKEN), published(many="passed")) == {"(all)": False}
    assert fires(project, unchecked(project, BROKEN), checked(project, True, True)) == {}


def test_an_export_is_not_over_because_its_table_fails(project: Project) -> None:
    not_exported = {TABLE: (Problem("LS651", "the disk is full"),)}
    exports = seen_in_run(RunResult({}, {TABLE: ""}, {}, (), 1.0, 1, not_exported=not_exported))
    assert fires(project, exports, failed(BROKEN)) == {"export": False, "failed": False}
    assert fires(project, exports, failed(BROKEN), idle()) == {}


def test_two_errors_that_take_turns_are_sent_once_each(project: Project) -> None:
    firings: Firings = {}
    other, sent = Problem("LS401", "no folder"), []
    for at, problem in enumerate((BROKEN, other, BROKEN, other, BROKEN), 1):
        firings = noted(firings, at, failed(problem), project)
        for message in messages(firings, project, at):
            sent += [(each.finding.code, at) for each in message.firings]
            firings = after_sending(firings, at, [message], {})
    assert sent == [("LS601", 1), ("LS401", 2)]


def test_what_is_not_declared_any_more_is_over(project: Project, tmp_path: Path) -> None:
    firings = noted({}, 1.0, published(many="failed"), project)
    firings[next(iter(firings))].sent.setdefault("team", 1.0)  # type: ignore[attr-defined]
    (tmp_path / "tables/bronze/orders.yaml").write_text(DECLARED.replace(MANY, "ColumnCount > 1"))
    with lakesmith.open(tmp_path) as lake:
        changed = lake.access.opened().project
    (after,) = noted(firings, 2.0, Seen(), changed).values()
    assert after.is_over
