"""Cases by turns: what the suite of one commit runs of its long tail of cases, so that it answers in minutes.

Most end-to-end cases hold one value, one kind of file or one order of events that once went wrong. They are
marked ``in_turn``. A commit runs one part of them, chosen by its hash, besides all that is not marked;
``LAKESMITH_PART=all`` (``make test-all``) runs them all, and so does a call that names files. Each part is
the same wherever the commit is tested.

    pytestmark = pytest.mark.in_turn                  # case by case
    pytestmark = pytest.mark.in_turn("file")          # cases that share a lake: the file as a whole
    @pytest.mark.in_turn(of=3)  # every third commit: what is long, and not one of many alike
    @pytest.mark.in_turn(of=turns.PARTS)  # what takes minutes
    @pytest.mark.always  # one of such a file that each commit runs
"""

import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from zlib import crc32

PARTS: Final = 180
USUAL: Final = 60
"""So many commits, on average, have every case once; PARTS of them those of ``of=turns.PARTS``."""
ALL: Final = "all"


def part_of(environment: Mapping[str, str], root: Path) -> int | None:
    """The part to run, from 0; None: all of them.

    Raises ValueError where ``LAKESMITH_PART`` is no part.
    """
    declared = environment.get("LAKESMITH_PART")
    if declared == ALL:
        return None
    if declared is not None:
        return _declared(declared)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    return crc32(head.stdout.encode()) % PARTS if head.returncode == 0 else None


def due(marked: Sequence[tuple[str, bool]], part: int, of: int = USUAL) -> list[bool]:
    """Which of the marked cases run with this part. A case: its id, and whether its file goes as a whole.

    ``of``: they come back after so many parts, which divides PARTS.

    The cases of a file are dealt out one after the other, so that parts have as many of each file as they
    can; each file begins with another part.
    """
    dealt: Counter[str] = Counter()
    found = []
    for node, together in marked:
        file = node.split("::", maxsplit=1)[0]
        turn = crc32(file.encode()) + (0 if together else dealt[file])
        dealt[file] += 1
        found.append(turn % of == part % of)
    return found


def said(part: int | None) -> str:
    if part is None:
        return "cases in turn: all"
    return f"cases in turn: part {part} of 0 to {PARTS - 1} (LAKESMITH_PART=N for another, or all)"


def _declared(text: str) -> int:
    if not text.isdecimal() or int(text) >= PARTS:
        raise ValueError(f"LAKESMITH_PART is {text!r}; expected 0 to {PARTS - 1}, or {ALL}")
    return int(text)
