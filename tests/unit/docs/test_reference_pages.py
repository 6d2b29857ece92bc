"""The reference of commands and of errors is what the command line and the table of codes would make now."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference_pages, python_page = _script("reference_pages"), _script("python_page")


@pytest.mark.parametrize("name", ["commands.md", "errors.md"])
def test_the_page_is_current(name: str) -> None:
    found = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")

    assert found == reference_pages.pages()[name], (
        "write them again: python scripts/reference_pages.py docs/reference"
    )


def test_the_python_page_is_current_and_has_an_example_of_each_call() -> None:
    found = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    assert found == python_page.page(found), "write it again: python scripts/python_page.py docs/python.md"
    calls = found.partition("## The calls")[2].split("\n### ")[1:]
    assert [call.partition("(")[0] for call in calls if "```py" not in call] == []
