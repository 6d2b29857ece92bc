"""``lakesmith check``."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from lakesmith.api.access import ignore
from lakesmith.api.checking import Checked
from lakesmith.api.words import count
from lakesmith.cli import command as opt
from lakesmith.cli.command import note, open_lake, show
from lakesmith.cli.render.junit import junit_text
from lakesmith.cli.render.live import stray_prints_to_stderr
from lakesmith.cli.render.text import columns_aligned

app = opt.command_app()


@app.command()
def check(
    select: opt.SelectArgument = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    junit: opt.JUnitOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Checks all rules of the selected tables as they are; exits with 3 if one fails."""
    with stray_prints_to_stderr(json):
        found = open_lake(project, target).check(*select or (), on_event=ignore if json else note)
    if junit is not None:
        junit.write_text(junit_text(found.tables), encoding="utf-8")
    show(found, json, report)
    raise typer.Exit(3 if found.has_failed else 0)


def report(found: Checked) -> Iterator[str]:
    """A line for each rule by table, and a closing line."""
    for table in found.tables:
        yield table.table if table.why is None else f"{table.table}: not checked, {table.why}"
        rows = [("passed" if each.passed else "FAILED", each.rule, each.found) for each in table.results]
        yield from (f"  {line}" for line in columns_aligned(rows))
        for problem in table.problems:
            yield from (f"  {text}" for text in problem.lines())
    yield from (f"note: {note}" for note in found.notes)
    rules = sum(len(table.results) for table in found.tables)
    failed = sum(len(table.failed) for table in found.tables)
    if not found.tables:
        yield "no table has rules"
    elif failed:
        yield f"{count(failed, 'rule')} of {rules} failed"
    else:
        yield f"{count(rules, 'rule')} passed"
