"""Points in time: tables set back with their progress, released tables, and tags."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from lakesmith.api.access import Access
from lakesmith.api.results import Change, heads_of
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
from lakesmith.project.definitions import TableName


@dataclass(frozen=True, slots=True)
class RollbackOptions:
    """Options of a rollback; see ``Lakehouse.rollback``."""

    with_downstream: bool = False
    hold: bool = False
    lossy: bool = False
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class RollbackPreview:
    """What a rollback would do: the tables that move, and the landing files that the next run takes again."""

    prepared: Prepared
    options: RollbackOptions

    @property
    def is_done(self) -> bool:
        """Whether every table is at its point already, so that there is nothing to do."""
        return not self.options.hold and all(move.begin == move.to for move in self.prepared.rollback.moves)

    def to_dict(self) -> dict[str, Any]:
        """The preview as JSON data."""
        return _as_dict(self.prepared, done=False)


@dataclass(frozen=True, slots=True)
class RolledBack:
    """A rollback that was done; ``hold``: its first table stays there until it is released."""

    prepared: Prepared
    hold: bool

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return _as_dict(self.prepared, done=True)


@dataclass(frozen=True, slots=True)
class Released:
    """A table after ``release``; ``was_held``: whether a rollback held it until then."""

    table: TableName
    was_held: bool

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"table": str(self.table), "released": self.was_held}


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tag that was set, and the tables that have it."""

    name: str
    tables: tuple[TableName, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"tag": self.name, "tables": list(map(str, self.tables))}


@dataclass(frozen=True, slots=True)
class Untagged:
    """A tag that was deleted, and the tables that had it."""

    name: str
    tables: tuple[TableName, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"untagged": self.name, "tables": list(map(str, self.tables))}


def rollback(
    access: Access, table: str, to: str, options: RollbackOptions
) -> Change[RollbackPreview, RolledBack]:
    """Prepares a rollback; see ``Lakehouse.rollback``."""
    opened = access.opened()
    name = opened.one_of_ours(table)
    with access.alone(opened, f"rollback {name}", options.wait):
        now = datetime.now(UTC)
        prepared = prepare(opened.lake, opened.graph, name, to, now, downstream=options.with_downstream)
    if prepared.files.gone and not options.lossy:
        raise lost_files(name, prepared.files.gone)
    return Change(
        RollbackPreview(prepared, options),
        {move.name: move.begin for move in prepared.rollback.moves},
        lambda: access.alone(opened, f"rollback {name}", options.wait),
        lambda: heads_of(opened.lake.catalog, [move.name for move in prepared.rollback.moves]),
        lambda preview: _roll_back(access, opened, preview),
    )


def _roll_back(access: Access, opened: Opened, preview: RollbackPreview) -> RolledBack:
    from lakesmith.spark.past import roll_back

    rollback, hold = preview.prepared.rollback, preview.options.hold
    if not preview.is_done:
        access.in_session(opened, True, lambda session: roll_back(session, opened.lake, rollback, hold=hold))
    return RolledBack(preview.prepared, hold)


def _as_dict(prepared: Prepared, *, done: bool) -> dict[str, Any]:
    return {
        "rolled_back": done,
        "tables": [
            {
                "table": str(move.name),
                "from_snapshot": move.begin,
                "to_snapshot": move.to,
                "batch": move.record.batch,
                "undone": [record.batch for record in move.undone],
            }
            for move in prepared.rollback.moves
        ],
        "stay": {str(name): why for name, why in prepared.rollback.stay.items()},
        "columns_stay": list(prepared.columns),
        "files_again": list(prepared.files.again),
        "files_gone": list(prepared.files.gone),
    }


def release(access: Access, table: str, wait: float) -> Released:
    """Releases a table; see ``Lakehouse.release``."""
    from lakesmith.spark.past import release as release_table

    opened = access.opened()
    name = opened.one_of_ours(table)
    with access.alone(opened, f"release {name}", wait):
        was_held = hold_of(opened.lake.catalog.table(name.layer, name.name)) is not None
        if was_held:
            access.in_session(opened, True, lambda session: release_table(session, opened.lake, name))
    return Released(name, was_held)


def tags(access: Access) -> tuple[Tag, ...]:
    """Returns the tags of the lake."""
    return tags_of(own_states(access.opened().lake))


def tag(access: Access, name: str, replace: bool, wait: float) -> Tagged:
    """Sets a tag; see ``Lakehouse.tag``."""
    from lakesmith.spark.past import set_tag

    opened, name = access.opened(), known_name(name)
    with access.alone(opened, f"tag {name}", wait):
        states = own_states(opened.lake)
        tables = to_be_tagged(name, states, replace=replace)
        if tables:
            access.in_session(opened, True, lambda session: set_tag(session, opened.lake, name, tables))
    return Tagged(name, tuple(states))


def untag(access: Access, name: str, wait: float) -> Untagged:
    """Deletes a tag; see ``Lakehouse.untag``."""
    from lakesmith.spark.past import remove_tag

    opened, name = access.opened(), known_name(name)
    with access.alone(opened, f"untag {name}", wait):
        tables = to_be_untagged(name, own_states(opened.lake), opened.project)
        access.in_session(opened, True, lambda session: remove_tag(session, opened.lake, name, tables))
    return Untagged(name, tuple(tables))
