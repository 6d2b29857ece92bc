"""Checks the rules of tables apart from loading; see ``Lakehouse.check``."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lakesmith.api.access import Access
from lakesmith.catalog.local import LocalCatalog
from lakesmith.errors import LakesmithError, LockedError
from lakesmith.execute.decide import Decider
from lakesmith.execute.lake import table_bytes
from lakesmith.execute.locking import Claim
from lakesmith.execute.opened import Opened
from lakesmith.plan.cost import DataSize
from lakesmith.plan.steps import Strategy, TableStep
from lakesmith.project.definitions import TableName
from lakesmith.quality.results import TableResult as TableResult

if TYPE_CHECKING:
    from lakesmith.spark.start.session import SessionHandle

_WAIT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found.

    Attributes:
        check: the check's id in ``lakesmith.checks``.
        tables: a result for each table.
        notes: what is to be known besides.
    """

    check: str
    tables: tuple[TableResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether a rule failed, or could not be evaluated."""
        return any(each.is_wrong for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        tables = [each.to_dict() for each in self.tables]
        return {"check": self.check, "tables": tables, "notes": list(self.notes)}


def check(access: Access, select: Sequence[str], on_event: Callable[[str], None]) -> Checked:
    opened = access.opened()
    names = [name for name in opened.names(select) if opened.graph.node(name).definition.rules]
    try:
        found = _checked(access, opened, names, " ".join(("check", *select)), on_event)
    except LakesmithError as error:
        _alert(access, opened, error)
        raise
    _alert(access, opened, found.tables)
    return found


def _alert(access: Access, opened: Opened, outcome: Sequence[TableResult] | LakesmithError) -> None:
    if opened.project.alerts is not None:
        from lakesmith.alerts.alerting import after_check

        after_check(opened.project, outcome, access.host.notice)


def _checked(
    access: Access, opened: Opened, names: Sequence[TableName], command: str, on_event: Callable[[str], None]
) -> Checked:
    planned = [_step(opened.decider(), name) for name in names]
    steps = [each for each in planned if isinstance(each, TableStep)]
    ident, moment = str(uuid.uuid4()), datetime.now(UTC)
    if not steps:
        return Checked(ident, tuple(each for each in planned if isinstance(each, TableResult)))
    on_event("starting Spark")
    size = DataSize.of(table_bytes(opened.lake, [step.name for step in steps]))

    def work() -> Checked:
        from lakesmith.spark.check import check_steps

        done = {each.table: each for each in check_steps(session, opened.lake, steps, said)}
        results = tuple(done[str(each.name)] if isinstance(each, TableStep) else each for each in planned)
        return Checked(ident, results, _kept(session, opened, ident, moment, tuple(done.values())))

    def said(name: TableName, number: int, total: int) -> None:
        action.phase("", f"checking {name}, {number} of {total}")
        on_event(f"checking {name}, {number} of {total}")

    with access.noting(opened.project, "check", command) as action:
        session = access.do(lambda: access.session(opened, size))
        found = access.do_in_spark(session, work)
        for each in found.tables:
            for failed in each.failed:
                action.say(f"{each.table}: the rule {failed.rule} fails: {failed.found}")
        return found


def _step(decider: Decider, name: TableName) -> TableStep | TableResult:
    facts, table = decider.lake.facts(name), decider.graph.node(name).definition
    if facts.problem is not None:
        return TableResult(str(name), problems=(facts.problem,))
    if facts.base.snapshot is None:
        return TableResult(str(name), why="it has no rows yet")
    return TableStep(table, Strategy.FULL, "to be checked", facts.base, "")


def _kept(
    session: SessionHandle, opened: Opened, ident: str, moment: datetime, done: Sequence[TableResult]
) -> tuple[str, ...]:
    """Keeps the results. Returns notes."""
    from lakesmith.spark.check import Keeping

    catalog = opened.lake.catalog
    if isinstance(catalog, LocalCatalog) and not catalog.can_write():
        return ("the results were not kept: the lake cannot be written here",)
    try:
        with Claim(opened.lake, "check", _WAIT_SECONDS).both():
            Keeping(session, opened.lake, ident, moment).keep(done)
    except LockedError as error:
        return (f"the results were not kept: {error.problems[0].what}",)
    return ()
