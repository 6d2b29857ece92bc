"""``lakesmith explain``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import typer

from lakesmith.api.explaining import Explained, explain_code
from lakesmith.api.words import count, moment
from lakesmith.catalog.history import account_in_words
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.text import columns_aligned, titled, wrapped
from lakesmith.errors import ErrorCode
from lakesmith.execute.refresh import Refresh
from lakesmith.execute.status import InputPosition, Standing, TableStatus
from lakesmith.plan.steps import Strategy
from lakesmith.project.definitions import Source

app = opt.command_app()


@app.command()
def explain(
    table: Annotated[
        str, typer.Argument(help="A table: bronze.orders; or an error code: LS601.", show_default=False)
    ],
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Explains a table or an error code; exits with 1 for a table that is refused."""
    if re.fullmatch(r"LS\d{3}", table, re.IGNORECASE):
        show(explain_code(table.upper()), json, _code_lines)
        return
    explained = open_lake(project, target).explain(table)
    show(explained, json, explain_lines)
    raise typer.Exit(1 if explained.status.standing is Standing.REFUSED else 0)


def _code_lines(found: ErrorCode) -> list[str]:
    """The meaning, the cause and the fix of an error code."""
    return [
        *wrapped(f"{found.code}: {found.meaning}", indent=""),
        *titled("cause", wrapped(found.cause, indent="")),
        *titled("to do", wrapped(found.fix, indent="")),
    ]


def explain_lines(explained: Explained) -> list[str]:
    """The sections, each only when there is something in it."""
    table, status = explained.table, explained.status
    head = f"{table.name}  ({table.place.file})"
    return [
        head,
        *(wrapped(table.description) if table.description else []),
        *titled("refresh", _refresh(explained.refresh)),
        *titled("now", _now(status)),
        *titled("format", [_VERSION_2] if explained.format_version == 2 else []),
        *titled("sources", columns_aligned([_source(source) for source in table.sources])),
        *titled("inputs", columns_aligned([_input(position) for position in status.inputs])),
        *titled("read by", explained.readers),
        *titled("last batch", _last(status)),
        *titled("settings", columns_aligned(explained.settings)),
        *titled("columns", columns_aligned(explained.columns)),
        *titled("rules", _rules(explained)),
        *titled("worth knowing", explained.notes),
    ]


_VERSION_2 = "Iceberg format version 2: for engines that cannot read version 3; slower where rows change"
_WHY = {Strategy.FULL: "why not less", Strategy.KEYS: "why not row by row"}


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
    bad = "unknown" if status.quarantined is None else f"{status.quarantined:,}"
    yield f"{rows} rows, {bad} in quarantine"


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


def _rules(explained: Explained) -> Iterator[str]:
    record = explained.status.record
    table = explained.table
    for rule in table.rules:
        broken = record.checks.get(rule.text) if record else None
        said = "" if broken is None else f"  ({count(broken, 'row')} broke it in the last batch)"
        gate = record.gates.get(rule.text) if record else None
        expected = f", expected {gate.expected}" if gate and gate.expected else ""
        said += f"  ({gate.outcome} in the last batch, with {gate.metric}{expected})" if gate else ""
        yield f"{rule.text}{said}"
    if len(table.gates) < len(table.rules):
        yield f"a row that breaks one: {table.on_bad_row.value}"
    if table.gates:
        yield f"a table rule that fails: {table.on_failed_rule.value}; {table.gate_in_words}"
