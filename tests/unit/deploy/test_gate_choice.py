"""Which tables a call of the gate is about: as `lakesmith up` would refresh them."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import deployed
import pytest

from lakesmith import gate
from lakesmith.errors import Problem
from lakesmith.execute.forecast import Forecast
from lakesmith.execute.maintenance import MaintenancePlan, Unknown
from lakesmith.plan.maintenance import Care, Health, Task
from lakesmith.plan.steps import UpToDate, Waiting
from lakesmith.submit import job_of, metrics_of, parameters, report_of


def arrived(bucket: str, key: str) -> dict[str, object]:
    """The event of a new object, as EventBridge sends it."""
    return {
        "source": "aws.s3",
        "detail-type": "Object Created",
        "detail": {"bucket": {"name": bucket}, "object": {"key": key, "size": 1}},
    }


@pytest.mark.parametrize(
    ("calls", "tables"),
    [
        ([arrived("shop-landing", "orders/a.csv")], ["bronze.orders", "gold.cities"]),
        ([arrived("shop-landing", "orders-of-others/a.csv")], []),
        ([arrived("another", "orders/a.csv")], []),
        # It has a schedule of its own.
        ([arrived("others-clicks", "a.json")], []),
        ([{"why": "0 6 13 * FRI UTC"}], ["bronze.clicks"]),
        ([{"why": "30 2 * * 1-5 Europe/Amsterdam"}], ["silver.orders"]),
        ([{"why": "every 7200 s"}], ["silver.ticks"]),
        ([{"why": "poll"}], ["bronze.products"]),
        ([{"why": "a schedule that the project does not have"}], []),
        ([{"tables": ["silver.ticks", "gone.table"]}], ["silver.ticks"]),
        (
            [{"why": "poll"}, arrived("shop-landing", "orders/b.csv")],
            ["bronze.orders", "bronze.products", "gold.cities"],
        ),
    ],
)
def test_a_call_means_these_tables(
    tmp_path: Path, calls: Iterable[dict[str, object]], tables: list[str]
) -> None:
    stack = deployed.stack(deployed.project(tmp_path, deployed.EVERYTHING, deployed.EVERY_SETTING))
    assert list(gate.wanted(stack.project, stack.graph, calls)) == tables


def test_what_a_schedule_sends_is_what_the_gate_knows(tmp_path: Path) -> None:
    stack = deployed.stack(deployed.project(tmp_path, deployed.EVERYTHING, deployed.EVERY_SETTING))
    assert len(stack.firings) == 6
    for firing in stack.firings:
        if firing.why == "maintain":
            continue
        assert gate.wanted(stack.project, stack.graph, [{"why": firing.why}]), firing


def test_tables_that_need_maintenance_are_maintained(tmp_path: Path) -> None:
    orders, cities = deployed.stack(deployed.project(tmp_path, deployed.SMALL)).graph.order
    small = Care(orders, Health(), {Task.COMPACT: "many small files"})
    assert gate.needing(MaintenancePlan((small, Care(cities, Health())))) == ("bronze.orders",)
    assert gate.needing(MaintenancePlan((Unknown(cities, Problem("LS501", "gone")),))) == ("gold.cities",)


def test_a_job_runs_the_selected_tables() -> None:
    places = ["--project", "s3://b/p.zip", "--target", "prod"]
    glue = ["--job-bookmark-option", "job-bookmark-disable", "--JOB_ID", "j_1", "--JOB_NAME", "lake"]
    asked = ["--result", "s3://b/r", "--select", '["silver.*"]']
    for words in ([*places, *asked], [*glue, *asked, *places], [*asked, *places, *glue, "true"]):
        job, rest = job_of(words)
        assert job.result == "s3://b/r"
        assert rest == [*places, "run", "silver.*", "--json"]
    assert job_of(["--select", "[]", "--command", "maintain"])[1][2:] == ["maintain", "--json"]
    assert job_of(["run", "a.b"])[1] == ["run", "a.b"]


def test_a_job_goes_on_where_parameters_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", "http://127.0.0.1:1")
    assert parameters("/lakesmith/shop-prod") == {}
    assert "no environment variables were taken from /lakesmith/shop-prod" in capsys.readouterr().err


def printed(*documents: dict[str, Any]) -> str:
    """What ``run --json`` prints."""
    return "".join(f"{json.dumps(each)}\n" for each in documents)


def test_metrics_are_the_sums_of_row_balances() -> None:
    accounts = ({"read": 5, "inserted": 3, "quarantined": 2}, {"read": 3, "inserted": 1, "quarantined": 0})
    published = [
        {"event": "table_published", "table": "a.b", "record": {"account": each}} for each in accounts
    ]
    failed = {"event": "table_failed", "table": "a.c", "problems": [{"code": "LS601", "what": "it broke"}]}
    found = metrics_of(printed({"event": "run_started"}, *published, failed))
    assert found == {
        "RowsRead": 8, "RowsInserted": 4, "RowsQuarantined": 2, "TablesPublished": 2, "TablesFailed": 1,
    }  # fmt: skip
    assert set(metrics_of("no JSON").values()) == {0}


def test_a_report_names_each_failed_table() -> None:
    problems = [{"code": "LS601", "what": "it broke"}]
    said = printed(
        {"event": "table_published", "table": "a.a", "record": {}},
        {"event": "table_failed", "table": "a.b", "problems": problems},
        {"event": "export_failed", "table": "a.c", "problems": problems},
        {"event": "run_finished", "exit_code": 1},
    )
    failed = [{"table": table, "problem": "LS601 it broke"} for table in ("a.b", "a.c")]
    assert report_of(1, said) == {"exit_code": 1, "failed": failed}
    maintained = json.dumps({"maintained": [{"table": "a.b", "problems": problems}]}, indent=2)
    assert report_of(1, maintained)["failed"] == failed[:1]
    assert report_of(1, "no JSON")["failed"][0]["table"] == "the whole run"
    assert report_of(0, printed({"event": "run_finished"})) == {"exit_code": 0, "failed": []}


def test_only_tables_that_are_not_up_to_date_are_work(tmp_path: Path) -> None:
    graph = deployed.stack(deployed.project(tmp_path, deployed.SMALL)).graph
    orders, cities = (node.definition for node in graph.nodes)
    current = [Forecast(UpToDate(each, "nothing new")) for each in (orders, cities)]
    assert gate.with_work(current) == ()
    assert gate.with_work([current[0], replace(current[1], export="never exported")]) == ("gold.cities",)
    assert gate.with_work([replace(current[0], not_read=("only a run asks it",))]) == ("bronze.orders",)
    waiting = Forecast(Waiting(cities, (orders.name,)))
    assert gate.with_work([current[0], waiting]) == ("gold.cities",)


def test_the_report_of_a_run_is_read_from_its_events() -> None:
    problem = {"code": "LS601", "what": "it broke"}
    said = [
        {"event": "run_started", "tables": ["a.b", "a.c"]},
        {"event": "table_published", "table": "a.b", "record": {"account": {"read": 2, "inserted": 1}}},
        {"event": "table_failed", "table": "a.c", "problems": [problem], "exit_code": 1},
        {"event": "run_finished", "exit_code": 1},
    ]
    text = "\n".join(map(json.dumps, said))
    assert report_of(1, text) == {"exit_code": 1, "failed": [{"table": "a.c", "problem": "LS601 it broke"}]}
    assert metrics_of(text) | {"RowsRead": 2, "TablesPublished": 1, "TablesFailed": 1} == metrics_of(text)
