"""Why the last batch of a table failed, as ``status`` and ``explain`` say it."""

from pathlib import Path

import pytest

from lakesmith.execute.status import Standing, TableStatus
from lakesmith.journal.lines import JOURNAL, OLDER, Journal
from lakesmith.journal.reading import with_failures
from lakesmith.project.definitions import TableName

ORDERS = TableName("bronze", "orders")
FAILED = {"do": "failed", "id": "a", "table": "bronze.orders", "code": "LS805", "what": "a rule stopped it"}
BATCH = {"do": "batch", "id": "a", "table": "bronze.orders", "batch": 1}
OTHER = {"do": "batch", "id": "a", "table": "bronze.others", "batch": 1}
NOTE = "its last batch failed: LS805 a rule stopped it"


def notes(folder: Path, standing: Standing = Standing.BEHIND) -> tuple[str, ...]:
    (status,) = with_failures([TableStatus(ORDERS, standing, "1 new file waiting", facts=("more",))], folder)
    return status.notes


@pytest.mark.parametrize(
    ("lines", "is_noted"),
    [
        ([FAILED], True),
        ([FAILED, OTHER], True),
        ([FAILED, BATCH], False),
        ([BATCH, FAILED], True),
        ([], False),
    ],
)
def test_a_failure_is_a_note_until_a_batch_is_published(
    tmp_path: Path, lines: list[dict[str, object]], is_noted: bool
) -> None:
    for line in lines:
        Journal(tmp_path).append(line)
    assert notes(tmp_path) == ((NOTE, "more") if is_noted else ("more",))
    assert notes(tmp_path, Standing.UP_TO_DATE) == ("more",), "its files were skipped"


def test_a_failure_in_the_older_journal_counts_and_rubbish_does_not(tmp_path: Path) -> None:
    Journal(tmp_path).append(FAILED)
    (tmp_path / JOURNAL).rename(tmp_path / OLDER)
    (tmp_path / JOURNAL).write_bytes(b'{"do": "batch", \xff\n["do": "batch"]\n{"do": "batch"}\n\x00\n')
    assert notes(tmp_path) == (NOTE, "more")
