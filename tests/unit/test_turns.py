"""Cases by turns: each has its turn in exactly one part, and the part is the commit's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import turns

CASES = [f"tests/spark/kinds/test_{name}.py::test_{number}[x]" for name in "abcdefgh" for number in range(20)]


@pytest.mark.parametrize("together", [False, True])
def test_each_case_has_its_turn_once(together: bool) -> None:
    for case in CASES:
        assert [turns.is_due(case, part, together) for part in range(turns.PARTS)].count(True) == 1


def test_the_cases_of_a_file_that_share_a_lake_have_their_turn_together() -> None:
    for part in range(turns.PARTS):
        due = {case.split("::")[0] for case in CASES if turns.is_due(case, part, together=True)}
        assert all(turns.is_due(case, part, together=True) == (case.split("::")[0] in due) for case in CASES)


def test_parts_are_of_like_size() -> None:
    sizes = [sum(turns.is_due(case, part, together=False) for case in CASES) for part in range(turns.PARTS)]
    assert max(sizes) < 2 * len(CASES) / turns.PARTS
    assert min(sizes) > len(CASES) / turns.PARTS / 2


def test_a_commit_has_one_part_and_others_have_other_ones(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", str(tmp_path)], check=True)
    found = []
    for number in range(12):
        message = [
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            str(number),
            "--date",
            f"2024-01-{number + 1:02}T00:00:00",
        ]
        subprocess.run([*git, *message], cwd=tmp_path, check=True)
        found.append(turns.part_of({}, tmp_path))
        assert turns.part_of({}, tmp_path) == found[-1]
    assert len(set(found)) > 1
    assert set(found) <= set(range(turns.PARTS))


def test_the_environment_says_otherwise(tmp_path: Path) -> None:
    assert turns.part_of({"LAKESMITH_PART": "3"}, tmp_path) == 3
    assert turns.part_of({"LAKESMITH_PART": "all"}, tmp_path) is None
    for wrong in ("9", "-1", "first", ""):
        with pytest.raises(ValueError, match="expected 0 to 7, or all"):
            turns.part_of({"LAKESMITH_PART": wrong}, tmp_path)


def test_where_there_is_no_commit_all_cases_are_run(tmp_path: Path) -> None:
    assert turns.part_of({}, tmp_path) is None
