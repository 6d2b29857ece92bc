"""Cases by turns: each has its turn in exactly one part, and the part is the commit's."""

import subprocess
from collections import Counter
from pathlib import Path

import pytest

import turns

OF_A_FILE = 70
CASES = [
    f"tests/spark/kinds/test_{name}.py::test_{number}[x]"
    for name in "abcdefgh"
    for number in range(OF_A_FILE)
]


def due(part: int, together: bool = False) -> set[str]:
    taken = turns.due([(case, together) for case in CASES], part)
    return {case for case, is_due in zip(CASES, taken, strict=True) if is_due}


@pytest.mark.parametrize("together", [False, True])
def test_each_case_has_its_turn_once(together: bool) -> None:
    parts = [due(part, together) for part in range(turns.USUAL)]
    assert sorted(case for part in parts for case in part) == sorted(CASES)


def test_the_cases_of_a_file_that_share_a_lake_have_their_turn_together() -> None:
    for part in range(turns.USUAL):
        files = {case.split("::")[0] for case in due(part, together=True)}
        assert due(part, together=True) == {case for case in CASES if case.split("::")[0] in files}


def test_each_part_has_as_many_of_a_file_as_any_other() -> None:
    for part in range(turns.USUAL):
        of_files = Counter(case.split("::")[0] for case in due(part))
        assert len(of_files) == 8 and set(of_files.values()) <= {
            OF_A_FILE // turns.USUAL,
            OF_A_FILE // turns.USUAL + 1,
        }


def test_long_cases_come_back_with_every_third_part() -> None:
    marked = [(case, False) for case in CASES]
    first, second, third = (turns.due(marked, part, of=3) for part in range(3))
    assert [sum(each) for each in zip(first, second, third, strict=True)] == [1] * len(CASES)
    assert turns.due(marked, turns.PARTS - 1, of=3) == third


def test_files_with_a_case_each_are_dealt_to_several_parts() -> None:
    single = [(f"tests/spark/test_{number}.py::test_it", False) for number in range(40)]
    sizes = [sum(turns.due(single, part)) for part in range(turns.USUAL)]
    assert sum(sizes) == 40 and max(sizes) < 12


def test_a_commit_has_one_part_and_others_have_other_ones(tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q", str(tmp_path)], check=True)
    found = []
    for number in range(12):
        message = [
            "commit", "-q", "--allow-empty", "-m", str(number), "--date", f"2024-01-{number + 1:02}T00:00:00",
        ]  # fmt: skip
        subprocess.run([*git, *message], cwd=tmp_path, check=True)
        found.append(turns.part_of({}, tmp_path))
        assert turns.part_of({}, tmp_path) == found[-1]
    assert len(set(found)) > 1
    assert set(found) <= set(range(turns.PARTS))


def test_the_environment_says_otherwise(tmp_path: Path) -> None:
    assert turns.part_of({"LAKESMITH_PART": "3"}, tmp_path) == 3
    assert turns.part_of({"LAKESMITH_PART": "all"}, tmp_path) is None
    for wrong in (str(turns.PARTS), "-1", "first", ""):
        with pytest.raises(ValueError, match=f"expected 0 to {turns.PARTS - 1}, or all"):
            turns.part_of({"LAKESMITH_PART": wrong}, tmp_path)


def test_where_there_is_no_commit_all_cases_are_run(tmp_path: Path) -> None:
    assert turns.part_of({}, tmp_path) is None
