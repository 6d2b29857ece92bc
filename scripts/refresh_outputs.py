"""Runs the commands printed in READMEs and in the tutorial, and updates the output printed below them.

    python scripts/refresh_outputs.py examples/customer-orders            # writes what the commands print
    python scripts/refresh_outputs.py docs/tutorial.md                    # the same for a page without a
    folder python scripts/refresh_outputs.py --check examples/* docs/tutorial.md # exits 1 with a diff if
    anything differs python scripts/refresh_outputs.py --tour README.md examples/*         # also copies
    transcripts into README.md

Every fenced ``console`` block of a page is a transcript: lines that begin with ``$ `` are commands (``> ``
continues the command above), the other lines are output. All commands of a page run in order, in one bash,
with standard output and error together: those of ``FOLDER/README.md`` in a fresh copy of the folder, those of
another page in an empty folder. A command that fails is an error.

The comparison ignores what differs between two runs: ids, current times, durations, sizes, and the widths of
tables. A block that differs only in these is not rewritten. Times up to 2024 are data and are compared.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

BLOCK = re.compile(r"(?P<open>^```console\n)(?P<body>.*?)(?P<close>^```$)", re.DOTALL | re.MULTILINE)
MARK = "\x1eoutput-ends:"
TIMEOUT_SECONDS = 900

# What differs between two runs of the same thing, and what stands for it. Applied in order.
VOLATILE = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d{16,20}\b"), "<id>"),
    (re.compile(r"\b[0-9a-f]{16}\.json\b"), "<id>.json"),
    (
        re.compile(
            r"\b20(2[5-9]|[3-9]\d)-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?( ?(Z|UTC|[+-]\d\d:?\d\d))?"
        ),
        "<time>",
    ),
    (re.compile(r"\b(\d+ (min|h) )?\d+(\.\d+)? ?(ms|s|min|h)\b"), "<duration>"),
    (re.compile(r"\b\d+(\.\d+)? ?([kKMG]i?)?B\b"), "<size>"),
    (re.compile(r"\bpid \d+\b"), "pid <pid>"),
    (re.compile(r"[ \t─━═-]{2,}"), " "),
)

OF_A_TABLE = re.compile(r"([a-z]\w*\.[a-z]\w*[: ]|\d+ rows? of )")


class OutputError(Exception):
    """A command of a README failed, or did not end."""


@dataclass(frozen=True)
class Command:
    """One command as printed, its lines with their prompts, and the lines of output printed below it."""

    printed: tuple[str, ...]
    output: tuple[str, ...]

    @property
    def script(self) -> str:
        """What bash is given: the lines without their prompts."""
        return "\n".join(line[2:] for line in self.printed)


def parse_block(body: str) -> list[Command]:
    """The commands of one block. Raises OutputError when there is output before the first one."""
    commands: list[Command] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            commands.append(Command((line,), ()))
        elif not commands:
            raise OutputError(f"a console block begins with output: {line!r}")
        elif line.startswith("> ") and not commands[-1].output:
            commands[-1] = Command((*commands[-1].printed, line), ())
        else:
            commands[-1] = Command(commands[-1].printed, (*commands[-1].output, line))
    return commands


def render_block(commands: Iterable[Command]) -> str:
    """The block's text again."""
    return "".join(f"{line}\n" for command in commands for line in (*command.printed, *command.output))


def normalise(lines: Iterable[str]) -> list[str]:
    """The lines without what differs from run to run."""
    result = []
    for line in lines:
        for pattern, stands_for in VOLATILE:
            line = pattern.sub(stands_for, line)
        result.append(line.strip())
    return _sorted_tables([line for line in result if line])


def _sorted_tables(lines: Iterable[str]) -> list[str]:
    """Lines on tables that follow each other, sorted: tables are worked on side by side, and either may be
    the first.
    """
    groups = groupby(lines, key=lambda line: OF_A_TABLE.match(line) is not None)
    return [line for of_tables, group in groups for line in (sorted(group) if of_tables else group)]


def run_commands(folder: Path, commands: Sequence[Command]) -> list[tuple[str, ...]]:
    """Returns what each command prints, run in order in one bash in a copy of ``folder``, or for a file in an
    empty folder.

    Raises OutputError naming the first command that fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch).resolve() / folder.resolve().name
        if folder.is_dir():
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(".lakesmith", "__pycache__"))
        else:
            copy.mkdir()
        script = "\n".join(f"{command.script}\nprintf '\\n{MARK}%d\\n' $?" for command in commands)
        printed = _bash(script, copy)
        return _outputs(printed.replace(f"{copy.parent}{os.sep}", ""), commands)


def _bash(script: str, folder: Path) -> str:
    # The lakesmith that is run is the one of this Python, and it prints as to a file: plain lines, 120 wide.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "120", "NO_COLOR": "1", "TZ": "UTC"}
    try:
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=folder, env=environment, text=True, timeout=TIMEOUT_SECONDS, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        raise OutputError(f"the commands did not end in {TIMEOUT_SECONDS} s") from expired
    return done.stdout


def _outputs(printed: str, commands: Sequence[Command]) -> list[tuple[str, ...]]:
    *parts, rest = re.split(rf"\n{MARK}(\d+)\n", printed)
    outputs = []
    for command, text, code in zip(commands, parts[::2], parts[1::2], strict=False):
        if code != "0":
            raise OutputError(f"exit {code} of: {command.script}\n{text}")
        outputs.append(tuple(line.rstrip() for line in text.rstrip().splitlines()))
    if len(outputs) < len(commands):
        raise OutputError(f"ended by itself: {commands[len(outputs)].script}\n{rest}")
    return outputs


def refreshed(folder: Path, text: str) -> str:
    """The README's text with what its commands print now, where that differs in more than what always
    does.
    """
    blocks = [parse_block(match["body"]) for match in BLOCK.finditer(text)]
    outputs = iter(run_commands(folder, [command for block in blocks for command in block]))
    renewed = iter([[_renewed(command, next(outputs)) for command in block] for block in blocks])
    return BLOCK.sub(lambda match: match["open"] + render_block(next(renewed)) + match["close"], text)


def _renewed(command: Command, output: tuple[str, ...]) -> Command:
    same = normalise(command.output) == normalise(output)
    return command if same else Command(command.printed, output)


def refresh(folder: Path, check: bool) -> bool:
    """Refreshes, or with ``check`` compares, a page or ``folder/README.md``. Returns whether it was
    current.
    """
    readme = folder / "README.md" if folder.is_dir() else folder
    before = readme.read_text(encoding="utf-8")
    after = refreshed(folder, before)
    if check:
        names = (f"{readme} as printed", f"{readme} as it runs")
        differing = difflib.unified_diff(before.splitlines(True), after.splitlines(True), *names)
        sys.stdout.write("".join(differing))
    elif before != after:
        readme.write_text(after, encoding="utf-8")
    return before == after


def copy_blocks(page: Path, walks: Iterable[Path]) -> None:
    """Gives each block of ``page`` the text of the block with the same commands in one of the walks."""
    blocks = [match[0] for walk in walks for match in BLOCK.finditer(walk.read_text(encoding="utf-8"))]
    by_commands = {_commands(block): block for block in blocks}
    text = page.read_text(encoding="utf-8")
    copied = BLOCK.sub(lambda match: by_commands.get(_commands(match[0]), match[0]), text)
    page.write_text(copied, encoding="utf-8")


def _commands(block: str) -> tuple[str, ...]:
    return tuple(line for line in block.splitlines() if line.startswith("$ "))


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(description="Keeps the output printed in READMEs true.")
    parser.add_argument("folders", nargs="+", type=Path, help="folders with a README.md, or pages")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the output differs")
    parser.add_argument("--side-by-side", type=int, default=1, metavar="N", help="so many pages at once")
    parser.add_argument(
        "--tour", type=Path, help="a page whose transcripts are copied from the folders' READMEs"
    )
    options = parser.parse_args(arguments)
    try:
        with ThreadPoolExecutor(options.side_by_side) as pool:
            true = list(pool.map(lambda folder: refresh(folder, options.check), options.folders))
    except OutputError as error:
        print(error, file=sys.stderr)
        return 2
    if options.tour and not options.check:
        copy_blocks(options.tour, [folder / "README.md" for folder in options.folders if folder.is_dir()])
    return 0 if all(true) or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
