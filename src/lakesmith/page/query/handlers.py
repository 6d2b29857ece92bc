"""``/query``: a query is shown for whoever has its address, and runs when the page itself asks for it."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from lakesmith.catalog.state import ColumnState
from lakesmith.errors import LakesmithError, Problem, UsageError
from lakesmith.execute.opened import Opened
from lakesmith.execute.rollback import tags_of
from lakesmith.page.actions import posted
from lakesmith.page.query.chart import KINDS, Chart, chart, choice, is_number, kind_for
from lakesmith.page.query.engine import Engine, number_in
from lakesmith.page.query.saved import save, saved, saved_names
from lakesmith.project.definitions import TableName
from lakesmith.sql.analysis import analyse
from lakesmith.sql.tokens import SqlParseError

if TYPE_CHECKING:
    from lakesmith.page.app import Pages

ROWS: Final = 1000
"""The most rows that are shown."""
FILE_ROWS: Final = 1_000_000
"""The most rows of a file."""
_FILES: Final = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
_KEPT: Final = 8
"""Results that are kept for charts, the newest."""
_LONGEST: Final = 100_000
_LINE: Final = re.compile(r"\bline (\d+)")
_CHUNK: Final = 1 << 18

Form = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Named:
    """A table that a query may name, with its columns; none if it was not built yet."""

    name: TableName
    description: str
    columns: tuple[ColumnState, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a query as they are shown (``cell`` of ``answering``). ``at``: the time they were read."""

    number: str
    sql: str
    as_of: str
    columns: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_cut: bool
    seconds: float
    at: str

    @property
    def numeric(self) -> list[bool]:
        """Which columns have numbers."""
        return [is_number(each) for each in self.types]


@dataclass
class QueryPage:
    """The handlers. ``pages`` makes pages of templates."""

    pages: Pages
    engine: Engine
    _results: OrderedDict[str, Result] = field(default_factory=OrderedDict)
    _known: tuple[str, tuple[tuple[Named, ...], tuple[str, ...]]] = ("", ((), ()))
    _lock: Lock = field(default_factory=Lock)

    def routes(self) -> list[Route]:
        """Returns the routes; that of saving only where the page may change the project."""
        posts = {"/query": self._run, "/query/cancel": self._cancel}
        posts |= {f"/query/result.{kind}": partial(self._file, kind) for kind in _FILES}
        posts |= {"/query/save": self._save} if self.pages.may_change else {}
        routes = [Route(path, posted(answer), methods=["POST"]) for path, answer in posts.items()]
        return [Route("/query", self.show), *routes]

    def show(self, request: Request) -> Response:
        """Shows a query of the address, of a saved one, or of a result that is kept; it runs nothing."""
        given = request.query_params
        try:
            if (name := given.get("saved")) is not None:
                return self._page({"sql": saved(self._folder, name), "name": name})
            if (number := given.get("result")) is not None:
                return self._page_of(number, given)
        except UsageError as error:
            return self._page({}, error)
        return self._page({"sql": given.get("sql", "")[:_LONGEST], "as_of": given.get("as_of", "")})

    def _run(self, form: Form) -> Response:
        number = number_in(form)
        try:
            sql, as_of = _asked(form)
            answer = self.engine.ask(number, sql, as_of, ROWS)
        except LakesmithError as error:
            return self._page(form, error)
        at = time.strftime("%H:%M:%S UTC", time.gmtime())
        found = {each: answer[each] for each in ("columns", "types", "rows", "is_cut", "seconds")}
        result = Result(number, sql, as_of, at=at, **found)
        with self._lock:
            self._results.pop(number, None)
            self._results[number] = result
            while len(self._results) > _KEPT:
                self._results.popitem(last=False)
        return self._page_of(number, form)

    def _file(self, kind: str, form: Form) -> Response:
        """Sends the whole result, up to a limit, as a file; the query runs again."""
        try:
            sql, as_of = _asked(form)
            written = self.engine.written(number_in(form), sql, as_of, FILE_ROWS, kind)
            path, answer = written.__enter__()
        except LakesmithError as error:
            return self._page(form, error, status=422)
        parts = _parts(path, lambda: written.__exit__(None, None, None))
        name = form.get("name") or "query"
        name = name if re.fullmatch(r"[a-z0-9_-]+", name) else "query"
        headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
        headers |= {"x-rows": str(answer["count"]), "x-is-cut": str(answer["is_cut"]).lower()}
        return StreamingResponse(parts, media_type=_FILES[kind], headers=headers)

    def _cancel(self, form: Form) -> Response:
        is_done = self.engine.cancel(form.get("number", ""))
        return PlainTextResponse("cancelled" if is_done else "it does not run")

    def _save(self, form: Form) -> Response:
        try:
            sql, _ = _asked(form)
            save(self._folder, form.get("name", ""), sql, replace="replace" in form)
        except LakesmithError as error:
            return self._page(form, error)
        return RedirectResponse(f"/query?saved={form['name']}", 303)

    @property
    def _folder(self) -> Path:
        return self.pages.lake.folder

    def _page_of(self, number: str, given: Form) -> Response:
        """The page of a result, as a table or a chart."""
        with self._lock:
            result = self._results.get(number)
        if result is None:
            return self._page(
                given, UsageError.of("LS248", "this result is not kept any more: run the query again")
            )
        drawn = _drawn(result, given) if given.get("view") == "chart" else None
        values = {"sql": result.sql, "as_of": result.as_of, "name": given.get("name", "")}
        return self._page({**values, "number": number}, result=result, chart=drawn)

    def _page(
        self, given: Form, error: LakesmithError | None = None, status: int = 200, **more: Any
    ) -> Response:
        problems = error.problems if error else ()
        sql, version = given.get("sql", ""), self.pages.watch.version(0)
        try:
            tables, tags = self._names(version)
        except LakesmithError as broken:
            tables, tags, problems = (), (), (*problems, *broken.problems)
        values = {
            "sql": sql,
            "as_of": given.get("as_of", ""),
            "name": given.get("name", ""),
            "number": number_in(given),
            "problems": problems,
            "place": _place(sql, problems),
            "tables": tables,
            "tags": tags,
            "saved": saved_names(self._folder),
            "running": self.engine.running,
            "seconds": self.engine.seconds(),
            "file_rows": FILE_ROWS,
            "kinds": KINDS,
            "result": None,
            "chart": None,
        }
        return self.pages.page("query.html", {**values, **more}, version, status)

    def _names(self, version: str) -> tuple[tuple[Named, ...], tuple[str, ...]]:
        with self._lock:
            if self._known[0] != version:
                self._known = version, names_of(self.pages.lake.access.opened())
            return self._known[1]


def names_of(opened: Opened) -> tuple[tuple[Named, ...], tuple[str, ...]]:
    """Returns the project's tables with their columns, and its tags. Reads metadata alone."""
    lake, found, states = opened.lake, [], {}
    with lake.one_look(opened.graph.order):
        for name in opened.graph.order:
            state = None
            with suppress(LakesmithError):
                state = lake.facts(name).state
            if state is not None and state.head is not None:
                states[name] = state
            description = opened.graph.node(name).definition.description or ""
            found.append(Named(name, description, state.columns if state else ()))
    return tuple(found), tuple(each.name for each in tags_of(states))


def _asked(form: Form) -> tuple[str, str]:
    """Returns the query and its time. Raises UsageError LS244 for a text that is not one SELECT."""
    sql, as_of = form.get("sql", "").replace("\r\n", "\n"), form.get("as_of", "").strip()
    if len(sql) > _LONGEST:
        raise UsageError.of("LS244", "the query is too long", expected=f"at most {_LONGEST:,} characters")
    try:
        analyse(sql)
    except SqlParseError as error:
        what = f"{error.message}, at line {error.line}"
        raise UsageError.of("LS244", what, found=error.near or None, hint=error.hint) from error
    return sql, as_of


def _place(sql: str, problems: Sequence[Problem]) -> tuple[int, str] | None:
    """Returns the line of the query that the first problem names, with its text."""
    lines = sql.splitlines()
    for each in problems:
        found = _LINE.search(each.what) or _LINE.search(each.found or "")
        if found and 0 < int(found[1]) <= len(lines):
            return int(found[1]), lines[int(found[1]) - 1]
    return None


def _drawn(result: Result, given: Form) -> Chart | None:
    begin = choice(result.types)
    if begin is None:
        return None
    x, y = (
        _column(given.get(name), len(result.columns), usual) for name, usual in zip("xy", begin, strict=True)
    )
    kind = given.get("kind", "")
    kind = kind if kind in KINDS else kind_for(result.types[x])
    return chart(kind, result.columns, result.types, result.rows, x, y)


def _column(text: str | None, most: int, usual: int) -> int:
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,6}", text) and int(text) < most else usual


def _parts(path: Path, end: Callable[[], object]) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while part := file.read(_CHUNK):
                yield part
    finally:
        end()
