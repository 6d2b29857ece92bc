"""The process of the intake: ``python -m lakesmith.serve.server``. It has no JVM, and outlives those that end and begin beside it.

It ends, with all that it has acknowledged sealed, when it is told to (SIGTERM) or when the process that started it is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from lakesmith.api.opened import read_project
from lakesmith.serve.intake.app import Intake, Route
from lakesmith.serve.intake.events import EventReader
from lakesmith.serve.intake.rate import Bucket
from lakesmith.serve.intake.segments import Segments
from lakesmith.serve.intake.writer import Writer
from lakesmith.serve.openapi import described
from lakesmith.serve.routes import EventSource, event_sources, tokens_of

_PARENT_SECONDS: Final = 1.0
_GRACE_SECONDS: Final = 5
"""How long requests that are under way are waited for at the end; what was acknowledged is sealed in any case."""


def intake_of(project: str, sources: tuple[EventSource, ...]) -> Intake:
    """The application that takes events for these sources of a project."""
    return Intake({each.endpoint.path: _route(each) for each in sources}, described(project, sources))


def _route(each: EventSource) -> Route:
    return Route(
        str(each.table.name),
        EventReader(each.table.columns, each.endpoint.event_id),
        Writer(Segments(each.folder), each.endpoint.max_waiting),
        tokens_of(each, os.environ),
        each.endpoint.takes_bad,
        None if each.endpoint.max_rate is None else Bucket(each.endpoint.max_rate),
        each.endpoint.max_request,
    )


async def _serve(
    intake: Intake, host: str, port: int, certificate: Path | None = None, key: Path | None = None
) -> bool:
    """Serves until it is told to end; whether it could begin."""
    import uvicorn

    from lakesmith.serve.connection import Connection

    config = uvicorn.Config(
        intake,
        host=host,
        port=port,
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
    parent = os.getppid()
    serving = asyncio.create_task(server.serve())
    while not serving.done():
        await asyncio.wait([serving], timeout=_PARENT_SECONDS)
        if os.getppid() != parent:
            server.should_exit = True
    await serving
    return server.started


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Takes events for a project.")
    parser.add_argument("project", type=Path)
    parser.add_argument("--target")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--tls-cert", type=Path)
    parser.add_argument("--tls-key", type=Path)
    options = parser.parse_args()
    project = read_project(options.project, options.target).project
    intake = intake_of(project.name, event_sources(project))
    tls = options.tls_cert, options.tls_key
    return 0 if asyncio.run(_serve(intake, options.host, options.port, *tls)) else 1


if __name__ == "__main__":
    sys.exit(main())
