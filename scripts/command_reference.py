"""Writes docs/reference/commands.md from the command line's own options and help texts.

    python scripts/command_reference.py docs/reference

A test checks that the page is current.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from typer.main import get_command

from lakesmith.cli import commands

PAGE: Final = "commands.md"
_COMMON: Final = ("project", "target", "json")
_KINDS: Final = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}
_INTRODUCTION: Final = """# Commands

<!-- generated: python scripts/command_reference.py docs/reference -->

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


def page() -> str:
    """Returns the text that docs/reference/commands.md must have."""
    names = sorted(commands.COMMANDS)
    overview = ["| command | does |", "|---|---|"]
    overview += [f"| [`{name}`](#{name}) | {commands.COMMANDS[name]} |" for name in names]
    sections = [line for name in names for line in _section(name)]
    return "\n".join([_INTRODUCTION, *overview, "", *sections])


def _section(name: str) -> Iterator[str]:
    command = get_command(import_module(f"{commands.__name__}.{name}").app)
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
    options = [p for p in command.params if p.param_type_name == "option" and p.name not in _COMMON]
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
    """Writes the page into the folder that is named. Returns the exit code."""
    (folder,) = arguments
    (Path(folder) / PAGE).write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
