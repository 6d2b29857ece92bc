"""``lakesmith diff``: the rows that changed in a table between two points of its past."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesmith import limits
from lakesmith.api.words import count
from lakesmith.catalog.history import resolve_as_of
from lakesmith.catalog.state import MAIN, TableState
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import (
    HERE,
    FormatOption,
    JsonOption,
    ProjectOption,
    RowsOption,
    TableArgument,
    TargetOption,
    command_app,
)
from lakesmith.cli.render.query_output import Shown, exact, write_result
from lakesmith.cli.session import spark_session
from lakesmith.execute.lake import table_bytes
from lakesmith.execute.opened import Opened
from lakesmith.execute.rollback import never_written
from lakesmith.project.definitions import TableName

if TYPE_CHECKING:
    from lakesmith.spark.diff import Counts, Difference, Span
    from lakesmith.spark.start.session import SessionHandle

app = command_app()


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """What the caller of ``diff`` asked for."""

    begin: str
    end: str | None
    shown: Shown


@app.command()
def diff(
    table: TableArgument,
    begin: Annotated[str, typer.Argument(help="A snapshot, a tag or a moment.", show_default=False)],
    end: Annotated[str | None, typer.Argument(help="Another, later one; none: now.")] = None,
    output: FormatOption = "table",
    limit: RowsOption = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``diff_command`` takes them."""
    options = DiffOptions(begin, end, Shown("json" if json else output, limit))
    raise typer.Exit(diff_command(project, target, table, options))


def diff_command(root: Path, target: str | None, table: str, options: DiffOptions) -> int:
    """Prints what changed; 0.

    Raises UsageError LS201, LS205, LS221, LS230, LS231, LS242, LS255, RunError LS622 and with Spark's root cause.
    """
    options.shown.require_known()
    opened = open_project(root, target)
    name = opened.one_of_ours(table)
    state = _written(opened, name)
    span = _span(opened, name, state, options)
    with spark_session(
        opened, little=table_bytes(opened.lake, [name]) <= limits.LITTLE_DATA_BYTES
    ) as session:
        from lakesmith.spark.diff import difference

        secrets = opened.project.secrets
        with difference(session, span, secrets) as found:
            _write(session, span, found, options, secrets)
    return 0


def _written(opened: Opened, name: TableName) -> TableState:
    state = opened.lake.catalog.table(name.layer, name.name)
    if state is None or state.head is None:
        raise never_written(name)
    return state


def _span(opened: Opened, name: TableName, state: TableState, options: DiffOptions) -> Span:
    from lakesmith.spark.diff import Span

    now, definition = datetime.now(UTC), opened.graph.node(name).definition
    begin = resolve_as_of(state, options.begin, now)
    end = state.refs[MAIN] if options.end is None else resolve_as_of(state, options.end, now)
    return Span(name, begin, end, () if definition.keeps_versions else tuple(definition.key))


def _write(
    session: SessionHandle, span: Span, found: Difference, options: DiffOptions, secrets: tuple[str, ...]
) -> None:
    from lakesmith.spark.ask import frame_result

    shown = options.shown
    with frame_result(session, found.rows, shown.computed, secrets) as result:
        if shown.output == "json":
            rows = [dict(zip(result.columns, map(exact, row), strict=True)) for row in result.rows]
            facts = {"table": str(span.name), "from_snapshot": span.start, "to_snapshot": span.end}
            print(json.dumps({**facts, **asdict(found.counts), "rows": rows[: shown.most]}, indent=2))
            return
        if shown.output == "table":
            print("\n".join(_lines(span, found.counts)))
        if shown.output == "csv" or found.counts != type(found.counts)(0, 0, 0, {}):
            write_result(result, shown.output, shown.most, sys.stdout)


def _lines(span: Span, counts: Counts) -> Iterator[str]:
    yield f"{span.name} from snapshot {span.start} to {span.end}"
    numbers = {"inserted": counts.inserted, "deleted": counts.deleted, "updated": counts.updated}
    said = [f"{number:,} {word}" for word, number in numbers.items() if number]
    yield f"rows: {', '.join(said)}" if said else "no row changed"
    if counts.columns:
        each = ", ".join(f"{name} in {count(number, 'row')}" for name, number in counts.columns.items())
        yield f"columns of the updated ones: {each}"
    yield ""
