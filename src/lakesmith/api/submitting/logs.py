"""How a run on AWS went: its state, what it printed, and the log of its job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from lakesmith.api.access import Access
from lakesmith.api.deploying.work import stack_here
from lakesmith.api.submitting.account import Account
from lakesmith.deploy.policies import log_groups, logs_of_jobs
from lakesmith.errors import EnvironmentProblem, UsageError

_JOB: Final = re.compile(r'"job_?run_?id"\s*:\s*"([\w-]+)"', re.IGNORECASE)
_PAGES: Final = 5
"""So many pages of streams are looked through, the newest first, of 50 streams each."""


@dataclass(frozen=True, slots=True)
class RunLog:
    """A run on AWS.

    Attributes:
        run: its name.
        status: RUNNING, SUCCEEDED, FAILED, TIMED_OUT or ABORTED.
        started: when it started, in UTC.
        seconds: how long it took; None while it goes on.
        failed: the tables that failed, with their first problems.
        group: the log group of jobs in CloudWatch; of Glue, what the names of its two groups begin with.
        streams: the streams of this run's jobs.
        lines: the last lines of their logs.
    """

    run: str
    status: str
    started: str
    seconds: float | None
    failed: tuple[Mapping[str, str], ...]
    group: str
    streams: tuple[str, ...]
    lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def run_log(access: Access, run: str | None, lines: int) -> RunLog:
    account = Account(stack_here(access))
    known = account("stepfunctions", "list_executions", stateMachineArn=account.machine, maxResults=100)
    names = [each["name"] for each in known["executions"]]
    if run is None and not names:
        raise UsageError.of(
            "LS293", "no run was started yet", None, "a run", "none", "lakesmith run --submit"
        )
    execution = account.execution(run or names[0])
    state = _state(account, execution, run, names)
    jobs = _jobs(account, execution)
    streams = [
        (each, stream)
        for each in log_groups(account.stack).values()
        for stream in _streams(account, each, jobs)
    ]
    return RunLog(
        state["name"],
        state["status"],
        f"{state['startDate']:%Y-%m-%d %H:%M:%S}",
        _seconds(state.get("startDate"), state.get("stopDate")),
        tuple(_failed(account, state["name"])),
        logs_of_jobs(account.stack),
        tuple(stream for _, stream in streams),
        tuple(_lines(account, streams, lines)),
    )


def _state(account: Account, execution: str, run: str | None, names: list[str]) -> Mapping[str, Any]:
    """AWS keeps finished runs for 90 days, of which the newest are listed."""
    try:
        found: Mapping[str, Any] = account("stepfunctions", "describe_execution", executionArn=execution)
        return found
    except EnvironmentProblem as error:
        if run is None or run in names or error.problems[0].code != "LS346":
            raise
        newest = ", ".join(names[:5]) or "none"
        hint = "lakesmith logs shows the newest run"
        raise UsageError.of("LS293", f"there is no run {run}", None, "a run", newest, hint) from None


def _seconds(start: datetime | None, stop: datetime | None) -> float | None:
    return round((stop - start).total_seconds(), 1) if start and stop else None


def _jobs(account: Account, execution: str) -> set[str]:
    """The ids of a run's jobs, which its history has."""
    given = {"executionArn": execution, "includeExecutionData": True, "maxResults": 1000}
    return set(
        _JOB.findall(str(account("stepfunctions", "get_execution_history", **given)).replace("\\", ""))
    )


def _streams(account: Account, group: str, jobs: set[str]) -> Iterator[str]:
    """The streams of the drivers' logs, else all, whose names have the id of a job."""
    given = {"logGroupName": group, "orderBy": "LastEventTime", "descending": True, "limit": 50}
    for _ in range(_PAGES if jobs else 0):
        page = account("logs", "describe_log_streams", **given)
        for stream in page["logStreams"]:
            name = stream["logStreamName"]
            if any(job in name for job in jobs) and "executor" not in name.lower():
                yield name
        if not page.get("nextToken"):
            return
        given["nextToken"] = page["nextToken"]


def _failed(account: Account, run: str) -> Iterator[Mapping[str, str]]:
    import json

    for unit in account.stack.units:
        for attempt in range(account.stack.deploy.retries, -1, -1):
            if text := account.text_of(f"runs/{run}/{unit.key}-{attempt}.json"):
                yield from json.loads(text)["failed"]
                break


def _lines(account: Account, streams: Sequence[tuple[str, str]], most: int) -> Iterator[str]:
    found: list[tuple[int, str]] = []
    for group, stream in streams:
        given = {"logGroupName": group, "logStreamName": stream, "startFromHead": False, "limit": most}
        found += [
            (each["timestamp"], each["message"])
            for each in account("logs", "get_log_events", **given)["events"]
        ]
    yield from (message for _, message in sorted(found, key=lambda each: each[0])[-most:])
