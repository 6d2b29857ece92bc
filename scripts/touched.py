"""Runs the cases that a change can reach, by a recording of which case reaches which line (scripts/reach.py).

    python scripts/touched.py                    # what has changed since the recording, for a minute
    python scripts/touched.py --seconds 600 --list

A changed function is reached by each case that came to one of its lines; of changed files of tests all cases
run. Where they take longer than is asked for, the cheapest run, and the summary says how many were left.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reach import ROOT, Case, Reach

WORKERS: Final = 2
_HUNK: Final = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+", re.MULTILINE)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def changed_lines(commit: str, file: str) -> set[int]:
    """The lines of the recorded file that have changed, with all of the functions that they are in."""
    diff = git("diff", "--unified=0", commit, "--", file)
    changed = {
        line
        for begin, count in _HUNK.findall(diff)
        for line in range(int(begin), int(begin) + max(1, int(count or 1)))
    }
    functions = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(ast.parse(git("show", f"{commit}:{file}")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return changed.union(*(lines for lines in functions if changed.intersection(lines)))


def touched(reach: Reach) -> Iterator[Case]:
    """The cases that what has changed since the recording can reach, some twice."""
    for line in git("diff", "--name-status", "--no-renames", reach.commit).splitlines():
        status, file = line.split("\t")
        if re.fullmatch(r"tests/.*test_\w+\.py", file):
            own = (case.seconds for case in reach.cases.values() if case.name.startswith(f"{file}::"))
            if status != "D":
                yield Case(file, sum(own))
        elif file.startswith("src/lakesmith/") and file.endswith(".py") and status == "M":
            contexts = reach.contexts(file)
            yield from reach.reaching(
                sorted({each for at in changed_lines(reach.commit, file) for each in contexts.get(at, [])})
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recording", type=Path, default=ROOT / "build" / "reach")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the cases may take together")
    parser.add_argument("--list", action="store_true", help="list them, and run none")
    given = parser.parse_args()
    if not (given.recording / "commit").exists():
        print(f"nothing is recorded in {given.recording}: make recording", file=sys.stderr)
        return 2
    found = {case.name: case for case in touched(Reach(given.recording))}
    # A file of tests that has changed runs as a whole.
    found = {
        name: case for name, case in found.items() if "::" not in name or name.partition("::")[0] not in found
    }
    cases = sorted(found.values(), key=lambda it: it.seconds)
    chosen, left = list[Case](), given.seconds * WORKERS
    for case in cases:
        left -= case.seconds
        if left < 0:
            break
        chosen.append(case)
    rest = cases[len(chosen) :]
    print(f"{len(cases)} cases reach what has changed; {len(chosen)} of them run", end="")
    print(f", {len(rest)} of {sum(case.seconds for case in rest):.0f} s do not" if rest else "", flush=True)
    if given.list or not chosen:
        print(*(f"{case.seconds:8.2f} s  {case.name}" for case in cases), sep="\n")
        return 0
    listed = ROOT / "build" / "touched.txt"
    listed.write_text("\n".join(case.name for case in chosen))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--numprocesses",
        str(WORKERS),
        "--dist",
        "loadfile",
        f"@{listed}",
    ]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
