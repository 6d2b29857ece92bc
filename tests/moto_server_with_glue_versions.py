"""Runs moto as S3 and Glue until its input ends. Arguments: PORT_FILE [REQUESTS_FILE].

With a second file it writes down there what it is asked: a line for each request, as METHOD, path with its
query, and range (of Glue, whose requests all have the same path: what is called, such as
``AWSGlue.GetTable``).

Glue refuses to update a table for one who names another version of it than the one it has: the catalogs that
commit to Glue rest on that. Moto takes every update, and of writers at once it loses commits. So this is
taught to it here.
"""

import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult
from moto.glue.responses import GlueResponse
from moto.moto_server import threaded_moto_server
from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.moto_server.werkzeug_app import DomainDispatcherApplication

from lakesmith.whole_file import write_whole

_one_at_a_time = threading.Lock()
_update_whatever_it_has = GlueResponse.update_table


def update_table(call: GlueResponse) -> ActionResult:
    """Glue's ``UpdateTable``: with a ``VersionId`` only if the table still has it; without one always."""
    database, table = call.parameters["DatabaseName"], call.parameters["TableInput"]["Name"]
    expected = call.parameters.get("VersionId")
    with _one_at_a_time:
        has = call.glue_backend.get_table(database, table).as_dict()["VersionId"]
        if expected not in (None, has):
            raise JsonRESTError(
                "ConcurrentModificationException", f"{database}.{table} has version {has}, not {expected}"
            )
        return _update_whatever_it_has(call)


class WritingDown(DomainDispatcherApplication):
    """The server's application, which writes each request down before it answers it."""

    def __init__(self, create_app: Any, file: Path) -> None:
        super().__init__(create_app)
        self._file, self._lock = file.open("a"), threading.Lock()

    def __call__(self, environ: Any, start_response: Any) -> Any:
        asked = environ["PATH_INFO"].encode("latin-1").decode() + "?" + environ.get("QUERY_STRING", "")
        more = environ.get("HTTP_RANGE", "") or environ.get("HTTP_X_AMZ_TARGET", "")
        line = " ".join((environ["REQUEST_METHOD"], quote(asked, "/?&=%-"), more))
        with self._lock:
            print(line.rstrip(), file=self._file, flush=True)
        return super().__call__(environ, start_response)


def main(port_file: Path, requests: Path | None = None) -> None:
    """Serves on a free port of loopback, which it writes to a file when it answers."""
    if requests is not None:
        application: Any = lambda create_app: WritingDown(create_app, requests)  # noqa: E731
        threaded_moto_server.DomainDispatcherApplication = application
    GlueResponse.update_table = update_table  # type: ignore[method-assign]
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    write_whole(port_file, str(server.get_host_and_port()[1]))
    sys.stdin.read()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
