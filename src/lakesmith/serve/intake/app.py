"""The intake as an ASGI application: a request is answered with 202 once its events are on the disk, or not taken at all."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

from lakesmith.serve.intake.events import EventReader, Events
from lakesmith.serve.intake.frames import Request
from lakesmith.serve.intake.writer import Full, Taken, Writer

LARGEST_BODY: Final = 1024 * 1024
LONGEST_KEY: Final = 255

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Route:
    """One source. ``tokens``: the bearer tokens of which a request has to bring one; none: it needs none.

    ``takes_bad``: events with faults are taken, and go to quarantine; else they are refused with all reasons.
    """

    table: str
    reader: EventReader
    writer: Writer
    tokens: tuple[str, ...] = ()
    takes_bad: bool = False


@dataclass(frozen=True)
class Answer:
    """A response. ``data`` is sent as JSON, a text as it is."""

    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A request is not taken."""

    def __init__(
        self, status: int, error: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(error)
        self.answer = Answer(status, {"error": error, **more}, headers or {})


class Intake:
    """Answers requests for the sources by their paths."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes
        self._counts = {path: {"accepted": 0, "refused": 0, "events": 0} for path in routes}

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """One connection of the server: the start and end of its life, or a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await _send(send, await self._answer(scope, receive))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        for route in self._routes.values():
            route.writer.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for route in self._routes.values():
            await asyncio.to_thread(route.writer.stop)
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Mapping[str, Any], receive: Receive) -> Answer:
        path = scope["path"]
        route = self._routes.get(path)
        if route is None:
            return self._about(scope["method"], path)
        counts = self._counts[path]
        try:
            answer = await self._take(route, scope, receive)
        except Refused as refused:
            counts["refused"] += 1
            return refused.answer
        counts["accepted"] += 1
        counts["events"] += answer.data["events"]
        return answer

    def _about(self, method: str, path: str) -> Answer:
        if path == "/health":
            return Answer(200, {"status": "ok"})
        if path == "/ready":
            broken = {r.table: str(r.writer.broken) for r in self._routes.values() if r.writer.broken}
            return (
                Answer(503, {"status": "not writing", "tables": sorted(broken)})
                if broken
                else Answer(200, {"status": "ready"})
            )
        if path == "/metrics":
            return Answer(200, "".join(self._metrics()))
        return Answer(404, {"error": "nothing is taken here", "paths": sorted(self._routes)})

    def _metrics(self) -> list[str]:
        lines = []
        for name, what in (("accepted", "requests"), ("refused", "requests"), ("events", "")):
            metric = f"lakesmith_intake_{name}_{what}_total" if what else f"lakesmith_intake_{name}_total"
            lines.append(f"# TYPE {metric} counter\n")
            lines += [
                f'{metric}{{table="{self._routes[path].table}"}} {counts[name]}\n'
                for path, counts in self._counts.items()
            ]
        return lines

    async def _take(self, route: Route, scope: Mapping[str, Any], receive: Receive) -> Answer:
        if scope["method"] != "POST":
            raise Refused(405, "only POST is taken here", {"allow": "POST"})
        headers = {name.lower(): value for name, value in scope["headers"]}
        _authorize(route, headers)
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise Refused(415, "send the body as it is, without Content-Encoding")
        key = headers.get(b"idempotency-key", b"")
        if len(key) > LONGEST_KEY:
            raise Refused(400, f"the Idempotency-Key is longer than {LONGEST_KEY} bytes")
        events = route.reader.read(await _body(headers, receive))
        _require_right(route, events)
        return await _written(route, Request(events.as_lines(), key), len(events.lines))


async def _written(route: Route, request: Request, count: int) -> Answer:
    try:
        taken = await asyncio.wrap_future(route.writer.take(request))
    except Full as full:
        raise Refused(503, "nothing can be written now; send it again", {"retry-after": "2"}) from full
    if taken is Taken.OTHER:
        raise Refused(409, "other events came with this Idempotency-Key before")
    return Answer(202, {"events": count if taken is Taken.NEW else 0, "duplicate": taken is Taken.KNOWN})


def _authorize(route: Route, headers: Mapping[bytes, bytes]) -> None:
    if not route.tokens:
        return
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    # All are compared, each in constant time: how long it takes tells nothing of any.
    right = [hmac.compare_digest(given.strip(), token.encode()) for token in route.tokens]
    if scheme.lower() != b"bearer" or not any(right):
        raise Refused(401, "a bearer token is needed", {"www-authenticate": "Bearer"})


async def _body(headers: Mapping[bytes, bytes], receive: Receive) -> bytes:
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and int(declared) > LARGEST_BODY:
        raise _too_large()
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the request did not end")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            raise _too_large()
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large() -> Refused:
    return Refused(413, f"the body is larger than {LARGEST_BODY} bytes; send fewer events at once")


def _require_right(route: Route, events: Events) -> None:
    if events.broken or (events.faults and not route.takes_bad):
        reasons = [fault.as_dict() for fault in events.faults]
        raise Refused(400, "nothing was taken: there is something wrong with the events", reasons=reasons)


async def _send(send: Send, answer: Answer) -> None:
    is_text = isinstance(answer.data, str)
    body = (answer.data if is_text else json.dumps(answer.data)).encode()
    kind = "text/plain; version=0.0.4" if is_text else "application/json"
    headers = {"content-type": kind, "content-length": str(len(body)), **answer.headers}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
