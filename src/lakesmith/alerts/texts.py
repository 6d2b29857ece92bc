"""The texts of alerts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from lakesmith.alerts.decide import Firing, Message
from lakesmith.errors import count, listed
from lakesmith.execute.findings import Finding, Kind
from lakesmith.project.definitions import Project
from lakesmith.redaction import redacted

_LONGEST = 600
WORDS = {
    Kind.RUN: "RUN FAILED",
    Kind.FAILED: "FAILED",
    Kind.RULES: "RULE",
    Kind.EXPORT: "NOT EXPORTED",
    Kind.STALE: "STALE",
    Kind.QUARANTINE: "QUARANTINE",
    Kind.PARKED: "PARKED",
    Kind.EXPIRY: "EXPIRY",
    Kind.ERASURE: "NOT ERASED",
}


def title_of(message: Message, project: Project) -> str:
    """Returns the subject: the project and its target, how many problems, and of which tables."""
    firing = (*message.new, *message.again)
    tables = dict.fromkeys(each.finding.table for each in firing or message.over if each.finding.table)
    parts = [count(len(firing), "problem")] if firing else []
    parts += [f"{len(message.over)} over"] if message.over else []
    about = f": {listed(filter(None, tables), 3)}" if tables else ""
    return f"[lakesmith] {project.name} ({project.target.name}): {', '.join(parts)}{about}"


def body_of(message: Message, project: Project) -> str:
    """Returns the text: an entry for each alert, without the project's secrets."""
    lines = [line for firing in message.firings for line in _entry(firing, message)]
    return redacted("\n".join(lines), project.secrets)


def _entry(firing: Firing, message: Message) -> Iterator[str]:
    finding, since = firing.finding, datetime.fromtimestamp(firing.since, UTC)
    about = f"{WORDS[finding.kind]} {finding.table or ''}".rstrip()
    if firing in message.over:
        yield f"OVER: {about}, since {since:%Y-%m-%d %H:%M} UTC: {in_words(finding)}"
        return
    still = f", since {since:%Y-%m-%d %H:%M} UTC" if firing in message.again else ""
    yield f"{about}{still}: {in_words(finding)}"
    if finding.hint:
        yield f"    to do: {finding.hint}"
    if firing.returns:
        yield "    it comes and goes: its end is sent once it has stayed away (recover_after)"


def in_words(finding: Finding) -> str:
    """Returns what was found, with its code."""
    text = f"{finding.code} {finding.what}" if finding.code else finding.what
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
