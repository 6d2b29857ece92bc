"""The rows that changed between two points of a table's past, computed by Spark when somebody asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from lakesmith.errors import LakesmithError
from lakesmith.page.actions import form_of
from lakesmith.page.jobs import DIFF, Job
from lakesmith.page.rows import POINTS

if TYPE_CHECKING:
    from lakesmith.page.app import Pages


def routes(pages: Pages) -> list[Route]:
    """Returns the routes of differences. They change nothing, so pages have them that only show."""

    def show(request: Request) -> Response:
        version, query = pages.watch.version(0), request.query_params
        try:
            name = str(pages.lake.access.opened().one_of_ours(request.path_params["name"]))
            history = pages.lake.history(name, limit=POINTS)
        except LakesmithError as error:
            return pages.problems(error, version)
        begin, end = _chosen(history.points, query.get("begin", ""), query.get("end", ""))
        values = {"name": name, "history": history, "begin": begin, "end": end}
        values["job"] = pages.jobs.get(_key(name, begin, end))
        return pages.page("diff.html", values, version)

    def start(request: Request, name: str, begin: str, end: str) -> Response:
        try:
            name = str(pages.lake.access.opened().one_of_ours(name))
            job = Job(_key(name, begin, end), f"Compare {name}", name, DIFF)
            job.command = f"lakesmith diff {name} {begin} {end}"
            pages.jobs.start(job, {"table": name, "begin": begin, "end": end})
        except LakesmithError as error:
            return pages.problems(error, pages.watch.version(0))
        return RedirectResponse(f"{request.url.path}?{urlencode({'begin': begin, 'end': end})}", 303)

    async def compare(request: Request) -> Response:
        given = await form_of(request)
        begin, end = given.get("begin", ""), given.get("end", "")
        if not (begin.isdecimal() and end.isdecimal()):
            return RedirectResponse(request.url.path, 303)
        return await run_in_threadpool(start, request, request.path_params["name"], begin, end)

    return [
        Route("/t/{name}/diff", show, methods=["GET"]),
        Route("/t/{name}/diff", compare, methods=["POST"]),
    ]


def _key(name: str, begin: str, end: str) -> str:
    return f"diff {name} {begin} {end}"


def _chosen(points: Any, begin: str, end: str) -> tuple[str, str]:
    """Returns the snapshots that are compared: those asked for, else the newest and the one before it."""
    known = [str(point.snapshot_id) for point in points]
    end = end if end in known else (known[0] if known else "")
    before = known[known.index(end) + 1 :] if end else []
    return (begin if begin in known else (before[0] if before else end)), end
