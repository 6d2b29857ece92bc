"""Who is notified of failures, stale tables and bad rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from lakesmith.errors import Place, Problem, did_you_mean
from lakesmith.project.declaring import Name, VariableName, duration, limited, setting

if TYPE_CHECKING:
    from lakesmith.project.definitions import TableDefinition

_TEXTS: Final = list[limited(str, min_length=1)]  # type: ignore[misc]


class Severity(StrEnum):
    """How bad a finding is."""

    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Route:
    """Which alerts go to which channels: those that meet all of its conditions."""

    to: tuple[str, ...] = setting(form=list[Name], min_length=1)
    """The channels."""
    tables: tuple[str, ...] = setting((), form=_TEXTS, min_length=1)
    """Tables, such as `gold.daily` or `gold.*`. Default: all."""
    tags: tuple[str, ...] = setting((), form=_TEXTS, min_length=1)
    """Tables with one of these tags. Default: all."""
    owners: tuple[str, ...] = setting((), form=_TEXTS, min_length=1)
    """Tables of these owners. Default: all."""
    severity: Severity = setting(Severity.WARNING)
    """The least severity: `warning` (the default) or `error`."""

    def matches(self, table: TableDefinition | None, severity: Severity) -> bool:
        """Returns whether an alert about a table goes this way; None: about a whole run, which concerns
        all."""
        if self.severity is Severity.ERROR and severity is not Severity.ERROR:
            return False
        if table is None:
            return True
        return (
            (not self.tables or any(fnmatchcase(str(table.name), each) for each in self.tables))
            and (not self.tags or not {*self.tags}.isdisjoint(table.tags))
            and (not self.owners or table.owner in self.owners)
        )


def _routes(models: Sequence[Any]) -> tuple[Route, ...]:
    from lakesmith.project.written import meant

    return tuple(meant(Route, model) for model in models)


def _pairs(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(given.items()))


@dataclass(frozen=True, slots=True)
class Alerts:
    """Messages about failed runs, stale tables, quality rules and bad rows: see [alerts](../alerts.md).

    ``channels``: names of environment variables by channel. ``repeat_seconds``: between two messages about
    what goes on. ``recover_seconds``: how long what comes and goes is good before its end is sent.
    """

    channels: tuple[tuple[str, str], ...] = setting(form=dict[Name, VariableName], read=_pairs)
    """The channels: by name the environment variable with the URL of a mail server, of Slack, a webhook and
    so on, such as `{team: ALERTS_TEAM_URL}`."""
    routes: tuple[Route, ...] = setting((), form=list[Route], read=_routes, min_length=1)
    """Which alerts go to which channels. Default: all to all."""
    repeat_seconds: float = setting(
        key="repeat", usual="1 day", form=str, read=duration(60.0, "a minute or more, such as 12 hours")
    )
    """How long after an alert about something that goes on another one is sent, such as `12 hours`.
    Default: `1 day`."""
    recover_seconds: float = setting(
        key="recover_after", usual="1 hour", form=str, read=duration(0.0, "a time, such as 30 minutes")
    )
    """How long an alert that came back has to stay away, at three looks in a row, before its end is sent,
    such as `30 minutes`. Default: `1 hour`."""
    targets: tuple[str, ...] = setting((), form=list[Name], min_length=1)
    """The targets on which alerts are sent, such as `[prod]`. Default: all."""
    state: str | None = setting(None, pattern=r"^s3://[^/]+/.+/$")
    """A prefix in S3, `s3://bucket/prefix/`, for what was sent, so that runs on several machines, or in
    containers, share it. Default: a file in `.lakesmith/` of this machine."""

    def channels_for(self, table: TableDefinition | None, severity: Severity) -> frozenset[str]:
        """Returns the channels that an alert goes to."""
        if not self.routes:
            return frozenset(name for name, _ in self.channels)
        return frozenset(name for route in self.routes if route.matches(table, severity) for name in route.to)


def alert_problems(alerts: Alerts, place: Place, targets: Sequence[str]) -> Iterator[Problem]:
    """Yields LS105: a route to an unknown channel, an unknown target."""
    known = [name for name, _ in alerts.channels]
    for name in sorted({each for route in alerts.routes for each in route.to} - {*known}):
        hint = did_you_mean(name, known)
        yield Problem(
            "LS105", f"there is no channel {name!r}", place, f"one of {', '.join(known)}", hint=hint
        )
    for name in sorted({*alerts.targets} - {*targets}):
        hint = did_you_mean(name, targets)
        yield Problem(
            "LS105", f"there is no target {name!r}", place, f"one of {', '.join(targets)}", hint=hint
        )
