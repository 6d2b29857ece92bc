"""``lakesmith verify``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from lakesmith.api.words import count
from lakesmith.cli import command as opt
from lakesmith.cli.command import open_lake, show
from lakesmith.cli.render.live import Output, live_line, stray_prints_to_stderr, update
from lakesmith.cli.render.text import columns_aligned
from lakesmith.execute.events import EngineStarting
from lakesmith.execute.verify import Verdict, Verification, VerifyStarted

if TYPE_CHECKING:
    from rich.status import Status

app = opt.command_app()


@dataclass
class VerifyView:
    """Shows the table being verified: on a live line (``status``), as a line on ``output``, or not at all."""

    output: Output | None = None
    status: Status | None = None
    _at: str = ""

    def __call__(self, event: VerifyStarted | EngineStarting) -> None:
        if isinstance(event, EngineStarting):
            update(self.status, "starting Spark")
            return
        self._at = f"{event.table}: computing it again, {event.number} of {event.total}"
        if self.output is not None:
            self.output.write(self._at)
        update(self.status, self._at)

    def progress(self, text: str) -> None:
        """What Spark has done of its present work, in words."""
        if self._at:
            update(self.status, ", ".join(filter(None, [self._at, text])))


@contextmanager
def open_view(as_json: bool) -> Iterator[VerifyView]:
    """The view that fits where the output goes."""
    with live_line(as_json, "looking at what was consumed") as status:
        yield VerifyView(None if as_json or status else Output(), status)


@app.command()
def verify(
    select: opt.SelectArgument = None,
    project: opt.ProjectOption = opt.HERE,
    target: opt.TargetOption = None,
    json: opt.JsonOption = False,
) -> None:
    """Verifies the selected derived tables; exits with 1 when one of them differs or fails."""
    with (
        open_view(json) as view,
        stray_prints_to_stderr(json),
        open_lake(project, target, view.progress if view.status is not None else None) as lake,
    ):
        found = lake.verify(*select or (), on_event=view)
    show(found, json, lambda found: report(found.tables))
    raise typer.Exit(1 if found.is_wrong else 0)


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
    their, them = ("its", "it") if same == 1 else ("their", "them")
    yield f"{count(same, 'table')} as {their} inputs make {them}"
