"""A catalog's file that others hold: how it is told, and how it is waited for."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import OperationalError

from lakesmith.catalog import busy


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy, "_FIRST_WAIT", 0.0)


def _failing(times: int, error: Exception) -> tuple[list[int], Callable[[], str]]:
    calls: list[int] = []

    def step() -> str:
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "done"

    return calls, step


def _held(db: Path) -> sqlite3.Connection:
    holder = busy.connect(db, 0.0)
    holder.execute("CREATE TABLE t (a)")
    holder.execute("BEGIN EXCLUSIVE")
    return holder


def test_a_held_file_is_told_as_sqlite_and_as_sqlalchemy_tell_it(tmp_path: Path) -> None:
    db = tmp_path / "catalog.db"
    with closing(_held(db)):
        with closing(busy.connect(db, 0.0)) as other, pytest.raises(sqlite3.OperationalError) as plain:
            other.execute("INSERT INTO t VALUES (1)")
        engine = create_engine(f"sqlite:///{db}?timeout=0")
        with engine.connect() as other, pytest.raises(OperationalError) as wrapped:
            other.execute(text("INSERT INTO t VALUES (1)"))
        engine.dispose()
    assert busy.is_busy(plain.value)
    assert busy.is_busy(wrapped.value)


@pytest.mark.parametrize(
    "error", [sqlite3.OperationalError("disk I/O error"), OSError(28, "database is locked"), ValueError()]
)
def test_other_errors_are_not_of_a_held_file(error: Exception) -> None:
    assert not busy.is_busy(error)


def test_what_meets_a_held_file_is_done_again() -> None:
    calls, step = _failing(3, sqlite3.OperationalError("database is locked"))
    assert busy.try_until_free(step, lambda error: False) == "done"
    assert len(calls) == 4


def test_what_loses_a_race_is_done_again() -> None:
    calls, step = _failing(2, KeyError("first"))
    assert busy.try_until_free(step, lambda error: isinstance(error, KeyError)) == "done"
    assert len(calls) == 3


def test_anything_else_is_raised_at_once() -> None:
    calls, step = _failing(1, KeyError("first"))
    with pytest.raises(KeyError):
        busy.try_until_free(step, lambda error: False)
    assert len(calls) == 1


def test_it_is_given_up_after_so_many_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy, "TRIES", 3)
    held = sqlite3.OperationalError("database is locked")
    calls, step = _failing(99, held)
    with pytest.raises(busy.StillBusy) as given_up:
        busy.try_until_free(step, lambda error: False)
    assert (len(calls), given_up.value.last) == (3, held)
