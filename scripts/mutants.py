"""Whether the tests notice small mistakes: changes one place of the source and runs cases that reach it.

    python scripts/mutants.py draw --seed 1 --recording build/reach > benchmarks/mutants.json
    python scripts/mutants.py run benchmarks/mutants.json --recording build/reach --results build/mutants.json

A mutant is one change of one expression or statement in a function's body. Sixty are drawn, as many from
each room that decides about data, among the lines that some case reaches. Each runs in a copy of the source
against at most 20 of the cases that reach its line, drawn with the same seed, the cheapest first, until one
fails.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from reach import ROOT, Reach

ROOMS: Final = (
    ("plan/**/*.py",),
    ("sql/**/*.py",),
    ("quality/**/*.py",),
    ("sources/**/*.py",),
    ("catalog/record.py", "catalog/record*/**/*.py"),
    ("api/eras*.py",),
    ("spark/erase*.py",),
    ("spark/kinds/**/*.py",),
    ("spark/write/**/*.py",),
    ("spark/refresh/**/*.py",),
)
DRAWN: Final = 60
AT_MOST: Final = 20
SECONDS: Final = 900

_COMPARED: Final = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COUNTED: Final = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip
_NAMES: Final = {"any": "all", "all": "any", "min": "max", "max": "min"}


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    was: str
    """The source of the line."""
    now: str


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Each mutant of a file, in the order of its nodes."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in _nodes(function.body):
            changed = _changed(node)
            if changed is None or node.lineno != node.end_lineno:
                continue
            line = lines[node.lineno - 1]
            # Offsets of ast are bytes.
            raw = line.encode()
            new = (raw[: node.col_offset] + changed.encode() + raw[node.end_col_offset :]).decode()
            yield Mutant(str(path.relative_to(ROOT)), node.lineno, line, new)


def _nodes(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a function's body without functions in it, types, and texts of errors."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        waiting.extend(reversed(children))


def _changed(node: ast.AST) -> str | None:
    """The source of a node with one mistake in it; None: nothing to mistake."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(not node.value if isinstance(node.value, bool) else node.value + 1)
    if isinstance(node, ast.Continue):
        return "break"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "pass"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NAMES:
        return ast.unparse(ast.Call(ast.Name(_NAMES[node.func.id]), node.args, node.keywords))
    other = _other_operation(node)
    return None if other is None else f"({ast.unparse(other)})"


def _other_operation(node: ast.AST) -> ast.expr | None:
    match node:
        case ast.Compare(ops=[operation]) if type(operation) in _COMPARED:
            return ast.Compare(node.left, [_COMPARED[type(operation)]()], node.comparators)
        case ast.BoolOp():
            return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.IfExp():
            return ast.IfExp(node.test, node.orelse, node.body)
        case ast.BinOp() if type(node.op) in _COUNTED and not _is_text(node):
            return ast.BinOp(node.left, _COUNTED[type(node.op)](), node.right)
    return None


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(each, ast.JoinedStr) or getattr(each, "value", None).__class__ is str for each in sides
    )


def draw(reach: Reach, seed: int) -> list[Mutant]:
    """As many mutants from each room, among the lines that a case reaches."""
    dice = random.Random(seed)
    found = list[Mutant]()
    for room in ROOMS:
        paths = sorted({path for each in room for path in (ROOT / "src" / "lakesmith").glob(each)})
        able = list[Mutant]()
        for path in paths:
            contexts = reach.contexts(str(path.relative_to(ROOT)))
            able += [each for each in mutants_of(path) if reach.reaching(contexts.get(each.line, []))]
        found += dice.sample(able, min(len(able), DRAWN // len(ROOMS)))
    return found


def copied(place: Path) -> None:
    """A copy of what is committed or changed here, with this environment's libraries."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def line_of(mutant: Mutant, lines: Sequence[str]) -> int:
    """Where the mutant's line is now: the nearest one that reads the same. Raises ValueError if none does."""
    same = [at for at, line in enumerate(lines, 1) if line == mutant.was]
    if not same:
        raise ValueError(f"{mutant.file}:{mutant.line} is not there any more: {mutant.was.strip()}")
    return min(same, key=lambda at: abs(at - mutant.line))


def tried(mutant: Mutant, cases: Sequence[str], place: Path) -> str | None:
    """Runs cases against a mutant in the copy. Returns the first case that failed, None: it lives. Raises
    RuntimeError if pytest itself failed."""
    path = place / mutant.file
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    lines[line_of(mutant, lines) - 1] = mutant.now
    path.write_text("".join(lines))
    environment = os.environ | {"PYTHONPATH": str(place / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *cases]
    try:
        done = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "none of them had ended in time"
    finally:
        path.write_text(text)
    if done.returncode == 0:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if not failed:
        raise RuntimeError(f"no case ran: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return failed[0]


def run(mutants: Sequence[Mutant], reach: Reach, seed: int, results: Path, part: tuple[int, int]) -> None:
    known = json.loads(results.read_text()) if results.exists() else {}
    with tempfile.TemporaryDirectory(prefix="lakesmith-mutants-") as folder:
        copied(Path(folder))
        for at, mutant in enumerate(mutants):
            if at % part[1] != part[0] or str(at) in known:
                continue
            line = line_of(mutant, (Path(folder) / mutant.file).read_text().splitlines(keepends=True))
            cases = reach.reaching(reach.contexts(mutant.file).get(line, []))
            chosen = random.Random(seed + at).sample(cases, min(len(cases), AT_MOST))
            chosen.sort(key=lambda case: case.seconds)
            by = tried(mutant, [case.name for case in chosen], Path(folder)) if chosen else None
            known[str(at)] = {"killed by": by, "cases": len(cases)}
            print(f"{at:3} {mutant.file}:{mutant.line} of {len(cases)} cases: {by or 'LIVES'}", flush=True)
            results.write_text(json.dumps(known, indent=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["draw", "run"])
    parser.add_argument("mutants", nargs="?", type=Path)
    parser.add_argument("--recording", type=Path, default=ROOT / "build" / "reach")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants.json")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="0/1", help="0/2 and 1/2 run side by side")
    given = parser.parse_args()
    reach = Reach(given.recording)
    if given.what == "draw":
        print(json.dumps([asdict(each) for each in draw(reach, given.seed)], indent=1))
        return 0
    mutants = [Mutant(**each) for each in json.loads(given.mutants.read_text())]
    part, _, parts = given.part.partition("/")
    run(mutants, reach, given.seed, given.results, (int(part), int(parts)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
