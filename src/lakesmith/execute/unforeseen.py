"""What nobody foresaw: reported in one line (LS900), with its stack trace in a file of the project's logs.

What the machine denies (``circumstances``) is reported the same way, with a code of its own.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from lakesmith.errors import Problem
from lakesmith.execute.circumstances import circumstance
from lakesmith.project.definitions import Project, TableDefinition
from lakesmith.project.files import scratch_folder
from lakesmith.redaction import redacted

DEBUG = "LAKESMITH_DEBUG"
"""Set to 1: an error nobody foresaw is shown with its stack trace."""
_US = "lakesmith"


def unforeseen(error: Exception, folder: Path | None, secrets: Iterable[str], who: str = _US) -> Problem:
    """Returns LS900 with the exception's text and the file of its stack trace (None: not written); of what
    the machine denied the problem that says so."""
    said = redacted(str(error), secrets).strip().splitlines() or [""]
    log = _logged(redacted("".join(traceback.format_exception(error)), secrets), folder, secrets)
    if (denied := circumstance(error)) is not None:
        what = f"{who}: {denied.what}" if who != _US else denied.what
        text = f"{what}: {said[0][:300] or type(error).__name__}"
        return Problem(denied.code, text, found=log, hint=denied.hint)
    return Problem(
        "LS900",
        f"{who} failed in a way nobody foresaw: {type(error).__name__}: {said[0][:300]}",
        found=log,
        hint=f"please report it with that file; {DEBUG}=1 shows the stack trace here",
    )


def unforeseen_of(error: Exception, table: TableDefinition, project: Project) -> Problem:
    """As ``unforeseen``, of one table: the others go on."""
    problem = unforeseen(error, scratch_folder(project.root) / "logs", project.secrets, str(table.name))
    if os.environ.get(DEBUG) == "1":
        print(redacted("".join(traceback.format_exception(error)), project.secrets), file=sys.stderr)
    return replace(problem, place=table.place)


def _logged(trace: str, folder: Path | None, secrets: Iterable[str]) -> str | None:
    """Where the stack trace was written, after the others of this process; None when it could not be."""
    if folder is None:
        return None
    file = folder / _log_name(os.getpid())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as log:
            log.write(f"{redacted(' '.join(sys.argv), secrets)}\n\n{trace}\n")
    except OSError:
        return None
    return f"the stack trace is in {file}"


@cache
def _log_name(process: int) -> str:
    return f"error-{datetime.now(UTC):%Y%m%dT%H%M%S}-{process}.log"
