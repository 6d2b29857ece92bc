"""The check of words finds retired phrases and over-long lines, and lets ordinary English pass."""

import contextlib
import io
from pathlib import Path

import pytest
import words


def found(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = words.main([str(path)])
    assert code == (0 if "no retired words" in said.getvalue() else 1)
    return said.getvalue()


@pytest.mark.parametrize(
    "line",
    ["the folder is none", "It is told so.", "held against the table", "refreshed as a whole", "Built anew."],
)
def test_a_retired_phrase_is_found_with_its_place_and_a_better_one(tmp_path: Path, line: str) -> None:
    said = found(tmp_path / "page.md", f"# Title\n\n{line}\n")
    assert said.startswith(f"{tmp_path / 'page.md'}:3: ") and said.count("\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        "There is no table.", "`x is None` in Python", "one line stands for many", "None of them is new.",
        "the whole table",
    ],
)  # fmt: skip
def test_ordinary_english_passes(tmp_path: Path, line: str) -> None:
    assert found(tmp_path / "page.md", f"{line}\n") == "no retired words, no line too long\n"


def test_lines_that_are_too_long_are_found_but_for_tables_and_code(tmp_path: Path) -> None:
    long = "word " * 30
    assert ":1: 149 characters, at most 120" in found(tmp_path / "page.md", long.strip())
    assert "no line too long" in found(tmp_path / "page.md", f"| {long}|\n\n```\n{long}\n```\n")
    assert "at most 110" in found(tmp_path / "code.py", f"# {long.strip()}\n")
