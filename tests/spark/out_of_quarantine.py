"""Takes rows out of a table's quarantine, as the commands do."""

from harness import Harness, RunResult

from lakesmith.execute.events import Event
from lakesmith.execute.lake import Lake
from lakesmith.execute.quarantine import QuarantineDecider
from lakesmith.execute.run import Run
from lakesmith.plan.steps import BadRows, Strategy
from lakesmith.project.definitions import TableName
from lakesmith.spark.engine import SparkEngine

ALL = BadRows()


def out_of_quarantine(shop: Harness, table: str, strategy: Strategy, rows: BadRows = ALL) -> RunResult:
    project, graph = shop.load()
    lake = Lake.open(project)
    decider = QuarantineDecider(graph, lake, strategy=strategy, bad_rows=rows)
    events: list[Event] = []
    run = Run(decider, (TableName.parse(table),), lambda *_: SparkEngine(shop.handle, lake), events.append)
    return RunResult(run.run(), tuple(events))


def replay(shop: Harness, rows: BadRows = ALL, table: str = "bronze.orders") -> RunResult:
    result = out_of_quarantine(shop, table, Strategy.REPLAY, rows)
    assert result.code == 0, result.problems
    return result


def drop(shop: Harness, rows: BadRows = ALL, table: str = "bronze.orders") -> RunResult:
    result = out_of_quarantine(shop, table, Strategy.DROP, rows)
    assert result.code == 0, result.problems
    return result
