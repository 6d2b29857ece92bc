"""Segments of events without lines in the ledger: each event stays in the table once, in any case."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import Harness, fail

from lakesmith import Lakehouse, limits
from lakesmith.api.files import Files
from lakesmith.cli.commands.files import file_lines
from lakesmith.errors import UsageError
from lakesmith.execute import faults
from lakesmith.execute.events import RunResult
from lakesmith.execute.files import FileReport, file_report, find_files, ledger_step
from lakesmith.plan.fingerprint import definition_fingerprint
from lakesmith.project.definitions import TableName
from lakesmith.serve.arrivals import Arrivals
from lakesmith.serve.intake.frames import Frame
from lakesmith.serve.intake.segments import Segments
from lakesmith.serve.options import UpOptions
from lakesmith.serve.up import _Around
from lakesmith.serve.watch import TopicWatcher, Watcher
from lakesmith.sources.ledger_view import LedgerView
from lakesmith.sources.model import FileAction
from lakesmith.spark.engine import SparkEngine
from lakesmith.spark.start.session import SessionHandle

pytestmark = pytest.mark.in_turn

SALES = TableName("bronze", "sales")
FILES = {
    "tables/bronze/sales.yaml": """
        source: {http: {path: /sales}}
        columns: {id: bigint}
        """
}


@dataclass
class Till:
    """Sends events as the server of ``up`` would, and tidies up as it does. ``backup``: copies segments."""

    shop: Harness
    backup: Path
    segments: Segments = field(init=False)

    def __post_init__(self) -> None:
        self.backup.mkdir()
        self.segments = Segments(self.shop.root / ".lakesmith/intake/bronze.sales/http")
        self.segments.open()

    def send(self, number: int) -> None:
        self.segments.append([Frame(f'{{"id": {number}}}\n'.encode())])
        self.segments.seal()
        for path in self.segments.waiting():
            shutil.copy(path, self.backup)

    def take(self, *numbers: int) -> None:
        for number in numbers:
            self.send(number)
            self.shop.must_run()
            self.tidy()

    def restore(self) -> None:
        """All segments that ever were are there again, as other files."""
        for path in sorted(self.backup.iterdir()):
            (self.segments.folder / path.name).write_bytes(path.read_bytes())

    def tidy(self) -> None:
        around = _Around(
            UpOptions(self.shop.root),
            Arrivals(),
            Watcher(print, print),
            TopicWatcher(lambda _table: None),
            Lakehouse,
        )
        around.tidy(RunResult({}, {"bronze.sales": "as of now"}, {}, (), 0.0, 0))

    @property
    def ids(self) -> list[int]:
        return [row[0] for row in self.shop.rows("bronze.sales", "id")]

    @property
    def ledger(self) -> LedgerView:
        lake = self.shop.lake()
        return lake.ledger(SALES, lake.facts(SALES))

    def report(self) -> FileReport:
        lake = self.shop.lake()
        return file_report(lake, lake.project.table(SALES), lake.facts(SALES))

    def forget(self, name: str) -> None:
        lake, here = self.shop.lake(), self.shop.root
        table = lake.project.table(SALES)
        lines = find_files(self.report(), [name], here, here)
        step = ledger_step(table, definition_fingerprint(table), lake.facts(SALES), (), lines)
        SparkEngine(self.shop.handle, lake).run_step(step, print)


@pytest.fixture
def till(tmp_path: Path, session: SessionHandle, monkeypatch: pytest.MonkeyPatch) -> Iterator[Till]:
    monkeypatch.setattr(limits, "LEDGER_FILES_UP_TO", 1)
    monkeypatch.setattr(limits, "SEGMENT_LINES_KEPT_SECONDS", 0)
    till = Till(Harness(tmp_path / "shop", session, FILES), tmp_path / "backup")
    yield till
    till.segments.close()
    faults.clear()


def standing(ledger: LedgerView) -> list[int]:
    return [entry.file.size for entry in ledger.values() if entry.action is FileAction.FOLDED]


def test_segments_that_come_back_are_not_taken_again(till: Till) -> None:
    till.take(*range(1, 8))
    assert len(till.ledger) <= 3
    assert standing(till.ledger)[0] >= 5
    till.restore()
    till.shop.must_run()
    assert till.ids == list(range(1, 8))
    till.tidy()
    assert till.segments.waiting() == []
    till.take(8)
    assert till.ids == list(range(1, 9))


@pytest.mark.parametrize("point", ["after-intent", "before-publish", "after-publish"])
def test_a_batch_that_ends_while_lines_leave(till: Till, point: str) -> None:
    till.take(1, 2, 3, 4)
    for number in (5, 6, 7):
        till.send(number)
        faults.arrange(point, fail)
        assert till.shop.run().code == 1
        faults.clear()
        till.restore()
        till.shop.must_run()
        till.tidy()
    assert till.ids == [1, 2, 3, 4, 5, 6, 7]
    till.take(8, 9)
    assert len(till.ledger) <= 3
    till.restore()
    till.shop.must_run()
    assert till.ids == list(range(1, 10))


def test_after_a_rollback_what_was_taken_since_is_taken_again(till: Till) -> None:
    """The older record pins an older version of the ledger, in which later segments have not been taken."""
    till.take(1, 2, 3, 4)
    head = till.shop.head("bronze.sales")
    till.take(5, 6, 7, 8)
    till.shop.spark.sql(f"CALL lake.system.rollback_to_snapshot('bronze.sales', {head.snapshot_id})")
    assert till.ids == [1, 2, 3, 4]
    till.restore()
    till.shop.must_run()
    assert till.ids == list(range(1, 9))
    till.tidy()
    till.take(9, 10, 11)
    till.restore()
    till.shop.must_run()
    assert till.ids == list(range(1, 12))
    assert len(till.ledger) <= 3


def test_a_segment_without_a_line_can_be_forgotten_and_taken_again(till: Till) -> None:
    till.take(1, 2, 3, 4, 5)
    name = sorted(path.name for path in till.backup.iterdir())[1]
    till.forget(name)
    assert till.ids == [1, 3, 4, 5]
    till.restore()
    till.shop.must_run()
    till.tidy()
    assert till.ids == [1, 2, 3, 4, 5]
    till.take(6, 7)
    till.restore()
    till.shop.must_run()
    assert till.ids == [1, 2, 3, 4, 5, 6, 7]


def test_files_says_how_many_have_no_line(till: Till) -> None:
    till.take(1, 2, 3, 4, 5)
    (upto,) = standing(till.ledger)
    report = till.report()
    lines = file_lines(Files(SALES, report), every=True)
    assert f"{upto} segments" in "\n".join(lines)
    assert lines[-1] == "5 taken"
    found = {file["path"]: file for file in Files(SALES, report).to_dict()["files"]}
    (folded,) = (file for path, file in found.items() if "*" in path)
    assert (folded["segments"], folded["newest"]) == (upto, sorted(till.backup.iterdir())[upto - 1].name)
    with pytest.raises(UsageError, match="stands for"):
        till.forget(folded["path"])
