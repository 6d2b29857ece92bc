"""``lakesmith verify``: recomputes tables from the very snapshots they have consumed, and compares."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lakesmith import limits
from lakesmith.api.words import count
from lakesmith.cli.opening import open_project
from lakesmith.cli.options import HERE, JsonOption, ProjectOption, SelectArgument, TargetOption, command_app
from lakesmith.cli.render.run_view import Output, stray_prints_to_stderr
from lakesmith.cli.render.text import columns_aligned
from lakesmith.execute.lake import planned_bytes
from lakesmith.execute.opened import Opened
from lakesmith.execute.verify import Verdict, Verification, VerifyStarted, as_dict, verification_of
from lakesmith.plan.steps import TableStep

if TYPE_CHECKING:
    from rich.status import Status

app = command_app()


@dataclass
class VerifyView:
    """What is being verified, while it is: the live line of a terminal (``status``), a line a table on ``output``, or nothing."""

    output: Output | None = None
    status: Status | None = None
    _at: str = ""

    def starting(self) -> None:
        """Spark is being started."""
        self._show("starting Spark")

    def __call__(self, event: VerifyStarted) -> None:
        self._at = f"{event.table}: computing it anew, {event.number} of {event.total}"
        if self.output is not None:
            self.output.write(self._at)
        self._show(self._at)

    def progress(self, text: str) -> None:
        """What Spark has done of its present work, in words."""
        if self._at:
            self._show(", ".join(filter(None, [self._at, text])))

    def _show(self, line: str) -> None:
        if self.status is not None:
            from rich.markup import escape

            self.status.update(escape(line))


@contextmanager
def open_view(as_json: bool) -> Iterator[VerifyView]:
    """The view that fits where the output goes."""
    if as_json:
        yield VerifyView()
    elif sys.stdout.isatty():
        from rich.console import Console

        with Console().status("looking at what was consumed") as status:
            yield VerifyView(status=status)
    else:
        yield VerifyView(Output())


@app.command()
def verify(
    select: SelectArgument = None,
    project: ProjectOption = HERE,
    target: TargetOption = None,
    json: JsonOption = False,
) -> None:
    """The command line's words, as ``verify_command`` takes them."""
    raise typer.Exit(verify_command(project, target, tuple(select or ()), json))


def verify_command(root: Path, target: str | None, patterns: tuple[str, ...], as_json: bool) -> int:
    """Verifies the selected derived tables and prints what was found; 0, or 1 when one of them differs or fails."""
    opened = open_project(root, target)
    with open_view(as_json) as view, stray_prints_to_stderr(as_json):
        found = verify_tables(opened, patterns, view)
    print(
        json.dumps({"tables": list(map(as_dict, found))}, indent=2) if as_json else "\n".join(report(found))
    )
    return 1 if any(each.verdict in (Verdict.DIFFERS, Verdict.FAILED) for each in found) else 0


def verify_tables(opened: Opened, patterns: Sequence[str], view: VerifyView) -> list[Verification]:
    """What is known of each selected table. Starts Spark only where there is something to compute."""
    decider = opened.decider()
    planned = [verification_of(decider, name) for name in opened.names(patterns)]
    steps = [each for each in planned if isinstance(each, TableStep)]
    if not steps:
        return [each for each in planned if isinstance(each, Verification)]
    from lakesmith.cli.warm import keep_of
    from lakesmith.spark.open import open_session
    from lakesmith.spark.progress import follow
    from lakesmith.spark.verify import verify_steps

    view.starting()
    little = planned_bytes(opened.lake, steps) <= limits.LITTLE_DATA_BYTES
    session = open_session(opened.project, little, keep_of(opened.project))
    try:
        if view.status is not None:
            follow(session.spark, view.progress)
        done = verify_steps(session, opened.lake, steps, view)
    finally:
        session.stop()
    return [done[each.name] if isinstance(each, TableStep) else each for each in planned]


def report(found: Sequence[Verification]) -> Iterator[str]:
    """A line for each table, below it what differs or failed, and a closing line."""
    rows = [(str(each.name), each.verdict.value, _what(each)) for each in found]
    for line, each in zip(columns_aligned(rows), found, strict=True):
        yield line
        for row in each.examples:
            yield f"  {row.row}: expected {row.expected} times, found {row.found}"
        for problem in each.problems:
            yield from (f"  {text}" for text in problem.lines())
    yield ""
    yield from _closing(found)


def _what(each: Verification) -> str:
    if each.why:
        return each.why
    if each.verdict is Verdict.SAME:
        return count(each.rows, "row")
    return f"{count(each.missing, 'row')} missing, {each.unexpected:,} too many"


def _closing(found: Sequence[Verification]) -> Iterator[str]:
    names = {
        verdict: ", ".join(str(each.name) for each in found if each.verdict is verdict) for verdict in Verdict
    }
    if names[Verdict.FAILED]:
        yield f"not known, because computing it failed: {names[Verdict.FAILED]}"
    if names[Verdict.DIFFERS]:
        yield f"not as their inputs make them: {names[Verdict.DIFFERS]}; run --full-refresh rebuilds them"
    if names[Verdict.FAILED] or names[Verdict.DIFFERS]:
        return
    same = sum(each.verdict is Verdict.SAME for each in found)
    if not same:
        yield "nothing to verify"
        return
    yield f"{count(same, 'table')} as {'its' if same == 1 else 'their'} inputs make {'it' if same == 1 else 'them'}"
