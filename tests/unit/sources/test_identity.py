import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lakesmith.errors import SourceError
from lakesmith.project.definitions import FileSource
from lakesmith.sources import identity
from lakesmith.sources.choose import choose_files, uncertain_files
from lakesmith.sources.identity import changed_files, fingerprints, with_fingerprints
from lakesmith.sources.ledger_view import EMPTY
from lakesmith.sources.listing import list_files
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry

Put = Callable[..., Path]
Make = Callable[..., FileSource]


def listed(root: Path, source: FileSource) -> tuple[FileIdentity, ...]:
    return list_files(source, root, time.time_ns()).found


def rewrite_within_a_tick(path: Path) -> None:
    stat = path.stat()
    path.write_text(path.read_text().upper())
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def replace_by_another(path: Path) -> None:
    stat = path.stat()
    other = path.with_suffix(".new")
    other.write_text(path.read_text().upper())
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize(
    ("title", "change", "reason"),
    [
        ("nothing happened", lambda path: None, None),
        ("only read", lambda path: path.read_text(), None),
        ("deleted", lambda path: path.unlink(), "is gone"),
        ("its folder deleted", lambda path: shutil.rmtree(path.parent), "is gone"),
        ("appended to", lambda path: path.write_text("a,b\n1,2\n3,4\n"), "has 12 bytes, had 8"),
        ("touched", lambda path: os.utime(path), "was written to"),
        ("rewritten with its time set back", rewrite_within_a_tick, "was replaced or its status was changed"),
        ("replaced, same size and time", replace_by_another, "was replaced or its status was changed"),
    ],
)
def test_what_happened_to_a_file_since_it_was_listed(
    title: str,
    change: Callable[[Path], object],
    reason: str | None,
    tmp_path: Path,
    make_source: Make,
    put: Put,
) -> None:
    path = put("landing/orders/a.csv", "a,b\n1,2\n")
    files = listed(tmp_path, make_source())
    time.sleep(0.01)
    change(path)
    assert [changed.reason for changed in changed_files(files, tmp_path)] == ([reason] if reason else [])


def test_the_fingerprint_is_of_the_content(tmp_path: Path, put: Put, make_source: Make) -> None:
    put("landing/orders/a.csv", "same")
    put("landing/orders/b.csv", "same")
    put("landing/orders/c.csv", "else")
    put("landing/orders/d.csv", "")
    a, b, c, d = (file.etag for file in with_fingerprints(listed(tmp_path, make_source()), tmp_path))
    assert a == b
    assert len({a, c, d}) == 3


@pytest.mark.parametrize("at", [0, 3_000_000, 5_999_999, 11_999_999])
def test_a_change_in_a_small_file_and_at_the_ends_of_a_large_one_is_seen(at: int, tmp_path: Path) -> None:
    size = 4_000_000 if at == 3_000_000 else at + 1 if at else 12_000_000
    path = tmp_path / "a.bin"
    data = bytearray(os.urandom(1000) * (size // 1000 + 1))[:size]
    path.write_bytes(data)
    file = FileIdentity("a.bin", size, 1)
    before = fingerprints([file], tmp_path)
    assert fingerprints([file], tmp_path) == before
    data[at] ^= 1
    path.write_bytes(data)
    assert fingerprints([file], tmp_path) != before


def test_a_large_file_is_read_in_part_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.bin"
    with path.open("wb") as file:
        file.truncate(10 * 1024**3)
    read: list[tuple[int, int]] = []
    pread = os.pread
    monkeypatch.setattr(
        identity.os, "pread", lambda fd, size, at: (read.append((at, size)), pread(fd, size, at))[1]
    )
    fingerprints([FileIdentity("a.bin", 10 * 1024**3, 1)], tmp_path)
    assert sum(size for _, size in read) == identity.WHOLE_UP_TO
    assert read[0][0] == 0
    assert sum(read[-1]) == 10 * 1024**3


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"LS421(.|\n)*gone\.csv"):
        fingerprints([FileIdentity("gone.csv", 1, 1)], tmp_path)


def test_a_project_copied_elsewhere_takes_nothing_again(tmp_path: Path, make_source: Make, put: Put) -> None:
    put("one/landing/orders/a.csv", "a\n1\n")
    put("one/landing/orders/b.csv", "b\n1\n")
    source = make_source()
    taken = with_fingerprints(listed(tmp_path / "one", source), tmp_path / "one")
    ledger = EMPTY.plus(LedgerEntry(file, "orders", FileAction.TAKEN, "x", 1, 1) for file in taken)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    listing = list_files(source, tmp_path / "two", time.time_ns())
    uncertain = uncertain_files(listing, ledger)
    choice = choose_files(source, listing, ledger, fingerprints(uncertain, tmp_path / "two"))
    assert len(uncertain) == 2
    assert choice.take == choice.replace == choice.changed == ()
