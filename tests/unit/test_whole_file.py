"""A file is there as a whole or as it was."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakesmith.whole_file import left_by_killed, write_whole


@pytest.mark.parametrize("to_disk", [False, True])
@pytest.mark.parametrize("content", ["größe\n", b"\x00\xff"])
def test_a_file_and_its_folder_are_made(content: str | bytes, to_disk: bool, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_whole(path, content, to_disk=to_disk)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_whole(path, "before")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "\ud800")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_whole(tmp_path / "folder", "x")
    assert path.read_text() == "before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json", "folder"]


def test_of_several_writers_one_counts(tmp_path: Path) -> None:
    path, texts = tmp_path / "a.json", [str(number) * 10_000 for number in range(10)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: write_whole(path, text), texts * 20))
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_writer_left_is_found(tmp_path: Path) -> None:
    for name in (
        ".a.csv.999999999-1.tmp",
        f".b.csv.{os.getpid()}-1.tmp",
        ".c.csv.1-1.tmp",
        "d.tmp",
        ".e.csv",
    ):
        (tmp_path / name).write_text("x")
    assert [path.name for path in sorted(left_by_killed(tmp_path))] == [
        ".a.csv.999999999-1.tmp",
        f".b.csv.{os.getpid()}-1.tmp",
    ]
