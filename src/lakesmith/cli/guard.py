"""What every command ends with: its exit code, and whatever went wrong in the project's own words.

No command leaves a stack trace on the terminal. What nobody foresaw becomes one line and a log file (LS900).
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from lakesmith.cli.usage import ClickProblem, usage_problem
from lakesmith.errors import LakesmithError, Problem
from lakesmith.execute.unforeseen import DEBUG, unforeseen
from lakesmith.project.definitions import STATE_DIR, Project
from lakesmith.project.scratch import scratch_folder
from lakesmith.redaction import redacted

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the signal's number, as shells count."""

PIPE_CLOSED = 1
"""The exit code when the reader of the output went away, as Click has it and Python's documentation advises."""

_opened: list[Project] = []


def remember(project: Project) -> None:
    """Tells whose secrets must not get into a log, and in which project's folder the log belongs."""
    _opened[:] = [project]


def guarded(call: Callable[[], object], arguments: Sequence[str]) -> int:
    """Calls a command and returns the exit code; errors are shown on stderr, with ``--json`` as data on stdout."""
    try:
        code = _outcome(call, "--json" in arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return _reader_went_away()
    return code


def _outcome(call: Callable[[], object], as_json: bool) -> int:
    try:
        code = call()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        raise
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except typer.Exit as done:
        return done.exit_code
    except LakesmithError as error:
        return _show(error.problems, error.exit_code, as_json)
    except ClickProblem as error:
        return _wrong_call(error, as_json)
    except Exception as error:  # noqa: BLE001 - the last one that can say it decently
        return _show((_unforeseen(error),), 1, as_json)


def _wrong_call(error: Any, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message())
        return 2
    return _show((usage_problem(error),), 2, as_json)


def _show(problems: Sequence[Problem], exit_code: int, as_json: bool) -> int:
    if as_json:
        data = {"problems": [problem.as_dict() for problem in problems], "exit_code": exit_code}
        print(json.dumps(data), flush=True)
    else:
        print("\n".join(line for problem in problems for line in problem.lines()), file=sys.stderr)
    return exit_code


def _reader_went_away() -> int:
    """``| head`` has read enough: Python must not complain of it when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _unforeseen(error: Exception) -> Problem:
    if os.environ.get(DEBUG) == "1":
        print(_redacted("".join(traceback.format_exception(error))), file=sys.stderr)
    return unforeseen(error, _log_folder(), _secrets())


def _log_folder() -> Path | None:
    """Where a stack trace belongs; None outside of a project."""
    if not _opened and not Path(STATE_DIR).is_dir():
        return None
    return scratch_folder(_opened[0].root if _opened else Path()) / "logs"


def _secrets() -> tuple[str, ...]:
    return _opened[0].secrets if _opened else ()


def _redacted(text: str) -> str:
    return redacted(text, _secrets())
