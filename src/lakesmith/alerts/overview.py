"""What fires now, and tests of channels: what ``lakesmith alerts`` shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lakesmith.alerts.alerting import is_on, try_channels
from lakesmith.alerts.decide import Firing
from lakesmith.alerts.memory import read_firings
from lakesmith.errors import Problem, UsageError, did_you_mean
from lakesmith.project.definitions import Project


@dataclass(frozen=True, slots=True)
class CurrentAlerts:
    """The channels of the project, whether alerts are sent on this target, and what fires by the last
    runs."""

    channels: tuple[str, ...]
    is_on: bool
    firing: tuple[Firing, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "channels": list(self.channels),
            "is_on": self.is_on,
            "firing": [_as_data(each) for each in self.firing],
        }


@dataclass(frozen=True, slots=True)
class TestedChannels:
    """What is wrong with each channel that was sent a test; None if it took the test."""

    channels: dict[str, Problem | None]

    @property
    def has_failed(self) -> bool:
        """Whether a channel did not take it."""
        return any(self.channels.values())

    def to_dict(self) -> dict[str, Any]:
        return {name: problem.as_dict() if problem else None for name, problem in self.channels.items()}


def current_alerts(project: Project) -> CurrentAlerts:
    """Returns what fires. Raises RunError LS662."""
    firings = tuple(each for each in read_firings(project).values() if not each.is_over)
    channels = tuple(name for name, _ in project.alerts.channels) if project.alerts else ()
    return CurrentAlerts(channels, is_on(project), firings)


def test_channels(project: Project, names: Iterable[str]) -> TestedChannels:
    """Sends a test to all channels, or to those named. Raises UsageError LS262 for an unknown one."""
    known = [name for name, _ in project.alerts.channels] if project.alerts else []
    wanted = list(names)
    if not known or (unknown := [name for name in wanted if name not in known]):
        what = f"there is no channel {unknown[0]!r}" if known else "the project has no channels of alerts"
        expected = f"one of {', '.join(known)}" if known else "alerts: {channels: {…}} in lakesmith.yaml"
        hint = did_you_mean(unknown[0], known) if known else None
        raise UsageError.of("LS262", what, None, expected, hint=hint)
    return TestedChannels(dict(try_channels(project, wanted)))


def _as_data(firing: Firing) -> dict[str, Any]:
    finding = firing.finding
    return {
        "kind": finding.kind.value,
        "table": finding.table,
        "severity": finding.severity.value,
        "code": finding.code or None,
        "what": finding.what,
        "since": _iso(firing.since),
        "notified": {channel: _iso(at) for channel, at in firing.sent.items() if at},
    }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
