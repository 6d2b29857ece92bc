"""The intake process: ``python -m lakesmith.serve.server``. It has no JVM.

On SIGUSR1 it seals all acknowledged events. On SIGTERM, or if its parent process is gone, it does so and
ends.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lakesmith.errors import LakesmithError
from lakesmith.execute.opened import read_project
from lakesmith.library_logs import hide, in_own_program
from lakesmith.serve.intake.app import Bucket, Intake, Route
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.segments import Segments
from lakesmith.serve.intake.writer import Writer
from lakesmith.serve.openapi import described
from lakesmith.serve.routes import EventSource, event_sources, tokens_of
from lakesmith.serve.state import IntakeState

_LOOK_SECONDS: Final = 0.25
"""Seconds between two checks of its parent, and of its paths."""
_GRACE_SECONDS: Final = 5
"""Seconds for requests under way at the end; acknowledged events are sealed in any case."""
SEAL: Final = signal.SIGUSR1
"""The signal by which ``up`` asks for segments of all that is written: a run begins."""
LONGEST_HEAD: Final = 512 * 1024
"""Bytes of a request's head, roughly: what is received at once may hold the end of the request before."""
SECONDS_FOR_A_HEAD: Final = 30.0


class Connection(HttpToolsProtocol):
    """Closes if a head is too long, or takes too long to arrive."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head = 0
        self._in_head = True
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._timer = self.loop.call_later(SECONDS_FOR_A_HEAD, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > LONGEST_HEAD:
                self.transport.close()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._head, self._in_head = 0, True
        if self._timer is None:
            self._timer = self.loop.call_later(SECONDS_FOR_A_HEAD, self.transport.close)

    def on_headers_complete(self) -> None:
        """A head ends."""
        self._in_head = False
        self._end_timer()
        super().on_headers_complete()

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def intake_of(project: str, sources: tuple[EventSource, ...]) -> Intake:
    """Returns the application for the sources of a project."""
    return Intake({each.source.url_path: _route(each) for each in sources}, described(project, sources))


def _route(each: EventSource) -> Route:
    tokens = tokens_of(each, os.environ)
    hide(tokens)
    return Route(
        str(each.table.name),
        EventReader(each.table.columns, each.source.event_id),
        Writer(Segments(each.folder), each.source.max_waiting),
        tokens,
        each.source.takes_bad,
        None if each.source.max_rate is None else Bucket(each.source.max_rate),
        each.source.max_request,
    )


async def _serve(
    intake: Intake, sockets: list[socket.socket], certificate: Path | None = None, key: Path | None = None
) -> bool:
    """Serves until the process is asked to end; returns whether it began."""
    config = uvicorn.Config(
        intake,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        http=Connection,
        ws="none",
        timeout_graceful_shutdown=_GRACE_SECONDS,
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    server = uvicorn.Server(config)
    parent, said = os.getppid(), None
    asyncio.get_running_loop().add_signal_handler(SEAL, intake.seal)
    serving = asyncio.create_task(server.serve(sockets))
    while not serving.done():
        await asyncio.wait([serving], timeout=_LOOK_SECONDS)
        if os.getppid() != parent:
            server.should_exit = True
        elif server.started and (now := IntakeState(True, intake.troubles())) != said:
            said = now
            _say(now)
    await serving
    return server.started


def _say(state: IntakeState) -> None:
    """Reports the state to ``up``, which may have been killed."""
    with suppress(OSError):
        print(json.dumps(asdict(state)), flush=True)


def main() -> int:
    """Parses the command line, and serves."""
    parser = argparse.ArgumentParser(description="Takes events for a project.")
    parser.add_argument("project", type=Path)
    parser.add_argument("--target")
    parser.add_argument("--fd", type=int, action="append", required=True, help="a socket that listens")
    parser.add_argument("--tls-cert", type=Path)
    parser.add_argument("--tls-key", type=Path)
    options = parser.parse_args()
    try:
        project = read_project(options.project, options.target).project
        in_own_program()
        hide(project.secrets)
        intake = intake_of(project.name, event_sources(project))
    except LakesmithError as error:
        _say(IntakeState(problem=str(error)))
        return error.exit_code
    sockets = [socket.socket(fileno=file) for file in options.fd]
    return 0 if asyncio.run(_serve(intake, sockets, options.tls_cert, options.tls_key)) else 1


if __name__ == "__main__":
    sys.exit(main())
