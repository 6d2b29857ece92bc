"""The walk over the tables: their order, what a failure holds up and what it does not, and when a batch is
done again.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from memory import MemoryEngine, MemoryLake, project_of

from lakesmith.errors import Problem, QualityError, RunError, StateError
from lakesmith.execute.decide import Decider
from lakesmith.execute.engine import NeverIncremental, NotIncremental, Outdated, Unanswered
from lakesmith.execute.events import (
    Event,
    RunFinished,
    TableCurrent,
    TableFailed,
    TableHeld,
    TablePublished,
    TableRedone,
)
from lakesmith.execute.run import TRIES, Run, Walk
from lakesmith.plan.steps import Decision, Strategy, TableStep, UpToDate, Waiting
from lakesmith.project.definitions import OnBadFile, TableName
from lakesmith.sources.bad_files import BadFile, BadFiles
from lakesmith.sources.model import FileIdentity

SHOP = {
    "bronze__orders": "files", "bronze__cities": "files", "silver__orders": "SELECT id FROM bronze.orders",
    "silver__cities": "SELECT id FROM bronze.cities",
    "gold__both": "SELECT o.id FROM silver.orders o JOIN silver.cities c ON o.id = c.id",
    "gold__top": "SELECT max(id) AS id FROM gold.both",
}  # fmt: skip


@dataclass
class Shop:
    """A project in memory with its lake and its engine."""

    root: Path
    tables: dict[str, str] = field(default_factory=lambda: dict(SHOP))
    full: frozenset[TableName] = frozenset()
    events: list[Event] = field(default_factory=list)
    started: int = 0

    def __post_init__(self) -> None:
        project, self.graph = project_of(self.root, **self.tables)
        self.lake = MemoryLake(project)
        self.engine = MemoryEngine(self.lake)

    def decider(self) -> Decider:
        return Decider(self.graph, self.lake, self.full)  # type: ignore[arg-type]

    def start(self) -> MemoryEngine:
        self.started += 1
        return self.engine

    def walk(self, *names: str, **options: Any) -> int:
        """Walks over the named tables, or all."""
        self.events.clear()
        chosen = tuple(map(TableName.parse, names)) or self.graph.order
        return Walk(self.decider(), chosen, self.start, self.events.append, **options).run()

    def told(self, kind: type[Event]) -> list[str]:
        """The tables of the events of a kind."""
        return [str(event.table) for event in self.events if isinstance(event, kind)]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """Files have arrived in both sources."""
    shop = Shop(tmp_path / "shop")
    shop.lake.land("bronze.orders", "1.csv")
    shop.lake.land("bronze.cities", "1.csv")
    return shop


def raising(error: BaseException) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


def fails(error: type[RunError | QualityError | StateError], code: str = "LS600") -> Callable[[], None]:
    return raising(error(Problem(code, "it failed")))


def test_every_table_comes_after_the_tables_it_reads(shop: Shop) -> None:
    assert shop.walk() == 0
    done = [name for name, _ in shop.engine.done]
    assert sorted(done) == sorted(map(str, shop.graph.order))
    for name in shop.graph.order:
        assert all(done.index(str(up)) < done.index(str(name)) for up in shop.graph.node(name).inputs)


def test_what_is_new_flows_through_and_nothing_else_is_done(shop: Shop) -> None:
    shop.walk()
    shop.engine.done.clear()
    shop.lake.land("bronze.orders", "2.csv")
    assert shop.walk() == 0
    assert shop.engine.done == [
        ("bronze.orders", Strategy.FILES), ("silver.orders", Strategy.APPEND), ("gold.both", Strategy.FULL),
        ("gold.top", Strategy.FULL),
    ]  # fmt: skip
    assert shop.told(TableCurrent) == ["bronze.cities", "silver.cities"]


def test_a_failure_holds_up_what_is_made_from_it_and_nothing_else(shop: Shop) -> None:
    shop.engine.before = {"silver.orders": [fails(RunError)]}
    assert shop.walk() == 1
    assert shop.told(TableFailed) == ["silver.orders"]
    assert {event.table.name: event.because for event in shop.events if isinstance(event, TableHeld)} == {
        "both": (TableName("silver", "orders"),),
        "top": (TableName("gold", "both"),),
    }
    assert sorted(shop.told(TablePublished)) == ["bronze.cities", "bronze.orders", "silver.cities"]


def test_the_next_walk_takes_up_what_failed(shop: Shop) -> None:
    shop.engine.before = {"silver.orders": [fails(RunError)]}
    shop.walk()
    assert shop.walk() == 0
    assert shop.told(TablePublished) == ["silver.orders", "gold.both", "gold.top"]


def test_a_failed_table_that_was_not_selected_holds_nothing(shop: Shop) -> None:
    shop.walk()
    shop.lake.problems[TableName("bronze", "orders")] = Problem("LS410", "a file changed")
    shop.lake.land("bronze.cities", "2.csv")
    assert shop.walk("bronze.cities", "silver.cities", "gold.both") == 0
    assert shop.told(TablePublished) == ["bronze.cities", "silver.cities", "gold.both"]


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [(RunError, QualityError, 3), (QualityError, RunError, 3), (RunError, StateError, 1)],
)
def test_the_exit_code_is_the_highest(shop: Shop, first: Any, second: Any, code: int) -> None:
    shop.engine.before = {"bronze.orders": [fails(first)], "bronze.cities": [fails(second)]}
    assert shop.walk() == code


def test_a_refused_table_fails_with_its_problem(shop: Shop) -> None:
    problem = Problem("LS410", "a file changed")
    shop.lake.problems[TableName("bronze", "orders")] = problem
    assert shop.walk() == 1
    (failed,) = (event for event in shop.events if isinstance(event, TableFailed))
    assert (failed.problems, failed.exit_code) == ((problem,), 1)
    assert "silver.cities" in shop.told(TablePublished)


@pytest.mark.parametrize("where", ["planning", "listing", "batch"])
def test_what_nobody_foresaw_of_one_table_fails_it_alone(shop: Shop, where: str) -> None:
    """And the summary is told, which comes with the run's last event."""
    wrong = ValueError("not a type of Spark SQL: ''")
    whole, name = type(shop.lake), TableName("bronze", "orders")

    def broken(method: Callable[..., Any], pick: Callable[[Any], TableName]) -> Callable[..., Any]:
        def call(lake: Any, of: Any, *more: Any) -> Any:
            if pick(of) == name:
                raise wrong
            return method(lake, of, *more)

        return call

    with pytest.MonkeyPatch.context() as patch:
        if where == "planning":
            patch.setattr(whole, "facts", broken(whole.facts, lambda of: of))
        elif where == "listing":
            patch.setattr(whole, "source_facts", broken(whole.source_facts, lambda of: of.name))
        else:
            shop.engine.before = {str(name): [raising(wrong)]}
        assert run(shop) == 1
    (failed,) = (event for event in shop.events if isinstance(event, TableFailed))
    (problem,) = failed.problems
    assert (problem.code, str(problem.place)) == ("LS900", "tables/bronze/orders.yaml:1")
    assert problem.what == f"{name} failed in a way nobody foresaw: ValueError: {wrong}"
    (log,) = (shop.root / ".lakesmith/logs").glob("error-*.log")
    assert str(log) in (problem.found or "") and "Traceback" in log.read_text()
    assert sorted(shop.told(TablePublished)) == ["bronze.cities", "silver.cities"]
    assert isinstance(shop.events[-1], RunFinished)


def test_a_table_whose_inputs_have_no_data_waits_without_failing(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.lake.land("bronze.orders", "1.csv")
    assert shop.walk() == 0
    assert shop.told(TablePublished) == ["bronze.orders", "silver.orders"]
    reasons = {str(event.table): event.reason for event in shop.events if isinstance(event, TableCurrent)}
    assert reasons["gold.both"] == "silver.cities has no data yet"
    assert reasons["bronze.cities"] == "no file has arrived yet"


def test_a_batch_whose_ground_moved_is_planned_and_done_again(shop: Shop) -> None:
    def another_file() -> None:
        shop.lake.land("bronze.orders", "2.csv")
        raise Outdated("a file changed while it was read")

    shop.engine.before = {"bronze.orders": [another_file]}
    assert shop.walk() == 0
    assert shop.told(TableRedone) == ["bronze.orders"]
    assert shop.engine.tries["bronze.orders"] == 2
    assert shop.lake.taken[TableName("bronze", "orders")] == {"1.csv", "2.csv"}


def test_a_batch_that_somebody_else_has_done_is_not_done_again(shop: Shop) -> None:
    def by_another() -> None:
        MemoryEngine(shop.lake).run_step(step, shop.events.append)
        raise Outdated("another writer moved the table")

    step = shop.decider().decide(TableName("bronze", "orders"))
    assert isinstance(step, TableStep)
    shop.engine.before = {"bronze.orders": [by_another]}
    assert shop.walk("bronze.orders") == 0
    assert (shop.engine.tries["bronze.orders"], shop.engine.done) == (1, [])
    assert shop.told(TableCurrent) == ["bronze.orders"]


@pytest.mark.parametrize(("failures", "code", "tries"), [(1, 0, 2), (2, 1, 2)])
def test_a_batch_whose_commit_got_no_answer_is_done_again_once(
    shop: Shop, failures: int, code: int, tries: int
) -> None:
    shop.engine.before = {"bronze.orders": [fails(Unanswered, "LS601")] * failures}
    assert shop.walk("bronze.orders") == code
    assert (shop.engine.tries["bronze.orders"], shop.told(TableRedone)) == (tries, ["bronze.orders"])
    assert shop.told(TableFailed) == ["bronze.orders"] * code


def test_a_table_that_never_stands_still_is_given_up(shop: Shop) -> None:
    shop.engine.before = {"bronze.orders": [raising(Outdated("it moved"))] * (TRIES + 1)}
    assert shop.walk("bronze.orders") == 1
    (failed,) = (event for event in shop.events if isinstance(event, TableFailed))
    assert failed.problems[0].code == "LS612"
    assert shop.engine.tries["bronze.orders"] == TRIES


def test_what_spark_does_not_confirm_is_done_in_full_with_the_reason(shop: Shop) -> None:
    shop.walk()
    shop.lake.land("bronze.orders", "2.csv")
    shop.engine.before = {"silver.orders": [raising(NotIncremental("it calls rand"))]}
    assert shop.walk() == 0
    steps = [event.step for event in shop.events if isinstance(event, TablePublished)]
    found = {str(step.name): (step.strategy, step.reason) for step in steps}
    assert found["silver.orders"] == (
        Strategy.FULL,
        "it calls rand; its inputs are small (0.0 MB), so it is refreshed in full",
    )


def test_independent_tables_are_worked_on_side_by_side(shop: Shop) -> None:
    both = threading.Barrier(2, timeout=10)
    meet = [lambda: both.wait() and None]
    shop.engine.before = {"bronze.orders": list(meet), "bronze.cities": list(meet)}
    assert shop.walk(parallel=2) == 0


def test_a_stopped_walk_begins_no_further_table(shop: Shop) -> None:
    stop = threading.Event()
    shop.engine.before = {"bronze.cities": [stop.set]}
    assert shop.walk(parallel=1, stop=stop) == 130
    assert shop.told(TablePublished) == ["bronze.cities"]


# The whole run


def run(shop: Shop) -> int:
    shop.events.clear()
    names = shop.graph.order
    return Run(shop.decider(), names, lambda *_: shop.start(), shop.events.append).run()


def test_what_is_up_to_date_for_sure_is_looked_at_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    run(shop)
    shop.lake.land("bronze.orders", "2.csv")
    looked: Counter[str] = Counter()
    decide = Decider.decide

    def counted(decider: Decider, name: TableName) -> Decision:
        looked[str(name)] += 1
        return decide(decider, name)

    monkeypatch.setattr(Decider, "decide", counted)
    shop.events.clear()
    assert run(shop) == 0
    assert sorted(shop.told(TableCurrent)) == ["bronze.cities", "silver.cities"]
    once = dict.fromkeys(("bronze.cities", "silver.cities", "silver.orders", "gold.both", "gold.top"), 1)
    assert looked == {"bronze.orders": 2, **once}


def test_what_reads_a_table_that_was_refused_is_looked_at_again(shop: Shop) -> None:
    """What was wrong with the one may be gone by the time it is its turn, and then there is work for the
    other.
    """
    run(shop)
    name = TableName("bronze", "orders")
    shop.lake.problems[name] = Problem("LS410", "a file changed")
    shop.lake.land("bronze.orders", "2.csv")
    shop.lake.land("bronze.cities", "2.csv")
    shop.engine.before = {"bronze.cities": [lambda: shop.lake.problems.pop(name) and None]}
    shop.events.clear()
    names = tuple(map(TableName.parse, ("bronze.cities", "bronze.orders", "silver.orders", "silver.cities")))
    assert Run(shop.decider(), names, lambda *_: shop.start(), shop.events.append, parallel=1).run() == 0
    assert shop.told(TablePublished) == ["bronze.cities", "bronze.orders", "silver.cities", "silver.orders"]


def test_sums_that_spark_refuses_are_refused_as_keys(shop: Shop) -> None:
    """They are two ways to do the same, and a record has one name for what its query does not allow."""
    step = shop.decider().decide(TableName("bronze", "orders"))
    assert isinstance(step, TableStep)
    decider = shop.decider()
    decider.refuse(replace(step, strategy=Strategy.SUMS), NeverIncremental("it joins a table with itself"))
    assert list(decider.refused[step.name]) == [Strategy.KEYS]


def test_an_idle_run_starts_no_engine(shop: Shop) -> None:
    assert run(shop) == 0
    assert (shop.started, shop.engine.closed) == (1, 1)
    assert run(shop) == 0
    assert (shop.started, shop.engine.closed) == (1, 1)
    assert shop.told(TableCurrent) == [str(name) for name in shop.graph.order]


def test_a_run_with_nothing_but_waiting_starts_no_engine(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    assert run(shop) == 0
    assert shop.started == 0


def test_the_engine_is_closed_when_tables_fail(shop: Shop) -> None:
    shop.engine.before = {"bronze.orders": [fails(RunError)]}
    assert run(shop) == 1
    assert shop.engine.closed == 1


# The plan


def test_the_plan_says_what_waits_for_what(shop: Shop) -> None:
    shop.walk()
    shop.lake.land("bronze.orders", "2.csv")
    decisions = {str(item.name): item for item in shop.decider().decide_all(shop.graph.order)}
    assert isinstance(decisions["bronze.orders"], TableStep)
    assert decisions["silver.orders"] == Waiting(
        shop.graph.node(TableName("silver", "orders")).definition, (TableName("bronze", "orders"),)
    )
    assert isinstance(decisions["gold.top"], Waiting)
    assert isinstance(decisions["silver.cities"], UpToDate)


def test_a_full_refresh_is_done_though_nothing_is_new(shop: Shop) -> None:
    shop.walk()
    shop.engine.done.clear()
    shop.full = frozenset({TableName("silver", "orders")})
    assert shop.walk() == 0
    assert shop.engine.done[0] == ("silver.orders", Strategy.FULL)
    assert [name for name, _ in shop.engine.done] == ["silver.orders", "gold.both", "gold.top"]


def test_files_that_cannot_be_read_are_left_out_and_the_others_taken(shop: Shop) -> None:
    name, bad_file = TableName("bronze", "orders"), FileIdentity("bad.csv.gz", 1, 1)
    source = replace(shop.graph.node(name).definition.sources[0], on_bad_file=OnBadFile.SKIP)
    shop.lake.land("bronze.orders", "bad.csv.gz")
    found = [BadFile(bad_file, source, Problem("LS422", "it is damaged"), lasting=True)]

    def fail() -> None:
        raise BadFiles(found)

    shop.engine.before["bronze.orders"] = [fail]
    assert shop.walk("bronze.orders") == 0
    assert shop.told(TableRedone) == ["bronze.orders"]
    assert shop.lake.taken[name] == {"1.csv"}
    # Where it is not to be left out, or is known already, the table fails.
    shop.lake.land("bronze.orders", "2.csv")
    for instead in (
        replace(found[0], lasting=False),
        replace(found[0], source=replace(source, on_bad_file=OnBadFile.FAIL)),
    ):
        found[:] = [instead]
        shop.engine.before["bronze.orders"] = [fail]
        assert shop.walk("bronze.orders") == 1
    assert shop.told(TableFailed) == ["bronze.orders"]


def test_a_batch_of_which_no_file_can_be_read_only_keeps_that_on_record(shop: Shop) -> None:
    name = TableName("bronze", "orders")
    assert shop.walk("bronze.orders") == 0
    shop.lake.land("bronze.orders", "bad.csv.gz")
    decider = shop.decider()
    step = decider.decide(name)
    assert isinstance(step, TableStep)
    bad = BadFile(
        step.intakes[0].take[0],
        replace(step.intakes[0].source, on_bad_file=OnBadFile.SKIP),
        Problem("LS422", "it is damaged"),
        lasting=True,
    )
    assert decider.leave_out(step, BadFiles([bad]))
    assert not decider.leave_out(step, BadFiles([bad]))
    step = decider.decide(name)
    assert isinstance(step, TableStep)
    assert (step.strategy, step.file_count) == (Strategy.LEDGER, 0)
    (unread,) = step.intakes[0].unread
    assert (unread.file.path, unread.reason, unread.taken) == ("bad.csv.gz", "it is damaged", False)
