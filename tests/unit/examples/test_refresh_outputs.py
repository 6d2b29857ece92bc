"""The transcripts in READMEs are run, compared without what always differs, and renewed where they are no
longer true.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from example_files import EXAMPLES

SCRIPT = EXAMPLES.parent / "scripts" / "refresh_outputs.py"


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, *options, folder], capture_output=True, text=True, check=False
    )


def write(folder: Path, *lines: str) -> Path:
    readme = folder / "README.md"
    readme.write_text(
        "\n".join(["# walk", "```console", *lines, "```", "after", "```sh", "false", "```", ""])
    )
    return readme


def test_output_is_filled_in_below_each_command(tmp_path: Path) -> None:
    readme = write(
        tmp_path, "$ word=hello", '$ echo "$word"', "$ printf 'a\\n\\nb'", "$ cat <<'X'", "> here", "> X"
    )
    assert run(tmp_path).returncode == 0

    block = readme.read_text().split("```")[1].splitlines()[1:]
    assert block == [
        "$ word=hello", '$ echo "$word"', "hello", "$ printf 'a\\n\\nb'", "a", "", "b",
        "$ cat <<'X'", "> here", "> X", "here",
    ]  # fmt: skip
    assert readme.read_text().endswith("after\n```sh\nfalse\n```\n")


def test_check_says_what_differs_and_writes_nothing(tmp_path: Path) -> None:
    readme = write(tmp_path, "$ echo 5 rows", "4 rows")
    before = readme.read_text()
    done = run(tmp_path, "--check")

    assert done.returncode == 1
    assert "-4 rows" in done.stdout and "+5 rows" in done.stdout
    assert readme.read_text() == before


@pytest.mark.parametrize(
    ("printed", "prints"),
    [
        ("took 1.2 s", "took 900 ms"),
        ("snapshot 4912345678901234567", "snapshot 812345678901234567"),
        ("at 2026-03-01 10:00:00 UTC", "at 2027-04-02T11:22:33.123Z"),
        ("| 1.2 s     | ok |", "| 12.25 s | ok |"),
        ("batch 0d9fd8a4-5b1f-4f59-9c27-07a4f0a3a7aa", "batch 8c64b7a5-8b2f-49fb-a9a4-4b2aa9b2d111"),
    ],
)
def test_what_always_differs_is_not_compared(tmp_path: Path, printed: str, prints: str) -> None:
    readme = write(tmp_path, f"$ echo '{prints}'", printed)
    before = readme.read_text()

    assert run(tmp_path, "--check").returncode == 0
    assert run(tmp_path).returncode == 0
    assert readme.read_text() == before


def test_tables_that_were_worked_on_side_by_side_come_in_any_order(tmp_path: Path) -> None:
    prints = "silver.b: published\\nsilver.a: published\\n3 tables\\n1 row of b\\n2 rows of a"
    write(
        tmp_path,
        f"$ printf '{prints}\\n'",
        "silver.a: published",
        "silver.b: published",
        "3 tables",
        "2 rows of a",
        "1 row of b",
    )

    assert run(tmp_path, "--check").returncode == 0


def test_a_table_that_is_not_told_of_is_missed(tmp_path: Path) -> None:
    write(tmp_path, "$ printf 'silver.b: published\\n'", "silver.a: published", "silver.b: published")

    assert run(tmp_path, "--check").returncode == 1


@pytest.mark.parametrize(
    ("printed", "prints"),
    [("2024-05-31 22:02:11", "2024-05-31 22:02:12"), ("17 rows", "16 rows"), ("a b", "a c")],
)
def test_data_is_compared(tmp_path: Path, printed: str, prints: str) -> None:
    write(tmp_path, f"$ echo '{prints}'", printed)

    assert run(tmp_path, "--check").returncode == 1


def test_the_folder_itself_is_left_alone_and_not_named(tmp_path: Path) -> None:
    readme = write(tmp_path, "$ touch made", "$ pwd")
    assert run(tmp_path).returncode == 0

    assert not (tmp_path / "made").exists()
    assert readme.read_text().splitlines()[4] == tmp_path.name


def test_a_command_that_fails_is_named(tmp_path: Path) -> None:
    readme = write(tmp_path, "$ echo fine", "$ ls no-such-file")
    before = readme.read_text()
    done = run(tmp_path)

    assert done.returncode == 2
    assert "ls no-such-file" in done.stderr
    assert readme.read_text() == before
