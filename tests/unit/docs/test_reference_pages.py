"""The reference of commands and of errors is what the command line and the table of codes would make now."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
_SPEC = importlib.util.spec_from_file_location("reference_pages", ROOT / "scripts" / "reference_pages.py")
assert _SPEC is not None and _SPEC.loader is not None
reference_pages = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference_pages)


@pytest.mark.parametrize("name", ["commands.md", "errors.md"])
def test_the_page_is_current(name: str) -> None:
    found = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")

    assert found == reference_pages.pages()[name], (
        "write them again: python scripts/reference_pages.py docs/reference"
    )
