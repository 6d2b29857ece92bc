"""Maintenance: small files compacted, deletes applied, old snapshots expired, old files rewritten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from typing import TYPE_CHECKING, Generic, TypeVar

from lakesmith.api.access import Access
from lakesmith.errors import UsageError
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import (
    Maintained,
    MaintenancePlan,
    MaintenanceResult,
    NotMaintained,
    Orders,
    RewriteResult,
    Slice,
    verdicts,
)
from lakesmith.execute.opened import Opened
from lakesmith.journal.acting import Action
from lakesmith.plan.cost import DataSize
from lakesmith.plan.maintenance import Care

if TYPE_CHECKING:
    from lakesmith.spark.maintenance.maintainer import Maintainer


@dataclass(frozen=True, slots=True)
class Step:
    """An event: what a long call does now, in words."""

    text: str


MaintenanceEvent = Step | Maintained | NotMaintained
Listener = Callable[[MaintenanceEvent], None]


@dataclass(frozen=True, slots=True)
class MaintenanceOptions:
    """Options of maintenance; see ``Lakehouse.maintain``."""

    orders: Orders = field(default_factory=Orders)
    give_way: Callable[[], bool] = lambda: False
    on_event: Listener = lambda _: None


R = TypeVar("R", MaintenanceResult, RewriteResult)


class Interrupted(KeyboardInterrupt, Generic[R]):
    """Raised after an interrupt of maintenance or a rewrite; ``result`` has what was done until then."""

    def __init__(self, result: R) -> None:
        super().__init__()
        self.result: R = result


def maintain_slice(access: Access, table: str) -> Slice:
    from lakesmith.spark.maintenance.maintainer import Maintainer
    from lakesmith.spark.maintenance.tasks import maintain_slice

    opened = access.opened()
    name = opened.one_of_ours(table)
    turns = Turns(opened.lake, "maintain", wait_seconds=0.0)
    with turns.take(), access.noting(opened.project, "maintain", f"maintain {name}", [name]) as action:
        session = access.session(opened, size=DataSize.LARGE)
        maintainer = Maintainer(session, opened.lake, turns)
        done = access.do(lambda: maintain_slice(maintainer, name))
        if done.files or done.snapshots:
            action.say(f"{done.files:,} files became {done.into:,}; {done.snapshots:,} snapshots expired")
        return done


def plan_maintenance(access: Access, select: Sequence[str], orders: Orders) -> MaintenancePlan:
    opened = access.opened()
    return MaintenancePlan(verdicts(opened.lake, opened.names(select), orders.looks_for_orphans))


def _alert(access: Access, opened: Opened, found: Sequence[object]) -> None:
    if opened.project.alerts is not None:
        from lakesmith.alerts.alerting import alert_held_back

        held = {str(each.table): each.held_back for each in found if isinstance(each, Care)}
        alert_held_back(opened.project, held, access.host.notice)


def maintain(access: Access, select: Sequence[str], options: MaintenanceOptions) -> MaintenanceResult:
    opened = access.opened()
    found = verdicts(opened.lake, opened.names(select), options.orders.looks_for_orphans)
    cares = [each for each in found if isinstance(each, Care) and each.todo]
    left = tuple(each for each in found if each not in cares)
    _alert(access, opened, found)
    done: list[Maintained | NotMaintained] = []

    def work(maintainer: Maintainer) -> None:
        from lakesmith.spark.maintenance.tasks import maintain_tables

        maintain_tables(maintainer, cares, tell)

    def tell(each: Maintained | NotMaintained) -> None:
        done.append(each)
        heard(each)

    size = DataSize.of(sum(care.bytes_to_rewrite for care in cares))
    if not cares:
        return MaintenanceResult(left=left)
    try:
        with access.noting(opened.project, "maintain", " ".join(("maintain", *select))) as action:
            heard = _heard(action, options.on_event)
            options = replace(options, on_event=heard)
            stopped = _in_pieces(access, opened, ("maintain", size), options, work)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(MaintenanceResult(tuple(done), left, stopped=True)) from interrupt
    return MaintenanceResult(tuple(done), left, stopped)


def rewrite(access: Access, table: str, everything: bool, on_event: Listener) -> RewriteResult:
    opened = access.opened()
    name = opened.one_of_ours(table)
    if opened.lake.catalog.table(name.layer, name.name) is None:
        what, hint = f"{name} was not built yet", "lakesmith run builds it"
        raise UsageError.of("LS250", what, None, "a table that was built", hint=hint)
    results: list[RewriteResult] = []

    def work(maintainer: Maintainer) -> None:
        from lakesmith.spark.maintenance.rewriting import rewrite as rewrite_files

        done = rewrite_files(maintainer, name, everything)
        results.append(RewriteResult(name, done.done.files, done.done.into, done.pieces))

    command = f"rewrite {name}"
    try:
        with access.noting(opened.project, "rewrite", command, [name]) as action:
            options = MaintenanceOptions(on_event=_heard(action, on_event))
            _in_pieces(access, opened, (command, DataSize.LARGE), options, work)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(RewriteResult(name, stopped=True)) from interrupt
    return results[0] if results else RewriteResult(name, stopped=True)


def _heard(action: Action, on_event: Listener) -> Listener:
    """Returns a listener that writes events to the journal, and passes them on."""

    def hear(event: MaintenanceEvent) -> None:
        match event:
            case Step(text):
                action.phase("", text)
            case NotMaintained(table, problems):
                action.say(f"{table} was not maintained: {problems[0].what}")
            case Maintained(table):
                action.say(f"{table}: {'; '.join(event.done.values()) or 'nothing to do'}")
        on_event(event)

    return hear


def _in_pieces(
    access: Access,
    opened: Opened,
    how: tuple[str, DataSize],
    options: MaintenanceOptions,
    work: Callable[[Maintainer], None],
) -> bool:
    """Does ``work`` in pieces, between which runs of other processes take place.

    Args:
        how: what the lock's holder is called, and how much data there is.
        work: uses the maintainer, which takes the lock for each piece.

    Returns whether the work was stopped before its end.
    """
    from lakesmith.spark.maintenance.maintainer import Maintainer
    from lakesmith.spark.open import keep_cancelling

    command, size = how

    def say(text: str) -> None:
        options.on_event(Step(text))

    turns = Turns(
        opened.lake, command, on_wait=lambda holder: say(f"waiting for {holder}"), give_way=options.give_way
    )
    session = access.do(lambda: access.session(opened, size))

    def give_up(ended: Flag) -> None:
        turns.stop.set()
        keep_cancelling(session.cancel, ended)

    maintainer = Maintainer(session, opened.lake, turns, options.orders, say)
    try:
        access.do(lambda: work(maintainer), give_up)
    except RunStopped:
        return True
    return False
