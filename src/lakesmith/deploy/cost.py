"""An estimate of what a deployment costs in a month: idle, for each run, and for each GB.

The prices are in ``prices.toml``. What the estimate takes for granted is in ``Cost.assumptions``, and printed
with it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from lakesmith.deploy.facts import POLL, Firing, Stack
from lakesmith.project.definitions import Schedule

HOURS: Final = 730
DAYS: Final = 30
"""A month."""

GATE_SECONDS: Final = 5
GATE_GB: Final = 0.5
RUN_MINUTES: Final = 2
"""A run with little to do, its start included."""

_EMPTY_POLLS_A_MINUTE: Final = 15
"""Lambda asks a queue with five connections, each for up to 20 seconds."""

_PACKAGES_GB: Final = 1
"""A few versions of the packages, with the state, and the results of runs."""

_ALARMS: Final = 3
_METRICS: Final = 5
_LOG_GB_OF_A_RUN: Final = 0.005
_STATES_OF_A_RUN: Final = 6
_GB_OF_A_VCPU: Final = 4
_GLUE_VCPUS: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A part of the estimate: ``dollars``, and how they come about."""

    title: str
    dollars: float
    how: str


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate in dollars.

    Attributes:
        idle: a month in which no table has work.
        busy: a month in which each scheduled call finds work, runs included.
        minute: a minute of a run with all of its vCPUs.
        run: a run of ``RUN_MINUTES``.
        calls: scheduled calls of the gate in a month.
        lines: the parts of ``idle``.
        per_gb: what a GB costs, in a month or once.
        assumptions: what is taken for granted.
    """

    idle: float
    busy: float
    minute: float
    run: float
    calls: int
    lines: tuple[Line, ...]
    per_gb: tuple[Line, ...]
    assumptions: tuple[str, ...]


@cache
def prices() -> dict[str, Any]:
    """Returns the prices by name, with their date and source."""
    return tomllib.loads(Path(__file__).with_name("prices.toml").read_text(encoding="utf-8"))


def price(name: str, amount: float = 1.0, *, after_free: bool = False) -> float:
    """Returns the price of an amount; ``after_free``: of what exceeds the free part of a month."""
    entry = prices()[name]
    billed = max(0.0, amount - entry["free"]) if after_free else amount
    return float(entry["price"] * billed)


def minute_of(compute: str, vcpus: int) -> float:
    """Returns what a minute of a job costs.

    >>> round(minute_of("emr", 8), 4), round(minute_of("glue", 8), 4)
    (0.0101, 0.0147)
    """
    if compute == "glue":
        return price("glue_dpu_hour", max(2, vcpus // _GLUE_VCPUS)) / 60
    return (price("emr_vcpu_hour", vcpus) + price("emr_gb_hour", vcpus * _GB_OF_A_VCPU)) / 60


def calls_of(firing: Firing) -> int:
    """Returns how often a schedule calls the gate in a month of ``DAYS`` days."""
    return _count(firing.schedule)


@cache
def _count(schedule: Schedule) -> int:
    if schedule.every:
        return int(DAYS * 86400 // schedule.every)
    from cronsim import CronSim

    begin = datetime(2026, 11, 1, tzinfo=UTC)
    found = 0
    for at in CronSim(schedule.cron or "", begin - timedelta(seconds=1)):
        if at >= begin + timedelta(days=DAYS):
            break
        found += 1
    return found


def cost_of(stack: Stack) -> Cost:
    """Returns the estimate for a deployment."""
    by_schedule = {firing.why: firing for firing in stack.firings}
    polls = calls_of(by_schedule[POLL]) if POLL in by_schedule else 0
    calls = sum(map(calls_of, by_schedule.values()))
    minute = minute_of(stack.deploy.compute, stack.deploy.vcpus)
    # Each job of a run pays for its own start.
    run = minute * RUN_MINUTES * len(stack.units)
    lines = tuple(_idle(stack, calls, polls, run))
    idle = sum(line.dollars for line in lines)
    transitions = price("states_transition", _STATES_OF_A_RUN * len(stack.units) * calls, after_free=True)
    logs = price("log_gb", calls * len(stack.units) * _LOG_GB_OF_A_RUN, after_free=True)
    busy = idle + (calls - polls) * run + transitions + logs
    return Cost(idle, busy, minute, run, calls, lines, tuple(_per_gb(stack)), tuple(_assumptions(stack)))


def _idle(stack: Stack, calls: int, polls: int, run: float) -> Iterator[Line]:
    seconds = calls * GATE_SECONDS * GATE_GB
    gate = price("lambda_gb_second", seconds, after_free=True) + price("lambda_call", calls, after_free=True)
    yield Line(
        "the gate", gate, f"{calls:,} calls of {GATE_SECONDS} s with {GATE_GB} GB; 400,000 GB-s are free"
    )
    if polls:
        how = f"{polls:,} runs: only a run can ask PostgreSQL and Kafka; a longer `poll` costs less"
        yield Line("asking sources", polls * run, how)
    asked = _EMPTY_POLLS_A_MINUTE * 60 * HOURS
    yield Line(
        "the queue", price("sqs_request", asked, after_free=True), f"{asked:,} requests; 1,000,000 are free"
    )
    yield Line("schedules", price("scheduler_call", calls, after_free=True), "14,000,000 calls are free")
    if stack.deploy.encryption == "kms":
        keys = 2 if stack.deploy.replica_region else 1
        yield Line("keys of your own", price("kms_key_month", keys), f"{keys}, each a dollar a month")
    watched = price("alarm_month", _ALARMS, after_free=True) + price("dashboard_month", 1, after_free=True)
    watched += price("metric_month", _METRICS, after_free=True)
    how = f"{_ALARMS} alarms, 1 dashboard, {_METRICS} metrics; 10, 3 and 10 are free in an account"
    yield Line("alarms, dashboard", watched, how)
    yield Line("packages and state", price("s3_gb_month", _PACKAGES_GB), f"{_PACKAGES_GB} GB in S3")


def _per_gb(stack: Stack) -> Iterator[Line]:
    month = price("s3_gb_month")
    kept = int(stack.deploy.keep_versions // 86400)
    if stack.table_bucket is not None:
        yield Line("in the tables", price("s3_tables_gb_month"), "a month")
        yield Line("that AWS compacts", price("s3_tables_compacted_gb"), "each time")
        yield Line("of landing files", month, "a month")
    else:
        yield Line("in the lake, or landing", month, "a month")
    if stack.deploy.replica_region:
        first = month + price("region_transfer_gb")
        yield Line("copied to the second region", first, "the first month, with its transfer")
    yield Line("replaced or deleted", month * kept / DAYS, f"once: it can be restored for {kept} days")
    if stack.deploy.athena:
        yield Line("read by a query of Athena", price("athena_tb") / 1000, "each time")


def _assumptions(stack: Stack) -> Iterator[str]:
    found = prices()
    yield f"prices of {found['date']} in {found['region']}: {found['source']}"
    yield "other regions cost up to a third more"
    if stack.deploy.architecture == "arm64":
        yield "processors cost as much as those of x86_64; Graviton's cost less"
    yield "the free part of each service is not used up by others in the account"
    yield f"a month has {HOURS} hours, or {DAYS} days of schedules"
    yield f"a run with little to do takes {RUN_MINUTES} minutes with {stack.deploy.vcpus} vCPUs"
    yield "files that arrive start runs of their own, at most one at a time"
    yield f"a job writes {_LOG_GB_OF_A_RUN * 1000:.0f} MB of logs, of which 5 GB a month are free"
    yield "requests to S3, Glue and KMS are left out"
