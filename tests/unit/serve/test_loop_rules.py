"""What ``up`` does about rules: checks on their schedule, and tables that rules have stopped."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_loop import CHAIN, DEAD, World

from lakesmith.errors import LakesmithError, Problem
from lakesmith.project.definitions import Schedule
from lakesmith.quality.results import RuleResult, TableResult
from lakesmith.serve.retries import PARKED_AFTER

STOPPED = Problem("LS805", "the rule RowCount > 0 stopped the batch of silver.b; nothing was published")


@dataclass
class Checking(World):
    """A world in which a rule fails at each check. ``dies``: how many checks lose their Spark before."""

    checked: int = 0
    dies: int = 0

    def check(self) -> "Checking":
        self.checked += 1
        if self.checked <= self.dies:
            self.lost_spark = True
            raise LakesmithError(DEAD)
        return self

    @property
    def tables(self) -> tuple[TableResult, ...]:
        failed = RuleResult("RowCount > 9", "table", False, 1.0, "RowCount is 1", "> 9", "t.yaml:1")
        return (TableResult("silver.b", (failed, replace(failed, passed=True))),)

    @property
    def notes(self) -> tuple[str, ...]:
        return ("the results were not kept: another process holds the lake",)


@pytest.fixture
def world(tmp_path: Path) -> Checking:
    return Checking(tmp_path)


def test_rules_are_checked_when_their_time_comes_and_not_again_by_the_next_process(world: Checking) -> None:
    world.declared = replace(CHAIN, checks=Schedule("30 5 * * *"))
    world.pass_by(world.loop(), 1790, step=10)
    assert world.checked == 0
    world.pass_by(world.loop(), 100, step=10)
    world.pass_by(world.loop(), 3600, step=60)
    assert world.checked == 1
    assert "silver.b: the rule RowCount > 9 fails: RowCount is 1" in world.said
    assert "2 rules were checked; 1 failed" in world.said
    assert world.notes[0] in world.said


@pytest.mark.parametrize(("dies", "checked"), [(2, 3), (1000, PARKED_AFTER)])
def test_a_check_that_loses_spark_is_repeated_and_not_for_ever(
    world: Checking, dies: int, checked: int
) -> None:
    world.declared = replace(CHAIN, checks=Schedule("30 5 * * *"))
    world.dies = dies
    loop = world.loop()
    world.pass_by(loop, 3600, step=1)
    assert world.checked == checked
    assert world.started_again == min(dies, checked)
    assert "the rules were not checked: Spark's JVM died" in world.said
    assert ("2 rules were checked; 1 failed" in world.said) == (dies < checked)
    world.pass_by(loop, 86400, step=60)
    assert world.checked > checked, "the next time comes all the same"


def test_a_table_that_a_rule_stopped_is_tried_when_something_arrives_and_not_in_a_loop(
    world: Checking,
) -> None:
    name = next(iter(CHAIN.definitions))
    loop = world.loop(every=30)
    world.pass_by(loop, 1)
    world.fails = {name: STOPPED}
    loop.arrivals.notice(name)
    assert len(world.pass_by(loop, 2)) == 1
    assert [names for _, names in world.pass_by(loop, 500, step=5) if name in names] == []
    loop.arrivals.notice(name)
    assert [name in names for _, names in world.pass_by(loop, 5)] == [True]
