"""Where the stack traces of a process go."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakesmith.execute import unforeseen


class AClock:
    """Each look is a second later."""

    looks = 0

    @classmethod
    def now(cls, zone: object) -> datetime:
        cls.looks += 1
        return datetime(2026, 11, 23, tzinfo=UTC) + timedelta(seconds=cls.looks)


def test_errors_of_one_process_in_two_seconds_share_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were written to two, and the summary of a run named only one of them."""
    monkeypatch.setattr(unforeseen, "datetime", AClock)
    for said in ("the first", "the second"):
        unforeseen.unforeseen(ValueError(said), tmp_path, ())
    (log,) = tmp_path.glob("error-*.log")
    assert "the first" in log.read_text() and "the second" in log.read_text()
