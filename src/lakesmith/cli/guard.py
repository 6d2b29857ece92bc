"""The end of every command: its exit code, and its errors in the project's own words.

No command leaves a stack trace on the terminal. What nobody foresaw becomes one line and a log file (LS900).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from lakesmith.errors import LakesmithError, Problem
from lakesmith.library_logs import in_own_program

if TYPE_CHECKING:
    from lakesmith.api.access import Access

INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the signal's number, as shells count."""

PIPE_CLOSED = 1
"""The exit code when the reader of the output went away, as Python's documentation advises."""

_opened: list[Access] = []


def remember(access: Access) -> None:
    """Notes the project of the command: its secrets stay out of logs, and the log is in its folder."""
    in_own_program()
    _opened[:] = [access]


def guarded(call: Callable[[], object], arguments: Sequence[str]) -> int:
    """Calls a command and returns the exit code; shows errors on stderr, with ``--json`` on stdout."""
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
    # Imported here: nearly no command needs it.
    from lakesmith.api.access import unforeseen_in

    return unforeseen_in(_opened[0] if _opened else None, error)


ClickUsageError: Any = typer.BadParameter.__mro__[1]
ClickProblem: Any = ClickUsageError.__mro__[1]
"""The base of Click's errors, found through Typer: newer versions bring a Click of their own."""


def usage_problem(error: Any) -> Problem:
    """What is wrong with a call, in the words of Typer, which names what was probably meant: LS204."""
    path = getattr(getattr(error, "ctx", None), "command_path", "lakesmith")
    message = str(error.format_message()).rstrip(".")
    return Problem("LS204", _uncapitalised(message), hint=f"{path} --help shows what there is")


def _uncapitalised(message: str) -> str:
    first = " ".join(message.split())
    return first[:1].lower() + first[1:] if first else "the call is wrong"
