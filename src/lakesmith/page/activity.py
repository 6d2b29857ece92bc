"""The page of activity: what is done now, what was done, by whom, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from lakesmith.errors import LakesmithError
from lakesmith.journal.reading import ActionDone
from lakesmith.project.definitions import STATE_DIR
from lakesmith.serve.state import TableState, UpState, is_alive, read_state

if TYPE_CHECKING:
    from lakesmith.page.app import Pages

_PAGE: Final = 30


@dataclass(frozen=True, slots=True)
class Coming:
    """The tables of ``up`` that are due or wait: those with a schedule, and those that failed."""

    up: UpState
    scheduled: tuple[tuple[str, TableState], ...]
    failing: tuple[tuple[str, TableState], ...]
    on_arrival: int


@dataclass(frozen=True, slots=True)
class Shown:
    """One page of actions, newest first. ``older``, ``newer``: the numbers of the pages beside it."""

    actions: tuple[ActionDone, ...]
    kinds: tuple[str, ...]
    tables: tuple[str, ...]
    total: int
    older: int | None
    newer: int | None


def routes(pages: Pages) -> list[Route]:
    """Returns the routes of this page."""

    def show(request: Request) -> Response:
        return show_activity(pages, request)

    return [Route("/activity", pages.kept(show))]


def show_activity(pages: Pages, request: Request) -> Response:
    """What is done now, what comes next, what was done, and the tags."""
    journal = pages.watch.journal.look()
    actions, query = journal.actions(), request.query_params
    number = query.get("page", "1")
    table, kind = query.get("table", ""), query.get("kind", "")
    found = shown(actions, table, kind, int(number) if number.isascii() and number.isdecimal() else 1)
    values = {
        "running": [each for each in actions if each.outcome == "running" and each.kind != "up"],
        "coming": coming(read_state(pages.lake.folder / STATE_DIR)),
        "up_said": next((each for each in actions if each.kind == "up" and each.outcome == "running"), None),
        "found": found,
        "table": table,
        "kind": kind,
        "follows": "activity",
        **_tags(pages),
    }
    return pages.page("activity.html", values, str(journal.revision))


def _tags(pages: Pages) -> dict[str, Any]:
    try:
        return {"tags": pages.lake.tags().tags, "problem": None}
    except LakesmithError as error:
        return {"tags": (), "problem": error.problems[0]}


def shown(actions: Sequence[ActionDone], table: str, kind: str, number: int) -> Shown:
    """Returns a page of the actions about a table ("": any), of a kind ("": any; ``changes``: those kept)."""
    done = [each for each in actions if each.kind != "up" or each.outcome != "running"]
    kinds = tuple(sorted({each.kind for each in done}))
    tables = tuple(sorted({name for each in done for name in each.about}))
    chosen = [
        each
        for each in done
        if (not table or table in each.about)
        and (not kind or each.kind == kind or (kind == "changes" and each.is_lasting))
    ]
    last = max(1, -(-len(chosen) // _PAGE))
    number = min(max(1, number), last)
    page = tuple(chosen[(number - 1) * _PAGE : number * _PAGE])
    older, newer = number + 1 if number < last else None, number - 1 if number > 1 else None
    return Shown(page, kinds, tables, len(chosen), older, newer)


def moved(counts: Mapping[str, int]) -> str:
    """Returns what a batch did to a table, in short: ``+3 ~1 -2``; "" for nothing."""
    signs = {"inserted": "+", "updated": "~", "deleted": "-"}
    return "".join(f" {sign}{counts[kind]:,}" for kind, sign in signs.items() if counts.get(kind))


def coming(up: UpState | None) -> Coming | None:
    """Returns what ``up`` will do; None if it does not run."""
    if up is None or not is_alive(up):
        return None
    tables = sorted(up.tables.items())
    scheduled = sorted(
        (each for each in tables if each[1].schedule), key=lambda each: each[1].next_firing or ""
    )
    failing = tuple(each for each in tables if each[1].failures)
    return Coming(up, tuple(scheduled), failing, len(tables) - len(scheduled))
