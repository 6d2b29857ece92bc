"""Wrong calls of the command line: unknown commands and options with the nearest one."""

from __future__ import annotations

from typing import Any

import typer

from lakesmith.api.words import listed, nearest
from lakesmith.errors import Problem

ClickUsageError: Any = typer.BadParameter.__mro__[1]
ClickProblem: Any = ClickUsageError.__mro__[1]
"""The base of Click's errors, found through Typer: newer versions bring a Click of their own."""


def usage_problem(error: Any) -> Problem:
    """What is wrong with a call: LS202 an unknown command, LS203 an unknown option, LS204 anything else."""
    context = getattr(error, "ctx", None)
    path = str(getattr(context, "command_path", "lakesmith"))
    help_hint = f"{path} --help shows what there is"
    option = getattr(error, "option_name", None)
    if option is not None and type(error).__name__ == "NoSuchOption":
        return Problem(
            "LS203", f"{path} has no option {option}", hint=_meant(option, _options(context), help_hint)
        )
    message = str(error.format_message()).rstrip(".")
    if message.startswith("No such command"):
        name = message.split("'")[1]
        known = _commands(context)
        expected = listed(known, most=40)
        return Problem(
            "LS202", f"{path} has no command {name}", None, expected, hint=_meant(name, known, help_hint)
        )
    return Problem("LS204", _uncapitalised(message), hint=help_hint)


def _meant(name: str, known: list[str], otherwise: str) -> str:
    found = nearest(name, known)
    return f"did you mean {found}?" if found else otherwise


def _commands(context: Any) -> list[str]:
    return sorted(getattr(getattr(context, "command", None), "commands", {}) or {})


def _options(context: Any) -> list[str]:
    parameters = getattr(getattr(context, "command", None), "params", ())
    return sorted(option for parameter in parameters for option in parameter.opts if option.startswith("-"))


def _uncapitalised(message: str) -> str:
    first = " ".join(message.split())
    return first[:1].lower() + first[1:] if first else "the call is wrong"
