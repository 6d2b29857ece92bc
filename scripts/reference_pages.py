"""Writes two reference pages: commands.md from the command line's options and help texts, errors.md from the
error codes.

    python scripts/reference_pages.py docs/reference

A test checks that the pages are current.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from typer.main import get_command

from lakesmith.cli import commands
from lakesmith.errors import ErrorCode, error_codes

_COMMON: Final = ("project", "target", "json")
_KINDS: Final = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}
_INTRODUCTION: Final = """# Commands

<!-- generated: python scripts/reference_pages.py docs/reference -->

`lakesmith --help` lists the commands, and `lakesmith COMMAND --help` shows one of them.

Most commands take these options:

| option | meaning |
|---|---|
| `--project PATH` | The project's folder; by default the current one. |
| `--target TEXT` | The target to use; by default the project's `default_target`. |
| `--json` | Print data instead of text. |

Exit codes:

| code | meaning |
|---|---|
| 0 | Fine, or nothing to do. |
| 1 | A table failed, or something was found that needs attention. |
| 2 | The project or the call is wrong, or the machine lacks something. |
| 3 | A quality rule stopped the publishing. |
| 130 | Interrupted. |

An error begins with its code, such as LS601. `lakesmith explain LS601` says what it means, and so does the
[list of errors](errors.md).
"""

_ERRORS: Final = """# Errors

<!-- generated: python scripts/reference_pages.py docs/reference -->

A message has up to five parts: the code with the place (file and line) and what is wrong, what was
expected, what was found, and what to do. `lakesmith explain LS601` prints the entry of a code. A code never
changes its meaning.
"""
_GROUPS: Final = {
    "1": ("The project's files", 2),
    "2": ("The call", 2),
    "3": ("The machine and the target", 2),
    "4": ("Sources", 1),
    "5": ("The state of tables", 1),
    "6": ("Spark and publishing", 1),
    "7": ("Others at work", 1),
    "8": ("Quality rules", 3),
    "9": ("Defects", 1),
}


def pages() -> dict[str, str]:
    """Returns the names of the pages, and the texts that they must have."""
    return {"commands.md": _commands(), "errors.md": "\n".join(_errors())}


def _errors() -> Iterator[str]:
    yield _ERRORS
    for digit, (title, exit_code) in _GROUPS.items():
        yield from (f"## {title}: LS{digit}xx", "", f"The exit code is {exit_code}.", "")
        for each in error_codes().values():
            if each.code[2] == digit:
                yield from _entry(each)


def _entry(each: ErrorCode) -> Iterator[str]:
    yield from (f"### {each.code}", "", f"**{each.meaning}**", "")
    for title, text in (("Cause", each.cause), ("What to do", each.fix)):
        if text:
            yield from (*textwrap.wrap(f"{title}: {text}", 118, break_on_hyphens=False), "")


def _commands() -> str:
    names = sorted(commands.COMMANDS)
    overview = ["| command | does |", "|---|---|"]
    overview += [f"| [`{name}`](#{name}) | {commands.COMMANDS[name]} |" for name in names]
    sections = [line for name in names for line in _section(name)]
    return "\n".join([_INTRODUCTION, *overview, "", *sections])


def _section(name: str) -> Iterator[str]:
    command = get_command(commands.app_of(name))
    yield from (f"## {name}", "", commands.COMMANDS[name], "")
    for below in getattr(command, "commands", {}).values():
        yield from (
            f"### {name} {below.name}",
            "",
            _sentence(below.help),
            "",
            *_usage(f"{name} {below.name}", below),
        )
    if not hasattr(command, "commands"):
        yield from _usage(name, command)


def _usage(name: str, command: Any) -> Iterator[str]:
    """Yields the synopsis of a command and a table of what it takes beside the common options."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    shown = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    options = [p for p in shown if p.name not in _COMMON]
    words = [
        name,
        *map(_argument, arguments),
        *(["[OPTIONS]"] if len(command.params) > len(arguments) else []),
    ]
    yield from ("```sh", f"lakesmith {' '.join(words)}", "```", "")
    shown = [(p, _bare(p)) for p in arguments] + [(p, _option(p)) for p in options]
    if shown:
        yield from ("| takes | meaning |", "|---|---|")
        yield from (f"| `{text}` | {_meaning(p)} |" for p, text in shown)
        yield ""
    lacking = [f"`--{name}`" for name in _COMMON if name not in {p.name for p in command.params}]
    if lacking:
        yield from (f"Not taken: {', '.join(lacking)}.", "")


def _bare(parameter: Any) -> str:
    return f"{parameter.name.upper()}{'...' if parameter.nargs == -1 else ''}"


def _argument(parameter: Any) -> str:
    return _bare(parameter) if parameter.required else f"[{_bare(parameter)}]"


def _option(parameter: Any) -> str:
    names = ", ".join(parameter.opts)
    return names if parameter.is_flag else f"{names} {_kind(parameter)}"


def _kind(parameter: Any) -> str:
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) is not None:
        annotation = get_args(annotation)[0]
    return parameter.metavar or _KINDS.get(annotation, "TEXT")


def _meaning(parameter: Any) -> str:
    text = _sentence(parameter.help)
    repeatable = " Can be given several times." if getattr(parameter, "multiple", False) else ""
    default = parameter.default
    shown = parameter.show_default and default not in (None, False, (), []) and parameter.name not in _COMMON
    return f"{text}{repeatable}{f' Default: `{default}`.' if shown else ''}".replace("|", r"\|")


def _sentence(text: str | None) -> str:
    return "" if not text else text if text[-1] in ".!?" else f"{text}."


def main(arguments: list[str]) -> int:
    """Writes the pages into the folder that is named. Returns the exit code."""
    (folder,) = arguments
    for name, text in pages().items():
        (Path(folder) / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
