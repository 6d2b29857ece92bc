"""The gate of a deployed target: a Lambda that plans without Spark, and starts a run where there is work.

Its calls come from a queue: files that arrived in S3, schedules, and runs that were put off. Which tables a
call is about follows from the project, as in `lakesmith up`. At most one run is at work; while it is, calls
are put off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from lakesmith.deploy.facts import MAINTAIN, MOST_SELECTED, POLL, is_polled
from lakesmith.execute.forecast import Forecast
from lakesmith.execute.maintenance import MaintenancePlan, Unknown
from lakesmith.graph.graph import Graph
from lakesmith.plan.maintenance import Care
from lakesmith.plan.steps import UpToDate
from lakesmith.project.definitions import Project, TableDefinition
from lakesmith.serve.tables import Tables
from lakesmith.sources.objects import bucket_and_key
from lakesmith.submit import at_hand, parameters

PUT_OFF_SECONDS: Final = 60


def handle(event: Mapping[str, Any], _context: object = None) -> dict[str, Any]:
    """Handles calls from the queue. What it raises, SQS offers again, and puts aside after five times."""
    import lakesmith

    if path := os.environ.get("LAKESMITH_ENVIRONMENT"):
        os.environ.update(parameters(path))
    calls = [json.loads(record["body"]) for record in event["Records"]]
    with (
        at_hand(os.environ["LAKESMITH_PROJECT"]) as folder,
        lakesmith.open(folder, os.environ["LAKESMITH_TARGET"]) as lake,
    ):
        opened = lake.access.opened()
        tables = wanted(opened.project, opened.graph, calls)
        work = with_work(lake.plan(*tables).tables) if tables else ()
        maintained = needing(lake.plan_maintenance()) if {"why": MAINTAIN} in calls else ()
    print(json.dumps({"calls": len(calls), "work": list(work), "maintained": list(maintained)}))
    started = _start("run", work, {"tables": list(work)}, len(opened.project.tables)) if work else None
    if maintained:
        started = _start("maintain", maintained, {"why": MAINTAIN}) or started
    return {"started": started}


def needing(plan: MaintenancePlan) -> tuple[str, ...]:
    """Returns the tables that need maintenance, and those that cannot be read: the job says why."""
    return tuple(
        str(each.table)
        for each in plan.tables
        if isinstance(each, Unknown) or (isinstance(each, Care) and each.todo)
    )


def wanted(project: Project, graph: Graph, calls: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Returns the tables that calls are about, in dependency order, with the tables made from them."""
    definitions = {str(node.name): node.definition for node in graph.nodes}
    readers = {str(node.name): tuple(map(str, graph.readers(node.name))) for node in graph.nodes}
    begun = {name for call in calls for name, table in definitions.items() if _is_about(call, name, table)}
    chosen = Tables(definitions, readers, checks=project.checks).with_followers(begun)
    return tuple(name for name, table in definitions.items() if name in chosen and table.external is None)


def _is_about(call: Mapping[str, Any], name: str, table: TableDefinition) -> bool:
    if "tables" in call:
        return name in call["tables"]
    if "detail" in call:
        return table.schedule is None and any(
            source.is_in_store and _is_below(call["detail"], source.path) for source in table.sources
        )
    if call.get("why") == POLL:
        return is_polled(table)
    return table.schedule is not None and str(table.schedule) == call.get("why")


def _is_below(detail: Mapping[str, Any], path: str) -> bool:
    bucket, prefix = bucket_and_key(path)
    start = f"{prefix.rstrip('/')}/" if prefix else ""
    return bool(detail["bucket"]["name"] == bucket and detail["object"]["key"].startswith(start))


def with_work(planned: Iterable[Forecast]) -> tuple[str, ...]:
    """Returns the planned tables that are not up to date. A source that only a run can ask counts as work."""
    return tuple(
        str(each.decision.name)
        for each in planned
        if not isinstance(each.decision, UpToDate) or each.export or each.not_read
    )


def _start(command: str, tables: Sequence[str], call: Mapping[str, Any], every: int = 0) -> str | None:
    """Starts the machine; if a run is at work, puts the call off, and returns None.

    ``every``: how many tables mean all of them.
    """
    import boto3

    machine, states = os.environ["LAKESMITH_MACHINE"], boto3.client("stepfunctions")
    running = states.list_executions(stateMachineArn=machine, statusFilter="RUNNING", maxResults=1)
    if not running["executions"]:
        # A selection that is too long means all tables.
        selected = [] if len(tables) == every or len(json.dumps(tables)) > MOST_SELECTED else list(tables)
        # Of two gates in one minute, one starts it.
        name = datetime.now(UTC).strftime(f"{command}-%Y%m%dT%H%M")
        given = json.dumps({"select": selected, "command": command, "tries_used": 0})
        try:
            states.start_execution(stateMachineArn=machine, name=name, input=given)
            return name
        except states.exceptions.ExecutionAlreadyExists:
            pass
    boto3.client("sqs").send_message(
        QueueUrl=os.environ["LAKESMITH_QUEUE"], MessageBody=json.dumps(call), DelaySeconds=PUT_OFF_SECONDS
    )
    return None
