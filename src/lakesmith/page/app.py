"""The pages: HTML made by Jinja from what the calls of ``lakesmith.api`` return."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from lakesmith.errors import LakesmithError, Problem, UsageError
from lakesmith.execute.circumstances import circumstance
from lakesmith.execute.findings import Finding, Kind
from lakesmith.execute.opened import Opened
from lakesmith.execute.status import TableStatus
from lakesmith.journal.reading import with_failures
from lakesmith.page import actions, activity, differences, rows, texts
from lakesmith.page.column_facts import columns_of_table
from lakesmith.page.event import EventPage
from lakesmith.page.jobs import Jobs
from lakesmith.page.layout import Layout, layout
from lakesmith.page.listing import listing, state_of
from lakesmith.page.live import Watch, stream
from lakesmith.page.overview import PERIODS, Overview, TableOverview, findings_of
from lakesmith.page.past_lake import past_overview
from lakesmith.page.quality import reasons_of, rules_of
from lakesmith.page.query.engine import Engine
from lakesmith.page.query.handlers import QueryPage
from lakesmith.project.definitions import Project, WebPage
from lakesmith.redaction import redacted
from lakesmith.serve.orders import Orders
from lakesmith.serve.state import read_state

WHOLE_BELOW: Final = 60
"""A graph of fewer tables is drawn whole; of a larger one first a table with its neighbours."""
_BATCHES: Final = 30
_BAD_ROWS: Final = 20
_FILES: Final = 20
_PAGES: Final = 64
"""Pages that are kept as they were made."""
_HERE: Final = Path(__file__).parent


class Lake(Protocol):
    """The calls of ``lakesmith.api.Lakehouse`` that the page makes; their results are read by templates."""

    @property
    def folder(self) -> Path:
        """The project's folder."""

    @property
    def access(self) -> Any:
        """How the project is read."""

    def overview(self, *select: str) -> Overview:
        """See ``Lakehouse``."""

    def explain(self, table: str) -> Any:
        """See ``Lakehouse``."""

    def history(self, table: str, *, limit: int | None = 20) -> Any:
        """See ``Lakehouse``."""

    def quarantine_rows(self, table: str, chosen: None = None, *, limit: int | None = 20) -> Any:
        """See ``Lakehouse``."""

    def files(self, table: str) -> Any:
        """See ``Lakehouse``."""

    def tags(self) -> Any:
        """See ``Lakehouse``."""

    def samples(self, table: str, *, source: str | None = None, record: tuple[str, int] | None = None) -> Any:
        """See ``Lakehouse``."""

    def keep_event(self, table: str, name: str, event: str, *, source: str | None = None) -> str:
        """See ``Lakehouse``."""


Words = Mapping[str, Callable[..., str]]
"""Filters by name: ``count``, ``ago``, ``size``, ``iso``."""


@dataclass
class Pages:
    """The handlers of the routes. ``project`` returns the project as it was last read, for its name and for
    the secrets, which are never shown. Views of one version of the lake share an overview. ``may_change``:
    whether routes that change the lake are registered."""

    lake: Lake
    watch: Watch
    words: Words
    project: Callable[[], Project | None]
    is_ending: Callable[[], bool] = lambda: False
    may_change: bool = False
    query: QueryPage = field(init=False)
    templates: Environment = field(init=False)
    jobs: Jobs = field(init=False)
    _known: tuple[object, Overview | None] = field(default=(None, None), init=False)
    _one: Lock = field(default_factory=Lock, init=False)
    _pages: dict[str, tuple[object, Response]] = field(default_factory=dict, init=False)
    _locks: tuple[Lock, ...] = field(default_factory=lambda: tuple(Lock() for _ in range(16)), init=False)

    def __post_init__(self) -> None:
        self.jobs = Jobs(str(self.lake.folder), self.lake.access.target)
        self.watch.besides.append(lambda: self.jobs.version)
        engine = Engine(self.lake.folder, self.lake.access.target, self._query_seconds)
        self.query = QueryPage(self, engine)
        self.templates = Environment(
            loader=PackageLoader("lakesmith.page"),
            autoescape=select_autoescape(default=True, default_for_string=True),
            undefined=StrictUndefined,
            # Before values are escaped: nothing of a secret is left in what the escaping would change.
            finalize=lambda value: redacted(value, self._secrets()) if type(value) is str else value,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        now = {"ago": lambda ms: self.words["ago"](ms, time.time_ns() // 1_000_000)}
        self.templates.filters |= {
            **self.words,
            **now,
            "flow": texts.in_words,
            "middle": texts.middle,
            "path": texts.path_of,
            "advice": texts.advice,
            "step": actions.step_of,
            "moved": activity.moved,
            "address": texts.address,
        }

    def app(self) -> Starlette:
        """Returns the ASGI application."""
        return Starlette(
            routes=[
                Route("/", self.kept(self.show_lake)),
                Route("/t/{name}", self.kept(self.show_table)),
                *rows.routes(self),
                *differences.routes(self),
                *actions.job_routes(self),
                *(actions.routes(self) if self.may_change else ()),
                *activity.routes(self),
                Route("/live", self.live),
                *self.query.routes(),
                *EventPage(self, self.query.engine).routes(),
                Mount("/static", StaticFiles(directory=_HERE / "static")),
            ],
            exception_handlers={404: self._not_found, Exception: self._unforeseen},
        )

    def kept(self, show: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """Returns a handler that makes a page once for all who ask for it before the lake changes. It
        looks at the project once."""

        def answer(request: Request) -> Response:
            address = str(request.url)
            with self.lake.access.one_look(), self._locks[hash(address) % len(self._locks)]:
                request.state.version = self.watch.version(0)
                state = (request.state.version, self.watch.journal.look().revision, self.watch.doing())
                known = self._pages.get(address)
                if known is not None and known[0] == state:
                    return known[1]
                found = show(request)
                if found.status_code == 200:
                    while len(self._pages) >= _PAGES:
                        self._pages.pop(next(iter(self._pages)), None)
                    self._pages[address] = (state, found)
                return found

        return answer

    def show_lake(self, request: Request) -> Response:
        """The lake: what is wrong, the graph, the list."""
        version: str = request.state.version
        show, as_of = request.query_params.get("show", "").split(), request.query_params.get("as_of", "")
        period = request.query_params.get("rows", PERIODS[0])
        period = period if period in PERIODS else PERIODS[0]
        try:
            found = self._overview(version, show) if not as_of else self._past(show, as_of)
        except LakesmithError as error:
            return self.problems(error, version, show=show)
        focus, drawn = drawn_tables(
            found, request.query_params.get("focus"), request.query_params.get("whole")
        )
        values = {"lake": found, "show": " ".join(show), "period": period, "focus": focus, "drawn": drawn}
        values |= {"as_of": as_of, "list": listing(found, request.query_params, bool(as_of))}
        graph = graph_of(drawn)
        into: dict[str, list[tuple[str, Sequence[tuple[float, float]]]]] = {each.name: [] for each in drawn}
        for (begin, end), points in graph.lines.items():
            into[end].append((begin, points))
        return self.page("lake.html", {**values, "graph": graph, "into": into}, version)

    def show_table(self, request: Request) -> Response:
        """A table: its standing, batches, columns, definition, bad rows, files and rules."""
        version, name = request.state.version, request.path_params["name"]
        try:
            table = self.lake.explain(name)
            name = str(table.status.name)
            opened: Opened = self.lake.access.opened()
            columns, dropped = columns_of_table(opened, table)
            history = self.lake.history(name, limit=_BATCHES)
            wrong = wrong_with(table.status, opened.project.state_dir)
            values = {
                "columns": columns,
                "dropped": dropped,
                "table": table,
                "wrong": wrong,
                "state": state_of(table.status, wrong),
                "offered": actions.offered(self, table.status),
                "paused": name in Orders(opened.project.state_dir).paused(),
                "jobs": [each for each in self.jobs if each.table == name and each.is_recent],
                "history": history,
                "rules": rules_of(table.table.rules, history.points),
                "reasons": reasons_of(opened, table.status.name, table.status.quarantined),
                "bad": self.lake.quarantine_rows(name, limit=_BAD_ROWS) if table.status.quarantined else None,
                "files": self.lake.files(name) if table.table.is_sourced else None,
                "written": written(table, self.lake.folder, self._secrets()),
            }
        except LakesmithError as error:
            return self.problems(error, version)
        return self.page(
            "table.html", {**values, "shown_files": _FILES, "rows_link": rows.link_of(name)}, version
        )

    async def live(self, request: Request) -> Response:
        """The stream of what changes."""
        seen = request.headers.get("last-event-id")
        parts = stream(self.watch, seen, self.is_ending)
        return StreamingResponse(parts, media_type="text/event-stream")

    def _overview(self, version: str, show: Sequence[str]) -> Overview:
        """Returns the overview of a version, which is asked for before the lake is read, so never too old."""
        with self._one:
            key, known = self._known
            if known is None or key != (version, *show):
                known = self.lake.overview(*show)
                self._known = ((version, *show), known)
            return known

    def _past(self, show: Sequence[str], as_of: str) -> Overview:
        opened: Opened = self.lake.access.opened()
        return past_overview(opened, opened.names(show), as_of)

    def page(self, template: str, values: Mapping[str, Any], version: str, status: int = 200) -> Response:
        """A page, made of a template and its values."""
        project = self.project()
        known: dict[str, Any] = {"version": version, "project": name_of(project)}
        known |= {"show": "", "period": "", "may_change": self.may_change, "doing": self.watch.doing()}
        known |= {"follows": "state", "broken": self._broken(), "problems": (), **values}
        return HTMLResponse(self.templates.get_template(template).render(known), status)

    def _broken(self) -> tuple[Problem, ...]:
        """Returns what is wrong with a project that is shown as it was before."""
        with self.lake.access.one_look(), suppress(LakesmithError):
            opened: Opened = self.lake.access.opened()
            return opened.broken
        return ()

    def problems(
        self, error: LakesmithError, version: str, status: int = 0, show: Sequence[str] = ()
    ) -> Response:
        """The page of an error; its ``status`` follows from its codes unless it is given."""
        unknown = all(each.code in ("LS201", "LS205") for each in error.problems)
        values = {"problems": error.problems, "show": " ".join(show)}
        usual = 404 if unknown else 400 if isinstance(error, UsageError) else 503
        return self.page("problems.html", values, version, status or usual)

    async def _not_found(self, _request: Request, _error: Exception) -> Response:
        problem = Problem("", "there is no such page")
        return self.page("problems.html", {"problems": (problem,)}, "", 404)

    async def _unforeseen(self, _request: Request, error: Exception) -> Response:
        """Says so; the server prints the stack trace, without the request."""
        text = "lakesmith failed in a way that was not foreseen: see the terminal of lakesmith ui"
        problem, status = Problem("LS900", text, found=type(error).__name__), 500
        if (denied := circumstance(error)) is not None:
            text = f"{denied.what}: see the terminal of lakesmith ui"
            found = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
            problem, status = Problem(denied.code, text, found=found, hint=denied.hint), 503
        return self.page("problems.html", {"problems": (problem,)}, "", status)

    def _query_seconds(self) -> float:
        project = self.project()
        return (project.ui if project else WebPage()).query_seconds

    def _secrets(self) -> tuple[str, ...]:
        project = self.project()
        return project.secrets if project else ()


def name_of(project: Project | None) -> str:
    """Returns the name of a project; of one whose name cannot be read, that of the program."""
    return (project.name if project else "") or "lakesmith"


def wrong_with(status: TableStatus, state_dir: Path) -> list[Finding]:
    """Returns what is wrong with a table, besides its problem and its bad rows, which its page shows."""
    found = findings_of(with_failures([status], state_dir), read_state(state_dir), 0)
    its = [each for each in found if each.table == str(status.name) and each.level != "note"]
    return [each for each in its if each.kind is not Kind.QUARANTINE and status.problem is None]


def drawn_tables(
    found: Overview, focus: str | None, whole: str | None
) -> tuple[str | None, tuple[TableOverview, ...]]:
    """Returns the table in the focus, and the tables that the graph shows: all, or it and its neighbours.

    Of a large lake without a focus, the table that something is wrong with, else the one published last.
    """
    names = {each.name for each in found.tables}
    if (focus is None or focus not in names) and (whole or len(names) < WHOLE_BELOW):
        return None, found.tables
    if focus is None or focus not in names:
        wrong = next((each.table for each in found.findings if each.table in names), None)
        newest = max(found.tables, key=lambda each: each.status.published_ms or 0)
        focus = wrong or newest.name
    near = {focus, *next(each for each in found.tables if each.name == focus).inputs}
    near |= {each.name for each in found.tables if focus in each.inputs}
    return focus, tuple(each for each in found.tables if each.name in near)


def graph_of(tables: Sequence[TableOverview]) -> Layout:
    """Returns the places of tables and of the lines between them."""
    return _placed(tuple((each.name, each.inputs) for each in tables))


@lru_cache(maxsize=16)
def _placed(tables: tuple[tuple[str, tuple[str, ...]], ...]) -> Layout:
    lines = [(begin, name) for name, inputs in tables for begin in inputs]
    return layout([name for name, _ in tables], lines)


def written(explained: Any, root: Path, secrets: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields the files of a table's definition, with their texts as written and without secrets."""
    definition = explained.table
    query = getattr(definition.query, "place", None)
    places = (definition.place, query, *(place for _, place in definition.settings_from))
    for file in dict.fromkeys(place.file for place in places if place is not None):
        path = (root / file).resolve()
        if path.is_relative_to(root.resolve()) and path.is_file():
            yield file, redacted(path.read_text(encoding="utf-8", errors="replace"), secrets)
