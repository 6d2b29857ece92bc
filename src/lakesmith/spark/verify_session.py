"""Verifies tables one after the other in one session; what fails is one table's outcome, and the others are verified still."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from lakesmith.errors import LakesmithError
from lakesmith.execute.lake import Lake
from lakesmith.execute.verify import Verification, VerifyStarted, Watcher, failed
from lakesmith.plan.steps import TableStep
from lakesmith.project.definitions import TableName
from lakesmith.spark.batch.context import Batch
from lakesmith.spark.engine import explained
from lakesmith.spark.start.session import SessionHandle
from lakesmith.spark.verify import verify_table


def verify_steps(
    session: SessionHandle, lake: Lake, steps: Sequence[TableStep], watcher: Watcher = lambda _event: None
) -> dict[TableName, Verification]:
    """The outcome for each step's table."""
    found = {}
    session.enter()
    for number, step in enumerate(steps, 1):
        watcher(VerifyStarted(step.name, number, len(steps)))
        found[step.name] = _verified(session, lake, step)
    return found


def _verified(session: SessionHandle, lake: Lake, step: TableStep) -> Verification:
    batch = Batch(session.spark, lake.catalog, lake.project, step, lambda _event: None)
    try:
        batch.meet_inputs()
        return verify_table(batch)
    except LakesmithError as error:
        return failed(step.name, error)
    except (Py4JError, PySparkException) as error:
        return failed(step.name, explained(session, lake, step, error))
