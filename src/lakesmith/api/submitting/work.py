"""Runs on AWS: started, followed and cancelled through the state machine of a deployed target.

The machine knows what Terraform deployed: packages, the application, the role. Whoever starts a run needs
three rights: to start executions, to describe them, and to read results.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from lakesmith.api.access import Access
from lakesmith.api.deploying.work import stack_here
from lakesmith.api.submitting.account import Account
from lakesmith.api.submitting.remote_events import RemoteEvents
from lakesmith.deploy.artifact.artifact import project_of
from lakesmith.deploy.facts import MOST_SELECTED, Stack
from lakesmith.errors import RunError, UsageError
from lakesmith.execute.events import Event, Listener, RunFailed, RunFinished, RunResult, result_of

_SECONDS_BETWEEN: Final = 2.0
_CAUSE_LENGTH: Final = 500


def submit(
    access: Access, select: Sequence[str], full_refresh: Sequence[str], approve: Sequence[str], wait: float
) -> str:
    stack = stack_here(access)
    access.opened().names((*select, *full_refresh, *approve))
    words = [*select, *(["--wait", f"{wait:g}"] if wait else [])]
    for option, tables in (("--full-refresh", full_refresh), ("--approve", approve)):
        words += [word for table in tables for word in (option, table)]
    _require_short(stack, words)
    run = f"run-{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:4]}"
    account = Account(stack)
    # A person sees how it fails, and decides: no further try is left.
    given = {"select": words, "command": "run", "tries_used": stack.deploy.retries}
    account(
        "stepfunctions", "start_execution", stateMachineArn=account.machine, name=run, input=json.dumps(given)
    )
    return run


def _require_short(stack: Stack, words: Sequence[str]) -> None:
    if words and stack.deploy.unit == "layer":
        what = "a run of layers refreshes all tables, and takes no selection or options"
        hint = "leave them out, or declare unit: project"
        raise UsageError.of("LS292", what, stack.deploy.place, "nothing but --submit", " ".join(words), hint)
    if (length := len(json.dumps(words))) > MOST_SELECTED:
        what, hint = "the selection is longer than an argument of a job may be", "use patterns: silver.*"
        raise UsageError.of("LS292", what, None, f"at most {MOST_SELECTED} characters", str(length), hint)


def follow(access: Access, run: str, on_event: Listener, on_note: Callable[[str], None]) -> RunResult:
    stack = stack_here(access)
    tables = {str(table.name): table for table in stack.own_tables}
    followed = Followed(Account(stack), run, tables)
    events: list[Event] = []
    noted = False
    for found in followed.states():
        state = found
        for event in followed.new_events():
            events.append(event)
            on_event(event)
        if not noted and followed.project is not None:
            noted = True
            _note_difference(stack, followed.project, on_note)
    return _result(followed, state, events)


def cancel(access: Access, run: str) -> None:
    account = Account(stack_here(access))
    account("stepfunctions", "stop_execution", executionArn=account.execution(run), cause="cancelled")


@dataclass
class Followed:
    """A run that is followed. ``project``: where the job has the project from, once it has begun."""

    account: Account
    run: str
    tables: Mapping[str, Any]
    project: str | None = None

    def __post_init__(self) -> None:
        stack = self.account.stack
        self._events = RemoteEvents(self.tables)
        self._read = {f"runs/{self.run}/{unit.key}-{stack.deploy.retries}": 0 for unit in stack.units}

    def states(self) -> Iterator[Mapping[str, Any]]:
        """Yields the run's state until it has ended."""
        execution = self.account.execution(self.run)
        while True:
            found = self.account("stepfunctions", "describe_execution", executionArn=execution)
            yield found
            if found["status"] != "RUNNING":
                return
            time.sleep(_SECONDS_BETWEEN)

    def new_events(self) -> Iterator[Event]:
        """Yields what the jobs printed since the last call."""
        for key, start in self._read.items():
            text = self.account.text_of(f"{key}.jsonl", start)
            whole = text[: text.rfind(b"\n") + 1]
            self._read[key] = start + len(whole)
            if not start and whole:
                self.project = json.loads(whole.split(b"\n", 1)[0]).get("project")
            yield from self._events.events_in(whole)

    def reports(self) -> list[dict[str, Any]]:
        """The reports that the jobs left."""
        texts = (self.account.text_of(f"{key}.json") for key in self._read)
        return [json.loads(text) for text in texts if text]


def _note_difference(stack: Stack, project: str, on_note: Callable[[str], None]) -> None:
    if project_of(stack).prefix not in project:
        on_note("the project here differs from the one that runs: lakesmith deploy --upload, terraform apply")


def _result(followed: Followed, state: Mapping[str, Any], events: list[Event]) -> RunResult:
    ends = [event for event in events if isinstance(event, RunFinished)]
    reports = followed.reports()
    if not ends or not reports or state["status"] in ("ABORTED", "TIMED_OUT"):
        raise _without_result(followed, state, reports)
    seconds, code = sum(end.seconds for end in ends), max(report["exit_code"] for report in reports)
    last = replace(ends[-1], seconds=seconds, exit_code=code)
    result = result_of([*(event for event in events if not isinstance(event, RunFinished)), last])
    if code:
        raise RunFailed(result)
    return result


def _cause(followed: Followed) -> str | None:
    """Returns why the last job broke, as its service says."""
    given = {"executionArn": followed.account.execution(followed.run), "reverseOrder": True}
    for event in followed.account("stepfunctions", "get_execution_history", **given)["events"]:
        if details := event.get("taskFailedEventDetails"):
            return f"{details.get('error')}: {details.get('cause')}"[:_CAUSE_LENGTH]
    return None


def _without_result(
    followed: Followed, state: Mapping[str, Any], reports: Sequence[Mapping[str, Any]]
) -> RunError:
    """A run that ended before its tables: its report says why, or else what AWS says."""
    said = [each["problem"] for report in reports for each in report["failed"]]
    found = "; ".join(said) or _cause(followed) or f"the state machine says {state['status']}"
    hint = f"lakesmith logs {followed.run} --target {followed.account.stack.target}"
    what = (
        f"run {followed.run} was cancelled"
        if state["status"] == "ABORTED"
        else "the job did not finish its run"
    )
    error = RunError.of("LS673", what, None, "a run that ends", found, hint)
    error.exit_code = max((report["exit_code"] for report in reports), default=1) or 1
    return error
