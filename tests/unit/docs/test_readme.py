"""The README and the pages are true: transcripts are those of the walks that are run, links lead
somewhere.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*/README.md")])
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def test_the_tour_is_a_part_of_the_walk_that_is_run() -> None:
    walk = (ROOT / "examples/customer-orders/README.md").read_text()
    tour = CONSOLE.findall((ROOT / "README.md").read_text())
    assert len(tour) >= 3
    assert [block for block in tour if block not in walk] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_command_is_in_the_reference_that_the_readme_links_to() -> None:
    from lakesmith.cli.main import app

    reference = (ROOT / "docs" / "reference" / "commands.md").read_text()
    names = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]
    assert len(names) > 8
    assert "(docs/reference/commands.md)" in (ROOT / "README.md").read_text()
    assert [name for name in names if f"\n## {name}\n" not in reference] == []
