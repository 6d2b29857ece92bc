"""Runs moto, which plays S3 and Glue, until its input ends: ``python moto_server_with_glue_versions.py PORT_FILE``.

Glue refuses to update a table for one who names another version of it than the one it has: the catalogs that commit to
Glue rest on that. Moto takes every update, and of writers at once it loses commits. So this is taught to it here.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult
from moto.glue.responses import GlueResponse
from moto.moto_server.threaded_moto_server import ThreadedMotoServer

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


def main(port_file: Path) -> None:
    """Serves on a free port of loopback, which it writes to a file when it answers."""
    GlueResponse.update_table = update_table  # type: ignore[method-assign]
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    write_whole(port_file, str(server.get_host_and_port()[1]))
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
