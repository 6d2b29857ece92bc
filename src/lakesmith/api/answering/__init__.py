"""The process that runs the queries of the web page (``__main__``)."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from lakesmith.library_logs import in_own_program


def lines_to_page() -> Callable[[Mapping[str, Any]], None]:
    """Returns a function that writes a line of JSON to the standard output, for the page's process to read.

    Threads may share it. What a library prints goes to the standard error from then on, not between lines,
    and what it logs without secrets.
    """
    in_own_program()
    out, lock = os.fdopen(os.dup(1), "w", encoding="utf-8"), threading.Lock()
    os.dup2(2, 1)

    def tell(said: Mapping[str, Any]) -> None:
        with lock:
            out.write(json.dumps(said) + "\n")
            out.flush()

    return tell
