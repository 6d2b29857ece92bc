"""The parts of every command: its options, its Lakehouse, its questions and its output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import typer

from lakesmith.api.access import Host
from lakesmith.api.lakehouse import Lakehouse
from lakesmith.api.results import Change, P, R, Result
from lakesmith.cli.guard import remember
from lakesmith.errors import UsageError

ProjectOption = Annotated[Path, typer.Option("--project", help="The project's folder.", show_default=False)]
TargetOption = Annotated[
    str | None, typer.Option("--target", help="The target to use; its default otherwise.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print data instead of text.")]
SelectArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Tables: bronze.orders, silver.*, +gold.x (and upstream), x+ (and downstream)."),
]
JUnitOption = Annotated[
    Path | None,
    typer.Option("--junit", help="Write the results as JUnit XML to this file.", show_default=False),
]
TableArgument = Annotated[str, typer.Argument(help="A table: bronze.orders.", show_default=False)]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
WaitOption = Annotated[float, typer.Option(help="Seconds to wait for another run of this project.")]
FormatOption = Annotated[str, typer.Option("--format", help="table, json or csv.")]
RowsOption = Annotated[
    int | None,
    typer.Option("--limit", min=0, help="How many rows; 0: all. A table shows 100.", show_default=False),
]
HERE = Path()


def command_app() -> typer.Typer:
    """The app of a command's file; the command's help is in ``commands.COMMANDS``."""
    return typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


def open_lake(root: Path, target: str | None, progress: Callable[[str], None] | None = None) -> Lakehouse:
    """Opens the project for a command; the project itself is read by the calls."""
    busy = _busy if progress is None else _no_line
    host = Host(note, busy, progress, reuses=True, keeps_warm=_keeps_warm(), patience=None)
    lake = Lakehouse(root, target, host=host)
    remember(lake.access)
    return lake


def _keeps_warm() -> bool | Literal["if declared"]:
    """Whether a person sees what this command prints and may give another one; otherwise as declared."""
    if os.environ.get("CI"):
        return False
    return True if sys.stdout.isatty() and sys.stderr.isatty() else "if declared"


def say(text: str) -> None:
    print(text, flush=True)


def note(text: str) -> None:
    """Prints a line on stderr, so that it never mixes with what a command prints."""
    print(text, file=sys.stderr, flush=True)


def note_if_watched(text: str) -> None:
    """As ``note``, if a person sees it."""
    if sys.stderr.isatty():
        note(text)


def _busy(text: str) -> AbstractContextManager[object]:
    """A live line on stderr, so that it never mixes with what a command prints."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(text)


def _no_line(_text: str) -> AbstractContextManager[object]:
    """The command has a live line of its own."""
    return nullcontext()


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
    change: Change[P, R], question: str, yes: bool, as_json: bool, declined: str, losses: Iterable[str] = ()
) -> R | None:
    """Shows what a change loses, asks, and makes it. If the person declines, says ``declined``: None."""
    if not as_json:
        print("".join(f"{line}\n" for line in losses), end="", flush=True)
    if agreed(question, yes, as_json):
        return change.apply()
    print(declined)
    return None


def show(result: T, as_json: bool, lines: Callable[[T], Iterable[str]]) -> None:
    """Prints a result as JSON, or as the ``lines`` that a person reads."""
    print(json.dumps(result.to_dict(), indent=2) if as_json else "\n".join(lines(result)))
