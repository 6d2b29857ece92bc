"""Finds retired words and over-long lines in the source, the documents and the examples.

    python scripts/words.py                    # everything
    python scripts/words.py src/lakesmith/api  # one folder or file

``scripts/retired_words.txt`` lists the words. Lines of Python have at most 110 characters, lines of prose at
most 120. Code blocks, tables, headings and images of Markdown may be longer. Exits 1 if it finds anything.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("src", "docs", "examples", "benchmarks", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
WIDTHS = {".py": 110, ".md": 120}
SUFFIXES = {".py", ".md", ".yaml", ".sql"}
RETIRED = ROOT / "scripts" / "retired_words.txt"


def retired() -> list[tuple[re.Pattern[str], str]]:
    """Returns the retired words, each as a pattern with its replacement."""
    lines = (line for line in RETIRED.read_text(encoding="utf-8").splitlines() if line and line[0] != "#")
    pairs = (line.split(" -> ") for line in lines)
    return [(re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE), better) for words, better in pairs]


def files(places: list[str]) -> Iterator[Path]:
    """Yields the text files in ``places``, without data in landing folders and built files."""
    for place in map(Path, places):
        found = place.rglob("*") if place.is_dir() else [place]
        yield from (path for path in sorted(found) if path.suffix in SUFFIXES and path.is_file())


def findings(path: Path, words: list[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    """Yields a line of text for each retired word and each over-long line of a file."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        for pattern, better in words:
            for match in pattern.finditer(line):
                yield f"{path}:{number}: '{match[0]}': {better}"
        free = path.suffix == ".md" and (fenced or line.startswith(("|", "#", "```", "<", "![")))
        if len(line) > WIDTHS.get(path.suffix, 1000) and not free:
            yield f"{path}:{number}: {len(line)} characters, at most {WIDTHS[path.suffix]}"


def main(places: list[str]) -> int:
    """Prints what is found in ``places``, by default in all of PLACES. Returns the exit code."""
    words = retired()
    found = [text for path in files(places or list(PLACES)) for text in findings(path, words)]
    print("\n".join(found) or "no retired words, no line too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
