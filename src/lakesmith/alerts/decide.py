"""Which alerts are sent now, by what was found and what was sent before. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from lakesmith.alerts.findings import NOT_CHECKED, Seen
from lakesmith.alerts.sending import Unsent
from lakesmith.execute.findings import Finding, Kind
from lakesmith.project.definitions import Alerts, Project, Severity, TableDefinition

_GOOD_LOOKS: Final = 3
"""How often in a row an alert that came back has to be found good, besides ``recover_after``."""
CLAIM_SECONDS: Final = 60.0
"""How long a process may take to send what it has claimed. It is longer than channels may take."""


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert that has begun. ``since`` and the times of ``sent``, by channel, in seconds since the epoch;
    0: the channel knows of an earlier problem only. ``is_over``: what it was about is gone; it stays until
    the channels that know of it know that too. ``claims``: by channel, until when a process may be sending
    it, so that no other process does.

    ``good``: at how many looks in a row it was over, at most three; the first was at ``good_since``.
    ``is_settled``: that was often and long enough; until then the alert is remembered. ``returns``: how often
    it began again before; then its end is sent only once it is settled. ``codes``: of its earlier problems.
    """

    finding: Finding
    since: float
    sent: Mapping[str, float] = field(default_factory=dict)
    is_over: bool = False
    claims: Mapping[str, float] = field(default_factory=dict)
    good: int = 0
    good_since: float = 0.0
    is_settled: bool = False
    returns: int = 0
    codes: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether a channel knows of it, or may."""
        return bool(self.sent or self.claims)


Firings = Mapping[str, Firing]
"""Alerts by their keys."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one channel is sent: alerts that are new, that go on, and that are over."""

    channel: str
    new: tuple[Firing, ...] = ()
    again: tuple[Firing, ...] = ()
    over: tuple[Firing, ...] = ()

    @property
    def firings(self) -> tuple[Firing, ...]:
        return (*self.new, *self.again, *self.over)

    @property
    def severity(self) -> Severity | None:
        """The greatest severity of what fires; None if all is over."""
        severities = {each.finding.severity for each in (*self.new, *self.again)}
        return Severity.ERROR if Severity.ERROR in severities else next(iter(severities), None)


def noted(before: Firings, now: float, seen: Seen, project: Project) -> Firings:
    """Returns the alerts after a look: what was found fires, what was looked at and not found is over."""
    tables = {str(table.name): table for table in project.tables}
    found = {finding.key: finding for finding in seen.findings}
    after: dict[str, Firing] = {}
    channels = {name for name, _ in project.alerts.channels} if project.alerts else set()
    for key, firing in ((key, _as_of(now, each, channels)) for key, each in before.items()):
        is_looked_at = firing.finding.about in seen.looked
        if key in found:
            # What is measured on published rows says nothing of a batch that a rule stopped.
            is_known = firing.finding.stops and not (found[key].stops or is_looked_at)
            after[key] = firing if is_known else _goes_on(firing, found[key], now)
        elif _is_gone(firing.finding, tables):
            after[key] = replace(firing, is_over=True, is_settled=True)
        else:
            after[key] = _found_good(firing, now) if is_looked_at else firing
    for key, finding in found.items():
        after.setdefault(key, Firing(finding, now))
    quiet = project.alerts.recover_seconds if project.alerts else 0.0
    return _without_ended({key: _settled(each, now, quiet) for key, each in after.items()})


def _found_good(firing: Firing, now: float) -> Firing:
    if not firing.is_over:
        # An alert that no channel knows of is forgotten.
        return replace(firing, is_over=True, good=1, good_since=now, is_settled=not firing.is_known)
    return replace(firing, good=min(firing.good + 1, _GOOD_LOOKS))


def _settled(firing: Firing, now: float, quiet: float) -> Firing:
    is_quiet = firing.is_over and firing.good >= _GOOD_LOOKS and now - firing.good_since >= quiet
    return replace(firing, is_settled=True) if is_quiet else firing


def _as_of(now: float, firing: Firing, channels: Collection[str]) -> Firing:
    """Returns the alert without channels that are not declared any more, and without claims of processes
    that have not said how it went: their channels may know of it."""
    claims = {name: until for name, until in firing.claims.items() if now < until <= now + CLAIM_SECONDS}
    sent = {**dict.fromkeys(firing.claims.keys() - claims.keys(), 0.0), **firing.sent}
    return replace(
        firing,
        sent={name: at for name, at in sent.items() if name in channels},
        claims={name: until for name, until in claims.items() if name in channels},
    )


def _is_gone(finding: Finding, tables: Mapping[str, TableDefinition]) -> bool:
    """Returns whether what an alert is about is not declared any more."""
    if finding.table is None or finding.table not in tables:
        return finding.table is not None
    table = tables[finding.table]
    match finding.kind:
        case Kind.RULES if not finding.stops:
            texts = {rule.text for rule in table.rules}
            return finding.subject not in {NOT_CHECKED, *texts} or not texts
        case Kind.STALE:
            return table.freshness_seconds is None
        case Kind.QUARANTINE:
            return table.quarantine_limit is None
    return False


def _goes_on(firing: Firing, finding: Finding, now: float) -> Firing:
    began = replace(firing, since=now) if firing.is_over and not firing.is_known else firing
    if firing.is_over:
        began = replace(began, is_over=False, is_settled=False, good=0, returns=firing.returns + 1)
    began = replace(began, finding=finding, codes=tuple(sorted({*firing.codes, firing.finding.code})))
    if finding.code in began.codes:
        return began
    # Another problem, of which nobody knows yet; the recovery is sent to all who knew of either.
    return replace(began, since=now, sent=dict.fromkeys(firing.sent, 0.0))


def messages(firings: Firings, project: Project, now: float) -> tuple[Message, ...]:
    """Returns a message for each channel that has something to learn."""
    alerts = project.alerts
    assert alerts is not None
    tables = {str(table.name): table for table in project.tables}
    found = (_message(name, alerts, firings, tables, now) for name, _ in alerts.channels)
    return tuple(message for message in found if message.firings)


def _message(
    channel: str, alerts: Alerts, firings: Firings, tables: Mapping[str, TableDefinition], now: float
) -> Message:
    new, again, over = [], [], []
    for firing in firings.values():
        sent = firing.sent.get(channel)
        if channel in firing.claims:
            continue
        if firing.is_over:
            is_sent = sent is not None and (firing.is_settled or not firing.returns)
            over += [firing] if is_sent else []
        elif channel in _channels(alerts, firing.finding, tables):
            if not sent:
                new.append(firing)
            elif not -CLAIM_SECONDS < now - sent < alerts.repeat_seconds:
                # A time to come: the clock was wrong.
                again.append(firing)
    return Message(channel, tuple(new), tuple(again), tuple(over))


def _channels(alerts: Alerts, finding: Finding, tables: Mapping[str, TableDefinition]) -> frozenset[str]:
    table = tables.get(finding.table) if finding.table is not None else None
    return alerts.channels_for(table, finding.severity)


def claimed(firings: Firings, due: Iterable[Message], now: float) -> Firings:
    """Returns the alerts with claims on what is being sent."""
    after = dict(firings)
    for message in due:
        for each in message.firings:
            found = after[each.finding.key]
            claims = {**found.claims, message.channel: now + CLAIM_SECONDS}
            after[each.finding.key] = replace(found, claims=claims)
    return after


def after_sending(
    firings: Firings, now: float, sent: Iterable[Message], failed: Mapping[str, Unsent]
) -> Firings:
    """Returns the alerts after these messages were sent, except for what channels did not take. Other
    processes may have changed the alerts meanwhile."""
    after = dict(firings)
    for message in sent:
        unsent = failed.get(message.channel)
        for number, each in enumerate(message.firings):
            if (found := after.get(each.finding.key)) is not None:
                if unsent is None or number < unsent.taken:
                    found = _shown(found, each, message.channel, now)
                elif unsent.perhaps:
                    found = replace(found, sent={message.channel: 0.0, **found.sent})
                claims = {name: until for name, until in found.claims.items() if name != message.channel}
                after[each.finding.key] = replace(found, claims=claims)
    return _without_ended(after)


def _shown(found: Firing, sent: Firing, channel: str, now: float) -> Firing:
    """Returns the alert as it was found, after a channel was sent what it was before."""
    times = {name: at for name, at in found.sent.items() if name != channel}
    if not sent.is_over:
        times[channel] = now if found.finding.code == sent.finding.code else 0.0
    return replace(found, sent=times)


def _without_ended(firings: Firings) -> Firings:
    """Returns the alerts without those that are over for good, and that no channel knows of."""
    return {k: each for k, each in firings.items() if each.is_known or not (each.is_over and each.is_settled)}
