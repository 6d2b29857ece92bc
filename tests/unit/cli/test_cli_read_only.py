"""A project that cannot be written: what only reads works, what writes says what it cannot write."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from shop import T0, Cli, Shop
from test_quarantine_cli import ROWS, fill

from lakesmith.cli.guard import guarded
from lakesmith.execute.lake import Lake
from lakesmith.graph.graph import load
from lakesmith.project.definitions import TableName
from lakesmith.sources.model import FileAction, FileIdentity, LedgerEntry
from read_only import python_that_stays_held_to_modes, read_only

pytestmark = pytest.mark.processes

READING = (
    ("status",), ("plan",), ("explain", "bronze.orders"), ("history", "bronze.orders"),
    ("files", "bronze.orders"), ("quarantine", "list"), ("quarantine", "show", "bronze.orders"),
    ("verify", "bronze.orders"), ("doctor",),
)  # fmt: skip
WRITING = (("run",), ("files", "bronze.orders", "--skip", "landing/orders/2.csv"))

SCRIPT = """
import contextlib, io, json, os, sys
import pyarrow.parquet
from lakesmith.cli import commands
from lakesmith.cli.guard import guarded
from lakesmith.cli.main import app

for name in "status plan explain history files quarantine verify doctor run".split():
    commands.app_of(name)

def said(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = guarded(lambda: app(words, prog_name="lakesmith", standalone_mode=False), words)
    return [code, out.getvalue(), err.getvalue()]

for line in sys.stdin:
    task = json.loads(line)
    if os.fork() == 0:
        os.environ["LAKESMITH_CACHE"] = task["cache"]
        print(json.dumps([said(words) for words in task["calls"]]), flush=True)
        os._exit(0)
    if os.wait()[1] != 0:
        print("[]", flush=True)
"""
"""A process that has imported the commands; a fork of it does those of a line, and knows of no other."""

Said = Callable[[Path, tuple[tuple[str, ...], ...], Path], list[tuple[int, str, str]]]


@pytest.fixture(scope="module")
def said() -> Iterator[Said]:
    """Says what commands say in a process that is held to the modes of files."""
    with python_that_stays_held_to_modes(SCRIPT) as process:

        def call(root: Path, calls: tuple[tuple[str, ...], ...], cache: Path) -> list[tuple[int, str, str]]:
            words = [[*each, "--project", str(root)] for each in calls]
            assert process.stdin is not None and process.stdout is not None
            print(json.dumps({"calls": words, "cache": str(cache)}), file=process.stdin, flush=True)
            found: list[Any] = json.loads(process.stdout.readline())
            assert found, "it has failed"
            return [tuple(each) for each in found]

        yield call


@pytest.fixture
def built(shop: Shop, tmp_path: Path) -> Shop:
    """A table with a real ledger and a real quarantine, and nothing in the project's caches."""
    taken, _ = shop.land("1.csv"), shop.land("2.csv")
    stat = taken.stat()
    file = FileIdentity("landing/orders/1.csv", stat.st_size, stat.st_mtime_ns, stat.st_ino, stat.st_ctime_ns)
    lake = Lake.open(load(shop.root)[0])
    entry = LedgerEntry(file, "files", FileAction.TAKEN, "attempt", 1, T0)
    pin = lake.ledgers.append(TableName("bronze", "orders"), None, [entry])
    fill(shop, ROWS, 1, files=pin)
    shutil.rmtree(shop.root / ".lakesmith" / "cache")
    return shop


def test_reading_commands_say_what_they_say_where_they_can_write(
    built: Shop, said: Said, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    with read_only(built.root):
        first = said(built.root, READING, cache)
        again = said(built.root, READING, cache)
    there = said(built.root, READING, cache)

    assert first[:-1] == again[:-1] == there[:-1]
    assert [(code, err) for code, _, err in first[:-1]] == [(0, "")] * (len(READING) - 1)
    assert "1 taken" in first[4][1] and "1 waiting" in first[4][1]
    assert "not a bigint" in first[5][1]
    assert "cannot be written" in first[-1][1]
    assert sorted(path.name for path in cache.glob("project-*/cache/*"))


def test_commands_that_write_say_what_they_cannot_write(built: Shop, said: Said, tmp_path: Path) -> None:
    with read_only(built.root):
        found = said(built.root, WRITING, tmp_path / "cache")

    for code, _, err in found:
        assert code == 2
        assert err.startswith("LS323 the project's lock cannot be taken\n")
        assert "project.lock" in err and "Permission denied" in err


def test_a_cache_that_cannot_be_written_either(built: Shop, said: Said, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    with read_only(built.root), read_only(cache):
        (status, files) = said(built.root, (("status",), ("files", "bronze.orders")), cache)

    assert (status[0], status[2], files[0], files[2]) == (0, "", 0, "")
    assert list(cache.iterdir()) == []


def test_the_log_of_what_nobody_foresaw_is_where_it_is_said_to_be(
    built: Shop, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cli("status", "--project", built.root)
    monkeypatch.setenv("LAKESMITH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "lakesmith.project.files.os.access", lambda path, _mode: built.root not in (path, *path.parents)
    )

    def fail() -> None:
        raise ZeroDivisionError("nobody thought of it")

    assert guarded(fail, []) == 1
    (log,) = tmp_path.glob("cache/project-*/logs/error-*.log")
    assert f"the stack trace is in {log}" in capsys.readouterr().err
