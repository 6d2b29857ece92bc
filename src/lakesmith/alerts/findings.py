"""What of the findings alerts are about: those of runs, of checks, of ``up`` and of the tables' state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from lakesmith.catalog.state import TableState
from lakesmith.errors import LakesmithError, LockedError, Problem
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.events import RunResult
from lakesmith.execute.findings import About, Finding, Kind, of_problem, of_rules, of_state
from lakesmith.plan.expiry import HeldBack
from lakesmith.project.definitions import OnFailedRule, Severity, TableDefinition
from lakesmith.quality.results import TableResult

_MEASURED: Final = "LS805"
"""The problem of a batch whose table rules were all measured."""


CHECK: Final = "check"
"""The subject of a check that could not be done."""
NOT_CHECKED: Final = "(all)"
"""The subject of a table whose rules could not be checked."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found, and what was looked at: an alert about that, which was not found again, is over."""

    findings: tuple[Finding, ...] = ()
    looked: frozenset[About] = field(default_factory=frozenset)

    def __add__(self, other: Seen) -> Seen:
        return Seen((*self.findings, *other.findings), self.looked | other.looked)


def seen_in_run(result: RunResult) -> Seen:
    """Returns the findings of a run. Tables that were not tried are not looked at: what failed above them
    tells. Rules were measured only where a batch was published."""
    failed = {name: found for name, found in result.failed.items() if found}
    up_to_date = {*result.published, *result.current}
    looked: set[About] = {(Kind.RUN, None, ""), *((Kind.FAILED, name, "") for name in failed)}
    looked |= {(kind, name, "") for name in up_to_date for kind in (Kind.FAILED, Kind.RULES, Kind.EXPORT)}
    looked |= {(Kind.RULES, name, "") for name, found in failed.items() if found[0].code == _MEASURED}
    looked |= {
        (Kind.RULES, name, rule) for name, report in result.published.items() for rule in report.record.gates
    }
    findings = [
        *(finding for name, found in failed.items() for finding in _of_failure(name, found)),
        *(each for name, report in result.published.items() for each in of_rules(name, report.record)),
        *(of_problem(Kind.EXPORT, name, found[0]) for name, found in result.not_exported.items() if found),
    ]
    return Seen(tuple(findings), frozenset(looked))


def seen_in_error(error: LakesmithError, of: str = "") -> Seen:
    """Returns the finding of a run that raised an error before it could do anything; ``of`` a check:
    ``CHECK``, which is over when a check works."""
    if isinstance(error, LockedError | RunStopped) or not error.problems:
        return Seen()
    finding = replace(of_problem(Kind.RUN, None, error.problems[0]), subject=of)
    return Seen((finding,), frozenset({(Kind.RUN, None, of)}))


def seen_in_check(results: Iterable[TableResult], tables: Iterable[TableDefinition]) -> Seen:
    """Returns the findings of a check of published rows."""
    declared = {str(table.name): table for table in tables}
    findings: list[Finding] = []
    looked: set[About] = {(Kind.RUN, None, CHECK)}
    for each in results:
        findings += _not_met(each, declared[each.table])
        findings += (
            replace(of_problem(Kind.RULES, each.table, problem), subject=problem.rule or NOT_CHECKED)
            for problem in each.problems
        )
        if each.results:
            looked |= {
                (Kind.RULES, each.table, text) for text in (NOT_CHECKED, *(r.rule for r in each.results))
            }
    return Seen(tuple(findings), frozenset(looked))


def _not_met(result: TableResult, table: TableDefinition) -> Iterator[Finding]:
    for each in result.failed:
        warns = each.kind == "table" and table.on_failed_rule is OnFailedRule.WARN
        what = f"the rule {each.rule} failed: {each.found}; expected: {each.expected}"
        hint = f"correct the rows or the rule; lakesmith check {table.name} measures it again"
        severity = Severity.WARNING if warns else Severity.ERROR
        yield Finding(Kind.RULES, what, result.table, severity, each.rule, hint=hint)


def seen_parked(parked: Mapping[str, Problem], tables: Iterable[str]) -> Seen:
    """Returns a finding for each table that is parked, of these tables."""
    findings = [
        of_problem(Kind.PARKED, name, problem, "it keeps failing, and is tried rarely: ")
        for name, problem in parked.items()
    ]
    return Seen(tuple(findings), frozenset((Kind.PARKED, name, "") for name in tables))


def seen_held_back(held: Mapping[str, Sequence[HeldBack]]) -> Seen:
    """Returns a finding for each reader that keeps snapshots of a table from expiring, by the table."""
    findings = []
    for name, readers in held.items():
        for each in readers:
            day = datetime.fromtimestamp(each.since_ms / 1000, UTC).date()
            what = f"{each.snapshots:,} old snapshots stay, because {each.reader} has not read on since {day}"
            hint = f"lakesmith status {each.reader} shows what it waits for"
            findings.append(Finding(Kind.EXPIRY, what, name, Severity.WARNING, str(each.reader), hint=hint))
    return Seen(tuple(findings), frozenset((Kind.EXPIRY, name, "") for name in held))


def _of_failure(table: str, problems: Sequence[Problem]) -> Iterator[Finding]:
    """Yields a finding for a failed table, and one for each rule that stopped its batch."""
    rules = [problem for problem in problems if problem.code.startswith("LS8")]
    if not rules:
        yield of_problem(Kind.FAILED, table, problems[0])
    for problem in rules:
        subject = problem.rule or problem.code
        yield replace(of_problem(Kind.RULES, table, problem), subject=subject, stops=True)


def seen_in_erasure(table: str, left: Sequence[str]) -> Seen:
    """Returns the finding of an erasure that left something, by the table that was named."""
    more = f", and {len(left) - 1} more" if left[1:] else ""
    what = "an erasure left rows of people: "
    hint = "correct the cause, and make the same call again; the receipt names all"
    found = tuple(Finding(Kind.ERASURE, f"{what}{line}{more}", table, hint=hint) for line in left[:1])
    return Seen(found, frozenset({(Kind.ERASURE, table, "")}))


def seen_in_tables(
    tables: Iterable[tuple[TableDefinition, TableState | None, int | None]], now_ms: int
) -> Seen:
    """Returns the findings of the tables' state: each with its definition, its state and its quarantined
    rows."""
    findings: list[Finding] = []
    looked: set[About] = set()
    for table, state, quarantined in tables:
        looked |= {(Kind.STALE, str(table.name), ""), (Kind.QUARANTINE, str(table.name), "")}
        findings += (each for each in of_state(table, state, quarantined, now_ms) if each.is_alert)
    return Seen(tuple(findings), frozenset(looked))
