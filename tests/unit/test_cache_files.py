"""The cache: what is loaded is what was saved by the same version, or nothing."""

import os
from pathlib import Path

import pytest

from lakesmith.cache import Cache


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "new", "kind", "1")
    value = {"a": (1, None, "é\udcff"), "b": [2.5, b"x"]}
    assert cache.load("key") is None
    assert cache.save("key", value)
    assert cache.load("key") == value
    assert cache.load("other") is None


def test_another_version_finds_nothing_and_takes_the_place(tmp_path: Path) -> None:
    old, new = (Cache(tmp_path, "kind", version) for version in "12")
    old.save("key", "old")
    assert new.load("key") is None
    new.save("key", "new")
    assert (old.load("key"), new.load("key")) == (None, "new")
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("keep", [0, 3, 16, -1])
def test_a_damaged_file_counts_as_missing(tmp_path: Path, keep: int) -> None:
    cache = Cache(tmp_path, "kind", "1")
    cache.save("key", list(range(100)))
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:keep])
    assert cache.load("key") is None


def test_the_newest_files_of_a_kind_are_kept(tmp_path: Path) -> None:
    cache, other = Cache(tmp_path, "kind", "1", most=2), Cache(tmp_path, "other", "1")
    other.save("x", 0)
    for second, key in enumerate("abc"):
        cache.save(key, second)
        os.utime(cache._file(key), (second, second))
        cache.renew("a")
    assert [cache.load(key) for key in "abc"] == [0, None, 2]
    assert other.load("x") == 0


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache", "kind", "1", most=1)
    assert not cache.save("key", 1)
    assert cache.load("key") is None


def test_a_value_that_is_nested_too_deeply_is_not_kept(tmp_path: Path) -> None:
    value: list[object] = []
    for _ in range(10_000):
        value = [value]
    cache = Cache(tmp_path, "kind", "1")
    assert not cache.save("key", value)
    assert cache.load("key") is None
