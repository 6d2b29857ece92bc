"""``lakesmith explain``: everything about one table, without a JVM."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesmith.api.reading import input_to_dict as input_as_dict
from lakesmith.api.reading import table_to_dict as status_as_dict
from lakesmith.api.words import count, moment
from lakesmith.catalog.history import account_in_words
from lakesmith.catalog.state import TableState
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, TargetOption, command_app
from lakesmith.cli.render.text import columns_aligned, titled, wrapped
from lakesmith.error_codes import error_codes
from lakesmith.errors import Problem, UsageError
from lakesmith.execute.decide import around
from lakesmith.execute.opened import Opened
from lakesmith.execute.refresh import Refresh, refresh_of
from lakesmith.execute.status import InputPosition, Standing, TableStatus, statuses
from lakesmith.graph.graph import Node, ties_note
from lakesmith.plan.format_version import what_it_costs
from lakesmith.plan.steps import Strategy
from lakesmith.project.declaring import value_of
from lakesmith.project.definitions import PythonQuery, Source, SqlQuery, TableDefinition

app = command_app()


@dataclass(frozen=True, slots=True)
class Explained:
    """One table: as declared, as it stands, as it is in the lake (None: not built yet), and how it is refreshed."""

    node: Node
    status: TableStatus
    state: TableState | None
    refresh: Refresh
    readers: tuple[str, ...]
    ties: str | None = None

    @property
    def table(self) -> TableDefinition:
        """The table as declared."""
        return self.node.definition


@app.command()
def explain(
    table: Annotated[
        str, typer.Argument(help="A table: bronze.orders; or an error code: LS601.", show_default=False)
    ],
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """Explains a table or an error code."""
    if re.fullmatch(r"LS\d{3}", table, re.IGNORECASE):
        print_code(table.upper(), json)
        return
    raise typer.Exit(explain_command(project, target, table, json))


def print_code(code: str, as_json: bool) -> None:
    """Prints the meaning, the cause and the way out of an error code. Raises UsageError LS201 for an unknown code."""
    entry = error_codes().get(code)
    if entry is None:
        hint = "see docs/reference/errors.md for all codes"
        raise UsageError(Problem("LS201", f"there is no error code {code}", hint=hint))
    if as_json:
        print(json.dumps(asdict(entry), indent=2))
        return
    print("\n".join(wrapped(f"{code}: {entry.meaning}", indent="")))
    for title, text in (("cause", entry.cause), ("to do", entry.fix)):
        print("\n".join(titled(title, wrapped(text, indent=""))))


def explain_command(root: Path, target: str | None, table: str, as_json: bool) -> int:
    """Prints everything about ``table``; 0, or 1 when it is refused. Raises UsageError LS201, LS205."""
    explained = _explained(open_project(root, target), table)
    if as_json:
        print(json.dumps(explained_as_dict(explained), indent=2))
    else:
        print("\n".join(explain_lines(explained)))
    return 1 if explained.status.standing is Standing.REFUSED else 0


def _explained(opened: Opened, text: str) -> Explained:
    name = opened.one(text)
    (status,) = statuses(opened.decider(), (name,))
    state = opened.lake.catalog.table(name.layer, name.name)
    readers = tuple(map(str, opened.graph.readers(name)))
    node = opened.graph.node(name)
    refresh = refresh_of(opened.graph, name, status.record, around(node, opened.lake.project))
    return Explained(node, status, state, refresh, readers, ties_note(opened.graph, node))


def explain_lines(explained: Explained) -> list[str]:
    """The sections, each only when there is something in it."""
    table, status = explained.table, explained.status
    head = f"{table.name}  ({table.place.file})"
    return [
        head,
        *(wrapped(table.description) if table.description else []),
        *titled("refresh", _refresh(explained.refresh)),
        *titled("now", _now(status)),
        *titled("format", _format(explained)),
        *titled("sources", columns_aligned([_source(source) for source in table.sources])),
        *titled("inputs", columns_aligned([_input(position) for position in status.inputs])),
        *titled("read by", explained.readers),
        *titled("last batch", _last(status)),
        *titled("settings", columns_aligned(settings_of(table))),
        *titled("columns", columns_aligned(_columns(explained))),
        *titled("rules", _rules(explained)),
        *titled("worth knowing", _notes(explained)),
    ]


_WHY = {
    Strategy.FULL: "why not less",
    Strategy.KEYS: "why not row by row",
}


def _refresh(refresh: Refresh) -> Iterator[str]:
    yield f"{refresh.strategy.label}: {refresh.how}"
    if refresh.why:
        yield f"{_WHY.get(refresh.strategy, 'not certain')}: {refresh.why}"
    if refresh.better:
        yield f"what would allow it: {refresh.better}"


def _now(status: TableStatus) -> Iterator[str]:
    yield f"{status.standing.value.replace('_', ' ')}: {status.why}"
    if status.record is None and status.rows is None:
        yield "not built yet"
        return
    rows = "unknown" if status.rows is None else f"{status.rows:,}"
    yield f"{rows} rows, {'unknown' if status.quarantined is None else f'{status.quarantined:,}'} in quarantine"


def _format(explained: Explained) -> Iterator[str]:
    """Only of another version than 3: what that costs."""
    costs = what_it_costs(_version(explained))
    if costs:
        yield f"Iceberg format version {_version(explained)}: {costs[0]}"
        yield from costs[1:]


def _version(explained: Explained) -> int:
    """As the table is; before it is built, as declared."""
    return explained.state.format_version if explained.state else explained.table.format_version


def _source(source: Source) -> tuple[str, ...]:
    return (source.name, source.origin, source.record_format)


def _input(position: InputPosition) -> tuple[str, ...]:
    if position.recorded is None:
        read = "-"
    else:
        batch = "" if position.recorded_batch is None else f"batch {position.recorded_batch}, "
        read = f"read up to {batch}snapshot {position.recorded}"
    return (str(position.table), read, position.text)


def _last(status: TableStatus) -> Iterator[str]:
    record = status.record
    if record is None or status.published_ms is None:
        return
    yield f"batch {record.batch} ({record.kind}), published {moment(status.published_ms)}"
    yield account_in_words(record.account)
    yield from (f"note: {note}" for note in record.notes)


def settings_of(table: TableDefinition) -> list[tuple[str, str, str]]:
    """What was set: the name, the value in short, and the place (file:line) it was written at."""
    return [(name, _value(table, name), str(place)) for name, place in table.settings_from]


def _value(table: TableDefinition, name: str) -> str:
    match name:
        case "rules":
            return count(len(table.rules), "rule")
        case "columns":
            return count(len(table.columns), "column")
        case "source":
            return ", ".join(source.name for source in table.sources)
        case "query" | "from" | "function":
            return _query(table)
        case "schedule":
            return str(table.schedule or "on arrival")
        case "inputs" if isinstance(table.query, PythonQuery):
            return _short(tuple(f"{name}: {at}" for name, at in table.query.arguments))
    if name.startswith("source."):
        _, source, option = name.split(".", 2)
        return _short(next((value_of(at, option) for at in table.sources if at.name == source), None))
    return _short(value_of(table, name))


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return textwrap.shorten(str(value), 60, placeholder=" …") if value is not None else ""


def _query(table: TableDefinition) -> str:
    match table.query:
        case SqlQuery(_, place):
            return f"SQL in {place}"
        case PythonQuery():
            return f"{table.query.function} in {table.query.place}"
    return ""


def _columns(explained: Explained) -> list[tuple[str, ...]]:
    """The columns the table has; before it is built, those declared or given by its query."""
    declared = {column.name.lower(): column for column in explained.table.columns}
    if explained.state is not None:
        docs = {key: column.doc for key, column in declared.items()}
        return [(c.name, c.type, c.doc or docs.get(c.name.lower()) or "") for c in explained.state.columns]
    given = explained.node.analysis.output_columns if explained.node.analysis else None
    names = given or tuple(column.name for column in explained.table.columns)
    if names and not explained.table.is_sourced:
        names = (*names, *explained.table.added_columns)
    found = [(name, declared.get(name.lower())) for name in names]
    return [(name, (c.type if c else None) or "?", (c.doc if c else None) or "") for name, c in found]


def _rules(explained: Explained) -> Iterator[str]:
    record = explained.status.record
    for rule in explained.table.rules:
        broken = record.checks.get(rule.text) if record else None
        said = "" if broken is None else f"  ({count(broken, 'row')} broke it in the last batch)"
        yield f"{rule.text}{said}"
    if explained.table.rules:
        yield f"a row that breaks one: {explained.table.on_bad_row.value}"


def _notes(explained: Explained) -> Iterator[str]:
    yield from explained.node.notes
    yield from explained.status.notes
    if explained.ties is not None and explained.ties not in explained.status.notes:
        yield explained.ties
    if explained.status.problem is not None:
        yield from explained.status.problem.lines()


def explained_as_dict(explained: Explained) -> dict[str, Any]:
    """Everything about a table as JSON data."""
    table, refresh, record = explained.table, explained.refresh, explained.status.record
    columns = [{"name": n, "type": t, "doc": d or None} for n, t, d in _columns(explained)]
    settings = [{"name": n, "value": v, "place": p} for n, v, p in settings_of(table)]
    return {
        **status_as_dict(explained.status),
        "description": table.description,
        "place": str(table.place),
        "refresh": {**asdict(refresh), "strategy": refresh.strategy.value},
        "inputs": [input_as_dict(position) for position in explained.status.inputs],
        "format_version": _version(explained),
        "read_by": list(explained.readers),
        "settings": settings,
        "columns": columns,
        "rules": [rule.text for rule in table.rules],
        "worth_knowing": list(_notes(explained)),
        "last_batch": asdict(record) if record else None,
        "last_batch_in_words": account_in_words(record.account) if record else None,
    }
