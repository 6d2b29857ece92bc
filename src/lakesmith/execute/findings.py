"""What is wrong with a lake, as values: of these are alerts, the web page and the notes of ``status``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from lakesmith.catalog.progress import last_change_ms
from lakesmith.catalog.record import Record
from lakesmith.catalog.state import TableState
from lakesmith.errors import Problem, count
from lakesmith.project.definitions import Severity, TableDefinition
from lakesmith.quality.numbers import number


class Kind(StrEnum):
    """What a finding says. An alert is known by its kind, its table and its subject."""

    RUN = "run"
    """A run could not do anything."""
    FAILED = "failed"
    """A table's batch failed, or its definition is refused."""
    RULES = "rules"
    """A quality rule stopped a batch, or failed on published rows; the subject is the rule's text."""
    EXPORT = "export"
    """A table was not exported."""
    STALE = "stale"
    """A table got no new rows for longer than its ``freshness``."""
    QUARANTINE = "quarantine"
    """A table has bad rows."""
    PARKED = "parked"
    """``up`` tries a table rarely, because it keeps failing."""
    EXPIRY = "expiry"
    """Snapshots stay, because a table that is behind needs them."""
    ERASURE = "erasure"
    """An erasure left rows of people somewhere."""
    STATE = "state"
    """Something else in the state of the lake, which is no alert."""


About = tuple[Kind, str | None, str]
"""What was looked at: a kind of finding, the table (None: the whole run), the rule that was measured."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that somebody should know. ``table`` None: it concerns the whole run, or the whole lake.

    ``what``: one sentence. ``code``: of its problem; another code is another alert. ``hint``: what to do.
    ``stops``: a rule's finding that stopped a batch; without it, the rule was measured on published rows.
    ``is_note``: nothing is wrong. ``is_alert``: it is sent to whoever gets alerts, besides being shown.
    """

    kind: Kind
    what: str
    table: str | None = None
    severity: Severity = Severity.ERROR
    subject: str = ""
    code: str = ""
    hint: str | None = None
    stops: bool = False
    is_note: bool = False
    is_alert: bool = True

    @property
    def about(self) -> About:
        """What has to be looked at to find that it is over. A rule that stopped a batch is over when a
        batch goes through; one that was measured, when it is measured again. A check is no run."""
        is_measured = self.kind is Kind.RULES and not self.stops
        return (self.kind, self.table, self.subject if is_measured or self.kind is Kind.RUN else "")

    @property
    def key(self) -> str:
        """What identifies the alert, from its begin to its end."""
        return "|".join((self.kind.value, self.table or "", self.subject))

    @property
    def level(self) -> str:
        """How bad it is, in a word: error, warning or note."""
        return "note" if self.is_note else self.severity.value

    def to_dict(self) -> dict[str, Any]:
        texts = {"text": self.what, "todo": self.hint or "", "code": self.code}
        return {"level": self.level, "table": self.table or "", **texts}


def of_problem(kind: Kind, table: str | None, problem: Problem, says: str = "") -> Finding:
    """Returns the finding of an error; ``says`` comes before what it says."""
    place = f" ({problem.place})" if problem.place else ""
    return Finding(kind, f"{says}{problem.what}{place}", table, code=problem.code, hint=problem.hint)


def of_rules(table: str, record: Record | None) -> Iterator[Finding]:
    """Yields a finding for each table rule that failed, and let the batch of the record be published."""
    for rule, gate in (record.gates if record else {}).items():
        if gate.has_failed:
            measured = "" if gate.metric is None else f": {number(gate.metric)}"
            expected = f"; expected: {gate.expected}" if gate.expected else ""
            what = f"the rule {rule} failed{measured}{expected}"
            hint = f"lakesmith explain {table}"
            yield Finding(Kind.RULES, what, table, Severity.WARNING, subject=rule, hint=hint)


def of_check(table: str, rules: int, failed: int) -> Finding:
    """Returns the finding of a table of which rules failed in the last ``lakesmith check``."""
    what = f"{failed} of its {rules} rules failed in the last lakesmith check"
    hint = f"lakesmith check {table}"
    return Finding(Kind.RULES, what, table, Severity.WARNING, hint=hint)


def of_state(
    table: TableDefinition, state: TableState | None, quarantined: int | None, now_ms: int
) -> Iterator[Finding]:
    """Yields the findings of a table's rows: they are stale, or so many are in quarantine."""
    name = str(table.name)
    if (words := _stale(table, state, now_ms)) is not None:
        hint = f"lakesmith status +{name}"
        yield Finding(Kind.STALE, words, name, hint=hint)
    if quarantined:
        yield of_quarantine(name, quarantined, table.quarantine_limit)


def _stale(table: TableDefinition, state: TableState | None, now_ms: int) -> str | None:
    """Returns how long a table got no new rows; None if that is within its ``freshness``."""
    if table.freshness_seconds is None:
        return None
    changed = last_change_ms(state) if state is not None else None
    allowed = _duration(table.freshness_seconds)
    if changed is None:
        return f"it has never got rows, and is to get some every {allowed}"
    age = (now_ms - changed) / 1000
    if age <= table.freshness_seconds:
        return None
    return f"its rows have not changed for {_duration(age)}, and are to change every {allowed}"


def _duration(seconds: float) -> str:
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size or seconds == size:
            number = int(seconds // size)
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{int(seconds)} seconds"


def of_quarantine(name: str, rows: int, limit: int | None = None) -> Finding:
    """Returns the finding of bad rows, an alert above the table's limit. Within it nothing is wrong."""
    is_over = limit is not None and rows > limit
    what = f"it has {count(rows, 'row')} in quarantine{f', more than {limit:,}' if is_over else ''}"
    hint, is_note = f"lakesmith quarantine show {name}", limit is not None and not is_over
    return Finding(
        Kind.QUARANTINE, what, name, Severity.WARNING, hint=hint, is_note=is_note, is_alert=is_over
    )
