"""Prints the size of the source and of the tests, and exits 1 if a limit is exceeded: python
scripts/house.py.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHORT_FILE = 60
LONG_LINE = 110

LIMITS = {
    # The goal for the lines of source is 55,400. What grows by a feature is taken from somewhere else.
    "lines of source": 86_500,
    "files of source": 563,
    f"files under {SHORT_FILE} lines": 20,
    "files in the largest folder": 28,
    "lines of the largest file": 420,
    "lines of tests": 72_300,
    f"lines over {LONG_LINE} characters": 0,
}


def measure(root: Path) -> dict[str, tuple[int, str]]:
    """Returns for each name in LIMITS the number found, and where it was found if it has a place."""
    source = _lines(root / "src")
    tests = _lines(root / "tests")
    scripts = _lines(root / "scripts") | _lines(root / "benchmarks")
    folders = Counter(path.parent for path in source)
    longest, folder = max(source, key=lambda path: len(source[path])), folders.most_common(1)[0]
    long_lines = _over_long(source | tests | scripts)
    numbers = (
        (sum(map(len, source.values())), ""),
        (len(source), ""),
        (sum(len(lines) < SHORT_FILE for path, lines in source.items() if not _may_be_short(path)), ""),
        (folder[1], str(folder[0].relative_to(root))),
        (len(source[longest]), str(longest.relative_to(root))),
        (sum(map(len, tests.values())), ""),
        (sum(long_lines.values()), _most(long_lines, root)),
    )
    return dict(zip(LIMITS, numbers, strict=True))


def _may_be_short(path: Path) -> bool:
    """Whether the file is a package's head, a command or a format, which are as long as they need to be."""
    return path.name == "__init__.py" or path.parent.name in ("commands", "formats")


def _lines(folder: Path) -> dict[Path, list[str]]:
    return {path: path.read_text(encoding="utf-8").splitlines() for path in sorted(folder.rglob("*.py"))}


def _over_long(files: dict[Path, list[str]]) -> Counter[Path]:
    return Counter({path: sum(len(line) > LONG_LINE for line in lines) for path, lines in files.items()})


def _most(counted: Counter[Path], root: Path) -> str:
    path, number = counted.most_common(1)[0]
    return f"most of them, {number}, in {path.relative_to(root)}" if number else ""


def main() -> int:
    """Prints one line per limit. Returns the exit code."""
    exceeded = 0
    for name, (number, place) in measure(ROOT).items():
        verdict = "ok" if number <= LIMITS[name] else "OVER"
        exceeded += number > LIMITS[name]
        print(f"{verdict:4}  {number:>6,} of {LIMITS[name]:>6,}  {name}{f': {place}' if place else ''}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
