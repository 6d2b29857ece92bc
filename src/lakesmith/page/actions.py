"""Actions of the page, in two steps: what would happen; then done, if the tables are as they were."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.status import Standing
from lakesmith.page.jobs import Job
from lakesmith.page.previews import PREVIEWS, Given, Preview, order, preview_of
from lakesmith.serve.orders import Orders
from lakesmith.serve.state import read_state

if TYPE_CHECKING:
    from lakesmith.page.app import Pages

_MOST_BYTES: Final = 1_000_000
"""The largest form that is read: the heads of thousands of tables."""
_OF_FORM: Final = frozenset({"heads", "key"})


def offered(pages: Pages, status: Any) -> list[tuple[str, str]]:
    """Returns the actions that a table's page offers, with what they are called."""
    if not pages.may_change:
        return []
    state_dir, name = pages.lake.access.opened().project.state_dir, str(status.name)
    up = read_state(state_dir)
    found = [("run", "Run")]
    if up is not None and name in up.tables and up.tables[name].failures:
        found.append(("retry", "Try again"))
    if status.quarantined:
        found.append(("replay", "Replay bad rows"))
    if status.standing is Standing.HELD:
        found.append(("release", "Release"))
    is_paused = name in Orders(state_dir).paused()
    found.append(("resume", "Resume") if is_paused else ("pause", "Pause"))
    return [*found, ("maintain", "Maintain")] if status.rows is not None else found


_COMMAND: Final = re.compile(r"lakesmith (run|maintain|release)(?: (\S+))?")


def step_of(command: str) -> str:
    """Returns the address of the action that does what a command does; empty if the page has none."""
    found = _COMMAND.fullmatch(command)
    if found is None or (found[1] != "run" and not found[2]):
        return ""
    return f"/do/{found[1]}" + (f"?table={quote(found[2])}" if found[2] else "")


async def form_of(request: Request) -> Given:
    """Returns the fields of a form that was sent. Raises HTTPException 413 if it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise HTTPException(413, "the form is too large")
    return dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def posted(answer: Callable[[Given], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Returns a handler that answers a form that was sent, in a thread: ``answer`` may take its time."""

    async def handle(request: Request) -> Response:
        return await run_in_threadpool(answer, await form_of(request))

    return handle


def routes(pages: Pages) -> list[Route]:
    """Returns the routes that change the lake: for pages that may."""
    actions = Actions(pages)
    return [
        Route("/do/{action}", actions.show, methods=["GET"]),
        Route("/do/{action}", actions.confirm, methods=["POST"]),
    ]


class Actions:
    """The handlers: ``show`` a preview, ``confirm`` it."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    def show(self, request: Request) -> Response:
        """What an action would do, with the form that confirms it."""
        return self._shown(request.path_params["action"], dict(request.query_params))

    async def confirm(self, request: Request) -> Response:
        """Does an action on the heads that were shown; 409 if there are others now."""
        return await posted(partial(self._confirmed, request.path_params["action"]))(request)

    def _shown(self, action: str, given: Given, *, moved: bool = False) -> Response:
        version = self._pages.watch.version(0)
        found: Preview | None = None
        problems: tuple[Problem, ...] = ()
        status = 409 if moved else 200
        if action not in PREVIEWS:
            return self._pages.problems(LakesmithError(Problem("", "there is no such action")), version, 404)
        if action != "tag" or "name" in given:
            try:
                found = preview_of(self._pages.lake, action, given)
            except LakesmithError as error:
                problems, status = error.problems, 409 if moved else 400
        values: dict[str, object] = {"action": action, "preview": found, "problems": problems, "moved": moved}
        values |= {"given": {name: text for name, text in given.items() if name not in _OF_FORM}}
        values |= {"table": given.get("table", ""), "key": secrets.token_urlsafe(16)}
        values["heads"] = json.dumps(dict(found.heads)) if found else ""
        return self._pages.page("do.html", values, version, status)

    def _confirmed(self, action: str, given: Given) -> Response:
        jobs = self._pages.jobs
        if (known := jobs.get(given.get("key", ""))) is not None:
            return _to(known)
        try:
            if action not in PREVIEWS:
                return self._shown(action, given)
            found = preview_of(self._pages.lake, action, given)
            if found.is_needless or not given.get("key") or not _same(given.get("heads", ""), found):
                return self._shown(action, given, moved=True)
            return _to(self._begun(found, given["key"]))
        except LakesmithError as error:
            return self._pages.problems(error, self._pages.watch.version(0))

    def _begun(self, found: Preview, key: str) -> Job:
        back = f"/t/{quote(found.table)}" if found.table else "/"
        job = Job(key, found.title, found.table, found.action, found.command, back)
        if found.task is None:
            return self._pages.jobs.note(job, order(self._pages.lake.access.opened(), found))
        task = {**found.task, "table": found.table, "heads": dict(found.heads)}
        return self._pages.jobs.start(job, task)


def _same(heads: str, found: Preview) -> bool:
    try:
        return bool(json.loads(heads) == dict(found.heads))
    except ValueError:
        return False


def _to(job: Job) -> Response:
    return RedirectResponse(f"/jobs/{quote(job.key, safe='')}", 303)


def job_routes(pages: Pages) -> list[Route]:
    """Returns the routes of jobs, which those have who only read, too: a comparison is one."""

    def show(request: Request) -> Response:
        job = pages.jobs.get(request.path_params["key"])
        version = pages.watch.version(0)
        if job is None:
            return pages.problems(LakesmithError(Problem("", "there is no such job any more")), version, 404)
        return pages.page("job.html", {"job": job}, version)

    def cancel(request: Request) -> Response:
        job = pages.jobs.get(request.path_params["key"])
        if job is None:
            return RedirectResponse("/", 303)
        pages.jobs.cancel(job.key)
        return _to(job)

    return [
        Route("/jobs/{key}", show, methods=["GET"]),
        Route("/jobs/{key}/cancel", cancel, methods=["POST"]),
    ]
