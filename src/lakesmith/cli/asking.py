"""Questions to the person at the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from typing import TypeVar

import typer

from lakesmith.api.results import Change, P, R, Result
from lakesmith.errors import UsageError

T = TypeVar("T", bound=Result)


def asks() -> bool:
    """Whether a person at a terminal can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def agreed(question: str, yes: bool, as_json: bool) -> bool:
    """Asks whether something may be done, unless ``yes``. Raises UsageError LS227 without a terminal."""
    if yes:
        return True
    if as_json or not asks():
        expected, hint = "a terminal to confirm on, or --yes", "add --yes to confirm"
        raise UsageError.of("LS227", question, None, expected, "no terminal", hint)
    return typer.confirm(question)


def apply_agreed(
    change: Change[P, R], question: str, yes: bool, as_json: bool, losses: Iterable[str] = ()
) -> R | None:
    """Shows what a change loses, asks, and makes it; None if the person declined."""
    if not as_json:
        print("".join(f"{line}\n" for line in losses), end="", flush=True)
    return change.apply() if agreed(question, yes, as_json) else None


def show(result: T, as_json: bool, lines: Callable[[T], Iterable[str]]) -> None:
    """Prints a result as JSON, or as the ``lines`` that a person reads."""
    print(json.dumps(result.to_dict(), indent=2) if as_json else "\n".join(lines(result)))
