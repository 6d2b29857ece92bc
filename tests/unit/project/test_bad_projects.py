"""Wrong projects: every problem is told at once, each with its code, its own line, and what to do.

The cases stand in ``bad/``. A case begins with ``#### title``, a file of the project with ``@ path``, and
what is expected with ``@ problems``. A project that does not show its ``lakesmith.yaml`` has the usual one;
if its text is ``missing``, it has none.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakesmith.graph.check_sql import analyse_queries
from lakesmith.graph.graph import graph_problems
from lakesmith.project.loader import parse_project, sorted_problems
from lakesmith.sql.analysis import analyse
from memory_files import MemoryFiles

FOLDER = Path(__file__).parent / "bad"
ENVIRON = {"SECRET": "hunter2", "HOME": "/home/shop", "USER": "shop"}


@dataclass(frozen=True)
class BadCase:
    """One wrong project. ``problems`` are the lines that must be shown, in their order."""

    title: str
    files: dict[str, str]
    problems: str


def bad_cases() -> list[BadCase]:
    texts = (path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt")))
    return [bad_case(part) for text in texts for part in re.split(r"(?m)^#### ", text)[1:]]


def bad_case(text: str) -> BadCase:
    head, *sections = re.split(r"(?m)^@ ", text)
    files = {name: body for name, _, body in (section.partition("\n") for section in sections)}
    problems = files.pop("problems", "").strip()
    files.setdefault("lakesmith.yaml", "name: shop\n")
    if files["lakesmith.yaml"].strip() == "missing":
        del files["lakesmith.yaml"]
    return BadCase(head.strip(), files, problems)


CASES = bad_cases()


def shown(files: dict[str, str]) -> str:
    loaded = parse_project(MemoryFiles(files), None, ENVIRON)
    found = (*loaded.problems, *graph_problems(loaded, analyse_queries(loaded.project, analyse)))
    return "\n".join(line for problem in sorted_problems(found) for line in problem.lines())


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_problems_of_a_bad_project(case: BadCase) -> None:
    assert shown(case.files) == case.problems


def test_every_case_expects_something_and_has_a_title_of_its_own() -> None:
    titles = {case.title for case in CASES if case.problems}

    assert len(titles) == len(CASES) >= 40


def test_no_message_shows_a_value_of_the_environment() -> None:
    assert not [case.title for case in CASES if "hunter2" in shown(case.files)]
