"""Points in time: tables set back with their progress, released tables, and tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.results import Change, heads_of
from lakesmith.api.words import count, moment
from lakesmith.catalog.family import hold_of
from lakesmith.execute.opened import Opened
from lakesmith.execute.rollback import (
    Prepared,
    Tag,
    known_name,
    lost_files,
    own_states,
    prepare,
    tags_of,
    to_be_tagged,
    to_be_untagged,
)
from lakesmith.plan.cost import DataSize
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """Options of a rollback; see ``Lakehouse.rollback``."""

    with_downstream: bool = False
    hold: bool = False
    lossy: bool = False
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class RolledBack:
    """A rollback, to be or ``done``: the tables that move, and the landing files that are ingested again."""

    prepared: Prepared
    options: RollbackOptions
    done: bool = False

    @property
    def is_needless(self) -> bool:
        """Whether every table is at its point already, so that there is nothing to do."""
        return not self.options.hold and all(move.begin == move.to for move in self.prepared.rollback.moves)

    def lines(self) -> Iterator[str]:
        """Yields what it does, in words."""
        prepared = self.prepared
        for move in prepared.rollback.moves:
            if move.begin == move.to:
                yield f"{move.name} is at snapshot {move.to} already (batch {move.record.batch})"
            else:
                rows = f", {count(move.record.account.rows_after, 'row')}"
                way = "forward" if move.is_forward else "back"
                at = f"{moment(move.at_ms)} (snapshot {move.to}{rows})"
                yield f"{move.name} goes {way} to batch {move.record.batch} of {at}"
            yield from (f"  undoes batch {record.batch} ({record.kind})" for record in reversed(move.undone))
        if prepared.columns:
            yield f"columns do not go back: {', '.join(prepared.columns)}"
        yield from self._file_lines()
        moved = {move.name for move in prepared.rollback.moves}
        for name, why in prepared.rollback.stay.items():
            yield f"{name} stays as it is, and the next run computes it from what is there then: {why}"
        left = [str(name) for name in prepared.readers if name not in moved | prepared.rollback.stay.keys()]
        if left and not self.options.with_downstream:
            how = "the next run corrects them (--with-downstream moves them now)"
            yield f"made from it: {', '.join(left)}; {how}"

    def _file_lines(self) -> Iterator[str]:
        files = self.prepared.files
        if files.again:
            them = "it" if len(files.again) == 1 else "them"
            yield f"{count(len(files.again), 'file')} taken since: the next run takes {them} again"
        if files.topics:
            partitions = count(len(files.topics), "partition")
            yield f"records of {partitions} taken since: the next run reads again what its topic still has"
        if files.gone:
            yield f"{count(len(files.gone), 'file')} taken since, of which nothing is left: the rows are lost"

    def to_dict(self) -> dict[str, Any]:
        rollback, files = self.prepared.rollback, self.prepared.files
        return {
            "rolled_back": self.done,
            "tables": [
                {
                    "table": str(move.name),
                    "from_snapshot": move.begin,
                    "to_snapshot": move.to,
                    "batch": move.record.batch,
                    "undone": [record.batch for record in move.undone],
                }
                for move in rollback.moves
            ],
            "stay": {str(name): why for name, why in rollback.stay.items()},
            "columns_stay": list(self.prepared.columns),
            "files_again": list(files.again),
            "files_gone": list(files.gone),
        }


@dataclass(frozen=True, slots=True)
class Released:
    """A table after ``release``; ``was_held``: whether a rollback held it until then."""

    table: TableName
    was_held: bool

    def to_dict(self) -> dict[str, Any]:
        return {"table": str(self.table), "released": self.was_held}


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags that people have set, by name."""

    tags: tuple[Tag, ...]

    def to_dict(self) -> list[dict[str, Any]]:
        return [each.to_dict() for each in self.tags]


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tag that was set, and the tables that have it."""

    name: str
    tables: tuple[TableName, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"tag": self.name, "tables": list(map(str, self.tables))}


@dataclass(frozen=True, slots=True)
class Untagged:
    """A tag that was deleted, and the tables that had it."""

    name: str
    tables: tuple[TableName, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"untagged": self.name, "tables": list(map(str, self.tables))}


def rollback(access: Access, table: str, to: str, options: RollbackOptions) -> Change[RolledBack, RolledBack]:
    opened = access.opened()
    name = opened.one_of_ours(table)
    with access.alone(opened, f"rollback {name}", options.wait):
        now = datetime.now(UTC)
        prepared = prepare(opened.lake, opened.graph, name, to, now, downstream=options.with_downstream)
    if prepared.files.gone and not options.lossy:
        raise lost_files(name, prepared.files.gone)
    change = Change(
        RolledBack(prepared, options),
        {move.name: move.begin for move in prepared.rollback.moves},
        lambda: access.alone(opened, f"rollback {name}", options.wait),
        lambda: heads_of(opened.lake.catalog, [move.name for move in prepared.rollback.moves]),
        lambda preview: _roll_back(access, opened, preview),
    )
    tables = [move.name for move in prepared.rollback.moves]
    text = f"rollback {name} --to {to}{' --hold' if options.hold else ''}"
    return access.noted(change, opened.project, "rollback", text, tables)


def _roll_back(access: Access, opened: Opened, preview: RolledBack) -> RolledBack:
    from lakesmith.spark.past import roll_back

    rollback, hold = preview.prepared.rollback, preview.options.hold
    if not preview.is_needless:
        access.in_session(
            opened, DataSize.LITTLE, lambda session: roll_back(session, opened.lake, rollback, hold=hold)
        )
    return replace(preview, done=True)


def release(access: Access, table: str, wait: float) -> Released:
    from lakesmith.spark.past import release as release_table

    opened = access.opened()
    name = opened.one_of_ours(table)
    acting = access.noting(opened.project, "release", f"release {name}", [name], lasting=True)
    with acting, access.alone(opened, f"release {name}", wait):
        was_held = hold_of(opened.lake.catalog.table(name.layer, name.name)) is not None
        if was_held:
            access.in_session(
                opened, DataSize.LITTLE, lambda session: release_table(session, opened.lake, name)
            )
    return Released(name, was_held)


def tags(access: Access) -> Tags:
    return Tags(tags_of(own_states(access.opened().lake)))


def tag(access: Access, name: str, moves: bool, wait: float) -> Tagged:
    from lakesmith.spark.past import set_tag

    opened, name = access.opened(), known_name(name)
    acting = access.noting(opened.project, "tag", f"tag {name}", lasting=True)
    with acting, access.alone(opened, f"tag {name}", wait):
        states = own_states(opened.lake)
        tables = to_be_tagged(name, states, replace=moves)
        if tables:
            access.in_session(
                opened, DataSize.LITTLE, lambda session: set_tag(session, opened.lake, name, tables)
            )
    return Tagged(name, tuple(states))


def untag(access: Access, name: str, wait: float) -> Untagged:
    from lakesmith.spark.past import remove_tag

    opened, name = access.opened(), known_name(name)
    acting = access.noting(opened.project, "untag", f"untag {name}", lasting=True)
    with acting, access.alone(opened, f"untag {name}", wait):
        tables = to_be_untagged(name, own_states(opened.lake), opened.project)
        access.in_session(
            opened, DataSize.LITTLE, lambda session: remove_tag(session, opened.lake, name, tables)
        )
    return Untagged(name, tuple(tables))
