"""``/event``: an event of a source, to edit, and what it does to each table below, on a copy of the lake."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from lakesmith.errors import LakesmithError, UsageError
from lakesmith.page.actions import posted
from lakesmith.page.query.engine import Engine, number_in
from lakesmith.project.definitions import Source

if TYPE_CHECKING:
    from lakesmith.page.app import Pages

_MOST_CHARACTERS: Final = 200_000
Form = Mapping[str, str]

OUTCOMES: Final = {
    "inserted": "+",
    "replaced": "~",
    "deleted": "\N{MINUS SIGN}",
    "superseded": "<",
    "filtered": "∅",
    "quarantined": "!",
    "unchanged": "=",
    "refused": "\N{MULTIPLICATION SIGN}",
    "stopped": "\N{MULTIPLICATION SIGN}",
    "failed": "\N{MULTIPLICATION SIGN}",
    "not reached": "…",
}
"""The sign of each outcome, beside its word."""


@dataclass
class EventPage:
    """The handlers. ``pages`` makes pages of templates; ``engine`` is the process that computes."""

    pages: Pages
    engine: Engine

    def routes(self) -> list[Route]:
        """Returns the routes; that of keeping only where the page may change the project."""
        posts: dict[str, Callable[[Form], Response]] = {"/event": self._follow, "/event/cancel": self._cancel}
        posts |= {"/event/keep": self._keep} if self.pages.may_change else {}
        routes = [Route(path, posted(answer), methods=["POST"]) for path, answer in posts.items()]
        return [Route("/event", self.show), *routes]

    def show(self, request: Request) -> Response:
        """Shows an event of the table in the address: the sample of that name, else the first one."""
        return self._page(request.query_params)

    def _follow(self, form: Form) -> Response:
        try:
            table, source = form.get("table", ""), form.get("source") or None
            # What is wrong with the call is said before Spark starts.
            self.pages.lake.samples(table, source=source)
            found = self.engine.trace(number_in(form), table, source, _text(form))
        except LakesmithError as error:
            return self._page(form, error)
        return self._page(form, trace=found)

    def _cancel(self, form: Form) -> Response:
        is_done = self.engine.cancel(form.get("number", ""))
        return PlainTextResponse("cancelled" if is_done else "it does not run")

    def _keep(self, form: Form) -> Response:
        table, name = form.get("table", ""), form.get("name", "")
        try:
            self.pages.lake.keep_event(table, name, _text(form), source=form.get("source") or None)
        except LakesmithError as error:
            return self._page(form, error)
        return RedirectResponse(f"/event?{urlencode({'table': table, 'sample': name})}", 303)

    def _page(
        self, given: Form, error: LakesmithError | None = None, trace: Mapping[str, Any] | None = None
    ) -> Response:
        version, problems = self.pages.watch.version(0), tuple(error.problems) if error else ()
        values: dict[str, Any] = {"tables": (), "samples": (), "chosen": None, "text": given.get("text", "")}
        table, source = given.get("table", ""), given.get("source", "")
        try:
            sources = self._sources()
            table = table or next(iter(sources), "")
            values["tables"] = tuple(sources)
            if table:
                source = source or next((each.name for each in sources.get(table, ())), "")
                record = _record(given)
                samples = self.pages.lake.samples(table, source=source or None, record=record).samples
                wanted = f"{record[0].rpartition('/')[2]}:{record[1]}" if record else given.get("sample")
                chosen = next((each for each in samples if each.name == wanted), None)
                chosen = chosen or (None if "text" in given else next(iter(samples), None))
                values |= {"samples": samples, "chosen": chosen, "sources": sources.get(table, ())}
                values["text"] = values["text"] or (chosen.text if chosen else "")
        except LakesmithError as broken:
            problems = (*problems, *broken.problems)
        known: dict[str, Any] = {
            "table": table,
            "source": source,
            "number": number_in({}),
            "outcomes": OUTCOMES,
        }
        known |= {"problems": problems, "trace": trace, "running": self.engine.running, "sources": ()}
        return self.pages.page("event.html", {**known, **values}, version)

    def _sources(self) -> dict[str, Sequence[Source]]:
        """Returns the sources of each table whose events can be followed."""
        tables = self.pages.lake.access.opened().project.tables
        return {str(each.name): each.sources for each in tables if each.is_sourced and not each.has_topics}


def _record(given: Form) -> tuple[str, int] | None:
    """Returns the landing file and the position that an address names."""
    path, position = given.get("file", ""), given.get("position", "")
    return (path, int(position)) if path and re.fullmatch(r"[0-9]{1,9}", position) else None


def _text(form: Form) -> str:
    text = form.get("text", "").replace("\r\n", "\n")
    if len(text) > _MOST_CHARACTERS:
        expected = f"at most {_MOST_CHARACTERS:,} characters"
        raise UsageError.of("LS279", "the event is too long", None, expected, f"{len(text):,}")
    return text
