"""The loop of ``up``, with a lakehouse that is told what to do and a clock that is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lakesmith.catalog.record import Account, Record
from lakesmith.errors import LakesmithError, Place, Problem, ProjectError
from lakesmith.execute.events import BatchReport, Listener, RunFailed, RunResult, TableFailed, TablePublished
from lakesmith.execute.maintenance import Maintained, MaintenanceResult, Measured, NotMaintained, Slice
from lakesmith.plan.maintenance import Task
from lakesmith.plan.steps import Base, Strategy, TableStep
from lakesmith.project.definitions import Maintenance, Schedule, TableDefinition, TableName
from lakesmith.serve.arrivals import Arrivals
from lakesmith.serve.loop import Clock, Loop
from lakesmith.serve.options import Pace
from lakesmith.serve.retries import PARKED_AFTER
from lakesmith.serve.state import moment
from lakesmith.serve.tables import Tables

START = datetime(2026, 11, 23, 5, 0, tzinfo=UTC)
BAD = Problem("LS601", "Spark failed: no number", Place("tables/silver/b.sql", 1))
DEAD = Problem("LS604", "Spark's JVM died")


def table(name: str, schedule: Schedule | None = None) -> TableDefinition:
    return TableDefinition(
        TableName.parse(name), Place(f"tables/{name.replace('.', '/')}.yaml", 1), schedule=schedule
    )


def tables(*found: TableDefinition, **readers: Sequence[str]) -> Tables:
    reads = {name.replace("_", ".", 1): tuple(each) for name, each in readers.items()}
    return Tables({str(each.name): each for each in found}, reads)


CHAIN = tables(
    table("bronze.a"), table("bronze.x"), table("silver.b"),
    table("gold.c", Schedule("0 6 * * *")), table("gold.d"),
    bronze_a=["silver.b"], silver_b=["gold.c"], gold_c=["gold.d"],
)  # fmt: skip


def report(read: int) -> BatchReport:
    account = Account(read=read, inserted=read, rows_after=read)
    record = Record("attempt", None, 1, "files", 0, "fingerprint", account)
    return BatchReport(record, 1)


@dataclass
class World:
    """The surroundings of the loop. ``fails``: problems by table; ``raises``: the error of a whole run;
    ``seconds_a_table``: how long each table of a run takes."""

    folder: Path
    declared: Tables = CHAIN
    seconds: float = 0.0
    fails: dict[str, Problem] = field(default_factory=dict)
    raises: Exception | None = None
    during: Callable[[], object] = lambda: None
    lost_spark: bool = False
    seconds_a_table: float = 0.0
    runs: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    board: dict[str, Any] = field(default_factory=dict)
    opened: int = 0
    started_again: int = 0
    closed: int = 0
    kept_up: list[str] = field(default_factory=list)
    maintained: list[tuple[float, str]] = field(default_factory=list)
    pieces: int = 1
    parked: set[str] = field(default_factory=set)

    def read(self) -> Tables:
        if isinstance(self.raises, ProjectError):
            raise self.raises
        return self.declared

    def open(self, lost: World | None = None) -> World:
        self.opened += 1
        self.started_again += lost is not None
        self.lost_spark = False
        return self

    def close(self) -> None:
        self.closed += 1

    def tidy(self, result: RunResult) -> None:
        pass

    def alert(self, parked: Mapping[str, Problem], listener: Listener) -> None:
        self.parked = set(parked)

    def maintain_slice(self, name: str) -> Slice:
        if self.fails:
            raise LakesmithError([*self.fails.values()])
        self.kept_up.append(name)
        return Slice(files=40, into=1, snapshots=1200)

    def maintain(self, *select: str, give_way: Callable[[], bool]) -> MaintenanceResult:
        """Takes a second a piece; the pieces that are left are done by the next call."""
        (name,) = select
        self.maintained.append((self.seconds, name))
        while self.pieces:
            self.pieces, self.seconds = self.pieces - 1, self.seconds + 1
            self.during()
            if self.pieces and give_way():
                return MaintenanceResult(stopped=True)
        what = TableName.parse(name)
        if BAD in self.fails.values():
            return MaintenanceResult((NotMaintained(what, (BAD,)),))
        size = Measured(9, 9, 0, 0, 1, 1, 0.0)
        done = {Task.COMPACT: "9 files were rewritten as 1"}
        return MaintenanceResult((Maintained(what, size, size, 1.0, done),))

    def explain(self, error: Exception) -> Problem:
        return Problem("LS900", str(error))

    def run(self, *select: str, on_event: Listener | None = None) -> RunResult:
        self.runs.append((self.seconds, select))
        self.during()
        if self.raises is not None:
            raise self.raises
        failed = {name: (self.fails[name],) for name in select if name in self.fails}
        if on_event is not None and self.seconds_a_table:
            self._tell_each(select, on_event)
        self.lost_spark |= DEAD in self.fails.values()
        published = {name: report(5) for name in select if name not in failed}
        result = RunResult(published, {}, failed, (), 0.5, 1 if failed else 0)
        if failed:
            raise RunFailed(result)
        return result

    def _tell_each(self, select: Sequence[str], on_event: Listener) -> None:
        for name in select:
            self.seconds += self.seconds_a_table
            what, problem = TableName.parse(name), self.fails.get(name)
            step = TableStep(table(name), Strategy.FULL, "", Base(), "")
            on_event(
                TableFailed(what, (problem,), 1) if problem else TablePublished(what, step, report(5), 1.0)
            )

    def notice(self, text: str) -> None:
        self.said.append(text)

    def on_batch(self, name: str, report: BatchReport) -> None:
        self.said.append(f"batch of {name} after {self.seconds:g} s")

    def on_run(self, result: RunResult) -> None:
        pass

    def on_problems(self, error: LakesmithError) -> None:
        self.said.append(f"problem {error.problems[0].code}")

    def put(self, **changes: Any) -> None:
        self.board |= changes

    def loop(self, every: float = 10.0, at_most_every: float = 0.0) -> Loop:
        now = lambda: START + timedelta(seconds=self.seconds)  # noqa: E731
        arrivals = Arrivals(lambda: now().timestamp())
        clock = Clock(lambda: self.seconds, now)
        pace = Pace(every, at_most_every)
        loop = Loop(self, arrivals, self, self, self.folder / "schedule.json", pace, clock)
        loop.start()
        return loop

    def pass_by(self, loop: Loop, seconds: float, step: float = 0.5) -> list[tuple[float, tuple[str, ...]]]:
        """Looks again and again for so long; the runs of that time."""
        before, end = len(self.runs), self.seconds + seconds
        while self.seconds < end:
            self.seconds += step
            loop.look()
        return self.runs[before:]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def names(runs: Sequence[tuple[float, tuple[str, ...]]]) -> list[str]:
    """The tables of runs, each run in one text."""
    return [" ".join(run) for _, run in runs]


def test_all_that_has_no_schedule_is_looked_at_every_few_seconds(world: World) -> None:
    loop = world.loop(every=10)

    runs = world.pass_by(loop, 21)

    assert runs == [(at, ("bronze.a", "bronze.x", "silver.b", "gold.d")) for at in (0.5, 10.5, 20.5)]


def test_what_arrived_is_run_with_what_follows_it_once_it_is_quiet(world: World) -> None:
    loop = world.loop(every=100)
    world.pass_by(loop, 1)

    loop.arrivals.notice("bronze.a")
    loop.look()
    assert len(world.runs) == 1, "the file may still be being written"

    assert world.pass_by(loop, 5, step=0.25) == [(1.25, ("bronze.a", "silver.b"))]


def test_a_scheduled_table_is_run_at_its_time_with_what_follows_it(world: World) -> None:
    loop = world.loop(every=1e9)
    world.pass_by(loop, 1)

    runs = world.pass_by(loop, 25 * 3600, step=60)

    assert [(START + timedelta(seconds=at)).hour for at, _ in runs] == [6, 6]
    assert names(runs) == ["gold.c gold.d"] * 2
    assert world.said == []


def test_arrivals_of_a_scheduled_source_wait_for_its_time(world: World) -> None:
    world.declared = tables(table("bronze.a", Schedule(every=60)), table("silver.b"), bronze_a=["silver.b"])
    loop = world.loop(every=1e9)
    assert names(world.pass_by(loop, 1)) == ["bronze.a silver.b"]

    loop.arrivals.notice("bronze.a")
    runs = world.pass_by(loop, 100)

    assert runs == [(60.5, ("bronze.a", "silver.b"))]
    assert loop.arrivals.waiting() == {}


def test_what_was_missed_is_told_and_done_once(world: World) -> None:
    world.pass_by(world.loop(), 1)
    world.seconds = 49.5 * 3600

    runs = world.pass_by(world.loop(every=1e9), 3600, step=60)

    assert names(runs) == ["bronze.a bronze.x silver.b gold.c gold.d"]
    assert world.said == ["gold.c: its schedule was missed 3 times; it runs once now"]


def test_a_firing_that_failed_is_not_lost_with_the_process(world: World) -> None:
    world.fails = {"gold.c": BAD}
    world.pass_by(world.loop(every=1e9), 3600, step=60)
    world.fails = {}

    runs = world.pass_by(world.loop(every=1e9), 120, step=60)

    assert "gold.c" in runs[0][1]
    assert not any("gold.c" in run for _, run in runs[1:])


def test_a_table_that_fails_is_tried_alone_while_the_others_go_on(world: World) -> None:
    world.fails = {"silver.b": BAD}
    loop = world.loop(every=10)

    runs = world.pass_by(loop, 20, step=0.25)

    alone = [at for at, run in runs if run == ("silver.b",)]
    assert alone == [1.25, 3.25, 7.25, 15.25]
    assert [at for at, run in runs if run == ("bronze.a", "bronze.x", "gold.d")] == [10.25]
    assert world.said[:2] == ["problem LS601", "silver.b failed once (LS601); it is tried again in 1 s"]
    assert world.said.count("problem LS601") == 1
    assert world.board["tables"]["silver.b"].failures == 5

    world.fails = {}
    world.pass_by(loop, 20)
    assert world.said[-1] == "silver.b works again, after it had failed 5 times"
    assert world.board["tables"]["silver.b"].problem is None


def test_a_table_that_keeps_failing_is_parked_until_its_definition_changes(world: World) -> None:
    world.fails = {"silver.b": BAD}
    loop = world.loop(every=1e9)
    world.pass_by(loop, 200)
    tried = sum("silver.b" in run for _, run in world.runs)
    assert tried == PARKED_AFTER
    assert world.said[-1].startswith("silver.b is parked: it failed 8 times in a row with LS601")
    assert world.board["tables"]["silver.b"].is_parked
    assert world.parked == {"silver.b"}

    loop.arrivals.notice("bronze.a")
    assert names(world.pass_by(loop, 300)) == ["bronze.a"]

    changed = replace(world.declared.definitions["silver.b"], description="mended")
    world.declared = replace(world.declared, definitions={**world.declared.definitions, "silver.b": changed})
    world.fails = {}
    loop.project_changed = True
    assert names(world.pass_by(loop, 5)) == ["bronze.a bronze.x silver.b gold.d"]


def test_a_parked_table_is_tried_every_ten_minutes(world: World) -> None:
    world.fails = {"silver.b": BAD}
    loop = world.loop(every=1e9)
    world.pass_by(loop, 200)
    said = list(world.said)

    runs = world.pass_by(loop, 1300)

    assert [run for _, run in runs] == [("silver.b",)] * 2
    assert world.said == said, "it was told once"


def test_arrivals_of_a_table_that_fails_still_wait(world: World) -> None:
    world.fails = {"bronze.a": BAD}
    loop = world.loop(every=1e9)
    loop.arrivals.notice("bronze.a")

    world.pass_by(loop, 2)

    assert loop.arrivals.lags() == {"bronze.a": 2.0}
    world.fails = {}
    world.pass_by(loop, 2)
    assert loop.arrivals.lags() == {}


def test_a_lake_that_is_lost_is_replaced(world: World) -> None:
    world.fails = {"bronze.a": DEAD}
    loop = world.loop(every=1e9)
    world.pass_by(loop, 1, step=1)
    assert (world.opened, world.closed) == (1, 1)
    assert world.said == ["Spark's process was lost; another one is started"]

    world.fails = {}
    world.pass_by(loop, 2)
    assert world.opened == 2
    assert len(world.said) == 1

    world.lost_spark = True
    loop.arrivals.notice("bronze.x")
    world.pass_by(loop, 1)
    assert (world.opened, world.closed) == (3, 2)
    assert world.said[-1] == "Spark's process has ended by itself; another one is started"


def test_a_table_that_loses_spark_again_is_named(world: World) -> None:
    world.fails = {"bronze.a": DEAD}
    loop = world.loop(every=1e9)

    world.pass_by(loop, 3, step=1)

    assert world.said[1:] == [
        "problem LS604",
        "bronze.a failed 2 times in a row (LS604); it is tried again in 2 s",
        "Spark's process was lost; another one is started",
    ]


def test_what_keeps_all_runs_from_beginning_is_told_once_and_tried_each_minute(world: World) -> None:
    world.raises = LakesmithError(Problem("LS701", "another lakesmith process is at work on this project"))
    loop = world.loop(every=10)
    loop.arrivals.notice("bronze.a")

    runs = world.pass_by(loop, 300)

    times = [at for at, _ in runs]
    assert [b - a for a, b in pairwise(times)] == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert world.said == ["problem LS701", "nothing can be run; it is tried again, first in 1 s"]
    assert world.board["problem"]["code"] == "LS701"

    world.raises = None
    assert "bronze.a" in world.pass_by(loop, 60)[0][1]
    assert world.said[-1] == "runs go on"
    assert world.board["problem"] is None


def test_a_project_that_is_being_edited_is_read_again_when_it_changes(world: World) -> None:
    loop = world.loop(every=1e9)
    world.pass_by(loop, 1)
    world.raises = ProjectError(Problem("LS105", "wrong"))
    loop.project_changed = True
    world.pass_by(loop, 100)
    assert len(world.runs) == 1

    world.raises = None
    loop.project_changed = True
    assert len(world.pass_by(loop, 0.5)) == 1


def test_an_error_that_nobody_foresaw_does_not_end_it(world: World) -> None:
    world.raises = ConnectionRefusedError("gateway")
    loop = world.loop()
    world.pass_by(loop, 1)
    world.raises = None

    world.pass_by(loop, 2)

    assert world.said[0] == "problem LS900"
    assert len(world.runs) == 2


def test_runs_begin_at_most_so_often(world: World) -> None:
    loop = world.loop(every=1e9, at_most_every=5)
    world.during = lambda: loop.arrivals.notice("bronze.a")

    runs = world.pass_by(loop, 16)

    assert [at for at, _ in runs] == [0.5, 5.5, 10.5, 15.5]


def test_the_board_has_what_there_is_to_know(world: World) -> None:
    loop = world.loop()
    world.pass_by(loop, 1)

    found = world.board["tables"]
    assert (found["gold.c"].schedule, found["gold.c"].next_firing) == (
        "0 6 * * * UTC",
        "2026-11-23T06:00:00.000+00:00",
    )
    assert (found["bronze.a"].last_rows, found["bronze.a"].last_changed) == (5, 5)
    assert found["gold.c"].last_rows is None
    assert world.board["last_run"].published == ("bronze.a", "bronze.x", "silver.b", "gold.d")
    assert world.board["doing"] == "waiting"


def test_a_table_is_looked_after_every_so_many_batches_one_at_a_time(world: World) -> None:
    loop = world.loop(every=1)
    world.pass_by(loop, 50, step=1)
    assert sorted(world.kept_up) == ["bronze.a", "bronze.x", "gold.d", "silver.b"]
    assert world.said[0] == "gold.d: 40 small files were compacted into 1, 1,200 old snapshots expired"

    world.kept_up.clear()
    world.pass_by(loop, 400, step=1)
    assert {name: world.kept_up.count(name) for name in world.kept_up} == dict.fromkeys(
        ("bronze.a", "bronze.x", "gold.d", "silver.b"), 4
    )


def test_a_table_that_cannot_be_looked_after_is_told_and_its_batches_go_on(world: World) -> None:
    loop = world.loop(every=1)
    world.pass_by(loop, 30, step=1)
    world.fails = {"gold.nothing": BAD}
    runs = world.pass_by(loop, 10, step=1)
    assert len(runs) == 10
    assert "gold.d was not maintained: Spark failed: no number" in world.said


def nightly(world: World) -> None:
    """bronze.a is maintained at half past five, which is half an hour from now."""
    schedule = Schedule("30 5 * * *")
    found = replace(CHAIN.definitions["bronze.a"], maintenance=Maintenance(schedule=schedule))
    world.declared = replace(CHAIN, definitions={**CHAIN.definitions, "bronze.a": found})


def test_a_table_is_maintained_when_its_time_comes_and_not_again_by_the_next_process(world: World) -> None:
    nightly(world)
    loop = world.loop()
    world.pass_by(loop, 1790, step=10)
    assert world.maintained == []
    world.pass_by(loop, 100, step=10)
    assert world.maintained == [(1800, "bronze.a")]
    assert "bronze.a: 9 files were rewritten as 1" in world.said
    world.pass_by(world.loop(), 3600, step=60)
    assert len(world.maintained) == 1


def test_what_arrives_during_maintenance_comes_first_and_then_it_goes_on(world: World) -> None:
    nightly(world)
    loop = world.loop(every=1e9)
    world.pieces = 3
    world.pass_by(loop, 1799)
    world.during = lambda: (
        loop.arrivals.notice("bronze.a") if world.pieces == 2 and not world.runs[1:] else None
    )
    runs = world.pass_by(loop, 10)
    assert [name for _, name in world.maintained] == ["bronze.a", "bronze.a"]
    assert len(runs) == 1 and world.maintained[0][0] < runs[0][0] <= world.maintained[1][0]
    assert world.pieces == 0


def test_a_table_whose_maintenance_fails_waits_for_its_next_time(world: World) -> None:
    nightly(world)
    loop = world.loop(every=1e9)
    world.pass_by(loop, 1)
    world.fails = {"none": BAD}
    world.pass_by(loop, 3600, step=60)
    assert len(world.maintained) == 1
    assert "bronze.a was not maintained: Spark failed: no number" in world.said


def test_a_process_that_is_told_to_end_begins_no_maintenance(world: World) -> None:
    nightly(world)
    loop = world.loop(every=1e9)
    loop.is_ending = True
    world.pass_by(loop, 3600, step=60)
    assert world.maintained == []


def test_each_table_of_a_run_is_told_when_it_ends(world: World) -> None:
    world.seconds_a_table, world.fails = 30.0, {"bronze.x": BAD}
    world.loop().look()
    assert world.said == [
        "batch of bronze.a after 30 s", "problem LS601",
        "bronze.x failed once (LS601); it is tried again in 1 s", "batch of silver.b after 90 s",
        "batch of gold.d after 120 s",
    ]  # fmt: skip
    last = {name: state.last_batch for name, state in world.board["tables"].items()}
    assert last["bronze.a"] == moment(START + timedelta(seconds=30))
    assert last["gold.d"] == moment(START + timedelta(seconds=120))


def test_slow_tables_are_put_off_while_events_keep_arriving(world: World) -> None:
    found = (table("bronze.a"), table("silver.b"), *(table(f"gold.{name}") for name in "uvwxyz"))
    golds = tuple(f"gold.{name}" for name in "uvwxyz")
    readers = {"bronze_a": ["silver.b"], "silver_b": golds[:-1], "gold_y": ["gold.z"]}
    world.declared = replace(tables(*found, **readers), slow=frozenset(golds))
    loop = world.loop(every=1e9)
    world.during = lambda: loop.arrivals.notice("bronze.a")
    world.pass_by(loop, 0.5)
    world.runs.clear()

    eager = ("bronze.a", "silver.b")
    assert [run for _, run in world.pass_by(loop, 2)] == [
        (*eager, *golds[:2]),
        (*eager, *golds[2:4]),
        (*eager, *golds[4:]),
        (*eager, *golds[:2]),
    ], "each in one run of three, in dependency order"

    world.during = lambda: None
    assert [run for _, run in world.pass_by(loop, 5)] == [(*eager, *golds[2:4]), (*golds[:2], *golds[4:])], (
        "then those that are left"
    )
    loop.arrivals.notice("bronze.a")
    assert [run for _, run in world.pass_by(loop, 5)] == [(*eager, *golds)], "one arrival puts off none"


def test_a_run_of_events_takes_what_was_written_until_it_begins(world: World, tmp_path: Path) -> None:
    loop, asked = world.loop(every=1e9), list[float]()
    loop.arrivals.look_in({"bronze.a": [tmp_path]})
    loop.seal = lambda: asked.append(world.seconds)
    world.pass_by(loop, 2)
    assert asked == [], "no segment has arrived"
    (tmp_path / "1.jsonl").touch()
    world.fails["bronze.a"] = Problem("LS601", "Spark failed")
    runs = world.pass_by(loop, 1)
    assert len(asked) == len(runs) == 1, "a table that waits for its next try is no reason to seal"
