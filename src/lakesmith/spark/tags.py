"""Sets and removes tags, a commit for each table."""

from __future__ import annotations

from collections.abc import Mapping

from lakesmith.catalog.state import MAIN, TableState
from lakesmith.execute.faults import reach
from lakesmith.execute.lake import Lake
from lakesmith.project.definitions import TableName
from lakesmith.spark.iceberg.refs import RefChange, change_refs, told
from lakesmith.spark.start.session import SessionHandle


def set_tag(session: SessionHandle, lake: Lake, tag: str, tables: Mapping[TableName, TableState]) -> None:
    """Has ``tag`` stand for the tables' heads. Raises StateError LS511 when one was moved meanwhile, RunError."""
    _change(session, lake, {name: _set(state, tag) for name, state in tables.items()})


def remove_tag(session: SessionHandle, lake: Lake, tag: str, tables: Mapping[TableName, TableState]) -> None:
    """Takes ``tag`` off the tables. Raises as ``set_tag``."""
    gone = {name: RefChange(state.uuid, state.refs[MAIN], gone=(tag,)) for name, state in tables.items()}
    _change(session, lake, gone)


def _set(state: TableState, tag: str) -> RefChange:
    return RefChange(state.uuid, state.refs[MAIN], tags={tag: state.refs[MAIN]})


def _change(session: SessionHandle, lake: Lake, changes: Mapping[TableName, RefChange]) -> None:
    with told(session, lake.project.secrets):
        for name, change in changes.items():
            change_refs(session.spark, name, change)
            reach("after-publish", str(name))
