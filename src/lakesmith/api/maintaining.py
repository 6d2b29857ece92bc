"""Maintenance of tables: small files compacted, deletes applied, old snapshots expired."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event as Flag

from lakesmith.api.access import Access
from lakesmith.execute.engine import RunStopped
from lakesmith.execute.locking import Turns
from lakesmith.execute.maintenance import Maintained, NotMaintained, Orders, Slice, Unknown, verdicts
from lakesmith.execute.opened import Opened
from lakesmith.plan.maintenance import Care


def keep_up(access: Access, name: str) -> Slice:
    """Compacts a table's small files and expires old snapshots."""
    from lakesmith.spark.maintenance.maintainer import Maintainer
    from lakesmith.spark.maintenance.tasks import maintain_slice

    opened = access.opened()
    table = opened.one_of_ours(name)
    turns = Turns(opened.lake, "maintain", wait_seconds=0.0)
    with turns.take():
        session = access.session(opened, little=False)
        maintainer = Maintainer(session, opened.lake, turns)
        return access.do(lambda: maintain_slice(maintainer, table))


def maintain(
    access: Access, select: Sequence[str], orphans: tuple[bool, bool], give_way: Callable[[], bool]
) -> tuple[Maintained | NotMaintained, ...]:
    """Maintains the selected tables. ``orphans``: whether they are looked for, and removed."""
    opened = access.opened()
    orders = Orders(*orphans)
    found = verdicts(opened.lake, opened.names(select), orders.looks_for_orphans)
    unknown = [NotMaintained(each.table, (each.problem,)) for each in found if isinstance(each, Unknown)]
    cares = [each for each in found if isinstance(each, Care) and each.todo]
    done: list[Maintained | NotMaintained] = []
    if cares:
        turns = Turns(opened.lake, "maintain", give_way=give_way)
        _maintain(access, opened, (turns, orders), cares, done)
    return (*done, *unknown)


def _maintain(
    access: Access,
    opened: Opened,
    how: tuple[Turns, Orders],
    cares: Sequence[Care],
    done: list[Maintained | NotMaintained],
) -> None:
    from lakesmith.spark.maintenance.maintainer import Maintainer
    from lakesmith.spark.maintenance.tasks import maintain_tables
    from lakesmith.spark.progress import keep_cancelling

    session = access.do(lambda: access.session(opened, little=False))
    turns, orders = how

    def give_up(ended: Flag) -> None:
        turns.stop.set()
        keep_cancelling(session.cancel, ended)

    maintainer = Maintainer(session, opened.lake, turns, orders)
    with suppress(RunStopped):
        access.do(lambda: maintain_tables(maintainer, cares, done.append), give_up)
