"""The one place that alerts are sent from: notes what was found, and tells the channels."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Final

from lakesmith.alerts.decide import Firings, Message, after_sending, claimed, messages, noted
from lakesmith.alerts.findings import (
    CHECK,
    Seen,
    seen_held_back,
    seen_in_check,
    seen_in_erasure,
    seen_in_error,
    seen_in_run,
    seen_in_tables,
    seen_parked,
)
from lakesmith.alerts.memory import Kept
from lakesmith.alerts.sending import Letter, Text, Unsent, send
from lakesmith.alerts.texts import body_of, title_of
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.events import AlertFailed, AlertsSent, Event, Listener, RunResult
from lakesmith.execute.lake import Lake
from lakesmith.execute.status import quarantined_rows
from lakesmith.execute.unforeseen import unforeseen
from lakesmith.plan.expiry import HeldBack
from lakesmith.project.definitions import Alerts, Project, TableName
from lakesmith.project.files import scratch_folder
from lakesmith.quality.results import TableResult

_FIRST_PAUSE: Final = 60.0
_LONGEST_PAUSE: Final = 1800.0
_LONGEST_KEY: Final = 255
"""Characters that PagerDuty takes as the key of an incident."""
_MOST_ROUNDS: Final = 3
"""How often messages are sent after one look, with what other processes noted while they were sent."""


@dataclass
class Pauses:
    """When channels that failed are tried again in this process, which may do a run each second."""

    clock: Callable[[], float] = time.monotonic
    _failed: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)

    def is_paused(self, key: tuple[str, str]) -> bool:
        return key in self._failed and self.clock() < self._failed[key][1]

    def note(self, key: tuple[str, str], *, is_sent: bool) -> None:
        failures = 0 if is_sent else self._failed.get(key, (0, 0.0))[0] + 1
        if is_sent:
            self._failed.pop(key, None)
        else:
            pause = min(_FIRST_PAUSE * 2.0 ** (failures - 1), _LONGEST_PAUSE)
            self._failed[key] = (failures, self.clock() + pause)


_PAUSES: Final = Pauses()
Change = Callable[[Firings, float], Firings]
"""What becomes of the alerts, at a time in seconds since the epoch."""
_ONE_AT_A_TIME: Final = threading.Lock()


def is_on(project: Project) -> bool:
    """Returns whether alerts are sent on the project's target."""
    alerts = project.alerts
    return alerts is not None and (not alerts.targets or project.target.name in alerts.targets)


def after_run(
    lake: Lake, names: Iterable[TableName], outcome: RunResult | LakesmithError, listener: Listener
) -> None:
    """Sends what a run of tables found, and what is over by it."""

    def look() -> Seen:
        if isinstance(outcome, LakesmithError):
            return seen_in_error(outcome)
        return seen_in_run(outcome) + _in_tables(lake, names)

    alert(lake.project, look, listener)


def alert_parked(project: Project, parked: Mapping[str, Problem], listener: Listener) -> None:
    """Sends which tables ``up`` has parked, by their problems, and which it has not any more."""
    alert(project, lambda: seen_parked(parked, (str(table.name) for table in project.tables)), listener)


def after_check(
    project: Project, outcome: Iterable[TableResult] | LakesmithError, notice: Callable[[str], None]
) -> None:
    """Sends what a check of rules found, and what is over by it; ``notice`` receives what was not sent."""

    def look() -> Seen:
        if isinstance(outcome, LakesmithError):
            return seen_in_error(outcome, CHECK)
        return seen_in_check(outcome, project.tables)

    alert(project, look, _unsent(notice))


def alert_held_back(
    project: Project, held: Mapping[str, Sequence[HeldBack]], notice: Callable[[str], None]
) -> None:
    """Sends which readers keep snapshots of tables from expiring; ``notice`` receives what was not sent."""
    alert(project, lambda: seen_held_back(held), _unsent(notice))


def after_erasure(
    project: Project, table: TableName, left: Sequence[str], notice: Callable[[str], None]
) -> None:
    """Sends that an erasure left something, or that it is over; ``notice`` receives what was not sent."""
    alert(project, lambda: seen_in_erasure(str(table), left), _unsent(notice))


def _unsent(notice: Callable[[str], None]) -> Listener:
    def say(event: Event) -> None:
        for line in event.problem.lines() if isinstance(event, AlertFailed) else ():
            notice(line)

    return say


def _in_tables(lake: Lake, names: Iterable[TableName]) -> Seen:
    wanted = set(names)
    limited = [
        table
        for table in lake.project.tables
        if table.name in wanted
        and (table.freshness_seconds is not None or table.quarantine_limit is not None)
    ]
    found = []
    for table in limited:
        try:
            facts = lake.facts(table.name)
            if facts.problem is None:
                found.append((table, facts.state, quarantined_rows(lake, table.name, facts)))
        except LakesmithError:
            # The run itself has reported it.
            continue
    return seen_in_tables(found, time.time_ns() // 1_000_000)


def alert(project: Project, look: Callable[[], Seen], listener: Listener) -> None:
    """Looks, and tells the channels what was seen, as far as they do not know it. Whatever fails goes to the
    listener: what was done before is as good as it was."""
    if not is_on(project):
        return
    try:
        with _ONE_AT_A_TIME:
            _alert(project, look(), listener)
    except Exception as error:  # noqa: BLE001 - a run does not fail by its alerts
        folder = scratch_folder(project.root) / "logs"
        listener(AlertFailed("", unforeseen(error, folder, project.secrets, "the sending of alerts")))


def _alert(project: Project, seen: Seen, listener: Listener) -> None:
    kept = Kept(project, lambda problem: listener(AlertFailed("", problem)))
    change: Change = partial(noted, seen=seen, project=project)
    for number in range(_MOST_ROUNDS + 1):
        due = _due(project, kept, change, is_last=number == _MOST_ROUNDS)
        if not due:
            return
        failed = _sent(project, due, listener)
        change = partial(after_sending, sent=due, failed=failed)


def _due(project: Project, kept: Kept, change: Change, *, is_last: bool) -> tuple[Message, ...]:
    """Changes the alerts that are kept, and returns what is to be sent now, claimed by this process."""
    due: tuple[Message, ...] = ()

    def changed(before: Firings) -> Firings:
        nonlocal due
        now = time.time()
        after = change(before, now)
        found = () if is_last else messages(after, project, now)
        due = tuple(each for each in found if not _PAUSES.is_paused((str(project.root), each.channel)))
        return claimed(after, due, now)

    kept.change(changed)
    return due


def _sent(project: Project, due: Sequence[Message], listener: Listener) -> Mapping[str, Unsent]:
    """Sends messages; returns the channels that failed."""
    assert project.alerts is not None
    failed = send(list(_letters(project, project.alerts, due)), os.environ)
    for message in due:
        unsent = failed.get(message.channel)
        _PAUSES.note((str(project.root), message.channel), is_sent=unsent is None)
        if unsent is None:
            listener(AlertsSent(message.channel, len(message.new) + len(message.again), len(message.over)))
        else:
            listener(AlertFailed(message.channel, unsent.problem))
    return failed


def _letters(project: Project, alerts: Alerts, due: Iterable[Message]) -> Iterator[Letter]:
    variables = dict(alerts.channels)
    for message in due:
        yield Letter(
            message.channel,
            variables[message.channel],
            Text(title_of(message, project), body_of(message, project), message.severity),
            tuple(_incident(project, each) for each in _alone(message)),
        )


def _alone(message: Message) -> Iterator[Message]:
    """Yields a message for each alert, for services that keep incidents."""
    for kind in ("new", "again", "over"):
        for firing in getattr(message, kind):
            yield Message(message.channel, **{kind: (firing,)})


def _incident(project: Project, message: Message) -> Text:
    (firing,) = message.firings
    key = f"lakesmith|{project.name}|{project.target.name}|{firing.finding.key}"
    short = key if len(key) <= _LONGEST_KEY else f"lakesmith|{sha256(key.encode()).hexdigest()}"
    return Text(title_of(message, project), body_of(message, project), message.severity, short)


def try_channels(project: Project, names: Iterable[str] = ()) -> Mapping[str, Problem | None]:
    """Sends a message to each channel, or to those named, and returns what is wrong with each."""
    alerts = project.alerts
    wanted = set(names)
    channels = [pair for pair in (alerts.channels if alerts else ()) if not wanted or pair[0] in wanted]
    text = Text(
        f"[lakesmith] {project.name} ({project.target.name}): a test",
        "This is a test. Nothing is wrong: alerts of this project come this way.",
    )
    failed = send([Letter(name, variable, text) for name, variable in channels], os.environ)
    return {name: failed[name].problem if name in failed else None for name, _ in channels}
