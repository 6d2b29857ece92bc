"""Changes in PostgreSQL become landing files of their tables before a run is planned."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.lake import Lake
from lakesmith.execute.unforeseen import unforeseen_of
from lakesmith.plan.facts import TableFacts
from lakesmith.plan.steps import Decision, UpToDate
from lakesmith.project.definitions import PostgresSource, Project, TableDefinition, TableName
from lakesmith.sources.model import FileAction


def fetch_all(
    lake: Lake, names: Iterable[TableName], environment: Mapping[str, str] = os.environ
) -> dict[TableName, Problem]:
    """Fetches for the tables of ``names`` that are read from PostgreSQL. Returns failures by table."""
    wanted, problems = set(names), dict[TableName, Problem]()
    for table in lake.project.tables:
        read = table.sources_of(PostgresSource)
        if not read or table.name not in wanted:
            continue
        try:
            facts = lake.facts(table.name)
            if facts.problem is None:
                for source in read:
                    _fetch(lake, table, source, facts, environment)
        except LakesmithError as error:
            problems[table.name] = error.problems[0]
        except Exception as error:  # noqa: BLE001 - whatever happens to one table, the others go on
            problems[table.name] = unforeseen_of(error, table, lake.project)
    return problems


def not_read(
    project: Project, decision: Decision, environment: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Returns what is unknown of an idle table because only a run reads its PostgreSQL sources."""
    from lakesmith.sources.postgres.position import seconds_since_read

    if not isinstance(decision, UpToDate) or decision.held:
        return ()
    found = []
    for source in decision.table.sources_of(PostgresSource):
        if seconds_since_read(project.root / source.path, time.time()) >= source.refresh_seconds:
            unset = (
                ""
                if environment.get(source.connection)
                else f". {source.connection} is not set, so that will fail"
            )
            found.append(
                f"a run reads {source.table} in PostgreSQL first; what changed there is not known "
                f"before{unset}"
            )
    return tuple(found)


def _fetch(
    lake: Lake,
    table: TableDefinition,
    source: PostgresSource,
    facts: TableFacts,
    environment: Mapping[str, str],
) -> None:
    from lakesmith.sources.postgres.fetch import Fetch, fetch

    ledger = lake.ledger(table.name, facts)
    ours = {Path(path).name: entry.action for path, entry in ledger.items() if entry.source == source.name}
    forgotten = [name for name, action in ours.items() if action is FileAction.FORGOTTEN]
    taken = frozenset(ours).difference(forgotten)
    folder = lake.project.root / source.path
    task = Fetch(table.name, source, folder, taken, lambda: _keys(lake, table.name, facts), len(forgotten))
    fetch(task, environment, datetime.now(UTC))


def _keys(lake: Lake, name: TableName, facts: TableFacts) -> dict[str, str | None]:
    """The keys of the rows that are there by what the lake has taken; their values count as not known."""
    if facts.state is None or facts.state.head is None:
        return {}
    loaded = lake.catalog.reader().load_table((name.layer, name.name))
    fields = ("_row_key", "_change", "_read_at", "_batch")
    rows = loaded.scan(snapshot_id=facts.state.head.snapshot_id, selected_fields=fields).to_arrow()
    newest: dict[str, str | None] = {}
    for row in sorted(rows.to_pylist(), key=lambda row: (row["_read_at"], row["_batch"])):
        if row["_change"] == "delete":
            newest.pop(row["_row_key"], None)
        else:
            newest[row["_row_key"]] = None
    return newest
