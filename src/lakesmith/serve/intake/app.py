"""The intake as an ASGI application: it answers 202 once the events of a request are on the disk."""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final

from lakesmith.project.definitions import USUAL_MAX_REQUEST
from lakesmith.serve.intake.events import EventReader, Events
from lakesmith.serve.intake.frames import Request
from lakesmith.serve.intake.writer import Full, Taken, Writer

LONGEST_KEY: Final = 255
SECONDS_FOR_A_BODY: Final = 30.0
"""Slower senders are disconnected, because a whole request is held in memory."""

_COUNTED: Final = (("accepted", "requests"), ("refused", "requests"), ("events", ""), ("duplicates", ""))
_MEASURED: Final[tuple[tuple[str, str, Callable[[Writer], int]], ...]] = (
    ("waiting_bytes", "gauge", lambda writer: writer.segments.backlog),
    ("known_marks", "gauge", lambda writer: len(writer.segments.known)),
    ("forgotten_marks_total", "counter", lambda writer: writer.segments.known.forgotten),
    ("can_write", "gauge", lambda writer: int(writer.broken is None)),
    ("max_waiting_reached", "gauge", lambda writer: int(writer.is_backed_up)),
)
LARGE_BODY: Final = 64 * 1024
"""Bytes from which a body is read in a thread, so that others do not wait for it."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Bucket:
    """Limits events to a rate; a request of more than a second's events delays later ones."""

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._tokens, self._at = float(rate), clock()

    def wait(self) -> float:
        """Returns the seconds until the next request is accepted."""
        now = self._clock()
        self._tokens = min(float(self._rate), self._tokens + (now - self._at) * self._rate)
        self._at = now
        return 0.0 if self._tokens > 0 else (1 - self._tokens) / self._rate

    def spend(self, events: int) -> None:
        """Counts events that were accepted."""
        self._tokens -= events


@dataclass(frozen=True)
class Route:
    """One source.

    Args:
        tokens: the bearer tokens that are accepted; none if no token is needed.
        takes_bad: whether events with faults are accepted, for the quarantine; otherwise they are refused.
        bucket: limits the rate of events; None for no limit.
        max_request: the maximum size of a body in bytes.
    """

    table: str
    reader: EventReader
    writer: Writer
    tokens: tuple[str, ...] = ()
    takes_bad: bool = False
    bucket: Bucket | None = None
    max_request: int = USUAL_MAX_REQUEST


@dataclass(frozen=True)
class Answer:
    """A response. ``data`` is sent as JSON, unless it is a text."""

    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """A request that is refused."""

    def __init__(
        self, status: int, error: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(error)
        self.answer = Answer(status, {"error": error, **more}, headers or {})


class Intake:
    """Answers requests for the sources by their paths. ``described`` is the answer to ``/openapi.json``."""

    def __init__(self, routes: Mapping[str, Route], described: Mapping[str, Any] | None = None) -> None:
        self._routes = routes
        self._described = described
        self._counts = {path: dict.fromkeys((name for name, _ in _COUNTED), 0) for path in routes}

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
        counts["duplicates"] += answer.data.get("duplicates", 0)
        return answer

    def seal(self) -> None:
        """Makes segments of what is written, soon."""
        for route in self._routes.values():
            route.writer.seal()

    def _about(self, method: str, path: str) -> Answer:
        if path == "/health":
            return Answer(200, {"status": "ok"})
        if path == "/ready":
            return self._ready()
        if path == "/openapi.json" and self._described is not None:
            return Answer(200, self._described)
        if path == "/metrics":
            return Answer(200, "".join(self._metrics()))
        return Answer(404, {"error": "nothing is taken here", "paths": sorted(self._routes)})

    def _ready(self) -> Answer:
        """Returns 200 while one path accepts events: a proxy turns away from all paths of a process."""
        stopped = sorted(self.troubles())
        if not stopped:
            return Answer(200, {"status": "ready"})
        is_ready = len(stopped) < len(self._routes)
        return Answer(
            200 if is_ready else 503, {"status": "ready" if is_ready else "not writing", "stopped": stopped}
        )

    def troubles(self) -> dict[str, str]:
        """By path, why nothing is taken there now; for the operator."""
        found = {path: route.writer.trouble for path, route in self._routes.items()}
        return {path: why for path, why in found.items() if why is not None}

    def _metrics(self) -> list[str]:
        lines = []
        for name, what in _COUNTED:
            metric = f"lakesmith_intake_{name}_{what}_total" if what else f"lakesmith_intake_{name}_total"
            lines.append(f"# TYPE {metric} counter\n")
            lines += [
                f'{metric}{{table="{self._routes[path].table}"}} {counts[name]}\n'
                for path, counts in self._counts.items()
            ]
        for name, kind, value in _MEASURED:
            lines.append(f"# TYPE lakesmith_intake_{name} {kind}\n")
            lines += [
                f'lakesmith_intake_{name}{{table="{route.table}"}} {value(route.writer)}\n'
                for route in self._routes.values()
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
        if route.bucket is not None and (wait := route.bucket.wait()):
            raise Refused(429, "events come too fast", {"retry-after": str(math.ceil(wait))})
        events = await _events(route.reader, await _in_time(_body(headers, receive, route.max_request)))
        _require_right(route, events)
        if route.bucket is not None:
            route.bucket.spend(len(events.lines))
        return await _written(route, Request(events.as_lines(), key, events.ids), len(events.lines))


async def _written(route: Route, request: Request, count: int) -> Answer:
    try:
        outcome = await asyncio.wrap_future(route.writer.take(request))
    except Full as full:
        again = {"retry-after": str(full.retry_after)}
        raise Refused(503, full.said, again) from full
    if outcome.taken is Taken.OTHER:
        raise Refused(409, "other events came with this Idempotency-Key before")
    is_known = outcome.taken is Taken.KNOWN
    more = {"duplicates": outcome.duplicates} if request.ids else {}
    return Answer(
        202, {"events": 0 if is_known else count - outcome.duplicates, "duplicate": is_known, **more}
    )


def _authorize(route: Route, headers: Mapping[bytes, bytes]) -> None:
    if not route.tokens:
        return
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    # All are compared, each in constant time, so that the time reveals nothing.
    right = [hmac.compare_digest(given.strip(), token.encode()) for token in route.tokens]
    if scheme.lower() != b"bearer" or not any(right):
        raise Refused(401, "a bearer token is needed", {"www-authenticate": "Bearer"})


async def _in_time(body: Coroutine[Any, Any, bytes]) -> bytes:
    try:
        async with asyncio.timeout(SECONDS_FOR_A_BODY):
            return await body
    except TimeoutError:
        why = f"the body was not there after {SECONDS_FOR_A_BODY:g} seconds"
        raise Refused(408, why, {"connection": "close"}) from None


async def _body(headers: Mapping[bytes, bytes], receive: Receive, most: int) -> bytes:
    declared = headers.get(b"content-length", b"")
    if declared.isdigit() and (len(declared) > 18 or int(declared) > most):
        raise _too_large(most)
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "the request did not end")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(most: int) -> Refused:
    return Refused(413, f"the body is larger than {most} bytes; send fewer events at once")


async def _events(reader: EventReader, body: bytes) -> Events:
    return reader.read(body) if len(body) < LARGE_BODY else await asyncio.to_thread(reader.read, body)


def _require_right(route: Route, events: Events) -> None:
    if events.broken or (events.faults and not route.takes_bad):
        reasons = [fault.as_dict() for fault in events.faults]
        raise Refused(400, f"nothing was taken: {events.summary}", reasons=reasons)


async def _send(send: Send, answer: Answer) -> None:
    is_text = isinstance(answer.data, str)
    body = (answer.data if is_text else json.dumps(answer.data)).encode()
    kind = "text/plain; version=0.0.4" if is_text else "application/json"
    headers = {"content-type": kind, "content-length": str(len(body)), **answer.headers}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
